// N-gram models trained on a whole corpus (NgramMaxent, Forest) and on a stream (OnlineTree).
#include "bindings/shared/separable.hh"
#include "ngram/forest.hh"
#include "ngram/hierarchical_normalisation.hh"
#include "stream/tree.hh"
#include "trie/recount.hh"

namespace loglinear::bindings {

using namespace ngram;
using namespace trie;
namespace {

struct BoundNgramMaxent {
  In<std::int64_t> context_start, entry_start;  // kept alive
  std::vector<In<std::uint32_t>> arrays;
  NgramMaxent model;

  BoundNgramMaxent(std::size_t n_words, In<std::int64_t> cs, In<std::int64_t> es, std::vector<In<std::uint32_t>> a,
                   std::size_t unit)
      : context_start(std::move(cs)), entry_start(std::move(es)), arrays(std::move(a)), model(make(n_words), unit) {}

 private:
  TrieView make(std::size_t n_words) {
    if (arrays.size() != 7 || context_start.size() == 0) throw nb::value_error("an n-gram trie has seven arrays");
    return {context_start.size() - 1, n_words, view(context_start), view(entry_start), view(arrays[0]),
            view(arrays[1]), view(arrays[2]), view(arrays[3]), view(arrays[4]), view(arrays[5]), view(arrays[6])};
  }
};

template <class Kept>
void bind_step(nb::class_<BoundNgramMaxent>& c) {
  c.def("value_and_step", [](const BoundNgramMaxent& m, ThreadPool& pool, BoundPath<Kept>& path,
                             std::optional<In<double>> offset, const BoundSeparable& penalty, double momentum,
                             double next_momentum, double lipschitz, double largest) {
    linear::AcceleratedSums sums;
    double value = 0.0;
    {
      nb::gil_scoped_release release;
      value = m.model.value_and_step(pool, path.path(), view(offset), penalty.penalty,
                                     {momentum, next_momentum, lipschitz}, largest, sums);
    }
    return nb::make_tuple(value, sums_tuple(sums));
  }, nb::arg("pool"), nb::arg("path"), nb::arg("offset").none().noconvert(), nb::arg("penalty"), nb::arg("momentum"),
        nb::arg("next_momentum"), nb::arg("lipschitz"), nb::arg("largest"),
        nb::sig(std::is_same_v<Kept, double>
                    ? "def value_and_step(self, pool: ThreadPool, path: AcceleratedPath, offset: "
                      "NDArray[numpy.float64] | None, penalty: Separable, momentum: float, next_momentum: float, "
                      "lipschitz: float, largest: float) -> "
                      "tuple[float, tuple[float, float, float, float, float, float]]"
                    : "def value_and_step(self, pool: ThreadPool, path: SingleAcceleratedPath, offset: "
                      "NDArray[numpy.float64] | None, penalty: Separable, momentum: float, next_momentum: float, "
                      "lipschitz: float, largest: float) -> "
                      "tuple[float, tuple[float, float, float, float, float, float]]"));
}

}  // namespace

void bind_ngram(nb::module_& m) {
  using M = BoundNgramMaxent;
  nb::class_<M> maxent(m, "NgramMaxent", "The loss of a maximum-entropy n-gram model by two sweeps over its trie.");
  bind_step<double>(maxent);
  bind_step<float>(maxent);
  maxent
      .def(nb::init<std::size_t, In<std::int64_t>, In<std::int64_t>, std::vector<In<std::uint32_t>>, std::size_t>(),
           nb::arg("n_words"), nb::arg("context_start").noconvert(), nb::arg("entry_start").noconvert(),
           nb::arg("arrays"), nb::arg("unit") = 8192)
      .def("value_and_gradient", [](const M& m, ThreadPool& pool, In<double> w, Out<double> gradient) {
        nb::gil_scoped_release release;
        return m.model.value_and_gradient(pool, view(w), view(gradient));
      }, nb::arg("pool"), nb::arg("w").noconvert(), nb::arg("gradient").noconvert())
      .def("curvature_diagonal", [](const M& m, ThreadPool& pool, In<double> w, Out<double> out) {
        nb::gil_scoped_release release;
        m.model.curvature_diagonal(pool, view(w), view(out));
      }, nb::arg("pool"), nb::arg("w").noconvert(), nb::arg("out").noconvert())
      .def("hessian_vector", [](const M& m, ThreadPool& pool, In<double> w, In<double> v, Out<double> out) {
        nb::gil_scoped_release release;
        m.model.hessian_vector(pool, view(w), view(v), view(out));
      }, nb::arg("pool"), nb::arg("w").noconvert(), nb::arg("v").noconvert(), nb::arg("out").noconvert())
      .def("log_probabilities", [](const M& m, ThreadPool& pool, In<double> w, Out<double> log_p, Out<double> log_r) {
        nb::gil_scoped_release release;
        m.model.log_probabilities(pool, view(w), view(log_p), view(log_r));
      }, nb::arg("pool"), nb::arg("w").noconvert(), nb::arg("log_p").noconvert(), nb::arg("log_r").noconvert())
      .def("continued_paths", [](const M& m, In<double> w) {
        nb::gil_scoped_release release;
        return continued_paths(m.model.trie(), view(w));
      }, nb::arg("w").noconvert(), "How many n-grams have the weight of the one that they alone extend.")
      .def("part_gradient", [](const M& m, ThreadPool& pool, In<double> unigrams, double extent, In<double> w,
                               Out<double> gradient) {
        RootSums sums;
        bool right = false;
        {
          nb::gil_scoped_release release;
          right = m.model.part_gradient(pool, view(unigrams), extent, view(w), view(gradient), sums);
        }
        return nb::make_tuple(right, sums.loss, sums.b, to_numpy(std::move(sums.d)));
      }, nb::arg("pool"), nb::arg("unigrams").noconvert(), nb::arg("extent"), nb::arg("w").noconvert(),
           nb::arg("gradient").noconvert(),
           nb::sig("def part_gradient(self, pool: ThreadPool, unigrams: NDArray[numpy.float64], extent: float, w: "
                   "NDArray[numpy.float64], gradient: NDArray[numpy.float64]) -> "
                   "tuple[bool, float, float, NDArray[numpy.float64]]"))
      .def("part_curvature", [](const M& m, ThreadPool& pool, In<double> unigrams, double extent, In<double> w,
                                Out<double> out) {
        RootSums sums;
        bool right = false;
        {
          nb::gil_scoped_release release;
          right = m.model.part_curvature(pool, view(unigrams), extent, view(w), view(out), sums);
        }
        return nb::make_tuple(right, sums.b, sums.b2, to_numpy(std::move(sums.d)), to_numpy(std::move(sums.d2)));
      }, nb::arg("pool"), nb::arg("unigrams").noconvert(), nb::arg("extent"), nb::arg("w").noconvert(),
           nb::arg("out").noconvert(),
           nb::sig("def part_curvature(self, pool: ThreadPool, unigrams: NDArray[numpy.float64], extent: float, w: "
                   "NDArray[numpy.float64], out: NDArray[numpy.float64]) -> "
                   "tuple[bool, float, float, NDArray[numpy.float64], NDArray[numpy.float64]]"))
      .def("part_probabilities", [](const M& m, ThreadPool& pool, In<double> unigrams, double extent, In<double> w,
                                    Out<double> log_p, Out<double> log_r) {
        nb::gil_scoped_release release;
        return m.model.part_probabilities(pool, view(unigrams), extent, view(w), view(log_p), view(log_r));
      }, nb::arg("pool"), nb::arg("unigrams").noconvert(), nb::arg("extent"), nb::arg("w").noconvert(),
           nb::arg("log_p").noconvert(), nb::arg("log_r").noconvert())
      .def("recount", [](const M& m, In<std::uint32_t> words, In<std::int64_t> sentence_ptr,
                         Out<std::uint32_t> context_count, Out<std::uint32_t> entry_count) {
        nb::gil_scoped_release release;
        recount(m.model.trie(), view(words), view(sentence_ptr), view(context_count), view(entry_count));
      }, nb::arg("words").noconvert(), nb::arg("sentence_ptr").noconvert(), nb::arg("context_count").noconvert(),
           nb::arg("entry_count").noconvert(), "The counts of another text on this trie.");

  nb::class_<Forest>(m, "NgramForest", "Maximum-entropy n-gram models of words within their classes.")
      .def("__init__", [](Forest* self, ThreadPool& pool, std::size_t n_words, In<std::int64_t> context_start,
                          In<std::int64_t> entry_start, std::vector<In<std::uint32_t>> a,
                          In<std::uint32_t> class_start, In<std::uint32_t> min_counts) {
        if (a.size() != 7 || context_start.size() == 0) throw nb::value_error("an n-gram trie has seven arrays");
        const TrieView trie{context_start.size() - 1, n_words, view(context_start), view(entry_start), view(a[0]),
                            view(a[1]), view(a[2]), view(a[3]), view(a[4]), view(a[5]), view(a[6])};
        nb::gil_scoped_release release;
        new (self) Forest(pool, trie, view(class_start), view(min_counts));
      }, nb::arg("pool"), nb::arg("n_words"), nb::arg("context_start").noconvert(), nb::arg("entry_start").noconvert(),
           nb::arg("arrays"), nb::arg("class_start").noconvert(), nb::arg("min_counts").noconvert())
      .def_prop_ro("n_weights", &Forest::n_weights)
      .def_prop_ro("entry", [](const Forest& f) {
        return to_numpy(std::vector<std::uint32_t>(f.entry().begin(), f.entry().end()));
      }, nb::rv_policy::move, "The n-gram of each weight.")
      .def_prop_ro("count", [](const Forest& f) {
        return to_numpy(std::vector<std::uint32_t>(f.count().begin(), f.count().end()));
      }, nb::rv_policy::move, "Its tokens.")
      .def("on", [](const Forest& f, ThreadPool& pool, In<std::uint32_t> words, In<std::int64_t> sentence_ptr) {
        nb::gil_scoped_release release;
        return f.on(pool, view(words), view(sentence_ptr));
      }, nb::arg("pool"), nb::arg("words").noconvert(), nb::arg("sentence_ptr").noconvert(),
           "The same weights with the tokens of another text.")
      .def("value_and_gradient", [](const Forest& f, ThreadPool& pool, In<double> w, Out<double> gradient) {
        nb::gil_scoped_release release;
        return f.value_and_gradient(pool, view(w), view(gradient));
      }, nb::arg("pool"), nb::arg("w").noconvert(), nb::arg("gradient").noconvert())
      .def("curvature_diagonal", [](const Forest& f, ThreadPool& pool, In<double> w, Out<double> out) {
        nb::gil_scoped_release release;
        f.curvature_diagonal(pool, view(w), view(out));
      }, nb::arg("pool"), nb::arg("w").noconvert(), nb::arg("out").noconvert())
      .def("hessian_vector", [](const Forest& f, ThreadPool& pool, In<double> w, In<double> v, Out<double> out) {
        nb::gil_scoped_release release;
        f.hessian_vector(pool, view(w), view(v), view(out));
      }, nb::arg("pool"), nb::arg("w").noconvert(), nb::arg("v").noconvert(), nb::arg("out").noconvert());
}

using namespace stream;
namespace {

tree::SmallForestPenalty penalty_named(const std::string& name) {
  if (name == "tree-linf") return tree::SmallForestPenalty::kTreeLinf;
  if (name == "tree-l2") return tree::SmallForestPenalty::kTreeL2;
  if (name == "l1") return tree::SmallForestPenalty::kL1;
  if (name == "none") return tree::SmallForestPenalty::kNone;
  throw nb::value_error("the penalty must be 'tree-linf', 'tree-l2', 'l1' or 'none'");
}

nb::tuple layout_arrays(OnlineLayout&& l) {
  return nb::make_tuple(to_numpy(std::move(l.context_start)), to_numpy(std::move(l.entry_start)),
                        to_numpy(std::move(l.context_word)), to_numpy(std::move(l.context_child)),
                        to_numpy(std::move(l.context_entry)), to_numpy(std::move(l.context_count)),
                        to_numpy(std::move(l.entry_word)), to_numpy(std::move(l.entry_parent)),
                        to_numpy(std::move(l.entry_count)), to_numpy(std::move(l.context_length)),
                        to_numpy(std::move(l.context_end)), to_numpy(std::move(l.source)));
}

}  // namespace

void bind_stream(nb::module_& m) {
  using T = OnlineTree;
  nb::class_<T>(m, "OnlineTree", "Stochastic and online training of n-gram models with structured penalties.")
      .def("__init__", [](T* self, std::uint32_t n_words, std::uint32_t order, const std::string& penalty,
                          bool collapse, bool nonnegative, std::vector<double> strengths,
                          std::vector<double> ridges, double depth_growth, double ridge_growth, double unigram_ridge,
                          double gain, double mu, double lipschitz, bool eager) {
        new (self) T({n_words, order, penalty_named(penalty), collapse, nonnegative, eager, std::move(strengths),
                      std::move(ridges), depth_growth, ridge_growth, unigram_ridge, gain, mu, lipschitz});
      }, nb::arg("n_words"), nb::arg("order"), nb::arg("penalty"), nb::arg("collapse"), nb::arg("nonnegative"),
           nb::arg("strengths"), nb::arg("ridges"), nb::arg("depth_growth"), nb::arg("ridge_growth"),
           nb::arg("unigram_ridge"), nb::arg("gain"), nb::arg("mu"), nb::arg("lipschitz"), nb::arg("eager") = false)
      .def_prop_ro("n_tokens", &T::n_tokens)
      .def_prop_ro("n_sentences", &T::n_sentences)
      .def_prop_ro("n_steps", &T::n_steps)
      .def_prop_ro("n_entries", &T::n_entries)
      .def_prop_ro("n_contexts", &T::n_contexts)
      .def_prop_ro("n_bytes", &T::n_bytes)
      .def("text", [](const T& t) { return to_numpy(std::vector<std::uint32_t>(t.text().begin(), t.text().end())); },
           "The sentences taken in, <s> before each.")
      .def("extend", [](T& t, ThreadPool& pool, In<std::uint32_t> words, In<std::int64_t> sentence_ptr) {
        nb::gil_scoped_release release;
        t.extend(pool, view(words), view(sentence_ptr));
      }, nb::arg("pool"), nb::arg("words").noconvert(), nb::arg("sentence_ptr").noconvert(),
           "Takes sentences in without learning from them.")
      .def("learn", [](T& t, ThreadPool& pool, In<std::uint32_t> words, In<std::int64_t> sentence_ptr, double tokens) {
        nb::gil_scoped_release release;
        return t.learn(pool, view(words), view(sentence_ptr), tokens);
      }, nb::arg("pool"), nb::arg("words").noconvert(), nb::arg("sentence_ptr").noconvert(), nb::arg("tokens") = 0.0,
           "One step on new sentences; returns their loss before it.")
      .def("step", [](T& t, ThreadPool& pool, In<std::int64_t> sentences, double tokens) {
        nb::gil_scoped_release release;
        return t.step(pool, view(sentences), tokens);
      }, nb::arg("pool"), nb::arg("sentences").noconvert(), nb::arg("tokens") = 0.0,
           "One step on sentences taken in before; returns their loss before it.")
      .def("gradient", [](T& t, ThreadPool& pool, In<std::int64_t> sentences, Out<double> out) {
        nb::gil_scoped_release release;
        return t.gradient(pool, view(sentences), view(out));
      }, nb::arg("pool"), nb::arg("sentences").noconvert(), nb::arg("out").noconvert())
      .def("values", [](T& t, ThreadPool& pool, Out<double> out) {
        nb::gil_scoped_release release;
        t.values(pool, view(out));
      }, nb::arg("pool"), nb::arg("out").noconvert())
      .def("set_values", [](T& t, ThreadPool& pool, In<double> w) {
        nb::gil_scoped_release release;
        t.set_values(pool, view(w));
      }, nb::arg("pool"), nb::arg("w").noconvert())
      .def("layout", [](const T& t) {
        OnlineLayout layout;
        {
          nb::gil_scoped_release release;
          layout = t.layout();
        }
        return layout_arrays(std::move(layout));
      }, "The arrays of a suffix tree, and where the values of its entries are.");
}

}  // namespace loglinear::bindings
