// Sorts n-grams that come in any order into the layout of src/loglinear/data/ngram.py.
//
// Contexts are numbered level by level: the key of a context is (number of the context without its oldest word, oldest
// word), 64 bits that sort as the layout does; an entry's key is (number of its context, word). Levels need only be
// sorted where the n-grams do not come sorted, and the result does not depend on the number of threads.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "backoff/model.hh"

namespace loglinear::arpa {

enum LineKind : std::uint8_t { kIgnored = 0, kEntry = 1, kContext = 2 };  // or both

// N-grams of one order n.
struct NgramLines {
  std::vector<std::uint32_t> words;  // [n_lines][n], as they stand in a text; <s> only first
  std::vector<std::uint8_t> kind;    // [n_lines] LineKind

  std::size_t size() const { return kind.size(); }
};

struct PlacedLines {
  trie::OwnedShape shape;  // every unigram has an entry
  struct Numbers {
    std::vector<std::uint32_t> entry, context;  // [n_lines]; trie::kNowhere for what a line is not
  };
  std::vector<Numbers> lines;  // [order]
  struct Line {
    std::size_t order, line;
  };
  std::optional<Line> duplicate;  // the first line of the lowest order whose entry an earlier line has
};

// lines[n - 1] are those of order n. An entry's context is made where no line is one, and so are the contexts that a
// context ends in. Words must be below n_words, or n_words (<s>) as the first of an n-gram; all is checked.
PlacedLines place_lines(ThreadPool& pool, std::size_t n_words, std::span<const NgramLines> lines);

}  // namespace loglinear::arpa
