// Look-ups in the two kinds of structures. Internal to the folder.
#pragma once
#include <algorithm>

#include "kenlm/model.hh"
#include "util/errors.hh"

namespace loglinear::kenlm {

struct Value {
  float log10, backoff;
};

[[noreturn]] inline void refuse_damage() {
  throw InvalidInput("KenLM binary file: it is damaged: a position or a value in it is impossible; fetch it again");
}

inline float with_sign(std::uint32_t bits) { return std::bit_cast<float>(bits | 0x80000000u); }
// A back-off of -0 marks an n-gram that no longer one begins with.
inline bool is_context(float backoff) { return std::bit_cast<std::uint32_t>(backoff) != 0x80000000u; }

// Hash tables with linear probing; the hash of an n-gram stands for it.
class ProbingSearch {
 public:
  using Node = std::uint64_t;  // the hash of the n-gram so far

  ProbingSearch(std::span<const std::uint8_t> file, const Layout& layout) : file_(file), layout_(layout) {}

  Value unigram(std::uint32_t word, Node& node, bool& extends) const {
    if (word >= layout_.n_words) refuse_damage();
    node = word;
    return value(&file_[layout_.unigrams_at + std::uint64_t{word} * layout_.unigram_size()], extends);
  }
  bool middle(std::size_t n, std::uint32_t word, Node& node, Value& v, bool& extends) const {
    const std::uint8_t* const at = find(n, node = combined(node, word));
    if (at) v = value(at, extends);
    return at != nullptr;
  }
  bool longest(std::uint32_t word, const Node& node, float& log10) const {
    const std::uint8_t* const at = find(layout_.order, combined(node, word));
    if (at) log10 = load<float>(at);
    return at != nullptr;
  }

  // The bytes after the key; null where no slot has it.
  static const std::uint8_t* find(const std::uint8_t* table, std::uint64_t slots, std::size_t size, std::uint64_t key) {
    std::uint64_t at = key % slots;
    for (std::uint64_t tried = 0; tried < slots; ++tried) {
      const std::uint8_t* const slot = table + at * size;
      const auto found = load<std::uint64_t>(slot);
      if (found == key) return slot + 8;
      if (found == 0) return nullptr;
      if (++at == slots) at = 0;
    }
    return nullptr;
  }

 private:
  static std::uint64_t combined(std::uint64_t node, std::uint32_t word) {
    return node * 8978948897894561157u ^ (std::uint64_t{1} + word) * 17894857484156487943u;
  }
  const std::uint8_t* find(std::size_t n, std::uint64_t key) const {
    const Layout::Table& table = layout_.tables[n - 2];
    return find(&file_[table.at], table.slots, layout_.slot_size(n), key);
  }
  static Value value(const std::uint8_t* at, bool& extends) {
    const auto bits = load<std::uint32_t>(at);
    extends = bits >> 31 == 0;
    return {with_sign(bits), load<float>(at + 4)};
  }

  std::span<const std::uint8_t> file_;
  const Layout& layout_;
};

// A reversed trie in packed bits.
class TrieSearch {
 public:
  struct Node {
    std::uint64_t first, last;  // its children are [first, last) of the next order
  };

  TrieSearch(std::span<const std::uint8_t> file, const Layout& layout) : file_(file), layout_(layout) {}

  Value unigram(std::uint32_t word, Node& node, bool& extends) const {
    if (word >= layout_.n_words) refuse_damage();
    const std::uint8_t* const at = &file_[layout_.unigrams_at + std::uint64_t{word} * 16];
    node = {load<std::uint64_t>(at + 8), load<std::uint64_t>(at + 24)};
    extends = checked(node, layout_.packed[0]);
    return {load<float>(at), load<float>(at + 4)};
  }
  bool middle(std::size_t n, std::uint32_t word, Node& node, Value& v, bool& extends) const {
    const PackedOrder& p = layout_.packed[n - 2];
    const std::uint64_t i = find(p, node, word);
    if (i == node.last) return false;
    v = value(n, i);
    node = children(n, i);
    extends = node.first != node.last;
    return true;
  }
  bool longest(std::uint32_t word, const Node& node, float& log10) const {
    const std::uint64_t i = find(layout_.packed.back(), node, word);
    if (i == node.last) return false;
    log10 = value(layout_.order, i).log10;
    return true;
  }

