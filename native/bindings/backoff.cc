#include "arpa/lines.hh"
#include "arpa/text.hh"
#include "backoff/counted.hh"
#include "backoff/kneser_ney.hh"
#include "backoff/mix.hh"
#include "backoff/pruning.hh"
#include "backoff/smoothing.hh"
#include "bindings/arrays.hh"
#include "bindings/tries.hh"
#include "ngram/trie_automaton.hh"

namespace loglinear::bindings {

using namespace arpa;
using namespace backoff;
using namespace trie;
namespace {

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

struct BoundArpa {
  In<std::uint8_t> blob;
  In<std::int64_t> offsets;
  std::unique_ptr<ArpaText> text;

  BoundArpa(ThreadPool& pool, const BoundBackoff& model, In<std::uint8_t> bytes, In<std::int64_t> bounds)
      : blob(std::move(bytes)), offsets(std::move(bounds)) {
    nb::gil_scoped_release release;
    text = std::make_unique<ArpaText>(pool, model.model, Strings{as_characters(blob), view(offsets)});
  }
};

nb::tuple parse(ThreadPool& pool, In<std::uint8_t> text, std::size_t chunk_size, bool any_bytes) {
  ArpaModel read;
  {
    nb::gil_scoped_release release;
    read = parse_arpa(pool, as_characters(text), chunk_size, any_bytes);
  }
  return nb::make_tuple(bytes_array(std::move(read.words.blob)), to_numpy(std::move(read.words.offsets)),
                        shape_arrays(std::move(read.model.shape)), to_numpy(std::move(read.model.log_backoff)),
                        to_numpy(std::move(read.model.log_probability)));
}

nb::tuple place(ThreadPool& pool, std::size_t n_words, const std::vector<In<std::uint32_t>>& words,
                const std::vector<In<std::uint8_t>>& kinds) {
  require(words.size() == kinds.size(), "n-grams: words and kinds differ in their number of orders");
  PlacedLines placed;
  {
    nb::gil_scoped_release release;
    std::vector<NgramLines> lines(words.size());
    for (std::size_t i = 0; i < lines.size(); ++i) {
      lines[i].words.assign(words[i].data(), words[i].data() + words[i].size());
      lines[i].kind.assign(kinds[i].data(), kinds[i].data() + kinds[i].size());
    }
    placed = place_lines(pool, n_words, lines);
  }
  nb::list numbers;
  for (PlacedLines::Numbers& line : placed.lines)
    numbers.append(nb::make_tuple(to_numpy(std::move(line.entry)), to_numpy(std::move(line.context))));
  return nb::make_tuple(shape_arrays(std::move(placed.shape)), numbers);
}

void bind_arpa(nb::module_& m) {
  nb::class_<BoundArpa>(m, "ArpaText", "the lines of an ARPA file, block by block")
      .def(nb::init<ThreadPool&, const BoundBackoff&, In<std::uint8_t>, In<std::int64_t>>(), nb::arg("pool"),
           nb::arg("model"), nb::arg("blob").noconvert(), nb::arg("offsets").noconvert(), nb::keep_alive<1, 3>())
      .def("n_lines", [](const BoundArpa& a, std::size_t order) { return a.text->n_lines(order); }, nb::arg("order"))
      .def("lines", [](const BoundArpa& a, ThreadPool& pool, std::size_t order, std::size_t begin, std::size_t end,
                       int digits) {
        std::vector<char> text;
        {
          nb::gil_scoped_release release;
          text = a.text->lines(pool, order, begin, end, digits);
        }
        return bytes_array(std::move(text));
      }, nb::arg("pool"), nb::arg("order"), nb::arg("begin"), nb::arg("end"), nb::arg("digits"),
           "lines [begin, end) of an order");
  m.def("parse_arpa", &parse, nb::arg("pool"), nb::arg("text").noconvert(),
        nb::arg("chunk_size") = std::size_t{1} << 18, nb::arg("any_bytes") = false,
        "(blob, offsets of the words, arrays of the shape, log_backoff, log_probability)");
  m.def("place_ngrams", &place, nb::arg("pool"), nb::arg("n_words"), nb::arg("words"), nb::arg("kinds"),
        "from n-grams of each order, words [n][order] in the order of a text and kinds [n] (1 an entry, 2 a context, "
        "or both): (arrays of the shape, [(entry numbers, context numbers) of each order])");
}

// The trie and the arrays it views, kept alive together; checked once.
struct SmoothingTrie {
  In<std::int64_t> context_start, entry_start;
  In<std::uint32_t> context_word, context_child, context_entry, context_count, entry_word, entry_parent, entry_count;
  TrieView trie;

