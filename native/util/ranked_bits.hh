// A set of numbers below n, and how many of them come before each: n / 7 bytes.
#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace loglinear {

class RankedBits {
 public:
  explicit RankedBits(std::size_t n = 0) : words_((n + 63) / 64 + 1, 0), before_(words_.size() / kBlock + 2, 0) {}

  void set(std::size_t i) { __atomic_fetch_or(&words_[i / 64], std::uint64_t{1} << (i % 64), __ATOMIC_RELAXED); }
  bool has(std::size_t i) const { return words_[i / 64] >> (i % 64) & 1; }

  void count() {  // once all are set, before `rank`
    for (std::size_t b = 0; b + 1 < before_.size(); ++b) {
      before_[b + 1] = before_[b];
      for (std::size_t i = b * kBlock; i < std::min((b + 1) * kBlock, words_.size()); ++i)
        before_[b + 1] += static_cast<std::uint64_t>(std::popcount(words_[i]));
    }
  }
  std::uint64_t rank(std::size_t i) const {
    std::uint64_t n = before_[i / 64 / kBlock];
    for (std::size_t j = i / 64 / kBlock * kBlock; j < i / 64; ++j)
      n += static_cast<std::uint64_t>(std::popcount(words_[j]));
    return n + static_cast<std::uint64_t>(std::popcount(words_[i / 64] & ((std::uint64_t{1} << (i % 64)) - 1)));
  }

 private:
  static constexpr std::size_t kBlock = 8;  // words
  std::vector<std::uint64_t> words_, before_;
};

}  // namespace loglinear
