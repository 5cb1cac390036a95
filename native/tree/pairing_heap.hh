// Pairing heaps in flat arrays (Fredman, Sedgewick, Sleator and Tarjan 1986): blocks of weights that share a value, the
// largest value on top. Meld is constant; pop is amortised logarithmic and iterative. Blocks are numbers.
#pragma once
#include <cstdint>
#include <limits>

namespace loglinear::tree {

struct PairingHeap {
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  struct Block {
    double value, weight;
    std::uint32_t child, next;  // first child; next sibling
  };
  Block* block;

  std::uint32_t make(std::uint32_t b, double value, double weight) const {
    block[b] = {value, weight, kNone, kNone};
    return b;
  }

  std::uint32_t meld(std::uint32_t a, std::uint32_t b) const {
    if (a == kNone) return b;
    if (b == kNone) return a;
    const bool less = block[a].value < block[b].value;  // a coin toss: selected, not branched on
    const std::uint32_t above = less ? b : a, below = a ^ b ^ above;
    block[below].next = block[above].child;
    block[above].child = below;
    return above;
  }

  // The heap without its top: siblings are melded in pairs, then the pairs from last to first.
  std::uint32_t pop(std::uint32_t top) const {
    std::uint32_t pairs = kNone;
    for (std::uint32_t a = block[top].child; a != kNone;) {
      const std::uint32_t b = block[a].next;
      const std::uint32_t after = b == kNone ? kNone : block[b].next;
      const std::uint32_t pair = meld(a, b);
      block[pair].next = pairs;
      pairs = pair;
      a = after;
    }
    std::uint32_t heap = kNone;
    while (pairs != kNone) {
      const std::uint32_t after = block[pairs].next;
      heap = meld(heap, pairs);
      pairs = after;
    }
    return heap;
  }
};

}  // namespace loglinear::tree
