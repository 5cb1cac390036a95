// Binary files of KenLM: where each part of a file begins (Heafield, "KenLM: Faster and Smaller Language Model
// Queries", 2011, sections 3 and 4).
//
//     header       a line that names the format, test values, order, kind, numbers of n-grams
//     vocabulary   probing: a table from hashes of words to numbers; trie: hashes in order, a place is a number
//     n-grams      probing: unigrams by number, a table from hashes of n-grams to values for each higher order
//                  trie: tables of quantised values, unigrams, n-grams in packed bits for each higher order
//     words        each with a zero byte after it, <unk> first; optional
//
// A trie is reversed: the path to an n-gram begins with its last word. Its n-grams of an order are in the order of their
// paths; the children of one are a run of the next order, from the position stored with it to that stored with the one
// after it. Array compression moves the high bits of these positions to a table of the places where they change.
#pragma once
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace loglinear::kenlm {

inline constexpr std::size_t kMostOrder = 32;

enum class Kind : std::uint32_t {
  kProbing = 0, kRestProbing = 1, kTrie = 2, kQuantisedTrie = 3, kArrayTrie = 4, kQuantisedArrayTrie = 5
};

template <class T>
T load(const std::uint8_t* at) {  // the file is little-endian, and nothing in it need be aligned
  static_assert(std::endian::native == std::endian::little, "KenLM's files are read on little-endian machines");
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

// n-grams of one order in packed bits: word, values, and the position of the first child where there is a next order.
struct PackedOrder {
  std::uint64_t at = 0;     // of the first bit, in bytes of the file
  std::uint64_t count = 0;  // n-grams; for an order with children there is one record more, the end of the last run
  unsigned word_bits = 0, value_bits = 0, next_bits = 0;
  std::uint64_t changes_at = 0, n_changes = 0;  // the table of array compression

  unsigned bits() const { return word_bits + value_bits + next_bits; }
};

struct Layout {
  Kind kind = Kind::kProbing;
  std::size_t order = 0;
  std::vector<std::uint64_t> counts;  // [order]
  bool has_words = false;
  std::uint64_t vocabulary_at = 0;     // of the table or the hashes
  std::uint64_t vocabulary_slots = 0;  // of the table; hashes
  std::uint32_t n_words = 0;           // numbers are below this; <unk> is 0
  std::uint64_t unigrams_at = 0;
  struct Table {
    std::uint64_t at = 0, slots = 0;
  };
  std::vector<Table> tables;         // [order - 1] of probing, from order 2
  std::vector<PackedOrder> packed;   // [order - 1] of a trie, from order 2
  unsigned probability_bits = 0, backoff_bits = 0;  // where values are quantised
  std::vector<std::uint64_t> probability_at, backoff_at;  // [order - 1] tables of values, from order 2
  std::uint64_t words_at = 0;        // the end of what the header promises

  bool is_probing() const { return kind == Kind::kProbing || kind == Kind::kRestProbing; }
  bool is_quantised() const { return kind == Kind::kQuantisedTrie || kind == Kind::kQuantisedArrayTrie; }
  bool is_array() const { return kind == Kind::kArrayTrie || kind == Kind::kQuantisedArrayTrie; }
  std::size_t unigram_size() const { return kind == Kind::kProbing ? 8 : kind == Kind::kRestProbing ? 12 : 16; }
  std::size_t slot_size(std::size_t n) const { return n == order ? 12 : kind == Kind::kProbing ? 16 : 20; }
};

bool is_binary(std::span<const std::uint8_t> file);  // it says so in its first bytes

// Throws InvalidInput unless the file is one of KenLM's, complete, and every part lies inside it.
Layout read_layout(std::span<const std::uint8_t> file);

// ---- writing -----------------------------------------------------------------------------------------------------
struct TrieSettings {
  unsigned probability_bits = 0, backoff_bits = 0;  // 0: exact
  unsigned array_bits = 0;                          // the most bits that array compression moves; 0: none
};

// The layout of a trie with these numbers of n-grams, <unk> and <s> among the first.
Layout trie_layout(std::span<const std::uint64_t> counts, TrieSettings settings);
std::vector<std::uint8_t> header_of(const Layout& layout);

unsigned bits_for(std::uint64_t largest);
std::uint64_t hash_word(const char* data, std::size_t size);  // MurmurHash64A (Appleby), seed 0

}  // namespace loglinear::kenlm
