#include <mutex>

#include "bindings/arrays.hh"
#include "chain/decode.hh"
#include "chain/loss.hh"
#include "chain/online.hh"
#include "chain/stochastic.hh"

namespace loglinear::bindings {

using namespace chain;
namespace {

using Doubles = std::optional<In<double>>;

using Arrays = std::vector<nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>>;

// The rows of arrays, one array per sequence, of one width.
TokenArrays rows_of(const Arrays& arrays, std::span<const std::int64_t> ptr) {
  TokenArrays found;
  if (arrays.empty()) return found;
  require(arrays.size() + 1 == ptr.size(), "numbers: one array per sequence is needed");
  found.width = arrays[0].shape(1);
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    require(static_cast<std::int64_t>(arrays[i].shape(0)) == ptr[i + 1] - ptr[i] && arrays[i].shape(1) == found.width,
            "numbers: an array must have one row per token, and as many columns as the others");
    found.rows.push_back(arrays[i].data());
  }
  return found;
}

struct BoundSequences {
  In<std::int64_t> ptr, indptr;
  In<std::int32_t> indices;
  Doubles values;
  Arrays numbers, emissions;
  Sequences sequences;

  BoundSequences(In<std::int64_t> s, In<std::int64_t> p, In<std::int32_t> i, Doubles v, std::size_t n_attributes,
                 Arrays x, Arrays e)
      : ptr(std::move(s)),
        indptr(std::move(p)),
        indices(std::move(i)),
        values(std::move(v)),
        numbers(std::move(x)),
        emissions(std::move(e)),
        sequences([&] {
          nb::gil_scoped_release release;
          return Sequences(view(ptr), view(indptr), view(indices), view(values), n_attributes,
                           rows_of(numbers, view(ptr)), rows_of(emissions, view(ptr)));
        }()) {}
};

struct BoundFeatures {
  In<std::int64_t> node_ptr, pair_ptr;
  In<std::int32_t> node_label, pair_code, transition_code, trigram_code;
  ChainFeatures features;

  BoundFeatures(std::size_t n_labels, In<std::int64_t> np, In<std::int32_t> nl, In<std::int64_t> pp,
                In<std::int32_t> pc, In<std::int32_t> tc, In<std::int32_t> gc, std::size_t n_numbers)
      : node_ptr(std::move(np)),
        pair_ptr(std::move(pp)),
        node_label(std::move(nl)),
        pair_code(std::move(pc)),
        transition_code(std::move(tc)),
        trigram_code(std::move(gc)),
        features([&] {
          nb::gil_scoped_release release;
          return ChainFeatures(n_labels, view(node_ptr), view(node_label), view(pair_ptr), view(pair_code),
                               view(transition_code), view(trigram_code), n_numbers);
        }()) {}
};

// Attributes resolved to weights of these features.
struct BoundTokens {
  ChainTokens tokens;
  std::mutex busy;
  ChainWork work;  // of the evaluation that holds `busy`; a second one brings its own
  BoundTokens(ThreadPool& pool, const BoundFeatures& features, const BoundSequences& sequences, bool by_listed)
      : tokens([&] {
          nb::gil_scoped_release release;
          return ChainTokens(pool, features.features, sequences.sequences, by_listed);
        }()) {}
};

// A model and the arrays it views. Training sets new weights all the time; prediction sets them once and then only
// reads.
struct BoundModel {
  nb::object owner;  // the features
  In<double> weights;
  ChainModel model;

  static const ChainFeatures& of(nb::object& o) { return nb::cast<BoundFeatures&>(o).features; }
  BoundModel(nb::object o, const Doubles& start, const Doubles& stop, const Doubles& transitions,
             const Doubles& trigrams, const std::string& machine)
      : owner(std::move(o)),
        model(of(owner), {view(start), view(stop), view(transitions), view(trigrams)}, machine.c_str()) {}
  void set(In<double> w) {
    {
      nb::gil_scoped_release release;
      model.set(view(w), true);
    }
    weights = std::move(w);
  }
};

// Online training, with the arrays it views.
struct BoundOnline {
  nb::object features, sequences;
  In<std::int32_t> labels;
  OnlineChain chain;

