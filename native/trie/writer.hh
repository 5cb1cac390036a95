// Sorted n-grams to the levels of a trie, in one pass.
//
// N-grams (history, word, count) come sorted by the history, most recent word first, then by the word; a history is of
// length order - 1, or shorter and then ends in `<s>`, its oldest word. The contexts that the current history passes
// through are open. An n-gram is an entry of the longest; when a context is closed, the entries of its children, which
// are the last of their level, are merged by word into entries of its own and learn who their parents are. So every
// column of every level is written from front to back, and can be a vector or a file.
//
// A Column has size(), push_back(value) and blocks(begin, end, use), which calls use(span) for consecutive pieces. Words
// and numbers of a level have 32 bits; counts have those of the column they are in.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "util/radix_sort.hh"

namespace loglinear::trie {

// The contexts of one length and their entries. Numbers count from the first of the level.
template <class Column, class CountColumn = Column>
struct TrieLevel {
  Column context_word;   // the oldest
  Column context_child;  // first child, in the next level
  Column context_entry;  // first entry
  CountColumn context_count;
  Column entry_word;
  Column entry_parent;  // in the level before; not written for contexts of one word, whose parents are the words
  CountColumn entry_count;
};

// What is open, one context per level, and the columns of the levels.
template <class Level>
class LevelWriter {
 public:
  using Count = typename decltype(Level::entry_count)::value_type;
  LevelWriter(std::span<Level> levels, std::size_t n_words, std::vector<Count>& slots)
      : levels_(levels), n_words_(n_words), open_(levels.size() + 1), slots_(slots) {}

  // Levels that were moved, or have become more.
  void set_levels(std::span<Level> levels) {
    levels_ = levels;
    open_.resize(levels.size() + 1);
  }

  std::size_t depth() const { return depth_; }  // contexts that are open

  // A context below the last that is open; there must be a level for it.
  void open(std::uint32_t word) {
    Level& level = levels_[depth_++];
    const bool deepest = depth_ == levels_.size();
    const std::size_t child = deepest ? 0 : levels_[depth_].context_word.size();
    open_[depth_] = {deepest ? 0 : levels_[depth_].entry_word.size(), child, 0};
    level.context_word.push_back(word);
    level.context_child.push_back(static_cast<std::uint32_t>(child));
    level.context_entry.push_back(static_cast<std::uint32_t>(level.entry_word.size()));
  }

  // An entry of the context opened last, which must have no children; words ascend.
  void entry(std::uint32_t word, Count count) {
    Level& level = levels_[depth_ - 1];
    level.entry_word.push_back(word);
    level.entry_count.push_back(count);
    open_[depth_].count += count;
  }

  // Closes all but the first `n`; that opened last must have got its entries.
  void close(std::size_t n) {
    for (bool leaf = true; depth_ > n; --depth_, leaf = false) {
      if (!leaf) merge();
      levels_[depth_ - 1].context_count.push_back(open_[depth_].count);
      open_[depth_ - 1].count += open_[depth_].count;
    }
  }

 private:
  struct Open {
    std::size_t first_entry = 0;  // of its children
    std::size_t first_child = 0;
    Count count = 0;
  };
  static constexpr std::size_t kDense = 8;  // a table of all words is cheaper than sorting V / 8 words

  // The entries of the children of the longest open context become its own.
  void merge() {
    Level &children = levels_[depth_], &own = levels_[depth_ - 1];
    const std::size_t begin = open_[depth_].first_entry, end = children.entry_word.size();
    if (children.context_word.size() == open_[depth_].first_child + 1)
      copy(children, own, begin, end);
    else if ((end - begin) * kDense >= n_words_)
      merge_by_table(children, own, begin, end);
    else
      merge_by_sorting(children, own, begin, end);
  }

  void copy(Level& children, Level& own, std::size_t begin, std::size_t end) {
    auto next = static_cast<std::uint32_t>(own.entry_word.size());
    children.entry_word.blocks(begin, end, [&](std::span<const std::uint32_t> words) {
      for (const std::uint32_t word : words) {
        own.entry_word.push_back(word);
        children.entry_parent.push_back(next++);
      }
    });
    children.entry_count.blocks(begin, end, [&](std::span<const Count> counts) {
      for (const Count count : counts) own.entry_count.push_back(count);
    });
  }

