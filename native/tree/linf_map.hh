// The proximal map of the tree-structured l-infinity norm (tree/linf.hh): two sweeps over a unit of a forest.
//
// Going up, every group takes its threshold k_g off the largest values of its subtree: they sink to the level r_g with
// sum_i d_i (u_i - r_g)_+ = k_g, d_i the weights of the squares; where sum d u <= k_g nothing is left. Going down,
// R_g = min(r_g, R_parent) and x_i = min(|z_i|, R_i) with the sign of z_i.
//
// Heap (Nelakanti et al. 2013, algorithm 4, corrected): the values of a subtree are blocks (value, weight) in a
// mergeable heap; those that sink become one block, so a block is taken off once per group that lowers it and
// O(n log n) is the bound. Most subtrees vanish: a node without blocks below it that vanishes writes 8 bytes of scratch
// and no heap. (Algorithm 3, by random pivots, is a baseline: baselines/tree_pivot.hh.)
#pragma once
#include <vector>

#include "tree/pairing_heap.hh"
#include "tree/prox.hh"

namespace loglinear::tree {

struct LinfPlace {
  double level;       // sum of d u of the children before
  std::uint32_t top;  // the heap below
};

struct LinfWork {
  std::vector<LinfPlace> places;
  std::vector<PairingHeap::Block> blocks;
  void reserve(std::size_t n) {
    if (places.size() >= n) return;
    places.resize(n);
    blocks.resize(n);
  }
  PairingHeap heap() { return {blocks.data()}; }
};

struct LinfCounts {
  bool merged;                             // count blocks, not values
  std::vector<std::uint32_t> above, held;  // values above a group's level; values in a block
};

template <class Forest, class Source>
struct LinfMap {
  static constexpr std::uint32_t kNone = PairingHeap::kNone;
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  const Forest& forest;
  Source source;
  LinfCounts* counts = nullptr;  // null: nobody asks for them

  void clear(const TreeUnit& unit, LinfWork& work, std::size_t first) const {
    std::fill_n(work.places.begin() + static_cast<std::ptrdiff_t>(first), unit.size + unit.n_slots,
                LinfPlace{0.0, kNone});
  }

  // Blocks have the numbers of places in `work`, `first` included, so that heaps of units meld in the crown.
  void up(const TreeUnit& unit, LinfWork& work, std::size_t first) const {
    LinfPlace* places = work.places.data() + first;
    const PairingHeap heap = work.heap();
    const Source from = source;
    forest.upward(unit, [=, this](std::size_t i, std::size_t place, std::size_t target) {
      const double u = std::fabs(from.centre(i)), spread = from.spread(i), k = from.penalty.groups.threshold(i);
      double& level = places[place].level;
      const std::uint32_t top = places[place].top;
      // The test sum d u <= k, times the step to avoid a division. It predicts badly, so it is decided early.
      if (level * spread + u <= k * spread) {
        level = 0.0;
        return;
      }
      const double d = from.weight(i), sum = level + d * u;
      const auto block = static_cast<std::uint32_t>(first + place);
      std::uint32_t below = kNone;
      if (k == 0.0) {
        level = kInfinity;
        below = u > 0.0 ? heap.meld(top, make(heap, block, u, d)) : top;
      } else if (top == kNone) {
        level = std::max(0.0, u - k * spread);
        if (level > 0.0) below = make(heap, block, level, d);
        if (counts) counts->above[place] = 1;
      } else {
        const bool pair = heap.block[top].child == kNone && !counts;
        below = pair ? sink_two(heap, top, block, u, d, k, level) : sink(heap, top, block, u, d, k, level);
      }
      if (below == kNone) return;  // where the sums said that something is left, it was rounding
      places[target].level += sum - k;
      places[target].top = heap.meld(places[target].top, below);
    });
  }

  std::uint32_t make(const PairingHeap& heap, std::uint32_t block, double u, double d) const {
    if (counts) counts->held[block] = 1;
    return heap.make(block, u, d);
  }

  // The same as `sink` for a heap of one block, the most frequent case.
  static std::uint32_t sink_two(const PairingHeap& heap, std::uint32_t rest, std::uint32_t block, double u, double d,
                                double k, double& level) {
    const PairingHeap::Block other = heap.block[rest];
    const bool own_first = u >= other.value;
    const double high = own_first ? u : other.value, low = own_first ? other.value : u;
    const double high_weight = own_first ? d : other.weight, low_weight = own_first ? other.weight : d;
    const double first = high * high_weight - k;
    if (first < high_weight * low) {
      const double weight = high_weight + low_weight;
      level = std::max(0.0, (first + low * low_weight) / weight);
      return level == 0.0 ? kNone : heap.make(block, level, weight);
    }
    level = first / high_weight;
    if (level == 0.0) return kNone;
    heap.make(rest, level, high_weight);
    if (low > 0.0) {
      heap.make(block, low, low_weight);
      heap.block[rest].child = block;
    }
    return rest;
  }

  // Takes k off the largest values of a heap and the node's own (u, d); returns the heap left, `level` gets theirs.
  std::uint32_t sink(const PairingHeap& heap, std::uint32_t rest, std::uint32_t block, double u, double d, double k,
                     double& level) const {
    double sum = 0.0, weight = 0.0;
    std::uint32_t merged = kNone, n_values = 0, n_blocks = 0;
    bool own = u > 0.0;
    for (;;) {
      const bool take_own = own && (rest == kNone || u >= heap.block[rest].value);
      if (!take_own && rest == kNone) break;
      const double value = take_own ? u : heap.block[rest].value;
      if (weight * value <= sum - k) break;
      const double by = take_own ? d : heap.block[rest].weight;
      sum += value * by;
      weight += by;
      ++n_blocks;
      if (take_own) {
        own = false;
        merged = block;
        ++n_values;
      } else {
        merged = rest;
        if (counts) n_values += counts->held[rest];
        rest = heap.pop(rest);
      }
    }
    level = std::max(0.0, (sum - k) / weight);
    if (counts) counts->above[block] = counts->merged ? n_blocks : n_values;
    if (level == 0.0) return kNone;
    if (own) rest = heap.meld(rest, make(heap, block, u, d));
    heap.make(merged, level, weight);
    if (counts) counts->held[merged] = n_values;
    return heap.meld(rest, merged);
  }

  double down(const TreeUnit& unit, LinfWork& work, std::size_t first) const {
    LinfPlace* places = work.places.data() + first;
    double largest = 0.0;
    places[unit.size].level = kInfinity;  // the slot of roots
    const Source from = source;
    forest.downward(unit, [=, &largest](std::size_t i, std::size_t place, std::size_t target) {
      const double own = std::min(places[place].level, places[target].level), z = from.centre(i);
      places[place].level = own;
      const double put = from.put(i, std::copysign(std::min(std::fabs(z), own), z) + 0.0);  // no -0
      if constexpr (Source::kMeasures) largest = std::max(largest, put);
      else (void)largest, (void)put;
    });
    return largest;
  }

  void join(LinfWork& work, std::size_t slot, std::size_t above) const {
    work.places[above].level += work.places[slot].level;
    work.places[above].top = work.heap().meld(work.places[above].top, work.places[slot].top);
  }
  void split(LinfWork& work, std::size_t slot, std::size_t above) const {
    work.places[slot].level = work.places[above].level;
  }
};

}  // namespace loglinear::tree
