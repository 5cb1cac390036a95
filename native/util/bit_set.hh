// A set of small numbers as bits, and a hint that memory will be read soon.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace loglinear {

class BitSet {
 public:
  explicit BitSet(std::size_t n = 0) : words_((n + 63) / 64, 0) {}
  bool has(std::size_t i) const { return words_[i / 64] >> (i % 64) & 1; }
  void set(std::size_t i, bool value) {
    const std::uint64_t bit = std::uint64_t{1} << (i % 64);
    words_[i / 64] = value ? words_[i / 64] | bit : words_[i / 64] & ~bit;
  }

 private:
  std::vector<std::uint64_t> words_;
};

inline void prefetch(const void* address) {
#if defined(__GNUC__) || defined(__clang__)
  __builtin_prefetch(address);
#else
  (void)address;
#endif
}

}  // namespace loglinear
