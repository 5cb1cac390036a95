// A separable penalty as the innermost loops see it: the slopes of each weight's penalty at zero, and its ridge, block
// by block.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>

#include "linear/separable.hh"

namespace loglinear::linear {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Throws unless vectors of n and `other` entries are of one length and fit the penalty.
void check(const Separable& penalty, std::size_t n, std::size_t other);

// The larger one; NaN where either is.
inline double larger(double top, double v) { return v > top || v != v ? v : top; }

// The penalty by class with the width of its classes fixed, so that loops look nothing up twice.
template <class Class>
struct ByClass {
  const Class* classes;
  const double *l1, *l2;
  const std::uint8_t* nonnegative;
  std::size_t n_penalised;

  std::size_t class_of(std::size_t j) const { return classes[j]; }
  double a(std::size_t j) const { return j >= n_penalised ? 0.0 : l1[classes[j]]; }
  double b(std::size_t j) const { return j >= n_penalised ? 0.0 : l2[classes[j]]; }
  bool constrained(std::size_t j) const { return j < n_penalised && nonnegative[classes[j]] != 0; }
};

struct Plain {
  double l1, l2;
  std::span<const double> l1_scale, l2_scale;
  std::size_t n_penalised;
  bool nonnegative;

  std::size_t class_of(std::size_t) const { return 0; }
  double a(std::size_t j) const { return j >= n_penalised ? 0.0 : l1_scale.empty() ? l1 : l1 * l1_scale[j]; }
  double b(std::size_t j) const { return j >= n_penalised ? 0.0 : l2_scale.empty() ? l2 : l2 * l2_scale[j]; }
  bool constrained(std::size_t j) const { return nonnegative && j < n_penalised; }
};

// body(form) for the form the penalty has.
template <class Body>
auto with_form(const Separable& p, Body body) {
  const auto table = [&](auto classes) {
    using Class = std::remove_const_t<typename decltype(classes)::element_type>;
    return ByClass<Class>{classes.data(), p.class_l1.data(), p.class_l2.data(), p.class_nonnegative.data(),
                          p.n_penalised};
  };
  if (!p.by_class()) return body(Plain{p.l1, p.l2, p.l1_scale, p.l2_scale, p.n_penalised, p.nonnegative});
  if (p.classes16.empty()) return body(table(p.classes8));
  return body(table(p.classes16));
}

inline constexpr std::size_t kBlock = 512;

// The slopes of the penalty at zero and the ridges for the weights of one block: see simd/separable.inc.
struct Corners {
  double right[kBlock], left[kBlock], ridge[kBlock];

  template <class Form>
  void read(const Form& p, std::size_t begin, std::size_t n) {
    if constexpr (requires { p.classes; })
      if (begin + n <= p.n_penalised && of_one_class(p.classes + begin, n)) return fill(p, begin, n);
    const std::size_t inside = begin >= p.n_penalised ? 0 : std::min(n, p.n_penalised - begin);
    for (std::size_t i = 0; i < inside; ++i) right[i] = p.a(begin + i), ridge[i] = p.b(begin + i);
    for (std::size_t i = 0; i < inside; ++i) left[i] = p.constrained(begin + i) ? kInfinity : right[i];
    for (std::size_t i = inside; i < n; ++i) right[i] = left[i] = ridge[i] = 0.0;
    n_same_ = 0;
  }

 private:
  template <class Class>
  static bool of_one_class(const Class* classes, std::size_t n) {
    Class other = 0;
    for (std::size_t i = 0; i < n; ++i) other |= classes[i] ^ classes[0];
    return other == 0;
  }

  template <class Form>
  void fill(const Form& p, std::size_t begin, std::size_t n) {
    const std::size_t k = p.class_of(begin);
    if (n_same_ >= n && k == class_) return;
    std::fill_n(right, n, p.a(begin));
    std::fill_n(left, n, p.constrained(begin) ? kInfinity : p.a(begin));
    std::fill_n(ridge, n, p.b(begin));
    class_ = k, n_same_ = n;
  }

  std::size_t class_ = 0, n_same_ = 0;  // so many entries hold the numbers of that class
};

}  // namespace loglinear::linear
