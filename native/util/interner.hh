// Strings and their numbers.
//
// A set of strings is one run of bytes and n + 1 offsets into it, so it can be written to a file and mapped back. Its
// index is a table of (hash, id) pairs with linear probing; the bytes are always compared, so that equal hashes cost
// time and never a wrong answer. An Interner owns its bytes and grows; a StringIndex looks things up in bytes it does
// not own.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "util/errors.hh"

namespace loglinear {

inline std::uint64_t mix_bits(std::uint64_t x) {  // a bijection in which every output bit depends on every input bit
  x = (x ^ (x >> 32)) * 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 29)) * 0xD6E8FEB86659FD93u;
  return x ^ (x >> 32);
}

inline std::uint64_t hash_bytes(std::string_view s) {
  const char* p = s.data();
  std::size_t n = s.size();
  std::uint64_t h = 0x9AE16A3B2F90404Fu + n, word = 0;
  for (; n > 8; p += 8, n -= 8) {
    std::memcpy(&word, p, 8);
    h = (h ^ word) * 0x9E3779B97F4A7C15u;
    h ^= h >> 31;
  }
  if (n >= 4) {  // two reads that may overlap
    std::uint32_t a, b;
    std::memcpy(&a, p, 4);
    std::memcpy(&b, p + n - 4, 4);
    word = std::uint64_t{a} << 32 | b;
  } else if (n > 0) {
    const auto byte = [&](std::size_t i) { return static_cast<std::uint64_t>(static_cast<unsigned char>(p[i])); };
    word = byte(0) << 16 | byte(n / 2) << 8 | byte(n - 1);
  } else {
    word = 0;
  }
  return mix_bits(h ^ word);
}

// Strings of a caller: string i is blob[offsets[i], offsets[i + 1]).
struct Strings {
  std::span<const char> blob;
  std::span<const std::int64_t> offsets;  // [n + 1]

  std::size_t size() const { return offsets.size() - 1; }
  std::string_view operator[](std::size_t i) const {
    return {blob.data() + offsets[i], static_cast<std::size_t>(offsets[i + 1] - offsets[i])};
  }

  // Throws InvalidInput unless every string lies inside the bytes and together they are all of them.
  void check() const {
    if (offsets.empty())
      throw InvalidInput("strings: offsets are empty; they need one entry more than there are strings");
    if (offsets.front() != 0 || offsets.back() != static_cast<std::int64_t>(blob.size()))
      throw InvalidInput("strings: offsets must start at 0 and end at the number of bytes");
    for (std::size_t i = 0; i + 1 < offsets.size(); ++i)
      if (offsets[i + 1] < offsets[i] || offsets[i + 1] > offsets.back())
        throw InvalidInput("strings: offsets decrease at string " + std::to_string(i));
  }
};

// Strings that are owned, in the same layout.
struct PackedStrings {
  std::vector<char> blob;
  std::vector<std::int64_t> offsets{0};

  std::size_t size() const { return offsets.size() - 1; }
  operator Strings() const { return {blob, offsets}; }
  std::string_view operator[](std::size_t i) const { return Strings(*this)[i]; }
  void push_back(std::string_view s) {
    blob.insert(blob.end(), s.begin(), s.end());
    offsets.push_back(static_cast<std::int64_t>(blob.size()));
  }
};

// The chosen strings, in the order given.
inline PackedStrings gather(Strings strings, std::span<const std::int64_t> indices) {
  strings.check();
  PackedStrings result;
  result.offsets.reserve(indices.size() + 1);
  for (const std::int64_t i : indices) {
    if (i < 0 || static_cast<std::uint64_t>(i) >= strings.size())
      throw InvalidInput("string index " + std::to_string(i) + " is outside [0, " + std::to_string(strings.size()) +
                         ")");
    result.push_back(strings[static_cast<std::size_t>(i)]);
  }
  return result;
}

// Open addressing from a hash to an id; the caller says whether an id is the one meant. Half a hash is kept with each
// id, which is all that growing needs.
class HashSlots {
 public:
  static constexpr std::int32_t kNone = -1;
  static constexpr std::size_t kMaxIds = 0x7FFFFFFF;

  template <class Same>
  std::int32_t find(std::uint64_t hash, Same same) const {
    const Slot& slot = slots_[locate(hash, same)];
    return slot.id;
  }

  void prefetch(std::uint64_t hash) const { __builtin_prefetch(&slots_[fold(hash) & (slots_.size() - 1)]); }
  std::int32_t first_candidate(std::uint64_t hash) const { return slots_[fold(hash) & (slots_.size() - 1)].id; }

  // The id found, or `id` itself after it has been put in.
  template <class Same>
  std::int32_t find_or_add(std::uint64_t hash, std::int32_t id, Same same) {
    const std::size_t at = locate(hash, same);
    if (slots_[at].id != kNone) return slots_[at].id;
    if (used_ >= kMaxIds) throw InvalidInput("more than 2147483647 distinct strings");
    slots_[at] = {fold(hash), id};
    if (++used_ * 5 > slots_.size() * 3) grow(slots_.size() * 2);
    return id;
  }

