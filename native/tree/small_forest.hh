// The proximal step of a small forest that changes from step to step, on one thread: one block of n-grams of a stream.
//
// TreeLinf and TreeL2 (tree/linf.hh, tree/l2.hh) run the same maps on forests of millions of nodes that stay: they cut
// them into units once, and take steps and ridges instead of masses. Here no time is spent on preparation.
//
//   x <- argmin_y  sum_i mass_i / 2 (y_i - x_i)^2 + penalty(y)          (y >= 0 where asked)
//
// Nodes are numbered parents first. With K = threshold, sub g the subtree of node g:
//
//   kTreeLinf   penalty = sum_g K_g max_{i in sub g} |x_i|                              any masses
//   kTreeL2     penalty = sum_g K_g sqrt(sum_{i in sub g} (mass_i / mass_g) x_i^2)      the norm weighted by the masses
//   kL1         penalty = sum_i K_i |x_i|
//   kNone       penalty = 0
#pragma once
#include "tree/l2_map.hh"
#include "tree/linf_map.hh"

namespace loglinear::tree {

enum class SmallForestPenalty { kTreeLinf, kTreeL2, kL1, kNone };

class SmallForestProx {
 public:
  // parent[i] < i, or Tree::kNone at a root; all spans have the length of x; masses above 0, thresholds at or above 0.
  void operator()(SmallForestPenalty penalty, bool nonnegative, std::span<const std::uint32_t> parent,
                  std::span<const double> mass, std::span<const double> threshold, std::span<double> x);

 private:
  L2Work l2_;
  LinfWork linf_;
};

}  // namespace loglinear::tree
