#include "bindings/shared/separable.hh"
#include "linear/ftrl.hh"
#include "linear/subset.hh"
#include "linear/vector.hh"

namespace loglinear::bindings {

using namespace linear;
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

void bind_vectors(nb::module_& m) {
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

template <class Kept>
void bind_path(nb::module_& m, const char* name) {
  using P = BoundPath<Kept>;
  nb::class_<P>(m, name, "Three points and two gradients of an accelerated method, and its metric.")
      .def(nb::init<Out<double>, Out<Kept>, Out<Kept>, Out<Kept>, Out<Kept>, In<Kept>>(), nb::arg("x").noconvert(),
           nb::arg("before").noconvert(), nb::arg("older").noconvert(), nb::arg("g_before").noconvert(),
           nb::arg("g_older").noconvert(), nb::arg("metric").noconvert())
      .def("turn", &P::turn, "Let `before` and `older` change names.")
      .def("accelerate", [](P& p, ThreadPool& pool, const BoundSeparable& penalty, In<double> gradient, double momentum,
                            double next_momentum, double lipschitz) {
        AcceleratedSums sums;
        {
          nb::gil_scoped_release release;
          sums = accelerate(pool, p.path(), penalty.penalty, {momentum, next_momentum, lipschitz}, view(gradient));
        }
        return sums_tuple(sums);
      }, nb::arg("pool"), nb::arg("penalty"), nb::arg("gradient").noconvert(), nb::arg("momentum"),
           nb::arg("next_momentum"), nb::arg("lipschitz"),
           nb::sig("def accelerate(self, pool: ThreadPool, penalty: Separable, gradient: NDArray[numpy.float64], "
                   "momentum: float, next_momentum: float, lipschitz: float) -> "
                   "tuple[float, float, float, float, float, float]"))
      .def("retake", [](P& p, ThreadPool& pool, const BoundSeparable& penalty, double momentum, double lipschitz) {
        nb::gil_scoped_release release;
        retake(pool, p.path(), penalty.penalty, {0.0, momentum, lipschitz});
      }, nb::arg("pool"), nb::arg("penalty"), nb::arg("momentum"), nb::arg("lipschitz"),
           "x = the step from `before` with this momentum.");
}

void bind_separable(nb::module_& m) {
  using P = BoundSeparable;
  nb::class_<P>(m, "Separable", "sum_j a_j |w_j| + b_j w_j^2 / 2 over the first n_penalised weights.")
      .def(nb::init<double, double, std::optional<In<double>>, std::optional<In<double>>, std::size_t, bool>(),
           nb::arg("l1"), nb::arg("l2"), nb::arg("l1_scale").none().noconvert(),
           nb::arg("l2_scale").none().noconvert(), nb::arg("n_penalised"), nb::arg("nonnegative"))
      .def(nb::init<ThreadPool&, In<std::uint8_t>, In<double>, In<double>, In<std::uint8_t>>(), nb::arg("pool"),
           nb::arg("classes").noconvert(), nb::arg("l1").noconvert(), nb::arg("l2").noconvert(),
           nb::arg("nonnegative").noconvert(), "By class; the tables are copied.")
      .def(nb::init<ThreadPool&, In<std::uint16_t>, In<double>, In<double>, In<std::uint8_t>>(), nb::arg("pool"),
           nb::arg("classes").noconvert(), nb::arg("l1").noconvert(), nb::arg("l2").noconvert(),
           nb::arg("nonnegative").noconvert())
      .def("value", [](const P& p, ThreadPool& pool, In<double> w) {
        nb::gil_scoped_release release;
        return separable_value(pool, p.penalty, view(w));
      }, nb::arg("pool"), nb::arg("w").noconvert())
      .def("add_smooth", [](const P& p, ThreadPool& pool, In<double> w, Out<double> gradient) {
        nb::gil_scoped_release release;
        return separable_add_smooth(pool, p.penalty, view(w), view(gradient));
      }, nb::arg("pool"), nb::arg("w").noconvert(), nb::arg("gradient").noconvert())
      .def("add_curvature", [](const P& p, ThreadPool& pool, Out<double> diagonal) {
        nb::gil_scoped_release release;
        separable_add_curvature(pool, p.penalty, view(diagonal));
      }, nb::arg("pool"), nb::arg("diagonal").noconvert())
      .def("max_strength", [](const P& p, ThreadPool& pool, In<double> gradient) {
        nb::gil_scoped_release release;
        return separable_max_strength(pool, p.penalty, view(gradient));
      }, nb::arg("pool"), nb::arg("gradient").noconvert())
      .def("dual", [](const P& p, ThreadPool& pool, In<double> gradient, double scale) {
        const DualParts parts = [&] {
          nb::gil_scoped_release release;
          return separable_dual(pool, p.penalty, view(gradient), scale);
        }();
        return std::make_tuple(parts.ridge, parts.ratio, parts.free);
      }, nb::arg("pool"), nb::arg("gradient").noconvert(), nb::arg("scale"),
           "(ridge, ratio, free): the parts of the conjugate at -scale * gradient")
      .def("hold", [](const P& p, ThreadPool& pool, In<double> w, Out<double> v) {
        nb::gil_scoped_release release;
        separable_hold(pool, p.penalty, view(w), view(v));
      }, nb::arg("pool"), nb::arg("w").noconvert(), nb::arg("v").noconvert())
      .def("class_sums", [](const P& p, ThreadPool& pool, In<double> w, In<double> v, bool squared, Out<double> out) {
        nb::gil_scoped_release release;
        separable_class_sums(pool, p.penalty, view(w), view(v), squared, view(out));
      }, nb::arg("pool"), nb::arg("w").noconvert(), nb::arg("v").noconvert(), nb::arg("squared"),
           nb::arg("out").noconvert())
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

  bind_path<double>(m, "AcceleratedPath");
  bind_path<float>(m, "SingleAcceleratedPath");

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

void bind_subset(nb::module_& m) {
  nb::class_<Subset>(m, "Subset", "which entries of a vector a part has: ascending positions")
      .def("__init__", [](Subset* self, In<std::int64_t> positions, std::int64_t n_whole) {
        new (self) Subset(view(positions), n_whole);
      }, nb::arg("positions").noconvert(), nb::arg("n_whole"))
      .def("gather", [](const Subset& subset, ThreadPool& pool, In<double> whole, Out<double> part) {
        nb::gil_scoped_release release;
        subset.gather(pool, view(whole), view(part));
      }, nb::arg("pool"), nb::arg("whole").noconvert(), nb::arg("part").noconvert(), "part = whole[positions]")
      .def("add", [](const Subset& subset, ThreadPool& pool, In<double> part, Out<double> whole) {
        nb::gil_scoped_release release;
        subset.add(pool, view(part), view(whole));
      }, nb::arg("pool"), nb::arg("part").noconvert(), nb::arg("whole").noconvert(), "whole[positions] += part")
      .def("__len__", &Subset::size);
}

}  // namespace

void bind_vector(nb::module_& m) {
  bind_vectors(m);
  bind_subset(m);
  bind_separable(m);
}

}  // namespace loglinear::bindings
