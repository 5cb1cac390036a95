#include <nanobind/stl/tuple.h>

#include "bindings/arrays.hh"
#include "kernels/vector.hh"

namespace loglinear {
namespace {

using AnyFloat = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;

std::vector<Row> vectors(const std::vector<AnyFloat>& rows, std::size_t n) {
  std::vector<Row> out;
  for (const auto& row : rows) {
    require(row.size() == n, "vectors differ in length");
    if (row.dtype() == nb::dtype<double>()) out.push_back({.wide = static_cast<const double*>(row.data())});
    else if (row.dtype() == nb::dtype<float>()) out.push_back({.single = static_cast<const float*>(row.data())});
    else throw InvalidInput("vectors must be float64 or float32");
  }
  return out;
}

template <class T>
void bind_factor(nb::module_& m) {
  m.def("multiply", [](ThreadPool& pool, In<double> x, In<T> y, Out<double> out) {
    nb::gil_scoped_release release;
    multiply(pool, view(x), view(y), view(out));
  }, nb::arg("pool"), nb::arg("x").noconvert(), nb::arg("y").noconvert(), nb::arg("out").noconvert(),
        "out = x * y, entry by entry; out may be either");
  m.def("combine", [](ThreadPool& pool, double a, In<double> x, double b, In<double> y, Out<T> out) {
    nb::gil_scoped_release release;
    combine(pool, a, view(x), b, view(y), view(out));
  }, nb::arg("pool"), nb::arg("a"), nb::arg("x").noconvert(), nb::arg("b"), nb::arg("y").noconvert(),
        nb::arg("out").noconvert(), "out = a x + b y; out may be x or y");
}

template <class Unit, class T>
void bind_difference(nb::module_& m) {
  m.def("scaled_difference", [](ThreadPool& pool, In<double> x, In<double> y, std::optional<In<Unit>> unit,
                                bool divide, Out<T> out) {
    require(!unit || unit->size() == x.size(), "difference: one unit per entry is needed");
    nb::gil_scoped_release release;
    scaled_difference(pool, view(x), view(y), view(unit), divide, view(out));
  }, nb::arg("pool"), nb::arg("x").noconvert(), nb::arg("y").noconvert(), nb::arg("unit").none().noconvert(),
        nb::arg("divide"), nb::arg("out").noconvert(), "out = (x - y) * unit, or (x - y) / unit; None is one");
}

void bind_extrapolation(nb::module_& m) {
  const auto from = [](const In<double>& x, const In<double>& before, const In<double>& g, const In<double>& g_before,
                       double momentum, const std::optional<In<double>>& metric) {
    require(!metric || metric->size() == x.size(), "extrapolation: one entry of the metric per weight is needed");
    return Extrapolation{view(x), view(before), view(g), view(g_before), momentum, view(metric)};
  };
  m.def("forward_step", [from](ThreadPool& pool, In<double> x, In<double> before, In<double> g, In<double> g_before,
                               double momentum, std::optional<In<double>> metric, double lipschitz,
                               std::optional<Out<double>> step, Out<double> z) {
    const auto extrapolation = from(x, before, g, g_before, momentum, metric);
    require(!step || step->size() == z.size(), "forward step: one step per weight is needed");
    nb::gil_scoped_release release;
    forward_step(pool, extrapolation, lipschitz, step ? view(*step) : std::span<double>{}, view(z));
  }, nb::arg("pool"), nb::arg("x").noconvert(), nb::arg("before").noconvert(), nb::arg("g").noconvert(),
        nb::arg("g_before").noconvert(), nb::arg("momentum"), nb::arg("metric").none().noconvert(),
        nb::arg("lipschitz"), nb::arg("step").none().noconvert(), nb::arg("z").noconvert(),
        "step = 1 / (lipschitz metric),  z = x + momentum (x - before) - step (g + momentum (g - g_before))");
  m.def("test_step", [from](ThreadPool& pool, In<double> x, In<double> before, In<double> g, In<double> g_before,
                            double momentum, std::optional<In<double>> metric, In<double> to, In<double> g_to) {
    const auto extrapolation = from(x, before, g, g_before, momentum, metric);
    nb::gil_scoped_release release;
    const StepTest test = test_step(pool, extrapolation, view(to), view(g_to));
    return std::make_tuple(test.change, test.length, test.turn);
  }, nb::arg("pool"), nb::arg("x").noconvert(), nb::arg("before").noconvert(), nb::arg("g").noconvert(),
        nb::arg("g_before").noconvert(), nb::arg("momentum"), nb::arg("metric").none().noconvert(),
        nb::arg("to").noconvert(), nb::arg("g_to").noconvert(),
        "With y, h extrapolated: ((g_to - h) . (to - y), sum metric (to - y)^2, sum metric (y - to) (to - x))");
}

}  // namespace

void bind_vector(nb::module_& m) {
  m.def("dot", [](ThreadPool& pool, In<double> a, In<double> b) {
    nb::gil_scoped_release release;
    return dot(pool, view(a), view(b));
  }, nb::arg("pool"), nb::arg("a").noconvert(), nb::arg("b").noconvert());
  m.def("dot_difference", [](ThreadPool& pool, In<double> g, In<double> x, In<double> y) {
    nb::gil_scoped_release release;
    return dot_difference(pool, view(g), view(x), view(y));
  }, nb::arg("pool"), nb::arg("g").noconvert(), nb::arg("x").noconvert(), nb::arg("y").noconvert(), "g . (x - y)");
  m.def("max_abs", [](ThreadPool& pool, In<double> a) {
    nb::gil_scoped_release release;
    return max_abs(pool, view(a));
  }, nb::arg("pool"), nb::arg("a").noconvert());
  bind_extrapolation(m);
  bind_factor<double>(m);
  bind_factor<float>(m);
  bind_difference<double, double>(m);
  bind_difference<double, float>(m);
  bind_difference<float, float>(m);
  m.def("dots", [](ThreadPool& pool, const std::vector<AnyFloat>& rows, const std::vector<AnyFloat>& targets,
                   Out<double> out) {
    require(!rows.empty() && !targets.empty(), "dots: no vectors");
    const std::size_t n = rows[0].size();
    const auto r = vectors(rows, n), t = vectors(targets, n);
    nb::gil_scoped_release release;
    dots(pool, r, t, n, view(out));
  }, nb::arg("pool"), nb::arg("rows").noconvert(), nb::arg("targets").noconvert(), nb::arg("out").noconvert(),
        "out[i, j] = rows[i] . targets[j]; vectors may be float64 or float32");
  m.def("weighted_sum", [](ThreadPool& pool, In<double> coefficients, const std::vector<AnyFloat>& rows,
                           Out<double> out) {
    const auto r = vectors(rows, out.size());
    nb::gil_scoped_release release;
    weighted_sum(pool, view(coefficients), r, view(out));
  }, nb::arg("pool"), nb::arg("coefficients").noconvert(), nb::arg("rows").noconvert(), nb::arg("out").noconvert(),
        "out = sum_i coefficients[i] rows[i]; rows may be float64 or float32");
}

}  // namespace loglinear
