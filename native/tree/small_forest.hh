// The proximal step of a small forest that changes from step to step, on one thread: one block of n-grams of a stream.
//
// TreeLinf and TreeL2 (tree/linf.hh, tree/l2.hh) map forests of millions of nodes that stay: they cut them into units
// once, and take steps and ridges instead of masses. Here no time is spent on preparation.
//
//   x <- argmin_y  sum_i mass_i / 2 (y_i - x_i)^2 + penalty(y)          (y >= 0 where asked)
//
// Nodes are numbered parents first. With K = threshold, sub g the subtree of node g:
//
//   kTreeLinf   penalty = sum_g K_g max_{i in sub g} |x_i|                              any masses
//   kTreeL2     penalty = sum_g K_g sqrt(sum_{i in sub g} (mass_i / mass_g) x_i^2)      the norm weighted by the masses
//   kL1         penalty = sum_i K_i |x_i|
//   kNone       penalty = 0
//
// Both tree norms: one pass from the leaves, each group in turn, then the caps or factors from the roots (Jenatton et
// al. 2011). For kTreeLinf a group lowers its largest values to a common r with sum_i mass_i (|x_i| - r)_+ = K; the
// values of a subtree wait in a mergeable heap, where those that were lowered together are one element, so that each is
// popped once (Nelakanti et al. 2013, algorithm 4, corrected: values count as often as they stand for).
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "tree/pairing_heap.hh"

namespace loglinear::tree {

enum class SmallForestPenalty { kTreeLinf, kTreeL2, kL1, kNone };

class SmallForestProx {
 public:
  // parent[i] < i, or PairingHeap::kNone at a root; all spans have the length of x; masses above 0, thresholds at or
  // above 0.
  void operator()(SmallForestPenalty penalty, bool nonnegative, std::span<const std::uint32_t> parent,
                  std::span<const double> mass, std::span<const double> threshold, std::span<double> x);

 private:
  void linf(std::span<const std::uint32_t> parent, std::span<const double> mass, std::span<const double> threshold,
            std::span<double> x);
  void l2(std::span<const std::uint32_t> parent, std::span<const double> mass, std::span<const double> threshold,
          std::span<double> x);

  std::vector<PairingHeap::Block> blocks_;    // [n]
  std::vector<std::uint32_t> heaps_;          // [n] of each subtree
  std::vector<double> total_, cap_;           // [n]
};

}  // namespace loglinear::tree
