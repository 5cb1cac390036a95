#include "bindings/arrays.hh"
#include "lists/edit_distance.hh"
#include "lists/features.hh"
#include "lists/loss.hh"
#include "lists/perceptron.hh"
#include "lists/stagewise.hh"

namespace loglinear::bindings {

using namespace lists;
using namespace text;
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
  nb::object function_words, class_words;
  std::optional<In<std::int32_t>> labels;
  std::optional<In<std::uint8_t>> names, lowered;
  std::optional<In<std::int64_t>> name_offsets, lowered_offsets;

  BoundOptions(std::vector<std::int32_t> word_orders, bool boundaries, std::int32_t max_skip,
               const std::string& headwords, nb::object listed, std::vector<std::int32_t> character_orders)
      : function_words(std::move(listed)), class_words(nb::none()) {
    require(headwords == "none" || headwords == "cjk" || headwords == "listed",
            "headwords must be 'none', 'cjk' or 'listed'");
    options.word_orders = std::move(word_orders);
    options.boundaries = boundaries;
    options.max_skip = max_skip;
    options.character_orders = std::move(character_orders);
    options.headwords = headwords == "none" ? Headwords::none : headwords == "cjk" ? Headwords::cjk : Headwords::listed;
    if (!function_words.is_none()) options.function_words = &nb::cast<const BoundIndex&>(function_words).index;
  }

  void set_classes(nb::object words, In<std::int32_t> word_labels, In<std::uint8_t> blob, In<std::int64_t> offsets,
                   In<std::uint8_t> text_blob, In<std::int64_t> text_offsets) {
    class_words = std::move(words);
    labels = std::move(word_labels);
    names = std::move(blob), name_offsets = std::move(offsets);
    lowered = std::move(text_blob), lowered_offsets = std::move(text_offsets);
    options.classes = {&nb::cast<const BoundIndex&>(class_words).index, view(*labels),
                       Strings{as_characters(*names), view(*name_offsets)},
                       Strings{as_characters(*lowered), view(*lowered_offsets)}};
  }
};

