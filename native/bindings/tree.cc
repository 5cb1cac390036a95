#include "baselines/tree_pivot.hh"
#include "bindings/arrays.hh"
#include "tree/forest.hh"
#include "tree/l2.hh"
#include "tree/linf.hh"

namespace loglinear::bindings {

using namespace tree;
namespace {

struct BoundTree {
  In<std::int32_t> parent;  // kept alive
  Tree tree;

  BoundTree(In<std::int32_t> p, std::size_t unit)
      : parent(std::move(p)), tree([&] {
          nb::gil_scoped_release release;
          return Tree(view(parent), unit);
        }()) {}
};

// A norm with its tree and the arrays it views, kept alive together.
template <class Norm>
struct BoundNorm {
  nb::object tree;
  std::optional<In<double>> weights, multiplicity, growth, scale;
  std::optional<In<std::uint32_t>> depth;
  Norm norm;

  BoundNorm(nb::object t, double strength, std::optional<In<double>> w, std::optional<In<double>> m,
            std::optional<In<double>> g, std::optional<In<std::uint32_t>> levels, std::optional<In<double>> s,
            double l2, bool nonnegative, bool plain)
      : tree(std::move(t)),
        weights(std::move(w)),
        multiplicity(std::move(m)),
        growth(std::move(g)),
        scale(std::move(s)),
        depth(std::move(levels)),
        norm(nb::cast<const BoundTree&>(tree).tree, TreePenalty{.groups = {.strength = strength,
                                                                           .weights = view(weights),
                                                                           .multiplicity = view(multiplicity),
                                                                           .growth = view(growth),
                                                                           .depth = view(depth)},
                                                                .scale = view(scale),
                                                                .l2 = l2,
                                                                .nonnegative = nonnegative,
                                                                .plain = plain}) {}
};

template <class Norm>
nb::class_<BoundNorm<Norm>> bind_norm(nb::module_& m, const char* name, const char* doc) {
  using P = BoundNorm<Norm>;
  using Vector = std::optional<In<double>>;
  return nb::class_<P>(m, name, doc)
      .def(nb::init<nb::object, double, Vector, Vector, Vector, std::optional<In<std::uint32_t>>, Vector, double,
                    bool, bool>(),
           nb::arg("tree"), nb::arg("strength"), nb::arg("weights").none().noconvert(),
           nb::arg("multiplicity").none().noconvert(), nb::arg("growth").none().noconvert(),
           nb::arg("depth").none().noconvert(), nb::arg("scale").none().noconvert(), nb::arg("l2"),
           nb::arg("nonnegative"), nb::arg("plain") = false)
      .def(
          "value",
          [](const P& p, ThreadPool& pool, In<double> w) {
            nb::gil_scoped_release release;
            return p.norm.value(pool, view(w));
          },
          nb::arg("pool"), nb::arg("w").noconvert())
      .def(
          "prox",
          [](const P& p, ThreadPool& pool, In<double> z, In<double> steps, Out<double> out) {
            nb::gil_scoped_release release;
            p.norm.prox(pool, view(z), view(steps), view(out));
          },
          nb::arg("pool"), nb::arg("z").noconvert(), nb::arg("steps").noconvert(), nb::arg("out").noconvert())
      .def(
          "violation",
          [](const P& p, ThreadPool& pool, In<double> w, In<double> gradient) {
            nb::gil_scoped_release release;
            return p.norm.violation(pool, view(w), view(gradient));
          },
          nb::arg("pool"), nb::arg("w").noconvert(), nb::arg("loss_gradient").noconvert())
      .def(
          "max_strength",
          [](const P& p, ThreadPool& pool, In<double> gradient) {
            nb::gil_scoped_release release;
            return p.norm.max_strength(pool, view(gradient));
          },
          nb::arg("pool"), nb::arg("gradient").noconvert());
}

}  // namespace

void bind_tree(nb::module_& m) {
  nb::class_<BoundTree>(m, "Tree", "A forest cut into units of work.")
      .def(nb::init<In<std::int32_t>, std::size_t>(), nb::arg("parent").noconvert(), nb::arg("unit") = Tree::kUnit)
      .def_prop_ro("n_units", [](const BoundTree& t) { return t.tree.units().size(); })
      .def_prop_ro("n_runs", [](const BoundTree& t) { return t.tree.n_runs(); })
      .def_prop_ro("crown_size", [](const BoundTree& t) { return t.tree.crown().size; });
  m.def("forest_depths", [](In<std::int32_t> parent, Out<std::uint32_t> depth) {
    nb::gil_scoped_release release;
    forest_depths(view(parent), view(depth));
  }, nb::arg("parent").noconvert(), nb::arg("depth").noconvert());
  m.def("sort_forest", [](In<std::int32_t> parent, Out<std::int32_t> order, Out<std::int32_t> sorted_parent) {
    nb::gil_scoped_release release;
    sort_forest(view(parent), view(order), view(sorted_parent));
  }, nb::arg("parent").noconvert(), nb::arg("order").noconvert(), nb::arg("sorted_parent").noconvert());

  bind_norm<TreeL2>(m, "TreeL2", "sum_g k_g sqrt(sum_i q_i / q_g x_i^2) over subtrees + l2 / 2 sum x^2, q = scale, or 1.");
  using Linf = BoundNorm<TreeLinf>;
  bind_norm<TreeLinf>(m, "TreeLinf", "sum_g k_g max |x_i| over subtrees + l2 / 2 sum m_i x_i^2.")
      .def("prox_pivot", [](const Linf& p, ThreadPool& pool, In<double> z, In<double> steps, std::uint64_t seed,
                            Out<double> out) {
        nb::gil_scoped_release release;
        baselines::pivot_prox(pool, p.norm, view(z), view(steps), seed, view(out));
      }, nb::arg("pool"), nb::arg("z").noconvert(), nb::arg("steps").noconvert(), nb::arg("seed"),
           nb::arg("out").noconvert())
      .def("pivot_counts", [](const Linf& p, ThreadPool& pool, In<double> z, In<double> steps, bool merged) {
        std::vector<std::int64_t> histogram;
        {
          nb::gil_scoped_release release;
          histogram = p.norm.pivot_counts(pool, view(z), view(steps), merged);
        }
        return to_numpy(std::move(histogram));
      }, nb::arg("pool"), nb::arg("z").noconvert(), nb::arg("steps").noconvert(), nb::arg("merged"));
}

}  // namespace loglinear::bindings