  BoundOnline(nb::object f, nb::object s, In<std::int32_t> y)
      : features(std::move(f)),
        sequences(std::move(s)),
        labels(std::move(y)),
        chain(BoundModel::of(features), nb::cast<BoundSequences&>(sequences).sequences, view(labels)) {}
};

// Stochastic steps, with the arrays they view.
struct BoundStochastic {
  nb::object features, sequences;
  In<std::int32_t> labels;
  StochasticChain chain;

  BoundStochastic(ThreadPool& pool, nb::object f, nb::object s, In<std::int32_t> y)
      : features(std::move(f)),
        sequences(std::move(s)),
        labels(std::move(y)),
        chain(pool, BoundModel::of(features), nb::cast<BoundSequences&>(sequences).sequences, view(labels)) {}
};

double loss(ThreadPool& pool, const std::string& kind, BoundModel& model, BoundSequences& sequences,
            BoundTokens& tokens, Doubles node_base, In<std::int32_t> labels,
            std::optional<In<std::uint8_t>> allowed, In<double> w, Out<double> gradient) {
  require(kind == "crf" || kind == "memm" || kind == "pseudolikelihood", "unknown chain loss");
  const ChainLoss which = kind == "crf"    ? ChainLoss::crf
                          : kind == "memm" ? ChainLoss::memm
                                           : ChainLoss::pseudolikelihood;
  nb::gil_scoped_release release;
  model.model.set(view(w), true);
  const std::unique_lock alone(tokens.busy, std::try_to_lock);
  ChainWork own;
  return chain_loss(pool, which, model.model, sequences.sequences, tokens.tokens, view(node_base), view(labels),
                    view(allowed), alone ? tokens.work : own, view(gradient));
}

ChainInput input(BoundModel& model, BoundSequences& sequences, const Doubles& node_base, BoundModel* local) {
  return {model.model, sequences.sequences, view(node_base), local ? &local->model : nullptr};
}

nb::tuple observed(ThreadPool& pool, BoundSequences& sequences, In<std::int32_t> labels, std::size_t n_labels,
                   std::optional<In<std::uint8_t>> scopes, bool pairs, std::int64_t min_count) {
  ObservedFeatures found;
  {
    nb::gil_scoped_release release;
    found = observed_features(pool, sequences.sequences, view(labels), n_labels, view(scopes), pairs, min_count);
  }
  return nb::make_tuple(to_numpy(std::move(found.ptr)), to_numpy(std::move(found.codes)));
}

}  // namespace

