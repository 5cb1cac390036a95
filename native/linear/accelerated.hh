// What an accelerated proximal method (solvers/fista.py) does to each weight once the gradient at a point is known:
// everything at once, so that a loss may do it while the gradient is in cache.
//
// Of three points in a row, `older`, `before` and x, the last came from
//
//   y = before + m (before - older),    h = g_before + m (g_before - g_older),    x = prox(y - h / (L d)).
//
// With the gradient g at x, this step is tested, the penalty and the violation at x are summed, and the next step is
// taken from x, with a momentum m' and a constant L' that its result may yet overrule:
//
//   older = x,  g_older = g,  x = prox of the step from x
//
// whereupon `before` and `older` change names. Vectors are in double or, but for x, in single precision; then x is
// rounded, so that it is known exactly when it has become `before`.
#pragma once
#include <span>

#include "linear/separable.hh"
#include "simd/loops.hh"
#include "util/thread_pool.hh"

namespace loglinear::linear {

template <class Kept>
struct AcceleratedPath {
  std::span<double> x;
  std::span<const Kept> before, g_before;
  std::span<Kept> older, g_older;
  std::span<const Kept> metric;  // d
};

using AcceleratedStep = simd::AcceleratedStep;  // m, m', L'

struct AcceleratedSums {
  double change = 0.0;     // (g - h) . (x - y)
  double length = 0.0;     // sum d (x - y)^2
  double turn = 0.0;       // sum d (y - x) (x - before): above zero where the momentum points uphill
  double penalty = 0.0;    // at x
  double violation = 0.0;  // largest entry of the least subgradient at x
  double largest = 0.0;    // of the |weights| of the next point

  void add(const AcceleratedSums& other);
};

// Checks that all vectors have the length of x, and that the penalty fits it.
template <class Kept>
void check(const AcceleratedPath<Kept>& path, const Separable& penalty);

// The weights [begin, end); g[0] is the gradient of the first. One thread; the caller has checked the path.
template <class Kept>
AcceleratedSums accelerate_range(const AcceleratedPath<Kept>& path, const Separable& penalty,
                                 const AcceleratedStep& step, const double* g, std::size_t begin, std::size_t end);

// All weights.
template <class Kept>
AcceleratedSums accelerate(ThreadPool& pool, const AcceleratedPath<Kept>& path, const Separable& penalty,
                           const AcceleratedStep& step, std::span<const double> g);

// x = prox of the step from `before` with momentum m' and constant L': what `accelerate` took from other ones.
template <class Kept>
void retake(ThreadPool& pool, const AcceleratedPath<Kept>& path, const Separable& penalty,
            const AcceleratedStep& step);

}  // namespace loglinear::linear
