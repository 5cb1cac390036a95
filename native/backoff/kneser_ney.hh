// The counts of Kneser-Ney smoothing: Kneser and Ney, "Improved backing-off for m-gram language modeling" (1995); Chen
// and Goodman (1998), section 4.1.6.
//
//   a(hw) = tokens of hw                               at the highest order, and where h begins with <s>
//   a(hw) = number of different words v seen in v hw   otherwise
//
// In the trie of a suffix tree, levels take the place of orders, and a context without children has a single history:
// its tokens are counted at any level.
//
// Discounts are estimated from the numbers of n-grams with a = 1, 2, 3, 4; smoothing.hh computes the probabilities.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "trie/view.hh"
#include "util/thread_pool.hh"

namespace loglinear::backoff {

// Fills `adjusted` [entries below the highest order]. The trie must have been checked. `collapsed`: it is that of a
// suffix tree. `Trie` is a TrieView or a WideTrieView, `Count` the type of its counts.
template <class Trie, class Count>
void adjusted_counts(ThreadPool& pool, const Trie& trie, bool collapsed, std::span<Count> adjusted);

// How many entries of each order have an adjusted count of 1, 2, 3 and 4: [order].
template <class Trie, class Count>
std::vector<std::array<std::uint64_t, 4>> counts_of_counts(ThreadPool& pool, const Trie& trie,
                                                           std::span<const Count> adjusted);

}  // namespace loglinear::backoff
