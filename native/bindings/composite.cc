#include "composite/clusters.hh"

#include <nanobind/stl/pair.h>

#include "bindings/arrays.hh"
#include "composite/dense.hh"
#include "composite/levels.hh"
#include "composite/tables.hh"

namespace loglinear::bindings {

using namespace composite;
namespace {

// A problem with the arrays it views, kept alive and checked.
struct BoundProblem {
  std::vector<std::vector<In<std::uint32_t>>> arrays;  // [source]: depth_start, parents, entries, words, entry parents
  std::vector<std::optional<In<double>>> values;
  std::vector<In<std::uint32_t>> leaf;
  In<double> count, observed;
  Problem problem;

  BoundProblem(std::size_t n_words, std::vector<std::vector<In<std::uint32_t>>> sources,
               std::vector<std::optional<In<double>>> entry_values, std::vector<std::size_t> offsets,
               std::vector<In<std::uint32_t>> leaves, In<double> counts, In<double> observed_counts)
      : arrays(std::move(sources)), values(std::move(entry_values)), leaf(std::move(leaves)),
        count(std::move(counts)), observed(std::move(observed_counts)) {
    if (values.size() != arrays.size() || offsets.size() != arrays.size() || leaf.size() != arrays.size())
      throw nb::value_error("every source has arrays, values, an offset and contexts of histories");
    problem.n_words = n_words;
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      const auto& a = arrays[i];
      if (a.size() != 5) throw nb::value_error("a source has five arrays");
      problem.sources.push_back({view(a[0]), view(a[1]), view(a[2]), view(a[3]), view(a[4]), view(values[i]),
                                 offsets[i]});
      problem.leaf.push_back(view(leaf[i]));
    }
    problem.count = view(count);
    problem.observed = view(observed);
    nb::gil_scoped_release release;
    problem.check();
  }
};

template <class Method>
struct Bound {
  BoundProblem& bound;  // kept alive by Python
  Method method;
};

using BoundLevels = Bound<Levels>;
using BoundClusters = Bound<Clusters>;

struct BoundDense {
  BoundProblem& bound;  // kept alive by Python
  std::optional<In<std::uint32_t>> start, of;
  Dense method;
};

struct BoundScorer {
  BoundDense& dense;  // kept alive by Python
  In<double> weights;
  Dense::Prepared prepared;
};

template <class B>
void bind_method(nb::class_<B>& c) {
  c.def("value_and_gradient", [](const B& b, ThreadPool& pool, In<double> w, Out<double> gradient) {
     nb::gil_scoped_release release;
     return b.method.value_and_gradient(pool, view(w), view(gradient));
   }, nb::arg("pool"), nb::arg("w").noconvert(), nb::arg("gradient").noconvert())
      .def("hessian_vector", [](const B& b, ThreadPool& pool, In<double> w, In<double> v, Out<double> out) {
        nb::gil_scoped_release release;
        b.method.hessian_vector(pool, view(w), view(v), view(out));
      }, nb::arg("pool"), nb::arg("w").noconvert(), nb::arg("v").noconvert(), nb::arg("out").noconvert())
      .def("log_z", [](const B& b, ThreadPool& pool, In<double> w, Out<double> out) {
        nb::gil_scoped_release release;
        b.method.log_z(pool, view(w), view(out));
      }, nb::arg("pool"), nb::arg("w").noconvert(), nb::arg("out").noconvert())
      .def_prop_ro("terms", [](const B& b) { return b.method.terms(); })
      .def_prop_ro("bytes", [](const B& b) { return b.method.bytes(); });
}

Table table_of(const std::vector<In<std::uint32_t>>& arrays) {
  if (arrays.size() != 4) throw nb::value_error("a table has four arrays");
  return {view(arrays[0]), view(arrays[1]), view(arrays[2]), view(arrays[3])};
}

void bind_tables(nb::module_& m) {
  m.def("group_rows", [](ThreadPool& pool, const std::vector<In<std::uint32_t>>& columns) {
    std::vector<std::span<const std::uint32_t>> views;
    for (const auto& column : columns) views.push_back(view(column));
    Groups found;
    {
      nb::gil_scoped_release release;
      found = group_rows(pool, views);
    }
    return nb::make_tuple(to_numpy(std::move(found.example)), to_numpy(std::move(found.count)),
                          to_numpy(std::move(found.number)));
  }, nb::arg("pool"), nb::arg("columns"),
        "(an example, the size) of every group of equal rows in lexicographic order, and the group of every row.");
  m.def("table_leaves", [](ThreadPool& pool, const std::vector<In<std::uint32_t>>& table, In<std::int32_t> symbols,
                           std::size_t depth, Out<std::uint32_t> leaf) {
    nb::gil_scoped_release release;
    find_leaves(pool, table_of(table), view(symbols), depth, view(leaf));
  }, nb::arg("pool"), nb::arg("table"), nb::arg("symbols").noconvert(), nb::arg("depth"), nb::arg("leaf").noconvert());
  m.def("table_counts", [](ThreadPool& pool, const std::vector<In<std::uint32_t>>& table, In<std::uint32_t> leaf,
                           In<std::uint32_t> words, Out<double> out) {
    nb::gil_scoped_release release;
    count_entries(pool, table_of(table), view(leaf), view(words), view(out));
  }, nb::arg("pool"), nb::arg("table"), nb::arg("leaf").noconvert(), nb::arg("words").noconvert(),
        nb::arg("out").noconvert());
  m.def("table_scores", [](ThreadPool& pool, const std::vector<In<std::uint32_t>>& table, In<std::uint32_t> leaf,
                           In<std::uint32_t> words, In<double> weights, Out<double> score, Out<std::uint8_t> depth) {
    nb::gil_scoped_release release;
    score_entries(pool, table_of(table), view(leaf), view(words), view(weights), view(score), view(depth));
  }, nb::arg("pool"), nb::arg("table"), nb::arg("leaf").noconvert(), nb::arg("words").noconvert(),
        nb::arg("weights").noconvert(), nb::arg("score").noconvert(), nb::arg("depth").noconvert());
  m.def("previous_symbols", [](ThreadPool& pool, In<std::int32_t> numbers, In<std::int64_t> event_ptr,
                               std::size_t first_back, std::size_t n_back, std::int32_t begin, Out<std::int32_t> out) {
    nb::gil_scoped_release release;
    previous_symbols(pool, view(numbers), view(event_ptr), first_back, n_back, begin, view(out));
  }, nb::arg("pool"), nb::arg("numbers").noconvert(), nb::arg("event_ptr").noconvert(), nb::arg("first_back"),
        nb::arg("n_back"), nb::arg("begin"), nb::arg("out").noconvert());
}

}  // namespace

