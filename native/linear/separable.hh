// Penalties that are sums over weights:  sum_j  a_j |w_j| + b_j w_j^2 / 2,  optionally with w_j >= 0.
//
// Two forms. Plain: a_j = l1 * l1_scale[j], b_j = l2 * l2_scale[j] (scales may be empty: all one), and all weights are
// constrained or none. By class: a_j = class_l1[k], b_j = class_l2[k], w_j >= 0 where class_nonnegative[k], with
// k = classes[j]: one or two bytes per weight where scales take sixteen. Weights from n_penalised on (the intercepts)
// carry no penalty and no sign constraint.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "util/thread_pool.hh"

namespace loglinear::linear {

struct Separable {
  double l1 = 0.0, l2 = 0.0;
  std::span<const double> l1_scale, l2_scale;
  std::size_t n_penalised = 0;
  bool nonnegative = false;
  // By class: one of the first two is given, and tables that have an entry for every value its numbers can take.
  std::span<const std::uint8_t> classes8 = {};
  std::span<const std::uint16_t> classes16 = {};
  std::span<const double> class_l1 = {}, class_l2 = {};
  std::span<const std::uint8_t> class_nonnegative = {};
  std::size_t n_classes = 1;  // parts with strengths of their own

  bool by_class() const { return !class_l1.empty(); }
  std::size_t class_of(std::size_t j) const { return classes16.empty() ? classes8[j] : classes16[j]; }
  double a(std::size_t j) const {
    return j >= n_penalised ? 0.0 : by_class() ? class_l1[class_of(j)] : l1_scale.empty() ? l1 : l1 * l1_scale[j];
  }
  double b(std::size_t j) const {
    return j >= n_penalised ? 0.0 : by_class() ? class_l2[class_of(j)] : l2_scale.empty() ? l2 : l2 * l2_scale[j];
  }
  bool constrained(std::size_t j) const {
    return j < n_penalised && (by_class() ? class_nonnegative[class_of(j)] != 0 : nonnegative);
  }
};

// The tables of a penalty by class, padded to all 2^8 or 2^16 class numbers: no class, even one changed behind our
// back, can be looked up outside them. Throws InvalidInput for classes at or above the number of strengths.
struct ClassTables {
  std::vector<double> l1, l2;
  std::vector<std::uint8_t> nonnegative;

  template <class Class>
  ClassTables(ThreadPool& pool, std::span<const Class> classes, std::span<const double> class_l1,
              std::span<const double> class_l2, std::span<const std::uint8_t> class_nonnegative);
};

double separable_value(ThreadPool& pool, const Separable& penalty, std::span<const double> w);

// gradient += b w; returns sum b w^2 / 2 (the smooth part).
double separable_add_smooth(ThreadPool& pool, const Separable& penalty, std::span<const double> w,
                            std::span<double> gradient);

// diagonal += b
void separable_add_curvature(ThreadPool& pool, const Separable& penalty, std::span<double> diagonal);

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

// max |g_j| / a_j over penalised weights (of -g_j where w_j >= 0): the multiple of the penalty that holds all at zero.
double separable_max_strength(ThreadPool& pool, const Separable& penalty, std::span<const double> gradient);

// The three parts of the conjugate of the penalty at -scale * gradient (optimise/certificate.py). With g = |scale *
// gradient_j|, or its negative part where w_j >= 0:
struct DualParts {
  double ridge = 0.0;  // sum of (g - a)_+^2 / (2 b) over weights with b > 0
  double ratio = 0.0;  // max g / a over weights with a > 0 = b: at most one where the conjugate is finite
  double free = 0.0;   // sum of g over weights with a = b = 0: zero where the conjugate is finite
};
DualParts separable_dual(ThreadPool& pool, const Separable& penalty, std::span<const double> gradient, double scale);

// OWL-QN's two projections. align: direction[j] = 0 where w[j] = 0 is a corner and it does not descend the
// pseudo-gradient (such an entry would be projected back at once; entries of weights that are not zero keep their
// quasi-Newton step).
// project: w[j] = 0 where it left the orthant of `from` (or, at from[j] = 0, of minus the pseudo-gradient).
void separable_align(ThreadPool& pool, const Separable& penalty, std::span<const double> w,
                     std::span<const double> pseudo, std::span<double> direction);
void separable_project(ThreadPool& pool, const Separable& penalty, std::span<const double> from,
                       std::span<const double> pseudo, std::span<double> w);

// v[j] = 0 where w[j] rests in a corner: at zero, with a_j > 0 or w_j >= 0. What remains is the active set, on which
// the optimum moves smoothly with the strengths.
void separable_hold(ThreadPool& pool, const Separable& penalty, std::span<const double> w, std::span<double> v);

// Sums over each class k of the derivatives of the penalty: out[k] = sum a_j sign(w_j) v_j and
// out[n_classes + k] = sum b_j w_j v_j; squared: of v_j (a_j sign(w_j))^2 and v_j (b_j w_j)^2.
void separable_class_sums(ThreadPool& pool, const Separable& penalty, std::span<const double> w,
                          std::span<const double> v, bool squared, std::span<double> out);

}  // namespace loglinear::linear
