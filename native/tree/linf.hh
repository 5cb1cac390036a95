// The tree-structured l-infinity norm (Nelakanti et al. 2013), with multiplicities and in any diagonal metric:
//
//   penalty(x) = sum_g k_g max_{i in subtree of g} |x_i| + l2 / 2 sum_i m_i x_i^2,     k_g = m_g * (weight of g)
//
// Node g may stand for a path of m_g equal nodes of an uncollapsed tree (proposition 2: their projections are one, with
// the thresholds summed). Going up, every group takes k_g off the largest values of its subtree: they sink to the level
// r_g with sum_i d_i (u_i - r_g)_+ = k_g, d_i the weights of the squares; where sum d u <= k_g nothing is left. Going
// down, R_g = min(r_g, R_parent) and x_i = min(|z_i|, R_i) with the sign of z_i.
//
// Heap (algorithm 4, corrected): the values of a subtree are blocks (value, weight) in a mergeable heap; those that
// sink become one block, so a block is taken off once per group that lowers it and O(n log n) is the bound. Most
// subtrees vanish: a node without blocks below it that vanishes writes 8 bytes of scratch and no heap. (Algorithm 3, by
// random pivots, is a baseline: baselines/tree_pivot.hh.)
#pragma once
#include "tree/pairing_heap.hh"
#include "tree/prox.hh"

namespace loglinear::tree {

class TreeLinf {
 public:
  // Spans must outlive it. Scale says in which steps `violation` measures; it is no part of the norm.
  TreeLinf(const Tree& tree, const TreePenalty& penalty);

  const Tree& tree() const { return tree_; }
  const TreePenalty& penalty() const { return penalty_; }

  double value(ThreadPool& pool, std::span<const double> x) const;
  void prox(ThreadPool& pool, std::span<const double> z, std::span<const double> steps,
            std::span<double> out) const;
  double violation(ThreadPool& pool, std::span<const double> w, std::span<const double> gradient) const;
  double max_strength(ThreadPool& pool, std::span<const double> gradient) const;

  // histogram[k] = groups with k values above their level; merged: with k blocks taken off the heap.
  std::vector<std::int64_t> pivot_counts(ThreadPool& pool, std::span<const double> z,
                                         std::span<const double> steps, bool merged) const;

 private:
  struct Place {
    double level;       // sum of d u of the children before
    std::uint32_t top;  // the heap below
  };
  struct Work {
    std::vector<Place> places;
    std::vector<PairingHeap::Block> blocks;
    void reserve(std::size_t n);
    PairingHeap heap() { return {blocks.data()}; }
  };
  struct Counts {
    bool merged;
    std::vector<std::uint32_t> above, held;  // values above a group's level; values in a block
  };
  template <class Source>
  struct Map;

  const Tree& tree_;
  TreePenalty penalty_;
  mutable Reused<Work> spare_;
};

}  // namespace loglinear::tree