void bind_composite(nb::module_& m) {
  bind_tables(m);
  nb::class_<BoundProblem>(m, "CompositeProblem", "Histories and features of several information sources, checked.")
      .def(nb::init<std::size_t, std::vector<std::vector<In<std::uint32_t>>>, std::vector<std::optional<In<double>>>,
                    std::vector<std::size_t>, std::vector<In<std::uint32_t>>, In<double>, In<double>>(),
           nb::arg("n_words"), nb::arg("sources"), nb::arg("values"), nb::arg("offsets"), nb::arg("leaf"),
           nb::arg("count").noconvert(), nb::arg("observed").noconvert())
      .def("naive", [](const BoundProblem& p, ThreadPool& pool, In<double> w, Out<double> gradient) {
        nb::gil_scoped_release release;
        std::uint64_t terms = 0;
        const double value = naive(pool, p.problem, view(w), view(gradient), terms);
        return std::make_pair(value, terms);
      }, nb::arg("pool"), nb::arg("w").noconvert(), nb::arg("gradient").noconvert(), "(loss, terms) by naive summation.")
      .def("naive_log_z", [](const BoundProblem& p, ThreadPool& pool, In<double> w, Out<double> out) {
        if (w.size() != p.problem.n_weights() || out.size() != p.problem.n_histories())
          throw nb::value_error("one number per weight and one per history");
        nb::gil_scoped_release release;
        naive_log_z(pool, p.problem, view(w), view(out));
      }, nb::arg("pool"), nb::arg("w").noconvert(), nb::arg("out").noconvert())
      .def("scores", [](const BoundProblem& p, In<double> w, std::size_t history, Out<double> out) {
        if (w.size() != p.problem.n_weights() || history >= p.problem.n_histories() || out.size() != p.problem.n_words)
          throw nb::value_error("one number per weight, a history that exists, and room for the scores of all words");
        nb::gil_scoped_release release;
        history_scores(p.problem, view(w), history, view(out));
      }, nb::arg("w").noconvert(), nb::arg("history"), nb::arg("out").noconvert(),
           "Scores of all words in one history, before normalisation.");

  nb::class_<BoundLevels> levels(m, "CompositeLevels", "Normalisers and expectations by levels of super-features.");
  levels.def("__init__", [](BoundLevels* self, ThreadPool& pool, BoundProblem& problem,
                            const std::vector<std::vector<std::pair<std::uint32_t, std::uint32_t>>>& given) {
    std::vector<std::vector<Pattern>> patterns;
    for (const auto& level : given) {
      patterns.emplace_back();
      for (const auto& [source, depth] : level) patterns.back().push_back({source, depth});
    }
    nb::gil_scoped_release release;
    new (self) BoundLevels{problem, Levels(pool, problem.problem, std::move(patterns))};
  }, nb::arg("pool"), nb::arg("problem"), nb::arg("levels"), nb::keep_alive<1, 3>());
  bind_method(levels);
  levels.def_prop_ro("nodes", [](const BoundLevels& b) { return b.method.nodes(); });

  nb::class_<BoundDense> dense(m, "CompositeDense", "Normalisers and expectations over all of a few outcomes.");
  dense.def("__init__", [](BoundDense* self, BoundProblem& problem, std::optional<In<std::uint32_t>> group_start,
                           std::optional<In<std::uint32_t>> group, std::size_t max_row_bytes) {
    const OutcomeGroups groups{view(group_start), view(group)};
    new (self) BoundDense{problem, std::move(group_start), std::move(group), Dense(problem.problem, groups, max_row_bytes)};
  }, nb::arg("problem"), nb::arg("group_start") = nb::none(), nb::arg("group") = nb::none(),
     nb::arg("max_row_bytes") = kMaxRowBytes, nb::keep_alive<1, 2>(),
     "group_start: ranges of outcomes that are normalised by themselves; group: that of each history.");
  bind_method(dense);
  nb::class_<BoundScorer>(m, "DenseScorer", "A trained model of few outcomes, ready for queries.")
      .def("__init__", [](BoundScorer* self, ThreadPool& pool, BoundDense& of, In<double> w) {
        const std::span<const double> weights = view(w);
        nb::gil_scoped_release release;
        auto prepared = of.method.prepare(pool, weights);
        nb::gil_scoped_acquire acquire;
        new (self) BoundScorer{of, std::move(w), std::move(prepared)};
      }, nb::arg("pool"), nb::arg("dense"), nb::arg("w").noconvert(), nb::keep_alive<1, 3>())
      .def("log_probabilities", [](const BoundScorer& b, ThreadPool& pool, const std::vector<In<std::uint32_t>>& leaf,
                                   Out<double> out) {
        std::vector<std::span<const std::uint32_t>> leaves;
        for (const auto& one : leaf) leaves.push_back(view(one));
        nb::gil_scoped_release release;
        b.dense.method.log_probabilities(pool, b.prepared, leaves, view(out));
      }, nb::arg("pool"), nb::arg("leaf"), nb::arg("out").noconvert(),
           "log p of all outcomes in histories given by their contexts: out [n, n_words].");

  nb::class_<BoundClusters> clusters(m, "CompositeClusters", "Normalisers and expectations over intersections.");
  clusters.def("__init__", [](BoundClusters* self, ThreadPool& pool, BoundProblem& problem,
                              const std::vector<std::uint32_t>& apart, std::uint64_t max_bytes) {
    nb::gil_scoped_release release;
    new (self) BoundClusters{problem, Clusters(pool, problem.problem, apart, max_bytes)};
  }, nb::arg("pool"), nb::arg("problem"), nb::arg("apart"), nb::arg("max_bytes"), nb::keep_alive<1, 3>());
  bind_method(clusters);
  clusters.def_prop_ro("columns", [](const BoundClusters& b) {
    nb::list out;
    for (const Column& c : b.method.columns())
      out.append(nb::make_tuple(c.sources, c.depths, c.n_nodes(), c.n_terms(), c.spread_context.size()));
    return out;
  }, "(sources, depths of all but the first, nodes, terms, spread contexts) of every set of sources that intersect.");
}

}  // namespace loglinear::bindings
