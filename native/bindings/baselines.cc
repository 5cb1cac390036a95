#include "baselines/iterative_scaling.hh"
#include "baselines/ngram_normalisers.hh"
#include "baselines/ngram_totals.hh"
#include "bindings/arrays.hh"

namespace loglinear::bindings {

using namespace baselines;
namespace {

// The trie's arrays and what is derived from them, kept alive together; checked when it is made.
struct BoundHistories {
  In<std::int64_t> context_start, entry_start;
  std::vector<In<std::uint32_t>> arrays;
  NgramHistories histories;

  BoundHistories(std::size_t n_words, In<std::int64_t> context_start_, In<std::int64_t> entry_start_,
                 std::vector<In<std::uint32_t>> arrays_)
      : context_start(std::move(context_start_)), entry_start(std::move(entry_start_)), arrays(std::move(arrays_)),
        histories(make(n_words)) {}

 private:
  NgramHistories make(std::size_t n_words) {
    if (arrays.size() != 7 || context_start.size() == 0) throw nb::value_error("an n-gram trie has seven arrays");
    nb::gil_scoped_release release;
    return NgramHistories({context_start.size() - 1, n_words, view(context_start), view(entry_start), view(arrays[0]),
                           view(arrays[1]), view(arrays[2]), view(arrays[3]), view(arrays[4]), view(arrays[5]),
                           view(arrays[6])});
  }
};

}  // namespace

void bind_baselines(nb::module_& m) {
  nb::class_<BoundHistories>(m, "NgramHistories", "The contexts of an n-gram trie that are histories of tokens.")
      .def(nb::init<std::size_t, In<std::int64_t>, In<std::int64_t>, std::vector<In<std::uint32_t>>>(),
           nb::arg("n_words"), nb::arg("context_start").noconvert(), nb::arg("entry_start").noconvert(),
           nb::arg("arrays"))
      .def("terms",
           [](const BoundHistories& h) {
             const TermCounts count = h.histories.terms();
             return nb::make_tuple(count.histories, count.naive, count.unigram_caching, count.hierarchical);
           },
           "(histories, terms of naive summation, of unigram caching, of hierarchical training).")
      .def("histories",
           [](const BoundHistories& h) { return to_numpy(std::vector<std::uint32_t>(h.histories.histories)); },
           "Numbers of the contexts that are the longest of some token.")
      .def("naive",
           [](const BoundHistories& h, ThreadPool& pool, In<double> weights, In<std::uint32_t> contexts,
              Out<double> log_z, std::optional<Out<double>> expectations) {
             nb::gil_scoped_release release;
             return naive_normalisers(pool, h.histories, view(weights), view(contexts), view(log_z),
                                      expectations ? view(*expectations) : std::span<double>{});
           },
           nb::arg("pool"), nb::arg("weights").noconvert(), nb::arg("contexts").noconvert(),
           nb::arg("log_z").noconvert(), nb::arg("expectations").none().noconvert(),
           "Normalisers of these contexts by summing over all words; adds to expectations; the number of terms.")
      .def("unigram_caching",
           [](const BoundHistories& h, ThreadPool& pool, In<double> weights, Out<double> log_z,
              std::optional<Out<double>> expectations, bool shared, std::uint64_t work) {
             nb::gil_scoped_release release;
             return caching_normalisers(pool, h.histories, view(weights), view(log_z),
                                        expectations ? view(*expectations) : std::span<double>{}, shared, work);
           },
           nb::arg("pool"), nb::arg("weights").noconvert(), nb::arg("log_z").noconvert(),
           nb::arg("expectations").none().noconvert(), nb::arg("shared") = false, nb::arg("work") = 1 << 22,
           "Normalisers of all histories by unigram caching, and expectations; the number of terms.")
      .def("log_loss",
           [](const BoundHistories& h, ThreadPool& pool, In<double> weights, In<double> log_z) {
             nb::gil_scoped_release release;
             return ngram_log_loss(pool, h.histories, view(weights), view(log_z));
           },
           nb::arg("pool"), nb::arg("weights").noconvert(), nb::arg("log_z").noconvert(),
           "Minus the log-likelihood of the corpus.")
      .def("expectations_by_total",
           [](const BoundHistories& h, ThreadPool& pool, In<double> log_p, In<double> log_r, Out<double> out) {
             nb::gil_scoped_release release;
             expectations_by_total(pool, h.histories, view(log_p), view(log_r), view(out));
           },
           nb::arg("pool"), nb::arg("log_p").noconvert(), nb::arg("log_r").noconvert(), nb::arg("out").noconvert(),
           "Expectations by the number of active entries: [order, n_entries].");

  m.def("scaling_step",
        [](ThreadPool& pool, In<double> expectations, In<double> multiplicity, In<double> counts, In<double> ridge,
           In<double> weights, double limit, Out<double> out) {
          nb::gil_scoped_release release;
          scaling_step(pool, view(expectations), view(multiplicity), view(counts), view(ridge), view(weights), limit,
                       view(out));
        },
        nb::arg("pool"), nb::arg("expectations").noconvert(), nb::arg("multiplicity").noconvert(),
        nb::arg("counts").noconvert(), nb::arg("ridge").noconvert(), nb::arg("weights").noconvert(), nb::arg("limit"),
        nb::arg("out").noconvert(), "The step of iterative scaling, one equation per weight.");
}

}  // namespace loglinear::bindings
