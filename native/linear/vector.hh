// Vector operations of the solvers, on all threads, each reading every operand once.
//
// The L-BFGS direction is computed from inner products (the "vector-free" form): one pass over the history gives the
// dots of all stored pairs with up to three new vectors, a small recursion on scalars gives coefficients, and one
// more pass forms the combination: 4 m n doubles moved where the two-loop recursion moves 8 m n.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "util/thread_pool.hh"

namespace loglinear::linear {

double dot(ThreadPool& pool, std::span<const double> a, std::span<const double> b);
double max_abs(ThreadPool& pool, std::span<const double> a);

// A vector in double or in single precision: one of the two is given. History in single precision halves what a
// quasi-Newton method stores and moves; sums are taken in double.
struct Row {
  const double* wide = nullptr;
  const float* single = nullptr;
};

// out = x * y, entry by entry; out may be x, or y where that is double.
template <class Factor>
void multiply(ThreadPool& pool, std::span<const double> x, std::span<const Factor> y, std::span<double> out);

// out = a x + b y; out may be x or y where it is double.
template <class Out>
void combine(ThreadPool& pool, double a, std::span<const double> x, double b, std::span<const double> y,
             std::span<Out> out);

// out = (x - y) * unit, or (x - y) / unit; an empty unit is one.
template <class Unit, class Out>
void scaled_difference(ThreadPool& pool, std::span<const double> x, std::span<const double> y,
                       std::span<const Unit> unit, bool divide, std::span<Out> out);

// g . (x - y)
double dot_difference(ThreadPool& pool, std::span<const double> g, std::span<const double> x,
                      std::span<const double> y);

// Where an accelerated method takes its next step from, between two points and the gradients there:
//
//   y = x + momentum (x - before),    h = g + momentum (g - g_before)
//
// h is the gradient at y but for terms of second order, so that y is never evaluated. Neither is stored.
struct Extrapolation {
  std::span<const double> x, before, g, g_before;
  double momentum;
  std::span<const double> metric;  // d; empty: ones
};

// step = 1 / (lipschitz d),  z = y - step h; without a metric `step` is empty.
void forward_step(ThreadPool& pool, const Extrapolation& from, double lipschitz, std::span<double> step,
                  std::span<double> z);

// What a step from y to `to`, where the gradient is `g_to`, tells.
struct StepTest {
  double change;  // (g_to - h) . (to - y)
  double length;  // sum d (to - y)^2
  double turn;    // sum d (y - to) (to - x): above zero where the momentum points uphill
};
StepTest test_step(ThreadPool& pool, const Extrapolation& from, std::span<const double> to,
                   std::span<const double> g_to);

// out[i][j] = rows[i] . targets[j]
void dots(ThreadPool& pool, std::span<const Row> rows, std::span<const Row> targets, std::size_t n,
          std::span<double> out);

// out = sum_i coefficients[i] rows[i]; out may not be one of the rows.
void weighted_sum(ThreadPool& pool, std::span<const double> coefficients, std::span<const Row> rows,
                  std::span<double> out);

}  // namespace loglinear::linear