  std::uint32_t word(std::size_t n, std::uint64_t i) const {
    const PackedOrder& p = layout_.packed[n - 2];
    return static_cast<std::uint32_t>(bits(p, i * p.bits(), p.word_bits));
  }
  Value value(std::size_t n, std::uint64_t i) const {
    const PackedOrder& p = layout_.packed[n - 2];
    const std::uint64_t at = i * p.bits() + p.word_bits;
    const bool last = n == layout_.order;
    if (!layout_.is_quantised()) {
      const auto log10 = static_cast<std::uint32_t>(bits(p, at, 31));
      const auto backoff = last ? 0u : static_cast<std::uint32_t>(bits(p, at + 31, 32));
      return {with_sign(log10), std::bit_cast<float>(backoff)};
    }
    const unsigned skipped = last ? 0 : layout_.backoff_bits;
    const std::uint64_t q = bits(p, at + skipped, layout_.probability_bits);
    const float log10 = load<float>(&file_[layout_.probability_at[n - 2] + 4 * q]);
    if (last) return {log10, 0.0f};
    return {log10, load<float>(&file_[layout_.backoff_at[n - 2] + 4 * bits(p, at, layout_.backoff_bits)])};
  }
  Node children(std::size_t n, std::uint64_t i) const {
    const PackedOrder& p = layout_.packed[n - 2];
    const std::uint64_t at = i * p.bits() + p.word_bits + p.value_bits;
    Node node{bits(p, at, p.next_bits), bits(p, at + p.bits(), p.next_bits)};
    if (p.n_changes > 0) {
      std::uint64_t k = changes_until(p, i);
      if (k == 0) refuse_damage();
      node.first |= (k - 1) << p.next_bits;
      while (k < p.n_changes && change(p, k) <= i + 1) ++k;
      node.last |= (k - 1) << p.next_bits;
    }
    checked(node, layout_.packed[n - 1]);
    return node;
  }

 private:
  static bool checked(const Node& node, const PackedOrder& next) {
    if (node.first > node.last || node.last > next.count) refuse_damage();
    return node.first != node.last;
  }
  // At most 57 bits; the eight bytes after the last record belong to its order.
  std::uint64_t bits(const PackedOrder& p, std::uint64_t at, unsigned n) const {
    return load<std::uint64_t>(&file_[p.at + at / 8]) >> at % 8 & ((std::uint64_t{1} << n) - 1);
  }
  std::uint64_t change(const PackedOrder& p, std::uint64_t k) const {
    return load<std::uint64_t>(&file_[p.changes_at + 8 * k]);
  }
  // How many changes are at or before a record.
  std::uint64_t changes_until(const PackedOrder& p, std::uint64_t i) const {
    std::uint64_t low = 0, high = p.n_changes;
    while (low < high) {
      const std::uint64_t middle = low + (high - low) / 2;
      if (change(p, middle) <= i) low = middle + 1;
      else high = middle;
    }
    return low;
  }
  // The record of a word among [first, last), by interpolation, then bisection; node.last where there is none.
  std::uint64_t find(const PackedOrder& p, const Node& node, std::uint64_t word) const {
    std::uint64_t low = node.first, high = node.last, least = 0, most = layout_.counts[0];
    if (word > most) return node.last;
    for (int step = 0; low < high; ++step) {
      const std::uint64_t width = high - low;
      const bool guess = step < 8 && width >> 32 == 0;
      const std::uint64_t at = low + (guess ? (word - least) * width / (most - least + 1) : width / 2);
      const std::uint64_t found = bits(p, at * p.bits(), p.word_bits);
      if (found == word) return at;
      if (found < word) low = at + 1, least = found + 1;
      else high = at, most = found - 1;
    }
    return node.last;
  }

  std::span<const std::uint8_t> file_;
  const Layout& layout_;
};

}  // namespace loglinear::kenlm
