// The n-gram trie as flat arrays: the one view of it that counted tries, back-off models and queries share.
//
// src/loglinear/data/ngram.py describes the layout. A view is checked once, where it comes in; everything below then
// trusts it: loops over parents end, searches stay inside. What a trie has no use for is empty: back-off models have
// neither counts nor parents of entries, and there a context may have no entries and an entry no parent.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "util/thread_pool.hh"

namespace loglinear::trie {

inline constexpr std::uint32_t kNowhere = 0xFFFFFFFFu;  // no word, no context, no entry
inline constexpr std::size_t kMaxLevels = 4096;    // of contexts, the empty one counted: how deep sweeps may nest
inline constexpr std::size_t kHighestOrder = 255;  // of back-off models: a length of a context is stored in a byte

struct TrieView {
  std::size_t order = 0, n_words = 0;
  std::span<const std::int64_t> context_start;   // [order + 1]
  std::span<const std::int64_t> entry_start;     // [order + 1]
  std::span<const std::uint32_t> context_word;   // [n_contexts]
  std::span<const std::uint32_t> context_child;  // [n_contexts + 1]
  std::span<const std::uint32_t> context_entry;  // [n_contexts + 1]
  std::span<const std::uint32_t> context_count;  // [n_contexts] or empty
  std::span<const std::uint32_t> entry_word;     // [n_entries]
  std::span<const std::uint32_t> entry_parent;   // [n_entries] or empty
  std::span<const std::uint32_t> entry_count;    // [n_entries] or empty

  std::size_t n_contexts() const { return context_word.size(); }
  std::size_t n_entries() const { return entry_word.size(); }

  // Throws InvalidInput, whose message begins with `name`, unless starts and pointers ascend and meet as the layout
  // says, and every word has a unigram. Words, parents and counts are not looked at.
  void check_layout(const char* name) const;

  // The same for a back-off model, and that words ascend within a context and <s> is only ever its oldest word.
  void check_backoff(ThreadPool& pool) const;

  // The same for a closed trie with counts: every entry has its parent in the parent of its context.
  void check_closed() const;
  // Of it, what the entries of the contexts [begin, end) of length k must be, where those below are already checked.
  void check_entries(const char* name, std::size_t k, std::size_t begin, std::size_t end) const;

  // The context with one older word, the entry of a word; kNowhere where there is none.
  std::uint32_t child(std::uint32_t context, std::uint32_t word) const;
  std::uint32_t entry(std::uint32_t context, std::uint32_t word) const;
  // The same for words that come in ascending order: the search begins at `from`, which moves to where it ended.
  std::uint32_t entry_after(std::uint32_t& from, std::uint32_t context, std::uint32_t word) const;

  // The context without its oldest word, of every context: [n_contexts]; kNowhere for the empty one.
  std::vector<std::uint32_t> parents() const;
};

// A trie with counts whose numbers and counts are of type Position, as trie/merge.hh makes it.
template <class Position>
struct WideTrieView {
  std::size_t order = 0, n_words = 0;
  std::span<const std::int64_t> context_start, entry_start;
  std::span<const std::uint32_t> context_word;
  std::span<const Position> context_child, context_entry, context_count;
  std::span<const std::uint32_t> entry_word;
  std::span<const Position> entry_parent, entry_count;

  std::size_t n_contexts() const { return context_word.size(); }
  std::size_t n_entries() const { return entry_word.size(); }
};

// The arrays of a trie without counts.
struct OwnedShape {
  std::size_t order = 0, n_words = 0;
  std::vector<std::int64_t> context_start, entry_start;
  std::vector<std::uint32_t> context_word, context_child, context_entry, entry_word;

  operator TrieView() const {
    return {order, n_words, context_start, entry_start, context_word, context_child, context_entry, {}, entry_word,
            {},    {}};
  }
};

// All contexts and entries of either, of tries over the same words.
OwnedShape unite(const TrieView& a, const TrieView& b);

// For each context of `trie` the longest context of `model` that it ends in: [trie.n_contexts()].
std::vector<std::uint32_t> nearest_contexts(ThreadPool& pool, const TrieView& model, const TrieView& trie);

}  // namespace loglinear::trie
