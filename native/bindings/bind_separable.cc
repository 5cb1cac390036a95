#include "bindings/arrays.hh"
#include "kernels/online.hh"
#include "kernels/separable.hh"

namespace loglinear {
namespace {

struct BoundSeparable {
  std::optional<In<double>> l1_scale, l2_scale;  // kept alive
  Separable penalty;

  BoundSeparable(double l1, double l2, std::optional<In<double>> a, std::optional<In<double>> b,
                 std::size_t n_penalised, bool nonnegative)
      : l1_scale(std::move(a)), l2_scale(std::move(b)),
        penalty{l1, l2, view(l1_scale), view(l2_scale), n_penalised, nonnegative} {}
};

}  // namespace

void bind_separable(nb::module_& m) {
  using P = BoundSeparable;
  nb::class_<P>(m, "Separable", "sum_j a_j |w_j| + b_j w_j^2 / 2 over the first n_penalised weights.")
      .def(nb::init<double, double, std::optional<In<double>>, std::optional<In<double>>, std::size_t, bool>(),
           nb::arg("l1"), nb::arg("l2"), nb::arg("l1_scale").none().noconvert(),
           nb::arg("l2_scale").none().noconvert(), nb::arg("n_penalised"), nb::arg("nonnegative"))
      .def("value", [](const P& p, ThreadPool& pool, In<double> w) {
        nb::gil_scoped_release release;
        return separable_value(pool, p.penalty, view(w));
      }, nb::arg("pool"), nb::arg("w").noconvert())
      .def("add_smooth", [](const P& p, ThreadPool& pool, In<double> w, Out<double> gradient) {
        nb::gil_scoped_release release;
        return separable_add_smooth(pool, p.penalty, view(w), view(gradient));
      }, nb::arg("pool"), nb::arg("w").noconvert(), nb::arg("gradient").noconvert())
      .def("prox", [](const P& p, ThreadPool& pool, In<double> z, In<double> steps, Out<double> out) {
        nb::gil_scoped_release release;
        separable_prox(pool, p.penalty, view(z), view(steps), view(out));
      }, nb::arg("pool"), nb::arg("z").noconvert(), nb::arg("steps").noconvert(), nb::arg("out").noconvert())
      .def("pseudo_gradient", [](const P& p, ThreadPool& pool, In<double> w, In<double> g, Out<double> out) {
        nb::gil_scoped_release release;
        separable_pseudo_gradient(pool, p.penalty, view(w), view(g), view(out));
      }, nb::arg("pool"), nb::arg("w").noconvert(), nb::arg("smooth_gradient").noconvert(), nb::arg("out").noconvert())
      .def("violation", [](const P& p, ThreadPool& pool, In<double> w, In<double> g) {
        nb::gil_scoped_release release;
        return separable_violation(pool, p.penalty, view(w), view(g));
      }, nb::arg("pool"), nb::arg("w").noconvert(), nb::arg("loss_gradient").noconvert())
      .def("align", [](const P& p, ThreadPool& pool, In<double> w, In<double> pseudo, Out<double> direction) {
        nb::gil_scoped_release release;
        separable_align(pool, p.penalty, view(w), view(pseudo), view(direction));
      }, nb::arg("pool"), nb::arg("w").noconvert(), nb::arg("pseudo").noconvert(), nb::arg("direction").noconvert())
      .def("project", [](const P& p, ThreadPool& pool, In<double> from, In<double> pseudo, Out<double> w) {
        nb::gil_scoped_release release;
        separable_project(pool, p.penalty, view(from), view(pseudo), view(w));
      }, nb::arg("pool"), nb::arg("start").noconvert(), nb::arg("pseudo").noconvert(), nb::arg("w").noconvert());

  m.def("online_pass", [](const BoundSparse<std::int32_t>& rows, In<std::int32_t> labels,
                          std::optional<In<double>> sample_weight, std::size_t K, bool intercept, const P& penalty,
                          double alpha, double beta, Out<double> z, Out<double> n, Out<double> weights) {
    nb::gil_scoped_release release;
    return online_pass(rows.matrix, view(labels), view(sample_weight), K, intercept, penalty.penalty, {alpha, beta},
                       view(z), view(n), view(weights));
  }, nb::arg("rows"), nb::arg("labels").noconvert(), nb::arg("sample_weight").none().noconvert(),
        nb::arg("n_classes"), nb::arg("intercept"), nb::arg("penalty"), nb::arg("alpha"), nb::arg("beta"),
        nb::arg("z").noconvert(), nb::arg("n").noconvert(), nb::arg("weights").noconvert(),
        "One pass of FTRL-Proximal over the rows; returns the progressive loss.");
}

}  // namespace loglinear
