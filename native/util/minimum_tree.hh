// The least of n keys, and the first place that has it, while a few keys change at a time.
//
// A tree of fan-out 16 over the keys: a node is the least of its sixteen children, which lie in two cache lines. After
// keys have changed only the nodes above them are recomputed, level by level, each once, and no higher than something
// changes. The root is the least key by induction over the levels, whatever the changes were; ties go to the first
// place because a search from the root takes the first child with the value of its parent.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "util/bit_set.hh"

namespace loglinear {

class MinimumTree {
 public:
  static constexpr double kNone = std::numeric_limits<double>::infinity();  // the key of a place that has none

  explicit MinimumTree(std::size_t n) {
    for (std::size_t size = std::max<std::size_t>(n, 1);; size = levels_.back().size() / kFan) {
      levels_.emplace_back((size + kFan - 1) / kFan * kFan, kNone);
      dirty_.emplace_back(levels_.back().size() / kFan, std::uint8_t{0});
      if (levels_.back().size() == kFan) break;
    }
  }

  // Keys may be changed freely; `update` says which, or `rebuild` that any may have.
  std::span<double> keys() { return levels_[0]; }

  void rebuild() {
    for (std::size_t level = 0; level + 1 < levels_.size(); ++level)
      for (std::size_t node = 0; node < dirty_[level].size(); ++node) levels_[level + 1][node] = least(level, node);
  }

  void update(std::span<const std::int32_t> places) {
    if (levels_.size() == 1) return;
    nodes_.clear();
    for (const std::int32_t place : places) mark(0, static_cast<std::size_t>(place) / kFan, nodes_);
    for (std::size_t level = 0; level + 1 < levels_.size() && !nodes_.empty(); ++level) {
      above_.clear();
      for (std::size_t i = 0; i < nodes_.size(); ++i) {
        if (i + kAhead < nodes_.size()) {
          const double* soon = levels_[level].data() + nodes_[i + kAhead] * kFan;
          prefetch(soon), prefetch(soon + kFan / 2);
        }
        const std::uint32_t node = nodes_[i];
        dirty_[level][node] = 0;
        const double now = least(level, node);
        if (now == levels_[level + 1][node]) continue;
        levels_[level + 1][node] = now;
        if (level + 2 < levels_.size()) mark(level + 1, node / kFan, above_);
      }
      nodes_.swap(above_);
    }
  }

  double minimum() const { return least(levels_.size() - 1, 0); }

  // The first place with the least key.
  std::size_t first() const {
    const double wanted = minimum();
    std::size_t node = 0;
    for (std::size_t level = levels_.size(); level-- > 0;) {
      const double* children = levels_[level].data() + node * kFan;
      std::size_t child = 0;
      while (child + 1 < kFan && children[child] != wanted) ++child;
      node = node * kFan + child;
    }
    return node;
  }

 private:
  static constexpr std::size_t kFan = 16;
  static constexpr std::size_t kAhead = 8;  // nodes are prefetched this far ahead

  double least(std::size_t level, std::size_t node) const {
    const double* children = levels_[level].data() + node * kFan;
    double best[4] = {children[0], children[1], children[2], children[3]};
    for (std::size_t i = 4; i < kFan; ++i) best[i % 4] = children[i] < best[i % 4] ? children[i] : best[i % 4];
    return std::min(std::min(best[0], best[1]), std::min(best[2], best[3]));
  }

  void mark(std::size_t level, std::size_t node, std::vector<std::uint32_t>& list) {
    if (dirty_[level][node]) return;
    dirty_[level][node] = 1;
    list.push_back(static_cast<std::uint32_t>(node));
  }

  std::vector<std::vector<double>> levels_;       // keys first, each padded to full nodes
  std::vector<std::vector<std::uint8_t>> dirty_;  // by level and node: in the list of those to recompute
  std::vector<std::uint32_t> nodes_, above_;
};

}  // namespace loglinear
