// Levels of contexts written by many threads (trie/writer.hh), joined to one trie.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "trie/build.hh"
#include "trie/writer.hh"
#include "util/errors.hh"
#include "util/pages.hh"
#include "util/thread_pool.hh"

namespace loglinear::trie {

// A column in memory.
struct MemoryColumn : Pages<std::uint32_t> {
  template <class Use>
  void blocks(std::size_t begin, std::size_t end, Use use) const {
    use(std::span<const std::uint32_t>(data() + begin, end - begin));
  }
};

// Where the contexts (or entries) of each level and chunk begin in the whole.
class Numbering {
 public:
  template <class Level, class Owner>
  Numbering(const std::vector<std::vector<Level>>& chunks, std::size_t order, std::size_t n_first,
            MemoryColumn Owner::*column)
      : first_(order, std::vector<std::size_t>(chunks.size() + 1, n_first)) {
    for (std::size_t k = 1; k < order; ++k) {
      first_[k][0] = first_[k - 1].back();
      for (std::size_t c = 0; c < chunks.size(); ++c)
        first_[k][c + 1] = first_[k][c] + (chunks[c][k - 1].*column).size();
    }
    if (size() > kMaxNumber)
      throw InvalidInput("trie: more than 4294967294 n-grams; use a lower order, cut-offs or less text");
  }
  std::size_t operator()(std::size_t k, std::size_t chunk) const { return first_[k][chunk]; }
  std::size_t size() const { return first_.back().back(); }
  std::vector<std::int64_t> starts() const {
    std::vector<std::int64_t> result{0};
    for (const auto& level : first_) result.push_back(static_cast<std::int64_t>(level.back()));
    return result;
  }

 private:
  std::vector<std::vector<std::size_t>> first_;  // [order][n_chunks + 1]; level 0 is one context and V entries
};

// The levels of all chunks, one after the other. Each array is freed piece by piece as it is joined. `Level` is a
// TrieLevel of MemoryColumns, or more.
template <class Level>
class Joiner {
 public:
  Joiner(ThreadPool& pool, std::vector<std::vector<Level>>& chunks, std::size_t order, std::size_t n_words)
      : pool_(pool), chunks_(chunks), order_(order), contexts_(chunks, order, 1, &Level::context_word),
        entries_(chunks, order, n_words, &Level::entry_word) {}

  // All but the unigrams and the empty context.
  TrieArrays join() {
    const auto zero = [](std::size_t, std::size_t) { return std::size_t{0}; };
    TrieArrays trie;
    trie.context_start = contexts_.starts();
    trie.entry_start = entries_.starts();
    join_parents(trie.entry_parent);
    join_column(trie.entry_word, entries_, &Level::entry_word, zero);
    join_column(trie.entry_count, entries_, &Level::entry_count, zero);
    join_column(trie.context_word, contexts_, &Level::context_word, zero);
    join_column(trie.context_count, contexts_, &Level::context_count, zero);
    join_column(trie.context_entry, contexts_, &Level::context_entry, entries_, entries_.size());
    join_column(
        trie.context_child, contexts_, &Level::context_child,
        [&](std::size_t k, std::size_t c) { return k + 1 < order_ ? contexts_(k + 1, c) : contexts_.size(); },
        contexts_.size());
    return trie;
  }

  // A column of contexts that a trie has not; that of the empty context is 0.
  void join_contexts(Pages<std::uint32_t>& result, MemoryColumn Level::*column) {
    join_column(result, contexts_, column, [](std::size_t, std::size_t) { return std::size_t{0}; });
    result[0] = 0;
  }

 private:
  // result[numbering(k, c) + i] = column[i] + shift(k, c), with `last` after them.
  template <class Shift>
  void join_column(Pages<std::uint32_t>& result, const Numbering& numbering, MemoryColumn Level::*column,
                   Shift shift, std::optional<std::size_t> last = std::nullopt) {
    result.resize(numbering.size() + (last ? 1 : 0));
    if (last) result.back() = static_cast<std::uint32_t>(*last);
    for_each_piece([&](Level& level, std::size_t k, std::size_t c) {
      copy(level.*column, shift(k, c), result.data() + numbering(k, c));
      release(level.*column);
    });
  }

  void join_parents(Pages<std::uint32_t>& result) {
    result.resize(entries_.size());
    for_each_piece([&](Level& level, std::size_t k, std::size_t c) {
      if (k == 1) copy(level.entry_word, 0, result.data() + entries_(k, c));
      else copy(level.entry_parent, entries_(k - 1, c), result.data() + entries_(k, c));
      release(level.entry_parent);
    });
  }

  template <class Body>
  void for_each_piece(Body body) {
    pool_.run(chunks_.size(), [&](std::size_t c) {
      for (std::size_t k = 1; k < order_; ++k) body(chunks_[c][k - 1], k, c);
    });
  }

  static void copy(const MemoryColumn& from, std::size_t shift, std::uint32_t* to) {
    const auto add = static_cast<std::uint32_t>(shift);
    for (const std::uint32_t value : from) *to++ = value + add;
  }

  ThreadPool& pool_;
  std::vector<std::vector<Level>>& chunks_;
  std::size_t order_;
  Numbering contexts_, entries_;
};

// The unigrams and the empty context of a joined trie.
inline void write_root(TrieArrays& trie, std::span<const std::uint32_t> word_counts, std::size_t n_tokens) {
  for (std::size_t w = 0; w < word_counts.size(); ++w) {
    trie.entry_word[w] = static_cast<std::uint32_t>(w);
    trie.entry_parent[w] = kNowhere;
    trie.entry_count[w] = word_counts[w];
  }
  trie.context_word[0] = kNowhere;
  trie.context_count[0] = static_cast<std::uint32_t>(n_tokens);
  trie.context_entry[0] = 0;
  trie.context_child[0] = 1;
}

}  // namespace loglinear::trie