  SmoothingTrie(ThreadPool& pool, std::size_t order, std::size_t n_words, In<std::int64_t> context_start_,
                In<std::int64_t> entry_start_, In<std::uint32_t> context_word_, In<std::uint32_t> context_child_,
                In<std::uint32_t> context_entry_, In<std::uint32_t> context_count_, In<std::uint32_t> entry_word_,
                In<std::uint32_t> entry_parent_, In<std::uint32_t> entry_count_)
      : context_start(std::move(context_start_)), entry_start(std::move(entry_start_)),
        context_word(std::move(context_word_)), context_child(std::move(context_child_)),
        context_entry(std::move(context_entry_)), context_count(std::move(context_count_)),
        entry_word(std::move(entry_word_)), entry_parent(std::move(entry_parent_)),
        entry_count(std::move(entry_count_)),
        trie{order, n_words, view(context_start), view(entry_start), view(context_word), view(context_child),
             view(context_entry), view(context_count), view(entry_word), view(entry_parent), view(entry_count)} {
    nb::gil_scoped_release release;
    check_for_smoothing(pool, trie);
  }
};

struct PrunableModel {
  In<std::int64_t> context_start, entry_start;
  In<std::uint32_t> context_word, context_child, context_entry;
  In<double> log_backoff;
  In<std::uint32_t> entry_word;
  In<double> log_probability;
  BackoffArrays model;

  PrunableModel(ThreadPool& pool, std::size_t order, std::size_t n_words, In<std::int64_t> context_start_,
                In<std::int64_t> entry_start_, In<std::uint32_t> context_word_, In<std::uint32_t> context_child_,
                In<std::uint32_t> context_entry_, In<double> log_backoff_, In<std::uint32_t> entry_word_,
                In<double> log_probability_)
      : context_start(std::move(context_start_)), entry_start(std::move(entry_start_)),
        context_word(std::move(context_word_)), context_child(std::move(context_child_)),
        context_entry(std::move(context_entry_)), log_backoff(std::move(log_backoff_)),
        entry_word(std::move(entry_word_)), log_probability(std::move(log_probability_)),
        model{{order, n_words, view(context_start), view(entry_start), view(context_word), view(context_child),
               view(context_entry), {}, view(entry_word), {}, {}},
              view(log_backoff), view(log_probability)} {
    nb::gil_scoped_release release;
    check_prunable(pool, model);
  }
};

std::vector<OrderSmoothing> settings_of(const std::vector<std::vector<double>>& discounts,
                                        const std::vector<double>& per_type, const std::vector<double>& constant,
                                        const std::vector<std::uint32_t>& cut) {
  const std::size_t n = discounts.size();
  require(per_type.size() == n && constant.size() == n && cut.size() == n,
          "smoothing: settings are needed for every order");
  std::vector<OrderSmoothing> orders(n);
  for (std::size_t i = 0; i < n; ++i) {
    require(discounts[i].size() == 3, "smoothing: three discounts are needed for every order");
    orders[i] = {{discounts[i][0], discounts[i][1], discounts[i][2]}, per_type[i], constant[i], cut[i]};
  }
  return orders;
}

std::vector<std::vector<std::uint64_t>> rows_of(const std::vector<std::array<std::uint64_t, 4>>& totals) {
  std::vector<std::vector<std::uint64_t>> rows;
  for (const auto& row : totals) rows.emplace_back(row.begin(), row.end());
  return rows;
}

std::vector<std::vector<std::uint64_t>> adjust_mapped(ThreadPool& pool, BoundTrie& bound, const std::string& folder) {
  std::vector<std::array<std::uint64_t, 4>> totals;
  with_files([&] {
    std::visit(
        [&]<class P>(BoundTrie::Counted<P>& counted) {
          const auto trie = counted.trie.view();
          counted.adjusted = disk::MappedArray<P>(folder, static_cast<std::size_t>(trie.entry_start[trie.order - 1]));
          adjusted_counts(pool, trie, false, std::span<P>(counted.adjusted));
          totals = counts_of_counts(pool, trie, std::span<const P>(counted.adjusted));
        },
        bound.counted);
  });
  return rows_of(totals);
}

MappedAutomaton* estimate_mapped(ThreadPool& pool, BoundTrie& bound, const std::vector<std::vector<double>>& discounts,
                                 const std::vector<double>& per_type, const std::vector<double>& constant,
                                 const std::vector<std::uint32_t>& cut, const std::string& folder, bool consume,
                                 disk::WorkMeter* meter) {
  const std::vector<OrderSmoothing> orders = settings_of(discounts, per_type, constant, cut);
  auto result = std::make_unique<MappedAutomaton>();
  with_files([&] {
    std::visit(
        [&](auto& counted) {
          *result = build_counted(pool, counted.trie, counted.adjusted, orders, {folder, consume, meter});
        },
        bound.counted);
  });
  return result.release();
}

template <std::size_t kColumns, class T>
nb::object rows_view(const disk::MappedArray<T>& array, nb::handle owner) {
  return nb::cast(nb::ndarray<nb::numpy, const std::uint32_t, nb::ndim<2>>(
      reinterpret_cast<const std::uint32_t*>(array.data()), {array.size(), kColumns}, owner));
}

void bind_counted(nb::module_& m) {
  nb::class_<MappedAutomaton>(m, "MappedAutomaton", "the automaton of a counted model in mapped temporary files")
      .def("arrays", [](nb::handle_t<MappedAutomaton> self) {
        const MappedAutomaton& a = nb::cast<const MappedAutomaton&>(self);
        return nb::make_tuple(a.begin, to_numpy(std::vector<std::int64_t>(a.context_start)),
                              rows_view<4>(a.contexts, self), rows_view<3>(a.entries, self));
      }, "(state after <s>, context_start, contexts [n, 4], entries [m, 3])")
      .def_prop_ro("n_ngrams", [](const MappedAutomaton& a) { return a.n_ngrams; });
  m.def("adjust_mapped", &adjust_mapped, nb::arg("pool"), nb::arg("trie"), nb::arg("folder"),
        "computes the adjusted counts of a mapped trie; per order, how many n-grams have one of 1, 2, 3 and 4");
  m.def("estimate_mapped", &estimate_mapped, nb::arg("pool"), nb::arg("trie"), nb::arg("discounts"),
        nb::arg("per_type"), nb::arg("constant"), nb::arg("cut"), nb::arg("folder"), nb::arg("consume"),
        nb::arg("meter").none(), "the automaton of the smoothed model; consume: the trie is gone afterwards");
}

// A model on a trie, with the arrays it views.
struct BoundTrieAutomaton {
  In<std::int64_t> context_start, entry_start;
  In<std::uint32_t> context_word, context_child, context_entry, entry_word, entry_parent;
  In<double> log_probability, log_backoff;
  Out<std::uint8_t> keep;
  Out<std::uint32_t> links;
  std::unique_ptr<ngram::TrieAutomaton> automaton;

