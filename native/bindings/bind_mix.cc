#include "kernels/mix.hh"

#include "bindings/ngram_arrays.hh"

namespace loglinear {

void bind_mix(nb::module_& m) {
  nb::class_<BoundShape>(m, "NgramShape", "contexts and entries of a trie or a back-off model, checked")
      .def(nb::init<ThreadPool&, std::size_t, In<std::int64_t>, In<std::int64_t>, In<std::uint32_t>,
                    In<std::uint32_t>, In<std::uint32_t>, In<std::uint32_t>>(),
           nb::arg("pool"), nb::arg("n_words"), nb::arg("context_start").noconvert(),
           nb::arg("entry_start").noconvert(), nb::arg("context_word").noconvert(),
           nb::arg("context_child").noconvert(), nb::arg("context_entry").noconvert(),
           nb::arg("entry_word").noconvert());
  nb::class_<BoundBackoff>(m, "BackoffArrays", "a shape with log back-offs and log probabilities, checked")
      .def(nb::init<ThreadPool&, BoundShape&, In<double>, In<double>>(), nb::arg("pool"), nb::arg("shape"),
           nb::arg("log_backoff").noconvert(), nb::arg("log_probability").noconvert(), nb::keep_alive<1, 3>());
  m.def("log_probabilities_of", [](ThreadPool& pool, const BoundBackoff& model, const BoundShape& shape,
                                   Out<double> out) {
    nb::gil_scoped_release release;
    log_probabilities_of(pool, model.model, shape.shape, view(out));
  }, nb::arg("pool"), nb::arg("model"), nb::arg("shape"), nb::arg("out").noconvert(),
        "log p(w | h) under a model for every entry of a shape");
  m.def("loglinear_weights", [](ThreadPool& pool, const BoundBackoff& model, Out<double> out) {
    nb::gil_scoped_release release;
    loglinear_weights(pool, model.model, view(out));
  }, nb::arg("pool"), nb::arg("model"), nb::arg("out").noconvert(),
        "weights of the maximum-entropy model that a back-off model is");
  m.def("normalising_backoffs", [](ThreadPool& pool, const BoundShape& shape, In<double> log_probability,
                                   Out<double> log_backoff) {
    nb::gil_scoped_release release;
    normalising_backoffs(pool, shape.shape, view(log_probability), view(log_backoff));
  }, nb::arg("pool"), nb::arg("shape"), nb::arg("log_probability").noconvert(), nb::arg("log_backoff").noconvert(),
        "back-offs with which every context sums to one");
  m.def("unite_shapes", [](const BoundShape& a, const BoundShape& b) {
    OwnedShape united;
    {
      nb::gil_scoped_release release;
      united = unite(a.shape, b.shape);
    }
    return shape_arrays(std::move(united));
  }, nb::arg("a"), nb::arg("b"),
        "(context_start, entry_start, context_word, context_child, context_entry, entry_word) of both together");
}

}  // namespace loglinear
