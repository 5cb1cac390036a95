// Baseline: the proximal map of the tree-structured l-infinity norm by random pivots, to compare TreeLinf::prox with.
//
// Algorithm 3 of Nelakanti et al. (2013), corrected: S and C start at zero, both parts are taken within I, pivots are
// compared by value, and levels stop at zero. The values of every subtree are partitioned around random pivots anew for
// its group, so the cost is the sum of the sizes of all subtrees: too much for deep trees.
#pragma once
#include "tree/linf.hh"

namespace loglinear::baselines {

// out [n_nodes] = the proximal map of `norm` at z [n_nodes] with steps [1 or n_nodes], as TreeLinf::prox.
void pivot_prox(ThreadPool& pool, const tree::TreeLinf& norm, std::span<const double> z,
                std::span<const double> steps, std::uint64_t seed, std::span<double> out);

}  // namespace loglinear::baselines
