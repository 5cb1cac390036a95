// SplitMix64 (Steele, Lea and Flood 2014): a stream of its own for every sequence costs one word.
#pragma once
#include <cstdint>

#include "util/interner.hh"

namespace loglinear {

class Random {
 public:
  Random(std::uint64_t seed, std::uint64_t stream) : state_(mix_bits(seed + mix_bits(stream + 1))) {}
  double uniform() {  // [0, 1)
    state_ += 0x9E3779B97F4A7C15u;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
  }

 private:
  std::uint64_t state_;
};

}  // namespace loglinear
