// Suffix trees with weights: expansion to the n-grams that they stand for, and packing to what must be stored.
//
// Packing keeps the unigrams, the entries with a weight other than zero and their ancestors, and the classes that have
// such entries. Trees must have been checked.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "suffix/tree.hh"
#include "suffix/view.hh"

namespace loglinear::suffix {

struct ExpandedTree {
  trie::TrieArrays trie;              // of n-grams, up to the longest that is kept
  std::vector<double> weights;  // [n_entries]
};

// An entry of a class becomes one n-gram for each length of the class, with the same weight and counts. Throws
// InvalidInput where the n-grams are longer than a back-off model may have them, or more than fit 32 bits.
ExpandedTree expand(const SuffixTreeView& tree, std::span<const double> x);

// A tree that is kept, in arrays that say each thing once: contexts in the order of their numbers, level by level.
struct PackedTree {
  std::vector<std::uint32_t> n_children, n_entries, edge_length;  // of each class, the empty context first
  std::vector<std::uint32_t> edges;       // the words that each class adds to its parent, the most recent first
  std::vector<std::uint32_t> entry_word;  // of all entries but the unigrams
  std::vector<double> weights;            // of all entries
};

// Classes that are the only one kept below their parent, with the same words and the same weights, are joined to it:
// all contexts of a path on which weights are constant become one class.
PackedTree pack(const SuffixTreeView& tree, std::span<const double> x);

// The tree of a packed one, with counts of zero and the edges for its text. Throws InvalidInput unless every number
// makes sense: nothing is trusted.
SuffixTreeArrays unpack(const PackedTree& packed, std::size_t n_words);

}  // namespace loglinear::suffix
