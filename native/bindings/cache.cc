#include "cache/loglinear.hh"

#include <nanobind/stl/tuple.h>

#include "bindings/arrays.hh"
#include "bindings/tries.hh"

namespace loglinear::bindings {

using namespace cache;
using namespace ngram;
namespace {

struct BoundWithin {
  BoundShape& shape;  // kept alive by Python
  Within model;
};

struct BoundCache {
  In<std::uint32_t> words;
  In<std::int64_t> document_start;
  LoglinearCache cache;

  BoundCache(ThreadPool& pool, std::size_t n_words, In<std::uint32_t> w, In<std::int64_t> d, std::size_t window,
             std::vector<double> half_lives, double ngram_half_life, std::size_t order, double ratio)
      : words(std::move(w)), document_start(std::move(d)),
        cache(pool, {window, std::move(half_lives), ngram_half_life, order, ratio}, n_words, view(words),
              view(document_start)) {}
};

using Given = std::vector<std::tuple<BoundWithin*, In<std::uint32_t>, std::optional<In<double>>, double>>;

std::vector<Component> components(const Given& given) {
  std::vector<Component> out;
  for (const auto& [model, leaf, class_log_p, weight] : given)
    out.push_back({&model->model, view(leaf), view(class_log_p), weight});
  return out;
}

}  // namespace

void bind_cache(nb::module_& m) {
  nb::class_<BoundWithin>(m, "WithinClasses", "Queries of words within classes; with one class, of an n-gram model.")
      .def("__init__", [](BoundWithin* self, ThreadPool& pool, BoundShape& shape, In<double> weight,
                          In<std::uint32_t> class_start, In<std::uint32_t> rank) {
        nb::gil_scoped_release release;
        new (self) BoundWithin{shape, Within(pool, shape.shape, view(weight), view(class_start), view(rank))};
      }, nb::arg("pool"), nb::arg("shape"), nb::arg("weight").noconvert(), nb::arg("class_start").noconvert(),
           nb::arg("rank").noconvert(), nb::keep_alive<1, 3>())
      .def("leaves", [](const BoundWithin& b, In<std::uint32_t> words, In<std::int64_t> sentence_ptr,
                        Out<std::uint32_t> out) {
        nb::gil_scoped_release release;
        b.model.leaves(view(words), view(sentence_ptr), view(out));
      }, nb::arg("words").noconvert(), nb::arg("sentence_ptr").noconvert(), nb::arg("out").noconvert(),
           "The longest context of every event.")
      .def("log_probabilities", [](const BoundWithin& b, ThreadPool& pool, In<std::uint32_t> leaf,
                                   In<std::uint32_t> words, Out<double> out, Out<std::uint8_t> found) {
        nb::gil_scoped_release release;
        b.model.log_probabilities(pool, view(leaf), view(words), view(out), view(found));
      }, nb::arg("pool"), nb::arg("leaf").noconvert(), nb::arg("words").noconvert(), nb::arg("out").noconvert(),
           nb::arg("found").noconvert(), "log p(word | its class, context) of events, and orders of n-grams found.");

  nb::class_<BoundCache>(m, "LoglinearCache", "A log-linear cache over the events of a text.")
      .def(nb::init<ThreadPool&, std::size_t, In<std::uint32_t>, In<std::int64_t>, std::size_t, std::vector<double>,
                    double, std::size_t, double>(),
           nb::arg("pool"), nb::arg("n_words"), nb::arg("words").noconvert(), nb::arg("document_start").noconvert(),
           nb::arg("window"), nb::arg("half_lives"), nb::arg("ngram_half_life"), nb::arg("order"),
           nb::arg("ratio"))
      .def("n_pairs", [](const BoundCache& b, std::size_t begin, std::size_t end) { return b.cache.n_pairs(begin, end); },
           nb::arg("begin"), nb::arg("end"), "How many words are in memory before these events, all together.")
      .def("collect", [](const BoundCache& b, ThreadPool& pool, std::size_t begin, const Given& given, Out<float> pairs,
                         Out<double> log_p) {
        const auto models = components(given);
        nb::gil_scoped_release release;
        b.cache.collect(pool, begin, models, view(pairs), view(log_p));
      }, nb::arg("pool"), nb::arg("begin"), nb::arg("components"), nb::arg("pairs").noconvert(),
           nb::arg("log_p").noconvert(), "Probabilities of the words in memory, and of the events themselves.")
      .def("value_and_gradient", [](const BoundCache& b, ThreadPool& pool, In<float> pairs, In<double> weights,
                                    Out<double> gradient) {
        nb::gil_scoped_release release;
        return b.cache.value_and_gradient(pool, view(pairs), view(weights), view(gradient));
      }, nb::arg("pool"), nb::arg("pairs").noconvert(), nb::arg("weights").noconvert(),
           nb::arg("gradient").noconvert(), "Of weights [n_words, n_features].")
      .def("curvature", [](const BoundCache& b, ThreadPool& pool, In<float> pairs, Out<double> out) {
        nb::gil_scoped_release release;
        b.cache.curvature(pool, view(pairs), view(out));
      }, nb::arg("pool"), nb::arg("pairs").noconvert(), nb::arg("out").noconvert(),
           "Sums of P times squared features: [n_words, n_features].")
      .def("score", [](const BoundCache& b, ThreadPool& pool, std::size_t begin, const Given& given,
                       In<double> weights, Out<double> out) {
        const auto models = components(given);
        nb::gil_scoped_release release;
        b.cache.score(pool, begin, models, view(weights), view(out));
      }, nb::arg("pool"), nb::arg("begin"), nb::arg("components"), nb::arg("weights").noconvert(),
           nb::arg("out").noconvert(), "log p of events.")
      .def("distribution", [](const BoundCache& b, std::size_t event, const Given& given, In<double> weights,
                              Out<double> out) {
        const auto models = components(given);
        nb::gil_scoped_release release;
        b.cache.distribution(event, models, view(weights), view(out));
      }, nb::arg("event"), nb::arg("components"), nb::arg("weights").noconvert(), nb::arg("out").noconvert(),
           "p of all words before an event.")
      .def("linear", [](const BoundCache& b, ThreadPool& pool, Out<double> out) {
        nb::gil_scoped_release release;
        b.cache.linear(pool, view(out));
      }, nb::arg("pool"), nb::arg("out").noconvert(),
           "Probabilities of the events by a linear cache; -1 where nothing is in memory.")
      .def("uses", [](const BoundCache& b, std::size_t event, Out<double> out) {
        nb::gil_scoped_release release;
        b.cache.uses(event, view(out));
      }, nb::arg("event"), nb::arg("out").noconvert(), "Decayed uses of all words before an event.")
      .def("features", [](const BoundCache& b, std::size_t event, std::uint32_t word, const Given& given,
                          Out<double> out) {
        const auto models = components(given);
        nb::gil_scoped_release release;
        b.cache.features(event, word, models, view(out));
      }, nb::arg("event"), nb::arg("word"), nb::arg("components"), nb::arg("out").noconvert(),
           "Features of a word before an event.");
}

}  // namespace loglinear::bindings