  void reserve(std::size_t n) {
    std::size_t size = slots_.size();
    while (n * 5 >= size * 3) size *= 2;
    if (size > slots_.size()) grow(size);
  }

 private:
  struct Slot {
    std::uint32_t hash;
    std::int32_t id;
  };

  static std::uint32_t fold(std::uint64_t hash) { return static_cast<std::uint32_t>(hash >> 32); }

  template <class Same>
  std::size_t locate(std::uint64_t hash, Same same) const {
    const std::uint32_t folded = fold(hash);
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t at = folded & mask;; at = (at + 1) & mask) {
      const Slot& slot = slots_[at];
      if (slot.id == kNone || (slot.hash == folded && same(slot.id))) return at;
    }
  }

  void grow(std::size_t size) {
    std::vector<Slot> larger(size, Slot{0, kNone});
    const std::size_t mask = size - 1;
    for (const Slot& slot : slots_) {
      if (slot.id == kNone) continue;
      std::size_t at = slot.hash & mask;
      while (larger[at].id != kNone) at = (at + 1) & mask;
      larger[at] = slot;
    }
    slots_.swap(larger);
  }

  std::vector<Slot> slots_ = std::vector<Slot>(64, Slot{0, kNone});
  std::size_t used_ = 0;
};

// Numbers strings 0, 1, 2, ... in the order in which they are first seen.
class Interner {
 public:
  std::int32_t intern(std::string_view s) {
    const auto next = static_cast<std::int32_t>(strings_.size());
    const auto same = [&](std::int32_t i) { return strings_[static_cast<std::size_t>(i)] == s; };
    const std::int32_t id = slots_.find_or_add(hash_bytes(s), next, same);
    if (id == next) strings_.push_back(s);
    return id;
  }
  const PackedStrings& strings() const { return strings_; }
  PackedStrings take() && { return std::move(strings_); }

 private:
  PackedStrings strings_;
  HashSlots slots_;
};

// Looks strings up in a caller's set, which must outlive the index. The set is checked, and refused if a string is
// there twice.
class StringIndex {
  auto same(std::string_view s) const {
    return [this, s](std::int32_t i) { return strings_[static_cast<std::size_t>(i)] == s; };
  }

 public:
  explicit StringIndex(Strings strings) : strings_(strings) {
    strings_.check();
    if (strings_.size() > HashSlots::kMaxIds) throw InvalidInput("more than 2147483647 distinct strings");
    slots_.reserve(strings_.size());
    for (std::size_t i = 0; i < strings_.size(); ++i) {
      const std::string_view s = strings_[i];
      const auto id = static_cast<std::int32_t>(i);
      const std::int32_t first = slots_.find_or_add(hash_bytes(s), id, same(s));
      if (first != id)
        throw InvalidInput("strings " + std::to_string(first) + " and " + std::to_string(i) + " are the same");
    }
  }

  std::int32_t find(std::string_view s) const { return slots_.find(hash_bytes(s), same(s)); }  // -1: unknown

  // found(find(query(i))) for i in [0, n), in order. A look-up reads a slot, an offset and the string, each where the
  // one before says; taken a batch at a time, the waits for memory overlap.
  template <class Query, class Found>
  void find_each(std::size_t n, Query query, Found found) const {
    constexpr std::size_t kBatch = 32;
    std::uint64_t hashes[kBatch];
    std::int32_t likely[kBatch];
    for (std::size_t begin = 0; begin < n; begin += kBatch) {
      const std::size_t size = n - begin < kBatch ? n - begin : kBatch;
      for (std::size_t i = 0; i < size; ++i) slots_.prefetch(hashes[i] = hash_bytes(query(begin + i)));
      for (std::size_t i = 0; i < size; ++i) {
        likely[i] = slots_.first_candidate(hashes[i]);
        if (likely[i] >= 0) __builtin_prefetch(&strings_.offsets[static_cast<std::size_t>(likely[i])]);
      }
      for (std::size_t i = 0; i < size; ++i)
        if (likely[i] >= 0) __builtin_prefetch(strings_[static_cast<std::size_t>(likely[i])].data());
      for (std::size_t i = 0; i < size; ++i) found(slots_.find(hashes[i], same(query(begin + i))));
    }
  }

  void find_all(Strings queries, std::span<std::int32_t> out) const {
    queries.check();
    if (out.size() != queries.size()) throw InvalidInput("string look-up: out differs in length from the strings");
    std::int32_t* next = out.data();
    find_each(out.size(), [&](std::size_t i) { return queries[i]; }, [&](std::int32_t id) { *next++ = id; });
  }
  std::size_t size() const { return strings_.size(); }

 private:
  Strings strings_;
  HashSlots slots_;
};

}  // namespace loglinear
