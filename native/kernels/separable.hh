// Penalties that are sums over weights:  sum_j  a_j |w_j| + b_j w_j^2 / 2,  optionally with w_j >= 0.
//
// a_j = l1 * l1_scale[j], b_j = l2 * l2_scale[j] (scales may be empty: all one). Weights from n_penalised on (the
// intercepts) carry no penalty and no sign constraint.
#pragma once
#include <span>

#include "util/thread_pool.hh"

namespace loglinear {

struct Separable {
  double l1 = 0.0, l2 = 0.0;
  std::span<const double> l1_scale, l2_scale;
  std::size_t n_penalised = 0;
  bool nonnegative = false;

  double a(std::size_t j) const { return j >= n_penalised ? 0.0 : l1_scale.empty() ? l1 : l1 * l1_scale[j]; }
  double b(std::size_t j) const { return j >= n_penalised ? 0.0 : l2_scale.empty() ? l2 : l2 * l2_scale[j]; }
  bool constrained(std::size_t j) const { return nonnegative && j < n_penalised; }
};

double separable_value(ThreadPool& pool, const Separable& penalty, std::span<const double> w);

// gradient += b w; returns sum b w^2 / 2 (the smooth part).
double separable_add_smooth(ThreadPool& pool, const Separable& penalty, std::span<const double> w,
                            std::span<double> gradient);

// out = argmin_x  (x - z)^2 / (2 step) + penalty(x);  steps has one entry, or one per weight.
void separable_prox(ThreadPool& pool, const Separable& penalty, std::span<const double> z,
                    std::span<const double> steps, std::span<double> out);

// The element of least absolute value of the subdifferential of smooth + a|w| at w, given the gradient of the smooth
// part (loss and b w^2 / 2): OWL-QN's pseudo-gradient. Its largest absolute value is the violation of optimality.
void separable_pseudo_gradient(ThreadPool& pool, const Separable& penalty, std::span<const double> w,
                               std::span<const double> smooth_gradient, std::span<double> out);

// max |least subgradient|, given the gradient of the loss alone.
double separable_violation(ThreadPool& pool, const Separable& penalty, std::span<const double> w,
                           std::span<const double> loss_gradient);

// OWL-QN's two projections. align: direction[j] = 0 where w[j] = 0 and it does not descend the pseudo-gradient (such an
// entry would be projected back at once; entries of weights that are not zero keep their quasi-Newton step).
// project: w[j] = 0 where it left the orthant of `from` (or, at from[j] = 0, of minus the pseudo-gradient).
void separable_align(ThreadPool& pool, const Separable& penalty, std::span<const double> w,
                     std::span<const double> pseudo, std::span<double> direction);
void separable_project(ThreadPool& pool, const Separable& penalty, std::span<const double> from,
                       std::span<const double> pseudo, std::span<double> w);

}  // namespace loglinear
