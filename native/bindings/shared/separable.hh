// Separable penalties and the vectors of accelerated steps, as Python hands them over.
#pragma once
#include <nanobind/stl/tuple.h>

#include "bindings/arrays.hh"
#include "linear/accelerated.hh"
#include "linear/separable.hh"

namespace loglinear::bindings {

struct BoundSeparable {
  std::optional<In<double>> l1_scale, l2_scale;  // these four are kept alive
  std::optional<In<std::uint8_t>> classes8;
  std::optional<In<std::uint16_t>> classes16;
  std::optional<linear::ClassTables> tables;
  linear::Separable penalty;

  BoundSeparable(double l1, double l2, std::optional<In<double>> a, std::optional<In<double>> b,
                 std::size_t n_penalised, bool nonnegative)
      : l1_scale(std::move(a)), l2_scale(std::move(b)),
        penalty{.l1 = l1, .l2 = l2, .l1_scale = view(l1_scale), .l2_scale = view(l2_scale),
                .n_penalised = n_penalised, .nonnegative = nonnegative} {}

  BoundSeparable(ThreadPool& pool, In<std::uint8_t> classes, In<double> l1, In<double> l2, In<std::uint8_t> nonnegative)
      : classes8(std::move(classes)), tables(make_tables(pool, view(*classes8), l1, l2, nonnegative)) {
    fill(classes8->size(), l1.size());
    penalty.classes8 = view(*classes8);
  }
  BoundSeparable(ThreadPool& pool, In<std::uint16_t> classes, In<double> l1, In<double> l2,
                 In<std::uint8_t> nonnegative)
      : classes16(std::move(classes)), tables(make_tables(pool, view(*classes16), l1, l2, nonnegative)) {
    fill(classes16->size(), l1.size());
    penalty.classes16 = view(*classes16);
  }
  BoundSeparable(const BoundSeparable&) = delete;  // the penalty points into the tables
  BoundSeparable& operator=(const BoundSeparable&) = delete;

 private:
  template <class Class>
  static linear::ClassTables make_tables(ThreadPool& pool, std::span<const Class> classes, const In<double>& l1,
                                 const In<double>& l2, const In<std::uint8_t>& nonnegative) {
    nb::gil_scoped_release release;
    return linear::ClassTables(pool, classes, view(l1), view(l2), view(nonnegative));
  }
  void fill(std::size_t n_penalised, std::size_t n_classes) {
    penalty.n_penalised = n_penalised;
    penalty.n_classes = n_classes;
    penalty.class_l1 = tables->l1;
    penalty.class_l2 = tables->l2;
    penalty.class_nonnegative = tables->nonnegative;
  }
};

// The vectors of an accelerated method, (x, before, older, g_before, g_older, metric): x in double.
template <class Kept>
struct BoundPath {
  Out<double> x;
  Out<Kept> before, older, g_before, g_older;
  In<Kept> metric;

  BoundPath(Out<double> at, Out<Kept> b, Out<Kept> o, Out<Kept> gb, Out<Kept> go, In<Kept> d)
      : x(std::move(at)), before(std::move(b)), older(std::move(o)), g_before(std::move(gb)), g_older(std::move(go)),
        metric(std::move(d)) {}

  linear::AcceleratedPath<Kept> path() { return {view(x), view(before), view(g_before), view(older), view(g_older), view(metric)}; }

  // `before` and `older` change names.
  void turn() {
    std::swap(before, older);
    std::swap(g_before, g_older);
  }
};

inline nb::tuple sums_tuple(const linear::AcceleratedSums& s) {
  return nb::make_tuple(s.change, s.length, s.turn, s.penalty, s.violation, s.largest);
}

}  // namespace loglinear::bindings
