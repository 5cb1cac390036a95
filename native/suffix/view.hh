// A suffix tree as flat arrays, checked; suffix/tree.hh describes them.
//
// Of the words of a class only those beyond its parent class are ever read, text[end - j] for j in (length of the
// parent, length of the class]: `text` may be a corpus, or hold these edges alone.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "trie/view.hh"

namespace loglinear::suffix {

struct SuffixTreeView {
  trie::TrieView trie;                                            // of classes
  std::span<const std::uint32_t> context_length, context_end;  // [n_contexts]
  std::span<const std::uint32_t> text;
  std::size_t order = 0;  // words of the longest n-gram

  // Word number j of class c, 1 the most recent.
  std::uint32_t word(std::size_t c, std::size_t j) const { return text[context_end[c] - j]; }

  // Throws InvalidInput unless the trie is one, lengths grow from parent to child up to order - 1, and the edges lie in
  // the text and begin with the words of their classes, which ascend among siblings.
  void check() const;
};

}  // namespace loglinear::suffix
