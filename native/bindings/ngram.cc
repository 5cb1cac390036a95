#include "bindings/arrays.hh"
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
      .def("recount", [](const M& m, In<std::uint32_t> words, In<std::int64_t> sentence_ptr,
                         Out<std::uint32_t> context_count, Out<std::uint32_t> entry_count) {
        nb::gil_scoped_release release;
        recount(m.model.trie(), view(words), view(sentence_ptr), view(context_count), view(entry_count));
      }, nb::arg("words").noconvert(), nb::arg("sentence_ptr").noconvert(), nb::arg("context_count").noconvert(),
           nb::arg("entry_count").noconvert(), "The counts of another text on this trie.");
}

}  // namespace loglinear::bindings
