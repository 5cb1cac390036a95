// Tries derived from tries: without rare n-grams, and extended by the n-grams of a model.
//
// Both keep the trie closed: every entry (h, w) of a context that has an oldest word has its parent, the entry of w
// after h without that word.
#pragma once
#include <cstdint>
#include <span>

#include "trie/build.hh"
#include "trie/view.hh"

namespace loglinear::trie {

// Drops the entries of order n >= 2 with counts below min_counts[n - 1] [order], and contexts that are left without
// entries. Counts of contexts stay. Throws InvalidInput for cut-offs that decrease with the order.
TrieArrays cut_trie(const TrieView& trie, std::span<const std::uint64_t> min_counts);

// The union of a trie and the n-grams of a back-off model over the same words, with count 0 where they are not in the
// trie; of its order or the model's, whichever is higher. Contexts of the model without entries, and none below them,
// are left out. `model` has no counts and no parents.
TrieArrays extend_trie(const TrieView& trie, const TrieView& model);

}  // namespace loglinear::trie