void bind_features(nb::module_& m) {
  nb::class_<BoundOptions>(m, "CandidateFeatureOptions", "Which grams of candidates are features.")
      .def(nb::init<std::vector<std::int32_t>, bool, std::int32_t, const std::string&, nb::object,
                    std::vector<std::int32_t>>(),
           nb::arg("word_orders"), nb::arg("boundaries"), nb::arg("max_skip"), nb::arg("headwords"),
           nb::arg("function_words").none(), nb::arg("character_orders"))
      .def("set_classes", &BoundOptions::set_classes, nb::arg("words"), nb::arg("labels").noconvert(),
           nb::arg("names").noconvert(), nb::arg("name_offsets").noconvert(), nb::arg("lowered").noconvert(),
           nb::arg("lowered_offsets").noconvert(), "Count n-grams of the classes of words too.");
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
  m.def("find_candidate_features", [](ThreadPool& pool, In<std::uint8_t> blob, In<std::int64_t> offsets,
                                      In<std::int64_t> list_ptr, const BoundOptions& options) {
    CandidateFeatureUses uses;
    {
      nb::gil_scoped_release release;
      uses = find_candidate_features(pool, Strings{as_characters(blob), view(offsets)}, view(list_ptr),
                                     options.options);
    }
    return nb::make_tuple(bytes_array(std::move(uses.names.blob)), to_numpy(std::move(uses.names.offsets)),
                          to_numpy(std::move(uses.n_lists)), to_numpy(std::move(uses.differs)));
  }, nb::arg("pool"), nb::arg("blob").noconvert(), nb::arg("offsets").noconvert(), nb::arg("list_ptr").noconvert(),
        nb::arg("options"), "(names blob, names offsets, n_lists, differs) of all features");
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

void bind_candidates(nb::module_& m) {
  bind_features(m);
  bind_losses(m);
}

using Rows = BoundSparse<std::int32_t>;

StagewiseMethod method_named(const std::string& name) {
  if (name == "boosting") return StagewiseMethod::boosting;
  if (name == "fslr") return StagewiseMethod::fslr;
  if (name == "f-boosting") return StagewiseMethod::f_boosting;
  require(name == "blasso", "the method must be 'boosting', 'fslr', 'f-boosting' or 'blasso'");
  return StagewiseMethod::blasso;
}

const char* name_of(StagewiseEnd end) {
  switch (end) {
    case StagewiseEnd::steps: return "steps";
    case StagewiseEnd::patience: return "patience";
    case StagewiseEnd::separated: return "separated";
    case StagewiseEnd::no_descent: break;
  }
  return "no descent";
}

// Arrays of lists, kept alive together.
struct BoundLists {
  nb::object rows, columns;
  In<double> base;
  In<std::int64_t> list_ptr;
  In<std::int32_t> place, reference;
  In<double> errors, reference_errors;

  ListArrays arrays() const {
    return {&nb::cast<const Rows&>(rows).matrix, &nb::cast<const Rows&>(columns).matrix, view(base), view(list_ptr),
            view(place), view(reference), view(errors), view(reference_errors)};
  }
};

struct BoundStagewise {
  nb::object rows, columns, held_out;
  In<double> base;
  std::optional<In<double>> pair_weights;
  std::unique_ptr<Stagewise> native;
};

void bind_path(nb::module_& m) {
  nb::class_<BoundStagewise>(m, "Stagewise", "Stagewise steps on n-best lists under the exponential loss.")
      .def("__init__", [](BoundStagewise* self, ThreadPool& pool, nb::object rows, nb::object columns, In<double> base,
                          std::optional<In<double>> pair_weights, const std::string& method, double step,
                          double threshold, double smoothing, double shrinkage, double separated) {
        const StagewiseRule rule{method_named(method), step, threshold, smoothing, shrinkage, separated};
        const auto& row_matrix = nb::cast<const Rows&>(rows).matrix;
        const auto& column_matrix = nb::cast<const Rows&>(columns).matrix;
        std::unique_ptr<Stagewise> native;
        {
          nb::gil_scoped_release release;
          native = std::make_unique<Stagewise>(pool, row_matrix, column_matrix, view(base), view(pair_weights), rule);
        }
        new (self) BoundStagewise{std::move(rows), std::move(columns), nb::none(), std::move(base),
                                  std::move(pair_weights), std::move(native)};
      }, nb::arg("pool"), nb::arg("rows"), nb::arg("columns"), nb::arg("base").noconvert(),
           nb::arg("pair_weights").none().noconvert(), nb::arg("method"), nb::arg("step"), nb::arg("threshold"),
           nb::arg("smoothing"), nb::arg("shrinkage"), nb::arg("separated"))
      .def("hold_out", [](BoundStagewise& self, nb::object lists) {
        self.native->hold_out(nb::cast<const BoundLists&>(lists).arrays());
        self.held_out = std::move(lists);
      }, nb::arg("lists"))
      .def("start", [](BoundStagewise& self, ThreadPool& pool, In<double> weights, std::int64_t n_steps, double alpha,
                       double fewest, std::int64_t fewest_at) {
        nb::gil_scoped_release release;
        self.native->start(pool, view(weights), n_steps, alpha, fewest, fewest_at);
      }, nb::arg("pool"), nb::arg("weights").noconvert(), nb::arg("n_steps"), nb::arg("alpha"), nb::arg("fewest"),
           nb::arg("fewest_at"))
      .def("replay", [](BoundStagewise& self, ThreadPool& pool, In<std::int32_t> features, In<double> changes) {
        nb::gil_scoped_release release;
        self.native->replay(pool, view(features), view(changes));
      }, nb::arg("pool"), nb::arg("features").noconvert(), nb::arg("changes").noconvert())
      .def("run", [](BoundStagewise& self, ThreadPool& pool, std::int64_t patience, Out<std::int32_t> feature,
                     Out<double> change, Out<double> loss, Out<double> l1, Out<double> alpha,
                     Out<std::uint8_t> backward, Out<std::int64_t> n_nonzeros, Out<double> held_out) {
        std::pair<std::size_t, StagewiseEnd> result;
        {
          nb::gil_scoped_release release;
          result = self.native->run(pool, patience,
                                    {view(feature), view(change), view(loss), view(l1), view(alpha), view(backward),
                                     view(n_nonzeros), view(held_out)});
        }
        return nb::make_tuple(result.first, name_of(result.second));
      }, nb::arg("pool"), nb::arg("patience"), nb::arg("feature").noconvert(), nb::arg("change").noconvert(),
           nb::arg("loss").noconvert(), nb::arg("l1").noconvert(), nb::arg("alpha").noconvert(),
           nb::arg("backward").noconvert(), nb::arg("n_nonzeros").noconvert(), nb::arg("held_out").noconvert(),
           "(steps taken, 'steps', 'no descent', 'patience' or 'separated')")
      .def_prop_ro("n_features", [](const BoundStagewise& self) { return self.native->n_features(); })
      .def_prop_ro("loss", [](const BoundStagewise& self) { return self.native->loss(); })
      .def_prop_ro("l1", [](const BoundStagewise& self) { return self.native->l1(); })
      .def_prop_ro("n_nonzeros", [](const BoundStagewise& self) { return self.native->n_nonzeros(); })
      .def_prop_ro("held_out_errors", [](const BoundStagewise& self) { return self.native->held_out_errors(); })
      .def_prop_ro("fresh_at", [](const BoundStagewise& self) { return self.native->fresh_at(); });
}

struct BoundFollowed {
  nb::object lists;
  HeldOutLists native;
};

void bind_followed(nb::module_& m) {
  nb::class_<BoundFollowed>(m, "FollowedLists", "Lists whose errors are followed along a path.")
      .def("__init__", [](BoundFollowed* self, nb::object lists) {
        HeldOutLists native(nb::cast<const BoundLists&>(lists).arrays());
        new (self) BoundFollowed{std::move(lists), std::move(native)};
      }, nb::arg("lists"))
      .def("follow", [](BoundFollowed& self, ThreadPool& pool, In<double> weights, In<std::int32_t> features,
                        In<double> changes, Out<double> out) {
        nb::gil_scoped_release release;
        follow(self.native, pool, view(weights), view(features), view(changes), view(out));
      }, nb::arg("pool"), nb::arg("weights").noconvert(), nb::arg("features").noconvert(),
           nb::arg("changes").noconvert(), nb::arg("out").noconvert(), "out[t] = errors after t steps");
}

struct BoundPerceptron {
  nb::object lists;
  ListPerceptron native;
};

void bind_stagewise(nb::module_& m) {
  nb::class_<BoundLists>(m, "ListArrays", "Encoded n-best lists whose errors are followed.")
      .def("__init__", [](BoundLists* self, nb::object rows, nb::object columns, In<double> base,
                          In<std::int64_t> list_ptr, In<std::int32_t> place, In<std::int32_t> reference,
                          In<double> errors, In<double> reference_errors) {
        (void)nb::cast<const Rows&>(rows), (void)nb::cast<const Rows&>(columns);  // refused here, by type
        new (self) BoundLists{std::move(rows), std::move(columns), std::move(base), std::move(list_ptr),
                              std::move(place), std::move(reference), std::move(errors), std::move(reference_errors)};
      }, nb::arg("rows"), nb::arg("columns"), nb::arg("base").noconvert(), nb::arg("list_ptr").noconvert(),
           nb::arg("place").noconvert(), nb::arg("reference").noconvert(), nb::arg("errors").noconvert(),
           nb::arg("reference_errors").noconvert());
  bind_path(m);
  bind_followed(m);
  nb::class_<BoundPerceptron>(m, "ListPerceptron", "The averaged perceptron on n-best lists.")
      .def("__init__", [](BoundPerceptron* self, nb::object lists) {
        ListPerceptron native(nb::cast<const BoundLists&>(lists).arrays());
        new (self) BoundPerceptron{std::move(lists), std::move(native)};
      }, nb::arg("lists"))
      .def("pass_over", [](BoundPerceptron& self, In<std::int64_t> order) {
        nb::gil_scoped_release release;
        return self.native.pass(view(order));
      }, nb::arg("order").noconvert(), "One pass over the lists in this order; the number of updates.")
      .def("average", [](const BoundPerceptron& self, Out<double> out) { self.native.average(view(out)); },
           nb::arg("out").noconvert());
}

}  // namespace

void bind_lists(nb::module_& m) {
  bind_candidates(m);
  bind_stagewise(m);
}

}  // namespace loglinear::bindings
