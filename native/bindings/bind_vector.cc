#include "bindings/arrays.hh"
#include "kernels/vector.hh"

namespace loglinear {
namespace {

std::vector<const double*> pointers(const std::vector<In<double>>& rows, std::size_t n) {
  std::vector<const double*> out;
  for (const auto& row : rows) {
    require(row.size() == n, "vectors differ in length");
    out.push_back(row.data());
  }
  return out;
}

}  // namespace

void bind_vector(nb::module_& m) {
  m.def("dot", [](ThreadPool& pool, In<double> a, In<double> b) {
    nb::gil_scoped_release release;
    return dot(pool, view(a), view(b));
  }, nb::arg("pool"), nb::arg("a").noconvert(), nb::arg("b").noconvert());
  m.def("max_abs", [](ThreadPool& pool, In<double> a) {
    nb::gil_scoped_release release;
    return max_abs(pool, view(a));
  }, nb::arg("pool"), nb::arg("a").noconvert());
  m.def("multiply", [](ThreadPool& pool, In<double> x, In<double> y, Out<double> out) {
    nb::gil_scoped_release release;
    multiply(pool, view(x), view(y), view(out));
  }, nb::arg("pool"), nb::arg("x").noconvert(), nb::arg("y").noconvert(), nb::arg("out").noconvert(),
        "out = x * y, entry by entry; out may be either");
  m.def("combine", [](ThreadPool& pool, double a, In<double> x, double b, In<double> y, Out<double> out) {
    nb::gil_scoped_release release;
    combine(pool, a, view(x), b, view(y), view(out));
  }, nb::arg("pool"), nb::arg("a"), nb::arg("x").noconvert(), nb::arg("b"), nb::arg("y").noconvert(),
        nb::arg("out").noconvert(), "out = a x + b y; out may be x or y");
  m.def("dots", [](ThreadPool& pool, const std::vector<In<double>>& rows, const std::vector<In<double>>& targets,
                   Out<double> out) {
    require(!rows.empty() && !targets.empty(), "dots: no vectors");
    const std::size_t n = rows[0].size();
    const auto r = pointers(rows, n), t = pointers(targets, n);
    nb::gil_scoped_release release;
    dots(pool, r, t, n, view(out));
  }, nb::arg("pool"), nb::arg("rows").noconvert(), nb::arg("targets").noconvert(), nb::arg("out").noconvert(),
        "out[i, j] = rows[i] . targets[j]");
  m.def("weighted_sum", [](ThreadPool& pool, In<double> coefficients, const std::vector<In<double>>& rows,
                           Out<double> out) {
    const auto r = pointers(rows, out.size());
    nb::gil_scoped_release release;
    weighted_sum(pool, view(coefficients), r, view(out));
  }, nb::arg("pool"), nb::arg("coefficients").noconvert(), nb::arg("rows").noconvert(), nb::arg("out").noconvert(),
        "out = sum_i coefficients[i] rows[i]");
}

}  // namespace loglinear
