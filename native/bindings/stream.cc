#include "bindings/arrays.hh"
#include "stream/tree.hh"

namespace loglinear::bindings {

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
