// The proximal map of the tree-structured l2 norm (tree/l2.hh): two sweeps over a unit of a forest.
//
// With weights L q_i on the squares and k_g the threshold of group g, going up
//
//   gamma_g = q_g c_g^2 + sum of children's eta^2 gamma,     eta_g = max(0, 1 - k_g / (L sqrt(q_g gamma_g)))
//
// and going down x_i = c_i times the product of the etas of its ancestors and its own. In any other metric there is no
// closed form.
#pragma once
#include <vector>

#include "tree/prox.hh"

namespace loglinear::tree {

struct L2Work {
  std::vector<double> eta;  // gamma of the children before
  void reserve(std::size_t n) {
    if (eta.size() < n) eta.resize(n);
  }
};

template <class Forest, class Source>
struct L2Map {
  const Forest& forest;
  Source source;
  double lipschitz;

  void clear(const TreeUnit& unit, L2Work& work, std::size_t first) const {
    std::fill_n(work.eta.begin() + static_cast<std::ptrdiff_t>(first), unit.size + unit.n_slots, 0.0);
  }

  void up(const TreeUnit& unit, L2Work& work, std::size_t first) const {
    double* eta = work.eta.data() + first;
    const Source from = source;
    const double L = lipschitz;  // outside the square root: its square overflows under very small steps
    forest.upward(unit, [=](std::size_t i, std::size_t place, std::size_t target) {
      const double c = from.centre(i), q = from.penalty.q(i), k = from.penalty.groups.threshold(i);
      const double gamma = eta[place] + q * c * c, norm = L * std::sqrt(q * gamma);
      const double kept = above_zero(norm - k) / std::max(norm, std::numeric_limits<double>::min());
      const double own = k == 0.0 ? 1.0 : kept;
      eta[place] = own;
      eta[target] += own * own * gamma;
    });
  }

  double down(const TreeUnit& unit, L2Work& work, std::size_t first) const {
    double* eta = work.eta.data() + first;
    double largest = 0.0;
    eta[unit.size] = 1.0;  // the slot of roots
    const Source from = source;
    forest.downward(unit, [=, &largest](std::size_t i, std::size_t place, std::size_t target) {
      eta[place] *= eta[target];
      const double put = from.put(i, eta[place] * from.centre(i) + 0.0);
      if constexpr (Source::kMeasures) largest = std::max(largest, put);
      else (void)largest, (void)put;
    });
    return largest;
  }

  void join(L2Work& work, std::size_t slot, std::size_t above) const { work.eta[above] += work.eta[slot]; }
  void split(L2Work& work, std::size_t slot, std::size_t above) const { work.eta[slot] = work.eta[above]; }
};

}  // namespace loglinear::tree