void bind_chain(nb::module_& m) {
  nb::class_<BoundSequences>(m, "Sequences", "Tokens with attributes, checked once.")
      .def(nb::init<In<std::int64_t>, In<std::int64_t>, In<std::int32_t>, Doubles, std::size_t, Arrays, Arrays>(),
           nb::arg("sequence_ptr").noconvert(), nb::arg("indptr").noconvert(), nb::arg("indices").noconvert(),
           nb::arg("values").none(), nb::arg("n_attributes"), nb::arg("numbers") = Arrays{},
           nb::arg("emissions") = Arrays{});
  nb::class_<BoundFeatures>(m, "ChainFeatures", "Which features have weights, checked once.")
      .def(nb::init<std::size_t, In<std::int64_t>, In<std::int32_t>, In<std::int64_t>, In<std::int32_t>,
                    In<std::int32_t>, In<std::int32_t>, std::size_t>(),
           nb::arg("n_labels"), nb::arg("node_ptr").noconvert(), nb::arg("node_label").noconvert(),
           nb::arg("pair_ptr").noconvert(), nb::arg("pair_code").noconvert(), nb::arg("transition_code").noconvert(),
           nb::arg("trigram_code").noconvert(), nb::arg("n_numbers") = 0);
  nb::class_<BoundModel>(m, "ChainModel", "Scores of label chains.")
      .def(nb::init<nb::object, const Doubles&, const Doubles&, const Doubles&, const Doubles&, const std::string&>(),
           nb::arg("features"), nb::arg("start").none(), nb::arg("stop").none(), nb::arg("transitions").none(),
           nb::arg("trigrams").none(), nb::arg("machine") = "auto")
      .def("set", &BoundModel::set, nb::arg("weights").noconvert())
      .def_prop_ro("machine", [](const BoundModel& b) {
        return b.model.machine == Machine::dense ? "dense" : b.model.machine == Machine::sparse ? "sparse" : "pairs";
      });
  nb::class_<BoundTokens>(m, "ChainTokens", "Attributes of tokens resolved to weights, for training.")
      .def(nb::init<ThreadPool&, const BoundFeatures&, const BoundSequences&, bool>(), nb::arg("pool"),
           nb::arg("features"), nb::arg("sequences"), nb::arg("by_listed") = false)
      .def_prop_ro("n_listed", [](const BoundTokens& b) { return b.tokens.listed.n; })
      .def_prop_ro("n_rows", [](const BoundTokens& b) { return b.tokens.nodes.n_rows(); })
      .def_prop_ro("n_row_uses", [](const BoundTokens& b) { return b.tokens.nodes.rows.size(); })
      .def_prop_ro("n_single_uses", [](const BoundTokens& b) { return b.tokens.nodes.places.size(); })
      .def_prop_ro("n_bundles", [](const BoundTokens& b) { return b.tokens.nodes.n_bundles; });
  m.def("observed_features", &observed, nb::arg("pool"), nb::arg("sequences"), nb::arg("labels").noconvert(),
        nb::arg("n_labels"), nb::arg("scopes").none(), nb::arg("pairs"), nb::arg("min_count"),
        "(pointers, codes) of the features that occur");
  m.def("chain_loss", &loss, nb::arg("pool"), nb::arg("kind"), nb::arg("model"), nb::arg("sequences"),
        nb::arg("tokens"), nb::arg("node_base").none(), nb::arg("labels").noconvert(), nb::arg("allowed").none(),
        nb::arg("weights").noconvert(), nb::arg("gradient").noconvert());
  m.def(
      "chain_viterbi",
      [](ThreadPool& pool, BoundModel& model, BoundSequences& sequences, Doubles node_base, BoundModel* local,
         Out<std::int32_t> labels) {
        nb::gil_scoped_release release;
        chain_viterbi(pool, input(model, sequences, node_base, local), view(labels));
      },
      nb::arg("pool"), nb::arg("model"), nb::arg("sequences"), nb::arg("node_base").none(), nb::arg("local").none(),
      nb::arg("labels").noconvert());
  m.def(
      "chain_nbest",
      [](ThreadPool& pool, BoundModel& model, BoundSequences& sequences, Doubles node_base, BoundModel* local,
         std::size_t k, Out<std::int32_t> labels, Out<double> scores) {
        nb::gil_scoped_release release;
        chain_nbest(pool, input(model, sequences, node_base, local), k, view(labels), view(scores));
      },
      nb::arg("pool"), nb::arg("model"), nb::arg("sequences"), nb::arg("node_base").none(), nb::arg("local").none(),
      nb::arg("k"), nb::arg("labels").noconvert(), nb::arg("scores").noconvert());
  m.def(
      "chain_marginals",
      [](ThreadPool& pool, BoundModel& model, BoundSequences& sequences, Doubles node_base, BoundModel* local,
         Out<double> log_z, std::optional<Out<double>> nodes, std::optional<Out<double>> edges) {
        const auto span = [](std::optional<Out<double>>& a) { return a ? view(*a) : std::span<double>{}; };
        nb::gil_scoped_release release;
        chain_marginals(pool, input(model, sequences, node_base, local), view(log_z), span(nodes), span(edges));
      },
      nb::arg("pool"), nb::arg("model"), nb::arg("sequences"), nb::arg("node_base").none(), nb::arg("local").none(),
      nb::arg("log_z").noconvert(), nb::arg("nodes").none(), nb::arg("edges").none());
  m.def(
      "chain_scores",
      [](ThreadPool& pool, BoundModel& model, BoundSequences& sequences, Doubles node_base, BoundModel* local,
         In<std::int32_t> labels, Out<double> scores) {
        nb::gil_scoped_release release;
        chain_scores(pool, input(model, sequences, node_base, local), view(labels), view(scores));
      },
      nb::arg("pool"), nb::arg("model"), nb::arg("sequences"), nb::arg("node_base").none(), nb::arg("local").none(),
      nb::arg("labels").noconvert(), nb::arg("scores").noconvert());
  m.def(
      "chain_sample",
      [](ThreadPool& pool, BoundModel& model, BoundSequences& sequences, Doubles node_base, BoundModel* local,
         std::uint64_t seed, std::size_t n_samples, Out<std::int32_t> labels) {
        nb::gil_scoped_release release;
        chain_sample(pool, input(model, sequences, node_base, local), seed, n_samples, view(labels));
      },
      nb::arg("pool"), nb::arg("model"), nb::arg("sequences"), nb::arg("node_base").none(), nb::arg("local").none(),
      nb::arg("seed"), nb::arg("n_samples"), nb::arg("labels").noconvert());
  nb::class_<BoundStochastic>(m, "StochasticChain", "Stochastic gradient descent on a CRF, batch by batch.")
      .def(nb::init<ThreadPool&, nb::object, nb::object, In<std::int32_t>>(), nb::arg("pool"), nb::arg("features"),
           nb::arg("sequences"), nb::arg("labels").noconvert())
      .def("step_along",
           [](BoundStochastic& b, In<std::int64_t> order, double eta, double decay_after, double ridge, double seen) {
             nb::gil_scoped_release release;
             return b.chain.pass(view(order), {eta, decay_after, ridge}, seen);
           },
           nb::arg("order").noconvert(), nb::arg("eta"), nb::arg("decay_after"), nb::arg("ridge"), nb::arg("seen"))
      .def("clear", [](BoundStochastic& b) { b.chain.clear(); })
      .def("weights", [](BoundStochastic& b, Out<double> out) { b.chain.weights(view(out)); },
           nb::arg("out").noconvert())
      .def_prop_ro("n_batches", [](BoundStochastic& b) { return b.chain.n_batches(); });
  nb::class_<BoundOnline>(m, "OnlineChain", "Online training of label chains, one sequence after another.")
      .def(nb::init<nb::object, nb::object, In<std::int32_t>>(), nb::arg("features"), nb::arg("sequences"),
           nb::arg("labels").noconvert())
      .def("perceptron",
           [](BoundOnline& b, In<std::int64_t> order) {
             nb::gil_scoped_release release;
             return b.chain.perceptron(view(order));
           },
           nb::arg("order").noconvert())
      .def("passive_aggressive",
           [](BoundOnline& b, In<std::int64_t> order, int type, double c, bool error_sensitive) {
             nb::gil_scoped_release release;
             return b.chain.passive_aggressive(view(order), {type, c, error_sensitive});
           },
           nb::arg("order").noconvert(), nb::arg("type"), nb::arg("c"), nb::arg("error_sensitive"))
      .def("arow",
           [](BoundOnline& b, In<std::int64_t> order, double variance, double gamma) {
             nb::gil_scoped_release release;
             return b.chain.arow(view(order), variance, gamma);
           },
           nb::arg("order").noconvert(), nb::arg("variance"), nb::arg("gamma"))
      .def("sgd",
           [](BoundOnline& b, In<std::int64_t> order, double lambda, double time) {
             nb::gil_scoped_release release;
             return b.chain.sgd(view(order), lambda, time);
           },
           nb::arg("order").noconvert(), nb::arg("strength"), nb::arg("time"))
      .def_prop_ro("n_weights", [](const BoundOnline& b) { return b.chain.n_weights(); })
      .def("clear", [](BoundOnline& b) { b.chain.clear(); })
      .def("weights", [](BoundOnline& b, Out<double> out) { b.chain.weights(view(out)); }, nb::arg("out").noconvert())
      .def("average", [](BoundOnline& b, Out<double> out) { b.chain.average(view(out)); }, nb::arg("out").noconvert());
}

}  // namespace loglinear::bindings
