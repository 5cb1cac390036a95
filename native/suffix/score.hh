// Probabilities of any text under weights on a suffix tree, exactly, without the n-grams that it stands for.
//
// A history passes through classes from the empty context on. Of each but the last it matches all contexts; of the last
// perhaps only the j shortest of m. With P(e) = p(w | longest context of the class) and r(c) = Z(c) / Z(parent class),
// both from the sweeps over the classes,
//
//   log p(w | h) = log P(e) - sum of log r over the classes below the last that has an entry e of w
//   Z(j contexts of class c) / Z(parent class) = 1 + sum_{e in c} P(parent e) (exp(j x_e) - 1)
//
// Where weights are so negative that this cancels, or so large that it overflows, the words without an entry are summed
// by themselves, and in logarithms.
#pragma once
#include <cstdint>
#include <span>

#include "suffix/view.hh"
#include "trie/sort.hh"
#include "util/thread_pool.hh"

namespace loglinear::suffix {

struct SuffixWeights {
  std::span<const double> x;      // [n_entries] of each n-gram that an entry stands for
  std::span<const double> log_p;  // [n_entries]
  std::span<const double> log_r;  // [n_contexts]
};

// log_probability[i] and length[i] of every token, </s> after each sentence included: length is the number of words of
// the longest n-gram of the tree that ends in the token. The tree must have been checked. Throws InvalidInput for
// malformed sentences, words outside the vocabulary and arrays of other sizes.
void score_text(ThreadPool& pool, const SuffixTreeView& tree, const SuffixWeights& weights,
                const trie::SentencesView& sentences, std::span<double> log_probability,
                std::span<std::uint32_t> length);

}  // namespace loglinear::suffix
