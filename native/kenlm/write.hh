// Back-off models as binary files of KenLM, of the kinds that are tries.
#pragma once
#include "arpa/text.hh"
#include "kenlm/layout.hh"

namespace loglinear::kenlm {

// The bytes of the file. `text` is the model with every n-gram that readers of ARPA files need. A model without <unk>
// gets one with a probability of 10^-100, as KenLM reads such a model. Quantised values are the centres of clusters on a
// line (Lloyd, 1982), for each order its own.
std::vector<std::uint8_t> write_trie(ThreadPool& pool, const arpa::ArpaText& text, TrieSettings settings);

}  // namespace loglinear::kenlm
