// The map of the tree-structured l2 norm in any diagonal metric, by Newton's method on the tree:
//
//   argmin_x  sum_i d_i / 2 (x_i - c_i)^2 + sum_g k_g sqrt( sum_{i in subtree of g} (q_i / q_g) x_i^2 )
//
// In y_i = sqrt(q_i) x_i, with m_i = d_i / q_i and K_g = k_g / sqrt(q_g), the norms are plain. A subtree vanishes if its
// groups leave nothing of m y0 (y0 the y of c), one after the other from the leaves; that is known after one sweep,
// whatever the metric. Elsewhere
//
//   y_i = m_i y0_i / (m_i + s_i),     s_g = s_parent + K_g p_g,     p_g = 1 / |y of the subtree of g|,
//
// where p_g is concave and increasing in s_g (a mean of order -2 of functions that are so, from the leaves up). A sweep
// up replaces every p_g by its tangent at the last s,  p_g ~ (M_g + s_g) / R_g;  then 1 / |y| of the whole group is
// (M_g + t) / (R_g - K_g) in t = s_parent, and a sweep down solves s_g = t + K_g (M_g + t) / (R_g - K_g). Tangents lie
// above, so the s fall monotonically to the solution, from the asymptotes (s = infinity) with which the first sweep
// begins; the error is squared by every sweep. Where m is constant (the closed form of tree/l2.hh) the first is exact.
//
// On n-grams, d the counts: 2 to 5 sweeps up and down for a relative error of 1e-12. Scratch is 40 bytes per place.
#pragma once
#include "tree/prox.hh"

namespace loglinear::tree {

struct L2NewtonWork {
  struct Place {
    double s;        // infinity: the subtree vanishes
    double f, a, b;  // sums over the node and its children of w, w / q and M w / q, with w = y^2 and q = M + s
    double m;
  };
  std::vector<Place> places;
  void reserve(std::size_t n) {
    if (places.size() < n) places.resize(n);
  }
};

// Returns the largest source.put. `unit` is a typical ratio d / q, which keeps squares within the range of numbers.
template <class Source>
double l2_newton(ThreadPool& pool, const Tree& tree, Reused<L2NewtonWork>& spare, const Source& source, double unit);

extern template double l2_newton(ThreadPool&, const Tree&, Reused<L2NewtonWork>&, const ProxSource&, double);
extern template double l2_newton(ThreadPool&, const Tree&, Reused<L2NewtonWork>&, const ResidualSource&, double);

}  // namespace loglinear::tree
