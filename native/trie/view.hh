// The n-gram trie as flat arrays; src/loglinear/data/ngram.py describes the layout.
#pragma once
#include <cstdint>
#include <span>

namespace loglinear::trie {

inline constexpr std::uint32_t kNoWord = 0xFFFFFFFFu;
inline constexpr std::size_t kMaxLevels = 4096;  // of contexts, the empty one counted: what sweeps may nest to

struct TrieView {
  std::size_t order = 0, n_words = 0;
  std::span<const std::int64_t> context_start;   // [order + 1]
  std::span<const std::int64_t> entry_start;     // [order + 1]
  std::span<const std::uint32_t> context_word;   // [n_contexts]
  std::span<const std::uint32_t> context_child;  // [n_contexts + 1]
  std::span<const std::uint32_t> context_entry;  // [n_contexts + 1]
  std::span<const std::uint32_t> context_count;  // [n_contexts]
  std::span<const std::uint32_t> entry_word;     // [n_entries]
  std::span<const std::uint32_t> entry_parent;   // [n_entries]
  std::span<const std::uint32_t> entry_count;    // [n_entries]

  std::size_t n_contexts() const { return context_word.size(); }
  std::size_t n_entries() const { return entry_word.size(); }
};

}  // namespace loglinear::trie
