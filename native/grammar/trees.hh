// Trees as arrays in pre-order (text/brackets.hh), their heads, and their binarisation, which undoes exactly.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "util/interner.hh"
#include "util/views.hh"

namespace loglinear::grammar {

inline constexpr std::size_t kMaxTreeDepth = 2'000;  // levels; what recurses over trees relies on it

struct Trees {
  std::span<const std::int64_t> tree_ptr;             // [n_trees + 1]
  std::span<const std::int32_t> label, word, size;    // [n_nodes]
  std::size_t n_labels, n_words;

  std::size_t n_trees() const { return tree_ptr.size() - 1; }
  std::size_t n_nodes() const { return label.size(); }
  std::int64_t next_sibling(std::int64_t v) const { return v + size[static_cast<std::size_t>(v)]; }
  // Throws InvalidInput unless every tree is one root whose subtrees fill it, words are leaves and leaves are words.
  void check() const;
};

// How the head of a constituent is found: the first child from the side of its label that has the first of the wanted
// labels that any child has; without one, the first from that side whose label begins with a letter.
struct HeadTable {
  std::span<const std::uint8_t> from_left;      // [n_labels]
  std::span<const std::int64_t> wanted_ptr;     // [n_labels + 1]
  std::span<const std::int32_t> wanted;         // labels, best first
  std::span<const std::uint8_t> is_word_like;   // [n_labels] whether the label begins with a letter
  std::int32_t possessed, possessive;           // NP and POS: a possessive at the end of an NP is its head; or -1
};

// out[v] = leaf (node number) that holds the head word of node v.
void find_heads(const Trees& trees, const HeadTable& table, std::span<std::int64_t> out);

struct Binarisation {
  bool right = true;             // whether what remains of a constituent is the right child
  std::int64_t horizontal = -1;  // siblings that a part of a constituent remembers; -1: all
  std::int64_t vertical = 1;     // labels in a symbol: 1 its own, 2 with the parent's, ...
  bool annotate_tags = false;    // whether tags have ancestors too
  std::span<const std::int32_t> head{};  // [n_nodes] label of every node's head, which its symbols then have; or empty
};

// Trees of symbols. Every node has a word, one child or two. Names of symbols begin with their kind:
//
//    r               the root, above everything
//    p A + B ^ P     top of a constituent: the labels of a unary chain but its last, or the one label of the
//                    constituent, which then is the only child; with ancestors
//    q A             the chain of one label over a constituent of the same label
//    b A ^ P         a constituent of two or more children
//    i A | C ~ D ^ P what remains of a constituent after the children C, D
//    t A             a tag
//
// p, q, b and i have @ H at their end where heads are annotated.
struct BinaryTrees {
  std::vector<std::int64_t> tree_ptr{0};
  std::vector<std::int32_t> symbol, word, size;
  PackedStrings symbols;
};

// `names` are the labels with special characters escaped.
BinaryTrees binarise(const Trees& trees, Strings names, const Binarisation& how);

enum SymbolKind : std::uint8_t { kRoot, kTop, kDoubledTop, kBottom, kIntermediate, kTag };

struct SymbolTable {
  std::span<const std::uint8_t> kind;        // [n_symbols]
  std::span<const std::int64_t> chain_ptr;   // [n_symbols + 1]
  std::span<const std::int32_t> chain;       // labels that a symbol stands for
  void check(std::size_t n_labels) const;
};

struct PlainTrees {
  std::vector<std::int64_t> tree_ptr{0};
  std::vector<std::int32_t> label, word, size;
};

// The trees of labels that trees of symbols stand for.
PlainTrees unbinarise(const Trees& trees, const SymbolTable& symbols);

}  // namespace loglinear::grammar
