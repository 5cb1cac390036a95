// The tree-structured l2 norm (Nelakanti et al. 2013, algorithm 2; Jenatton et al. 2011), weighted by q, which is the
// scale s or (plain) one:
//
//   penalty(x) = sum_g k_g sqrt( sum_{i in subtree of g} (q_i / q_g) x_i^2 ) + l2 / 2 sum_i x_i^2
//
// Where the squares, the ridge included, have the weights L q_i the proximal map is two sweeps (tree/l2_map.hh); in any
// other metric there is no closed form, and sweeps are repeated (tree/l2_newton.hh).
//
// Cost: a square root and a division per node; 12 bytes read and 8 written per node (20 and 8 with a scale), and 8 more
// each way for units below the crown. Memory bandwidth is the limit.
#pragma once
#include <optional>

#include "tree/l2_map.hh"
#include "tree/l2_newton.hh"

namespace loglinear::tree {

class TreeL2 {
 public:
  // Spans must outlive it.
  TreeL2(const Tree& tree, const TreePenalty& penalty);

  double value(ThreadPool& pool, std::span<const double> x) const;
  // A closed form where 1 / step_i + l2 = L q_i for one number L, to 1e-9; elsewhere Newton's method, to 1e-12.
  void prox(ThreadPool& pool, std::span<const double> z, std::span<const double> steps,
            std::span<double> out) const;
  double violation(ThreadPool& pool, std::span<const double> w, std::span<const double> gradient) const;
  double max_strength(ThreadPool& pool, std::span<const double> gradient) const;

 private:
  std::optional<double> lipschitz(ThreadPool& pool, const ProxSource& source) const;

  const Tree& tree_;
  TreePenalty penalty_;
  mutable Reused<L2Work> spare_;
  mutable Reused<L2NewtonWork> spare_newton_;
};

}  // namespace loglinear::tree
