// The n-grams after one word, growing: a block of an online language model (stream/tree.hh).
//
// The contexts that end in one word form a tree; h and vh that have always occurred together are one *class*, a node
// that stands for all lengths from its parent's + 1 to its own. A class names its words by an occurrence:
// text[end - 1], text[end - 2], ... (most recent first). Its entries (h, w) stand for as many equal n-grams.
//
// Layout as in src/loglinear/data/ngram.py, with levels of the tree for lengths of contexts: parents before children,
// the children of a context contiguous and ascending, so are its entries. A history that parts from a class splits it:
// the upper part gets copies of the entries, which changes no probability. Memory follows the number of classes and
// their entries. A Growth takes histories in; finish() restores the layout.
#pragma once
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "trie/view.hh"

namespace loglinear::stream {

struct OnlineBlock {
  std::vector<std::uint32_t> context_parent, context_length, context_end, context_count;  // [C]
  std::vector<std::uint32_t> context_word;         // [C] the word after the parent's, of the same occurrence
  std::vector<std::uint32_t> context_child{0};     // [C + 1]
  std::vector<std::uint32_t> context_entry{0};     // [C + 1]
  std::vector<std::uint32_t> entry_word, entry_parent, entry_count;  // [E]; parent kNowhere: a unigram
  std::vector<double> w, z;                        // [E] weights; the second sequence of the method
  std::uint64_t step = 0;                          // steps taken

  std::size_t n_contexts() const { return context_length.size(); }
  std::size_t n_entries() const { return entry_word.size(); }
  std::uint32_t length_above(std::uint32_t c) const {
    return context_parent[c] == trie::kNowhere ? 0 : context_length[context_parent[c]];
  }
  std::uint32_t multiplicity(std::uint32_t c) const { return context_length[c] - length_above(c); }

  // kNowhere where there is none.
  std::uint32_t find_child(std::uint32_t c, std::uint32_t word) const;
  std::uint32_t find_entry(std::uint32_t c, std::uint32_t word) const;

  // The contexts, shortest first, whose every word is in the history text[at - 1], ..., text[at - limit].
  void walk(std::span<const std::uint32_t> text, std::uint32_t at, std::uint32_t limit,
            std::vector<std::uint32_t>& path) const;
};

class OnlineGrowth {
 public:
  OnlineGrowth(OnlineBlock& block, std::span<const std::uint32_t> text, bool collapse);

  // One token: `word` after the `limit` words before position `at`, the first of which is the block's own.
  void insert(std::uint32_t at, std::uint32_t word, std::uint32_t limit);
  void finish();

 private:
  std::uint32_t child(std::uint32_t c, std::uint32_t word) const;
  std::uint32_t new_context(std::uint32_t parent, std::uint32_t length, std::uint32_t end, std::uint32_t count);
  std::uint32_t new_entry(std::uint32_t c, std::uint32_t word, std::uint32_t parent);
  std::uint32_t count_entry(std::uint32_t c, std::uint32_t word, std::uint32_t parent);
  void grow(std::uint32_t parent, std::uint32_t parent_entry, std::uint32_t at, std::uint32_t limit,
            std::uint32_t word);
  std::uint32_t split(std::uint32_t c, std::uint32_t length);
  std::uint32_t word_of(std::uint32_t c) const;
  std::vector<std::uint32_t> order_contexts(OnlineBlock& to) const;
  void move_entries(const std::vector<std::uint32_t>& order, OnlineBlock& to) const;
  void reset();

  OnlineBlock& block_;
  std::span<const std::uint32_t> text_;
  bool collapse_;
  std::uint32_t root_ = trie::kNowhere;
  std::uint32_t old_contexts_ = 0, old_entries_ = 0;  // in the layout; what is new comes after them
  std::unordered_map<std::uint64_t, std::uint32_t> children_, entries_;  // new ones by (context, word)
  std::vector<std::uint32_t> first_new_, next_new_;  // lists of new entries: [contexts] and [new entries]
};

}  // namespace loglinear::stream
