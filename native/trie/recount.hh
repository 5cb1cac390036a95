// The counts of another text on the contexts and entries of a trie.
#pragma once
#include <cstdint>
#include <span>

#include "trie/view.hh"
#include "util/thread_pool.hh"

namespace loglinear::trie {

// For every token, </s> included: one for the longest suffix of its history that is a context and for each of that
// context's own suffixes, and one for the entry of the token in each of them that has one. The trie must be checked;
// words are checked here. Sentence i is words[sentence_ptr[i], sentence_ptr[i + 1]).
void recount(const TrieView& trie, std::span<const std::uint32_t> words, std::span<const std::int64_t> sentence_ptr,
             std::span<std::uint32_t> context_count, std::span<std::uint32_t> entry_count);

}  // namespace loglinear::trie
