// Cutting the contexts of a trie into chunks of similar work, whatever the number of threads, and finding parents.
//
// `Layout` is anything with the arrays context_start, context_child and context_entry of src/loglinear/data/ngram.py.
#pragma once
#include <algorithm>
#include <cstddef>
#include <vector>

#include "util/thread_pool.hh"

namespace loglinear::trie {

inline constexpr std::size_t kTrieChunk = 1 << 15;  // entries and contexts in a chunk

// Boundaries of the chunks of [first, last); `position(c)` counts the work before context c and never decreases.
template <class Position>
std::vector<std::size_t> cut_range(std::size_t first, std::size_t last, Position position) {
  std::vector<std::size_t> cuts{first};
  while (cuts.back() < last) {
    const std::size_t target = position(cuts.back()) + kTrieChunk;
    std::size_t low = cuts.back() + 1, high = last;
    while (low < high) {
      const std::size_t middle = low + (high - low) / 2;
      if (position(middle) < target) low = middle + 1;
      else high = middle;
    }
    cuts.push_back(low);
  }
  return cuts;
}

// Calls body(begin, end) for chunks of contexts of length k, cut by the size of their entries.
template <class Layout, class Body>
void for_contexts(ThreadPool& pool, const Layout& trie, std::size_t k, Body body) {
  const auto cuts = cut_range(static_cast<std::size_t>(trie.context_start[k]),
                              static_cast<std::size_t>(trie.context_start[k + 1]),
                              [&](std::size_t c) { return trie.context_entry[c] + c; });
  pool.run(cuts.size() - 1, [&](std::size_t chunk) { body(cuts[chunk], cuts[chunk + 1]); });
}

// The same, cut by the size of the entries of the contexts' children.
template <class Layout, class Body>
void for_contexts_by_children(ThreadPool& pool, const Layout& trie, std::size_t k, Body body) {
  const auto cuts = cut_range(static_cast<std::size_t>(trie.context_start[k]),
                              static_cast<std::size_t>(trie.context_start[k + 1]),
                              [&](std::size_t c) { return trie.context_entry[trie.context_child[c]] + c; });
  pool.run(cuts.size() - 1, [&](std::size_t chunk) { body(cuts[chunk], cuts[chunk + 1]); });
}

// The context without its oldest word, of a context c of length k > 0.
template <class Layout>
std::size_t parent_context(const Layout& trie, std::size_t k, std::size_t c) {
  const auto first = trie.context_child.begin() + trie.context_start[k - 1];
  const auto last = trie.context_child.begin() + trie.context_start[k];
  return static_cast<std::size_t>(std::upper_bound(first, last, c) - trie.context_child.begin()) - 1;
}

// Calls body(parent, c) for the contexts [begin, end) of length k > 0, in order.
template <class Layout, class Body>
void with_parents(const Layout& trie, std::size_t k, std::size_t begin, std::size_t end, Body body) {
  if (begin == end) return;
  std::size_t parent = parent_context(trie, k, begin);
  for (std::size_t c = begin; c < end; ++c) {
    while (trie.context_child[parent + 1] <= c) ++parent;
    body(parent, c);
  }
}

}  // namespace loglinear::trie
