#include "bindings/arrays.hh"
#include "ngram/forest.hh"
#include "ngram/hierarchical_normalisation.hh"
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

}  // namespace

void bind_ngram(nb::module_& m) {
  using M = BoundNgramMaxent;
  nb::class_<M>(m, "NgramMaxent", "The loss of a maximum-entropy n-gram model by two sweeps over its trie.")
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

}  // namespace loglinear::bindings
