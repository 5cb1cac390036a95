// Bracketed trees, (S (NP (DT the) (NN dog)) (VP (VBZ barks))): bytes to arrays in pre-order and back.
//
// Trees may share a line or take many. A bracket holds a label and then either one word or brackets; only the outermost
// one may lack the label. Node v is followed by its descendants: its children are v + 1, then v + 1 + size[v + 1], ...
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "util/interner.hh"
#include "util/thread_pool.hh"

namespace loglinear::text {

inline constexpr std::size_t kMaxDepth = 2'000;  // nested brackets of one tree

struct BracketedTrees {
  std::vector<std::int64_t> tree_ptr{0};  // [n_trees + 1] nodes of each tree
  std::vector<std::int32_t> label;        // [n_nodes] numbers in `labels`
  std::vector<std::int32_t> word;         // [n_nodes] number in `words`; -1 for a node with children
  std::vector<std::int32_t> size;         // [n_nodes] nodes of the subtree, the node included
  PackedStrings labels, words;            // by first occurrence
};

// Throws ParseError with the line and, in its message, the number of the tree (from 1).
BracketedTrees read_brackets(ThreadPool& pool, std::span<const char> text, std::size_t chunk_bytes = 1 << 20);

// One tree per line. Throws InvalidInput for a label or word that could not be read back. The arrays are checked before.
std::vector<char> write_brackets(ThreadPool& pool, std::span<const std::int64_t> tree_ptr,
                                 std::span<const std::int32_t> label, std::span<const std::int32_t> word,
                                 std::span<const std::int32_t> size, Strings labels, Strings words);

}  // namespace loglinear::text