  BoundTrieAutomaton(ThreadPool& pool, std::size_t n_words, In<std::int64_t> context_starts,
                     In<std::int64_t> entry_starts, In<std::uint32_t> context_words, In<std::uint32_t> children,
                     In<std::uint32_t> entries, In<std::uint32_t> entry_words, In<std::uint32_t> parents,
                     In<double> log_probabilities, In<double> log_backoffs, Out<std::uint8_t> kept,
                     Out<std::uint32_t> link)
      : context_start(std::move(context_starts)), entry_start(std::move(entry_starts)),
        context_word(std::move(context_words)), context_child(std::move(children)), context_entry(std::move(entries)),
        entry_word(std::move(entry_words)), entry_parent(std::move(parents)),
        log_probability(std::move(log_probabilities)), log_backoff(std::move(log_backoffs)), keep(std::move(kept)),
        links(std::move(link)) {
    const TrieView trie{context_start.size() == 0 ? 0 : context_start.size() - 1, n_words, view(context_start),
                        view(entry_start), view(context_word), view(context_child), view(context_entry), {},
                        view(entry_word), view(entry_parent), {}};
    nb::gil_scoped_release release;
    const ngram::TrieValues values{view(log_probability), view(log_backoff)};
    automaton = std::make_unique<ngram::TrieAutomaton>(pool, trie, values, view(keep), view(links));
  }

