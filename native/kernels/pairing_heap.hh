// Pairing heaps in flat arrays (Fredman, Sedgewick, Sleator and Tarjan 1986): blocks of weights that share a value, the
// largest value on top. Meld is constant; pop is amortised logarithmic and iterative. Blocks are numbers.
#pragma once
#include <cstdint>
#include <limits>
#include <utility>

namespace loglinear {

struct PairingHeap {
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  double *value, *weight;
  std::uint32_t *child, *next;  // first child; next sibling

  std::uint32_t make(std::uint32_t block, double v, double d) const {
    value[block] = v;
    weight[block] = d;
    child[block] = next[block] = kNone;
    return block;
  }

  std::uint32_t meld(std::uint32_t a, std::uint32_t b) const {
    if (a == kNone) return b;
    if (b == kNone) return a;
    if (value[a] < value[b]) std::swap(a, b);
    next[b] = child[a];
    child[a] = b;
    return a;
  }

  // The heap without its top: siblings are melded in pairs, then the pairs from last to first.
  std::uint32_t pop(std::uint32_t top) const {
    std::uint32_t pairs = kNone;
    for (std::uint32_t a = child[top]; a != kNone;) {
      const std::uint32_t b = next[a];
      const std::uint32_t after = b == kNone ? kNone : next[b];
      const std::uint32_t pair = meld(a, b);
      next[pair] = pairs;
      pairs = pair;
      a = after;
    }
    std::uint32_t heap = kNone;
    while (pairs != kNone) {
      const std::uint32_t after = next[pairs];
      heap = meld(heap, pairs);
      pairs = after;
    }
    return heap;
  }
};

}  // namespace loglinear
