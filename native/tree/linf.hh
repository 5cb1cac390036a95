// The tree-structured l-infinity norm (Nelakanti et al. 2013), with multiplicities and in any diagonal metric:
//
//   penalty(x) = sum_g k_g max_{i in subtree of g} |x_i| + l2 / 2 sum_i m_i x_i^2,     k_g = m_g * (weight of g)
//
// Node g may stand for a path of m_g equal nodes of an uncollapsed tree (proposition 2: their projections are one, with
// the thresholds summed). Its proximal map is two sweeps (tree/linf_map.hh).
#pragma once
#include "tree/linf_map.hh"

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
  const Tree& tree_;
  TreePenalty penalty_;
  mutable Reused<LinfWork> spare_;
};

}  // namespace loglinear::tree