  void write(ThreadPool& pool, Out<std::uint32_t>& contexts, Out<std::uint32_t>& entries) const {
    nb::gil_scoped_release release;
    require(contexts.size() % 4 == 0 && entries.size() % 3 == 0, "an automaton has rows of 4 and of 3 numbers");
    automaton->write(pool, {reinterpret_cast<AutomatonContext*>(contexts.data()), contexts.size() / 4},
                     {reinterpret_cast<AutomatonEntry*>(entries.data()), entries.size() / 3});
  }
};

void bind_trie_automaton(nb::module_& m) {
  using A = BoundTrieAutomaton;
  nb::class_<A>(m, "TrieAutomaton", "the automaton of a model whose n-grams lie on a trie")
      .def(nb::init<ThreadPool&, std::size_t, In<std::int64_t>, In<std::int64_t>, In<std::uint32_t>, In<std::uint32_t>,
                    In<std::uint32_t>, In<std::uint32_t>, In<std::uint32_t>, In<double>, In<double>, Out<std::uint8_t>,
                    Out<std::uint32_t>>(),
           nb::arg("pool"), nb::arg("n_words"), nb::arg("context_start").noconvert(),
           nb::arg("entry_start").noconvert(), nb::arg("context_word").noconvert(),
           nb::arg("context_child").noconvert(), nb::arg("context_entry").noconvert(),
           nb::arg("entry_word").noconvert(), nb::arg("entry_parent").noconvert(),
           nb::arg("log_probability").noconvert(), nb::arg("log_backoff").noconvert(), nb::arg("keep").noconvert(),
           nb::arg("links").noconvert())
      .def_prop_ro("begin", [](const A& a) { return a.automaton->begin(); })
      .def_prop_ro("context_start", [](const A& a) { return a.automaton->context_start(); })
      .def_prop_ro("n_slots", [](const A& a) { return a.automaton->n_slots(); })
      .def("write", [](const A& a, ThreadPool& pool, Out<std::uint32_t> contexts, Out<std::uint32_t> entries) {
        a.write(pool, contexts, entries);
      }, nb::arg("pool"), nb::arg("contexts").noconvert(), nb::arg("entries").noconvert(),
           "write contexts [n, 4] and entries [n_slots, 3]");
}

void bind_smoothing(nb::module_& m) {
  nb::class_<SmoothingTrie>(m, "SmoothingTrie", "The arrays of an n-gram trie, checked.")
      .def(nb::init<ThreadPool&, std::size_t, std::size_t, In<std::int64_t>, In<std::int64_t>, In<std::uint32_t>,
                    In<std::uint32_t>, In<std::uint32_t>, In<std::uint32_t>, In<std::uint32_t>, In<std::uint32_t>,
                    In<std::uint32_t>>(),
           nb::arg("pool"), nb::arg("order"), nb::arg("n_words"), nb::arg("context_start").noconvert(),
           nb::arg("entry_start").noconvert(), nb::arg("context_word").noconvert(),
           nb::arg("context_child").noconvert(), nb::arg("context_entry").noconvert(),
           nb::arg("context_count").noconvert(), nb::arg("entry_word").noconvert(),
           nb::arg("entry_parent").noconvert(), nb::arg("entry_count").noconvert());

  m.def("adjusted_counts",
        [](ThreadPool& pool, const SmoothingTrie& trie, bool collapsed, Out<std::uint32_t> out) {
          nb::gil_scoped_release release;
          adjusted_counts(pool, trie.trie, collapsed, view(out));
        },
        nb::arg("pool"), nb::arg("trie"), nb::arg("collapsed"), nb::arg("out").noconvert(),
        "out[e] = how many different words came before the n-gram e, for orders below the highest.");

  m.def("counts_of_counts",
        [](ThreadPool& pool, const SmoothingTrie& trie, In<std::uint32_t> adjusted) {
          std::vector<std::array<std::uint64_t, 4>> totals;
          {
            nb::gil_scoped_release release;
            totals = counts_of_counts(pool, trie.trie, view(adjusted));
          }
          return rows_of(totals);
        },
        nb::arg("pool"), nb::arg("trie"), nb::arg("adjusted").noconvert(),
        "Per order, how many n-grams have an adjusted count of 1, 2, 3 and 4.");

  m.def("smooth",
        [](ThreadPool& pool, const SmoothingTrie& trie, std::optional<In<std::uint32_t>> adjusted,
           const std::vector<std::vector<double>>& discounts, const std::vector<double>& per_type,
           const std::vector<double>& constant, const std::vector<std::uint32_t>& cut, bool interpolate,
           Out<double> log_probability, Out<double> log_backoff) {
          const std::vector<OrderSmoothing> orders = settings_of(discounts, per_type, constant, cut);
          nb::gil_scoped_release release;
          smooth(pool, trie.trie, view(adjusted), orders, interpolate, view(log_probability), view(log_backoff));
        },
        nb::arg("pool"), nb::arg("trie"), nb::arg("adjusted").none().noconvert(), nb::arg("discounts"),
        nb::arg("per_type"), nb::arg("constant"), nb::arg("cut"), nb::arg("interpolate"),
        nb::arg("log_probability").noconvert(), nb::arg("log_backoff").noconvert(),
        "Log-probabilities of all n-grams and back-off weights of all contexts.");
}

void bind_pruning(nb::module_& m) {
  nb::class_<PrunableModel>(m, "PrunableModel", "The arrays of a back-off model, checked.")
      .def(nb::init<ThreadPool&, std::size_t, std::size_t, In<std::int64_t>, In<std::int64_t>, In<std::uint32_t>,
                    In<std::uint32_t>, In<std::uint32_t>, In<double>, In<std::uint32_t>, In<double>>(),
           nb::arg("pool"), nb::arg("order"), nb::arg("n_words"), nb::arg("context_start").noconvert(),
           nb::arg("entry_start").noconvert(), nb::arg("context_word").noconvert(),
           nb::arg("context_child").noconvert(), nb::arg("context_entry").noconvert(),
           nb::arg("log_backoff").noconvert(), nb::arg("entry_word").noconvert(),
           nb::arg("log_probability").noconvert());

  m.def("unseen_mass",
        [](ThreadPool& pool, const PrunableModel& model, Out<double> out) {
          nb::gil_scoped_release release;
          unseen_mass(pool, model.model, view(out));
        },
        nb::arg("pool"), nb::arg("model"), nb::arg("out").noconvert(),
        "out[c] = probability of the words without an entry after context c.");

  m.def("entropy_cut",
        [](ThreadPool& pool, const PrunableModel& model, In<double> unseen, double threshold, Out<std::uint8_t> keep) {
          nb::gil_scoped_release release;
          entropy_cut(pool, model.model, view(unseen), threshold, view(keep));
        },
        nb::arg("pool"), nb::arg("model"), nb::arg("unseen").noconvert(), nb::arg("threshold"),
        nb::arg("keep").noconvert(), "keep[e] = 0 for entries that relative entropy does not miss.");

  m.def("add_cut_mass",
        [](ThreadPool& pool, const PrunableModel& model, In<std::uint8_t> keep, Out<double> unseen) {
          nb::gil_scoped_release release;
          add_cut_mass(pool, model.model, view(keep), view(unseen));
        },
        nb::arg("pool"), nb::arg("model"), nb::arg("keep").noconvert(), nb::arg("unseen").noconvert(),
        "unseen[c] += probabilities of the entries of context c that are not kept.");

  m.def("backoff_of_unseen",
        [](ThreadPool& pool, const PrunableModel& model, In<double> unseen, Out<double> log_backoff) {
          nb::gil_scoped_release release;
          backoff_of_unseen(pool, model.model, view(unseen), view(log_backoff));
        },
        nb::arg("pool"), nb::arg("model"), nb::arg("unseen").noconvert(), nb::arg("log_backoff").noconvert(),
        "Back-off weights with which a model of these unseen masses sums to one.");

  m.def("select_entries",
        [](const PrunableModel& model, In<std::uint8_t> keep, Out<std::uint8_t> contexts) {
          SelectedModel small;
          {
            nb::gil_scoped_release release;
            small = select_entries(model.model, view(keep), view(contexts));
          }
          return nb::make_tuple(to_numpy(std::move(small.context_start)), to_numpy(std::move(small.entry_start)),
                                to_numpy(std::move(small.context_word)), to_numpy(std::move(small.context_child)),
                                to_numpy(std::move(small.context_entry)), to_numpy(std::move(small.log_backoff)),
                                to_numpy(std::move(small.entry_word)), to_numpy(std::move(small.log_probability)));
        },
        nb::arg("model"), nb::arg("keep").noconvert(), nb::arg("contexts").noconvert(),
        "The arrays of the model with the entries kept, and contexts[c] = 1 where context c stays.");
}

void bind_estimators(nb::module_& m) {
  bind_smoothing(m);
  bind_counted(m);
  bind_trie_automaton(m);
  bind_pruning(m);
}

}  // namespace

void bind_backoff(nb::module_& m) {
  bind_mix(m);
  bind_arpa(m);
  bind_estimators(m);
}

}  // namespace loglinear::bindings
