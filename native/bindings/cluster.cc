#include "bindings/arrays.hh"
#include "cluster/bidirectional.hh"
#include "cluster/bigrams.hh"
#include "cluster/exchange.hh"
#include "cluster/merge.hh"

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

// What both exchanges share.
template <class Kind>
nb::class_<Kind> bind_passes(nb::class_<Kind> bound) {
  bound
      .def("__init__", [](Kind* self, const BoundBigrams& b, std::size_t n_classes, In<std::uint32_t> labels) {
        new (self) Kind(b.bigrams, n_classes, view(labels));
      }, nb::arg("bigrams"), nb::arg("n_classes"), nb::arg("labels").noconvert(), nb::keep_alive<1, 2>())
      .def("step", &Kind::pass, nb::arg("pool"), nb::call_guard<nb::gil_scoped_release>(),
           "Visits every word once; returns how many moved.")
      .def("labels", [](const Kind& e) { return to_numpy(copy(e.labels())); });
  return bound;
}

}  // namespace

void bind_cluster(nb::module_& m) {
  nb::class_<BoundBigrams>(m, "Bigrams", "Bigrams of sentences; the number 0 stands for their boundary.")
      .def(nb::init<ThreadPool&, std::size_t, In<std::uint32_t>, In<std::int64_t>>(), nb::arg("pool"),
           nb::arg("n_words"), nb::arg("words").noconvert(), nb::arg("sentence_ptr").noconvert())
      .def("counts", [](const BoundBigrams& b) { return to_numpy(std::vector<std::int32_t>(b.bigrams.count)); })
      .def("by_count", [](const BoundBigrams& b) { return to_numpy(b.bigrams.by_count()); },
           "The words that occur, by falling count.");
  bind_passes(nb::class_<Exchange>(m, "Exchange", "Exchange clustering by class bigrams."))
      .def_prop_ro("objective", &Exchange::log_likelihood, "The log-likelihood of the class bigram model.");
  bind_passes(nb::class_<Bidirectional>(m, "Bidirectional", "Bidirectional exchange clustering."))
      .def_prop_ro("objective", &Bidirectional::objective);
  nb::class_<Merger>(m, "Merger", "Merges of classes of words, cheapest first.")
      .def("__init__", [](Merger* self, ThreadPool& pool, const BoundBigrams& b, std::size_t n_classes,
                          std::optional<In<std::uint32_t>> labels) {
        nb::gil_scoped_release release;
        if (labels) new (self) Merger(pool, b.bigrams, n_classes, view(*labels));
        else new (self) Merger(pool, b.bigrams, n_classes);
      }, nb::arg("pool"), nb::arg("bigrams"), nb::arg("n_classes"), nb::arg("labels").noconvert() = nb::none(),
           nb::keep_alive<1, 3>())
      .def("insert", &Merger::insert, nb::arg("pool"), nb::arg("n_more"), nb::call_guard<nb::gil_scoped_release>(),
           "Gives so many more words a class; returns how many are still to come.")
      .def("put_rest", &Merger::put_rest, nb::arg("pool"), nb::call_guard<nb::gil_scoped_release>(),
           "Makes one class of all words to come.")
      .def("labels", [](const Merger& merger) { return to_numpy(merger.labels()); })
      .def("tree", [](Merger& merger, ThreadPool& pool) {
        std::vector<std::uint32_t> flat;
        {
          nb::gil_scoped_release release;
          for (const auto& [a, b] : merger.tree(pool)) flat.push_back(a), flat.push_back(b);
        }
        return to_numpy(std::move(flat));
      }, nb::arg("pool"), "The two nodes of each merge, one after another; the i-th merge makes node n_classes + i.");
}

}  // namespace loglinear::bindings
