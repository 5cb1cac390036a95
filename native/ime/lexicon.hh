// A lexicon for input methods: which words have which readings.
//
// Readings are sorted by their bytes, and the words of one reading are a run of *lexemes*: a lexeme is a reading and a
// word that can be written for it, weighted by log p(reading | word). A trie over the characters of all readings finds
// every reading that begins at a place of a text.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "util/interner.hh"

namespace loglinear::ime {

inline constexpr std::uint32_t kNoReading = 0xFFFFFFFFu;
inline constexpr std::uint32_t kNoWord = 0xFFFFFFFFu;

// Tokens `surface|reading`, each given once, taken apart at the first '|' behind the first byte (so that the sign
// itself can be a word: "|||").
struct SplitTokens {
  std::int64_t malformed = -1;             // the first without a '|', a surface or a reading; the rest is then empty
  PackedStrings surfaces, readings;  // distinct, by first occurrence
  std::vector<std::int32_t> surface, reading;  // [n_tokens]
};
SplitTokens split_tokens(Strings tokens);

// A view of caller-owned arrays; kernels trust it once it has been checked.
struct LexiconArrays {
  Strings surfaces, readings;           // distinct; readings ascend by bytes, are UTF-8 and have no blanks
  std::span<const std::int64_t> reading_ptr;  // [n_readings + 1] lexemes of each reading
  std::span<const std::uint32_t> surface;     // [n_lexemes], ascending within a reading
  std::span<const float> log_channel;         // [n_lexemes] log p(reading | surface), at most 0
  std::span<const std::uint32_t> word;        // [n_surfaces] number in the language model, or kNoWord

  std::size_t n_lexemes() const { return surface.size(); }

  // Throws InvalidInput unless all of the above holds and every word is below n_words or none.
  void check(std::size_t n_words) const;
};

// Every node is the beginning of a reading; the root is 0.
class ReadingTrie {
 public:
  ReadingTrie() = default;
  explicit ReadingTrie(Strings readings);

  static constexpr std::uint32_t kNone = 0xFFFFFFFFu;
  std::uint32_t child(std::uint32_t node, std::uint32_t character) const {
    const std::uint64_t key = std::uint64_t{node} << 21 | character;
    for (std::size_t at = mix_bits(key) & mask_;; at = (at + 1) & mask_)
      if (arcs_[at].key == key || arcs_[at].node == kNone) return arcs_[at].node;
  }
  std::uint32_t reading(std::uint32_t node) const { return reading_[node]; }  // kNoReading: only a beginning

 private:
  struct Arc {
    std::uint64_t key = ~std::uint64_t{0};
    std::uint32_t node = kNone;
  };
  std::uint32_t add(std::uint32_t node, std::uint32_t character);
  void grow();

  std::vector<Arc> arcs_ = std::vector<Arc>(16);
  std::size_t mask_ = 15;
  std::vector<std::uint32_t> reading_{kNoReading};  // [n_nodes]
};

}  // namespace loglinear::ime
