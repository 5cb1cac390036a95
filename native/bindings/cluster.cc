#include "bindings/arrays.hh"
#include "cluster/bigrams.hh"
#include "cluster/exchange.hh"

namespace loglinear::bindings {

using namespace cluster;
namespace {

struct BoundBigrams {
  Bigrams bigrams;

  BoundBigrams(ThreadPool& pool, std::size_t n_words, In<std::uint32_t> words, In<std::int64_t> sentence_ptr) {
    nb::gil_scoped_release release;
    bigrams = count_bigrams(pool, {n_words, view(words), view(sentence_ptr)});
  }
};

std::vector<std::uint32_t> copy(std::span<const std::uint32_t> labels) { return {labels.begin(), labels.end()}; }

}  // namespace

void bind_cluster(nb::module_& m) {
  nb::class_<BoundBigrams>(m, "Bigrams", "Bigrams of sentences; the number 0 stands for their boundary.")
      .def(nb::init<ThreadPool&, std::size_t, In<std::uint32_t>, In<std::int64_t>>(), nb::arg("pool"),
           nb::arg("n_words"), nb::arg("words").noconvert(), nb::arg("sentence_ptr").noconvert())
      .def("counts", [](const BoundBigrams& b) { return to_numpy(std::vector<std::int32_t>(b.bigrams.count)); })
      .def("by_count", [](const BoundBigrams& b) { return to_numpy(b.bigrams.by_count()); },
           "The words that occur, by falling count.");
  nb::class_<Exchange>(m, "Exchange", "Exchange clustering by class bigrams.")
      .def("__init__", [](Exchange* self, const BoundBigrams& b, std::size_t n_classes, In<std::uint32_t> labels) {
        new (self) Exchange(b.bigrams, n_classes, view(labels));
      }, nb::arg("bigrams"), nb::arg("n_classes"), nb::arg("labels").noconvert(), nb::keep_alive<1, 2>())
      .def("step", &Exchange::pass, nb::arg("pool"), nb::call_guard<nb::gil_scoped_release>(),
           "Visits every word once; returns how many moved.")
      .def_prop_ro("log_likelihood", &Exchange::log_likelihood)
      .def("labels", [](const Exchange& e) { return to_numpy(copy(e.labels())); });
}

}  // namespace loglinear::bindings
