// Queries of a binary file of KenLM, where it lies.
//
//     log10 p(w | state) = value(longest n-gram found) + sum of the back-offs of the longer contexts of the state
//
// Only the header is read when a file is opened. Every position that a query reads from the file is compared with the
// bounds of its part before it is used, every search ends, and a value that is no number is refused: a file may hold
// wrong probabilities, but no file makes a query read outside it. Numbers of words and sums in single precision are
// those of KenLM, so that its scores are reproduced.
#pragma once
#include <string_view>

#include "kenlm/layout.hh"

namespace loglinear::kenlm {

// The words that a prediction depends on, newest first, and the back-offs of their suffixes, shortest first.
struct State {
  std::uint32_t length = 0;
  std::uint32_t words[kMostOrder - 1];
  float backoff[kMostOrder - 1];

  State() = default;
  State(const State& other) { *this = other; }
  State& operator=(const State& other) {  // only what is there
    length = other.length;
    std::memmove(words, other.words, length * sizeof(std::uint32_t));
    std::memmove(backoff, other.backoff, length * sizeof(float));
    return *this;
  }
};
int compare(const State& a, const State& b);  // as KenLM orders them: by length, then by the bytes of the words

struct Score {
  float log10;
  std::uint32_t length;  // of the n-gram found
};

class Model {
 public:
  explicit Model(std::span<const std::uint8_t> file);  // which must outlive it

  const Layout& layout() const { return layout_; }
  std::span<const std::uint8_t> file() const { return file_; }
  std::uint32_t begin() const { return begin_; }  // the number of <s>; 0 where the file has none
  std::uint32_t end() const { return end_; }

  std::uint32_t number_of(std::string_view word) const;  // 0: unknown
  State begin_state() const;

  // `out`, which may be `in`, is the state after the word.
  Score score(const State& in, std::uint32_t word, State& out) const;

 private:
  std::span<const std::uint8_t> file_;
  Layout layout_;
  std::uint32_t begin_ = 0, end_ = 0;
};

// The words of a file, by number; InvalidInput where it has none, or not as many as it should.
std::vector<std::string_view> words_of(const Model& model);

// The n-grams of a trie, one order at a time.
struct ListedOrder {
  std::vector<std::uint32_t> words;          // [n][order] as they stand in a text
  std::vector<float> log10, log10_backoff;   // [n]; the second is empty for the highest order
};
std::vector<ListedOrder> list_ngrams(const Model& model);

}  // namespace loglinear::kenlm