  void merge_by_sorting(Level& children, Level& own, std::size_t begin, std::size_t end) {
    const std::size_t n = end - begin;
    keys_.resize(n);
    counts_.resize(n);
    parents_.resize(n);
    std::size_t i = 0;
    children.entry_word.blocks(begin, end, [&](std::span<const std::uint32_t> words) {
      for (const std::uint32_t word : words) keys_[i] = std::uint64_t{word} << 32 | i, ++i;
    });
    i = 0;
    children.entry_count.blocks(begin, end, [&](std::span<const Count> counts) {
      for (const Count count : counts) counts_[i++] = count;
    });
    sort_by_key(std::span(keys_), word_bits(), spare_, [](std::uint64_t key) { return key >> 32; });
    for (std::size_t j = 0; j < n;) {
      const auto word = static_cast<std::uint32_t>(keys_[j] >> 32);
      const auto entry = static_cast<std::uint32_t>(own.entry_word.size());
      Count count = 0;
      for (; j < n && keys_[j] >> 32 == word; ++j) {
        const auto child = static_cast<std::uint32_t>(keys_[j]);
        count += counts_[child];
        parents_[child] = entry;
      }
      own.entry_word.push_back(word);
      own.entry_count.push_back(count);
    }
    for (const std::uint32_t parent : parents_) children.entry_parent.push_back(parent);
  }

  void merge_by_table(Level& children, Level& own, std::size_t begin, std::size_t end) {
    if (slots_.size() != n_words_) slots_.assign(n_words_, 0);
    std::size_t i = 0;
    counts_.resize(kBlock);
    for (std::size_t b = begin; b < end; b += kBlock) {
      const std::size_t e = b + kBlock < end ? b + kBlock : end;
      i = 0;
      children.entry_count.blocks(b, e, [&](std::span<const Count> counts) {
        for (const Count count : counts) counts_[i++] = count;
      });
      i = 0;
      children.entry_word.blocks(b, e, [&](std::span<const std::uint32_t> words) {
        for (const std::uint32_t word : words) slots_[word] += counts_[i++];
      });
    }
    const std::size_t first = own.entry_word.size();
    for (std::uint32_t word = 0; word < n_words_; ++word) {
      if (slots_[word] == 0) continue;
      own.entry_count.push_back(slots_[word]);
      slots_[word] = static_cast<Count>(own.entry_word.size());
      own.entry_word.push_back(word);
    }
    children.entry_word.blocks(begin, end, [&](std::span<const std::uint32_t> words) {
      for (const std::uint32_t word : words) children.entry_parent.push_back(static_cast<std::uint32_t>(slots_[word]));
    });
    own.entry_word.blocks(first, own.entry_word.size(), [&](std::span<const std::uint32_t> words) {
      for (const std::uint32_t word : words) slots_[word] = 0;
    });
  }

  unsigned word_bits() const { return static_cast<unsigned>(std::bit_width(n_words_)); }

  static constexpr std::size_t kBlock = 1 << 14;
  std::span<Level> levels_;
  std::size_t n_words_;
  std::size_t depth_ = 0;
  std::vector<Open> open_;
  std::vector<Count>& slots_;  // [V] zeros, or empty until first needed
  std::vector<std::uint64_t> keys_, spare_;
  std::vector<Count> counts_;
  std::vector<std::uint32_t> parents_;
};

// Levels are lengths.
template <class Level>
class TrieWriter {
 public:
  using Count = typename LevelWriter<Level>::Count;
  // levels[k - 1] receives the contexts of length k, up to order - 1 >= 1.
  TrieWriter(std::span<Level> levels, std::size_t n_words, std::vector<Count>& slots)
      : longest_(levels.size()), n_words_(n_words), writer_(levels, n_words, slots) {}

  // `shared`: the length of the history in common with the n-gram before. history(k) is its k-th word, 1 the most
  // recent; not called past `<s>`.
  template <class History>
  void add(std::size_t shared, History history, std::uint32_t word, Count count) {
    if (shared < writer_.depth() || writer_.depth() == 0) {
      writer_.close(shared);
      for (bool over = false; writer_.depth() < longest_ && !over;) {
        const std::uint32_t older = history(writer_.depth() + 1);
        writer_.open(older);
        over = older == n_words_;
      }
    }
    writer_.entry(word, count);
  }

  void finish() { writer_.close(0); }

 private:
  std::size_t longest_, n_words_;
  LevelWriter<Level> writer_;
};

}  // namespace loglinear::trie
