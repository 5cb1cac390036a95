#include "bindings/arrays.hh"
#include "bindings/bytes.hh"
#include "bindings/strings.hh"
#include "kernels/candidate_features.hh"
#include "kernels/edit_distance.hh"
#include "kernels/list_loss.hh"

namespace loglinear {
namespace {

nb::tuple count_rows(CountRows&& rows) {
  return nb::make_tuple(to_numpy(std::move(rows.indptr)), to_numpy(std::move(rows.indices)),
                        to_numpy(std::move(rows.values)));
}

ListLoss list_loss_named(const std::string& name) {
  if (name == "exponential") return ListLoss::exponential;
  if (name == "log") return ListLoss::log;
  require(name == "expected_error", "the loss must be 'exponential', 'log' or 'expected_error'");
  return ListLoss::expected_error;
}

// The options and what they look into, kept alive together.
struct BoundOptions {
  CandidateFeatureOptions options;
  nb::object function_words;

  BoundOptions(std::vector<std::int32_t> word_orders, bool boundaries, std::int32_t max_skip,
               const std::string& headwords, nb::object listed, std::vector<std::int32_t> character_orders)
      : function_words(std::move(listed)) {
    require(headwords == "none" || headwords == "cjk" || headwords == "listed",
            "headwords must be 'none', 'cjk' or 'listed'");
    options.word_orders = std::move(word_orders);
    options.boundaries = boundaries;
    options.max_skip = max_skip;
    options.character_orders = std::move(character_orders);
    options.headwords = headwords == "none" ? Headwords::none : headwords == "cjk" ? Headwords::cjk : Headwords::listed;
    if (!function_words.is_none()) options.function_words = &nb::cast<const BoundIndex&>(function_words).index;
  }
};

void bind_features(nb::module_& m) {
  nb::class_<BoundOptions>(m, "CandidateFeatureOptions", "Which grams of candidates are features.")
      .def(nb::init<std::vector<std::int32_t>, bool, std::int32_t, const std::string&, nb::object,
                    std::vector<std::int32_t>>(),
           nb::arg("word_orders"), nb::arg("boundaries"), nb::arg("max_skip"), nb::arg("headwords"),
           nb::arg("function_words").none(), nb::arg("character_orders"));
  m.def("fit_candidate_features", [](ThreadPool& pool, In<std::uint8_t> blob, In<std::int64_t> offsets,
                                     In<std::int64_t> list_ptr, const BoundOptions& options, std::int64_t min_count) {
    CandidateFeatures result;
    {
      nb::gil_scoped_release release;
      result = fit_candidate_features(pool, Strings{as_characters(blob), view(offsets)}, view(list_ptr),
                                      options.options, min_count);
    }
    return nb::make_tuple(count_rows(std::move(result.rows)), bytes_array(std::move(result.names.blob)),
                          to_numpy(std::move(result.names.offsets)));
  }, nb::arg("pool"), nb::arg("blob").noconvert(), nb::arg("offsets").noconvert(), nb::arg("list_ptr").noconvert(),
        nb::arg("options"), nb::arg("min_count"), "((indptr, indices, values), names blob, names offsets)");
  m.def("count_candidate_features", [](ThreadPool& pool, In<std::uint8_t> blob, In<std::int64_t> offsets,
                                       In<std::int64_t> list_ptr, const BoundOptions& options,
                                       const BoundIndex& vocabulary) {
    CountRows rows;
    {
      nb::gil_scoped_release release;
      rows = count_candidate_features(pool, Strings{as_characters(blob), view(offsets)}, view(list_ptr),
                                      options.options, vocabulary.index);
    }
    return count_rows(std::move(rows));
  }, nb::arg("pool"), nb::arg("blob").noconvert(), nb::arg("offsets").noconvert(), nb::arg("list_ptr").noconvert(),
        nb::arg("options"), nb::arg("vocabulary"), "(indptr, indices, values)");
  m.def("candidate_differences", [](ThreadPool& pool, In<std::int64_t> indptr, In<std::int32_t> indices,
                                    In<double> values, In<std::int64_t> list_ptr, In<std::int32_t> reference) {
    CountRows rows;
    {
      nb::gil_scoped_release release;
      rows = candidate_differences(pool, view(indptr), view(indices), view(values), view(list_ptr), view(reference));
    }
    return count_rows(std::move(rows));
  }, nb::arg("pool"), nb::arg("indptr").noconvert(), nb::arg("indices").noconvert(), nb::arg("values").noconvert(),
        nb::arg("list_ptr").noconvert(), nb::arg("reference").noconvert(),
        "(indptr, indices, values) of reference - candidate, for all candidates but the references");
  m.def("edit_distances", [](ThreadPool& pool, In<std::uint8_t> transcripts, In<std::int64_t> transcript_offsets,
                             In<std::uint8_t> texts, In<std::int64_t> offsets, In<std::int64_t> list_ptr,
                             bool by_characters, Out<double> distances, Out<double> lengths) {
    nb::gil_scoped_release release;
    edit_distances(pool, Strings{as_characters(transcripts), view(transcript_offsets)},
                   Strings{as_characters(texts), view(offsets)}, view(list_ptr), by_characters, view(distances),
                   view(lengths));
  }, nb::arg("pool"), nb::arg("transcripts").noconvert(), nb::arg("transcript_offsets").noconvert(),
        nb::arg("texts").noconvert(), nb::arg("offsets").noconvert(), nb::arg("list_ptr").noconvert(),
        nb::arg("by_characters"), nb::arg("distances").noconvert(), nb::arg("lengths").noconvert());
}

void bind_losses(nb::module_& m) {
  m.def("list_loss", [](ThreadPool& pool, const std::string& kind, In<std::int64_t> list_ptr,
                        std::optional<In<double>> errors, Out<double> margins) {
    const ListLoss loss = list_loss_named(kind);
    nb::gil_scoped_release release;
    return list_loss(pool, loss, view(list_ptr), view(errors), view(margins));
  }, nb::arg("pool"), nb::arg("kind"), nb::arg("list_ptr").noconvert(), nb::arg("errors").none().noconvert(),
        nb::arg("margins").noconvert(), "Loss of the margins of pairs; they become its derivatives.");
  m.def("list_probabilities", [](ThreadPool& pool, const std::string& kind, In<std::int64_t> list_ptr,
                                 std::optional<In<double>> errors, Out<double> margins) {
    const ListLoss loss = list_loss_named(kind);
    nb::gil_scoped_release release;
    list_probabilities(pool, loss, view(list_ptr), view(errors), view(margins));
  }, nb::arg("pool"), nb::arg("kind"), nb::arg("list_ptr").noconvert(), nb::arg("errors").none().noconvert(),
        nb::arg("margins").noconvert());
  m.def("list_loss_hessian", [](ThreadPool& pool, const std::string& kind, In<std::int64_t> list_ptr, In<double> q,
                                Out<double> vectors) {
    const ListLoss loss = list_loss_named(kind);
    nb::gil_scoped_release release;
    list_loss_hessian(pool, loss, view(list_ptr), view(q), view(vectors));
  }, nb::arg("pool"), nb::arg("kind"), nb::arg("list_ptr").noconvert(), nb::arg("q").noconvert(),
        nb::arg("vectors").noconvert());
  m.def("list_loss_curvature", [](ThreadPool& pool, const std::string& kind, In<std::int64_t> list_ptr,
                                  const BoundSparse<std::int32_t>& columns, In<double> q, Out<double> out) {
    const ListLoss loss = list_loss_named(kind);
    nb::gil_scoped_release release;
    list_loss_curvature(pool, loss, view(list_ptr), columns.matrix, view(q), view(out));
  }, nb::arg("pool"), nb::arg("kind"), nb::arg("list_ptr").noconvert(), nb::arg("columns"), nb::arg("q").noconvert(),
        nb::arg("out").noconvert());
  m.def("choose_candidates", [](ThreadPool& pool, In<std::int64_t> list_ptr, In<double> margins,
                                In<std::int32_t> places, In<std::int32_t> reference, Out<std::int32_t> out) {
    nb::gil_scoped_release release;
    choose_candidates(pool, view(list_ptr), view(margins), view(places), view(reference), view(out));
  }, nb::arg("pool"), nb::arg("list_ptr").noconvert(), nb::arg("margins").noconvert(), nb::arg("places").noconvert(),
        nb::arg("reference").noconvert(), nb::arg("out").noconvert(),
        "out[i] = place in list i of the candidate with the highest score, the first of equal ones");
}

}  // namespace

void bind_candidates(nb::module_& m) {
  bind_features(m);
  bind_losses(m);
}

}  // namespace loglinear
