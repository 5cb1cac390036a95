// The n-gram trie of a corpus; trie/view.hh describes the result.
//
// Tokens are sorted by their n-grams bucket by bucket (trie/sort.hh), the buckets of a chunk are written to levels
// (trie/writer.hh), and the levels of all chunks are joined. Memory: the result (12 bytes per entry, 16 per context), 8
// bytes per token for the corpus and its positions, 32 per token of the largest bucket of each thread; and while the
// arrays are joined one by one, the longest of them twice, when the corpus is no longer held.
#pragma once
#include <cstdint>
#include <vector>

#include "trie/sort.hh"
#include "trie/view.hh"
#include "util/pages.hh"
#include "util/thread_pool.hh"

namespace loglinear::trie {

struct TrieArrays {
  std::vector<std::int64_t> context_start, entry_start;
  Pages<std::uint32_t> context_word, context_child, context_entry, context_count;
  Pages<std::uint32_t> entry_word, entry_parent, entry_count;
};

void check_order(std::size_t order);  // throws InvalidInput

// Adds the tokens of a corpus to the counts of words [V].
void count_words(const Corpus& corpus, std::span<std::uint32_t> counts);

// Throws InvalidInput for an order outside [1, kMaxOrder], for malformed sentences and for numbers past 32 bits. The
// result does not depend on the number of threads.
TrieArrays build_trie(ThreadPool& pool, const SentencesView& sentences, std::size_t order);

}  // namespace loglinear::trie
