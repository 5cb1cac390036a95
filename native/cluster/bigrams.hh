// Bigrams of a text in sparse form, seen from both of their words: all that clustering reads.
//
// Number 0, </s> of the vocabulary, stands for the boundary before, between and after sentences: the text is a ring in
// which every symbol is once a predecessor and once a successor, so that one count serves for both.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "trie/sort.hh"
#include "util/thread_pool.hh"

namespace loglinear::cluster {

inline constexpr std::size_t kMaxTokens = 0x7FFFFFFFu;  // counts are 32-bit integers

struct Neighbour {
  std::uint32_t word;
  std::int32_t count;
};

// The words beside each word: those of word w are at [start[w], start[w + 1]), in ascending order.
struct Neighbours {
  std::vector<std::int64_t> start;  // [n_words + 1]
  std::vector<Neighbour> entries;   // [n_bigrams]

  std::span<const Neighbour> of(std::size_t word) const {
    return {entries.data() + start[word], static_cast<std::size_t>(start[word + 1] - start[word])};
  }
};

struct Bigrams {
  std::size_t n_words = 0;          // the boundary, 0, counted
  std::vector<std::int32_t> count;  // [n_words]
  Neighbours after, before;         // (w, u) at w; (u, w) at w

  // The words but the boundary that occur, by falling count, ties by number.
  std::vector<std::uint32_t> by_count() const;
  // sum over w of N(w) log N(w)
  double word_term() const;
};

// Throws InvalidInput for sentences that are none, for the number 0 inside of them, and for too many tokens.
Bigrams count_bigrams(ThreadPool& pool, const trie::SentencesView& sentences);

// Checks that every word has a class below n_classes, and gives the boundary the class n_classes. Throws InvalidInput.
void check_labels(const Bigrams& bigrams, std::size_t n_classes, std::vector<std::uint32_t>& labels);

}  // namespace loglinear::cluster
