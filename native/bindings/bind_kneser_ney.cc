#include "bindings/arrays.hh"
#include "kernels/kneser_ney.hh"
#include "kernels/pruning.hh"
#include "kernels/smoothing.hh"

namespace loglinear {
namespace {

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
        trie{order,
             n_words,
             view(context_start),
             view(entry_start),
             view(context_word),
             view(context_child),
             view(context_entry),
             view(context_count),
             view(entry_word),
             view(entry_parent),
             view(entry_count)} {
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
  PrunableView model;

  PrunableModel(ThreadPool& pool, std::size_t order, std::size_t n_words, In<std::int64_t> context_start_,
                In<std::int64_t> entry_start_, In<std::uint32_t> context_word_, In<std::uint32_t> context_child_,
                In<std::uint32_t> context_entry_, In<double> log_backoff_, In<std::uint32_t> entry_word_,
                In<double> log_probability_)
      : context_start(std::move(context_start_)), entry_start(std::move(entry_start_)),
        context_word(std::move(context_word_)), context_child(std::move(context_child_)),
        context_entry(std::move(context_entry_)), log_backoff(std::move(log_backoff_)),
        entry_word(std::move(entry_word_)), log_probability(std::move(log_probability_)),
        model{order,
              n_words,
              view(context_start),
              view(entry_start),
              view(context_word),
              view(context_child),
              view(context_entry),
              view(log_backoff),
              view(entry_word),
              view(log_probability)} {
    nb::gil_scoped_release release;
    check_prunable(pool, model);
  }
};

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
          std::vector<std::vector<std::uint64_t>> rows;
          for (const auto& row : totals) rows.emplace_back(row.begin(), row.end());
          return rows;
        },
        nb::arg("pool"), nb::arg("trie"), nb::arg("adjusted").noconvert(),
        "Per order, how many n-grams have an adjusted count of 1, 2, 3 and 4.");

  m.def("smooth",
        [](ThreadPool& pool, const SmoothingTrie& trie, std::optional<In<std::uint32_t>> adjusted,
           const std::vector<std::vector<double>>& discounts, const std::vector<double>& per_type,
           const std::vector<double>& constant, const std::vector<std::uint32_t>& cut, bool interpolate,
           Out<double> log_probability, Out<double> log_backoff) {
          const std::size_t n = discounts.size();
          require(per_type.size() == n && constant.size() == n && cut.size() == n,
                  "smoothing: settings are needed for every order");
          std::vector<OrderSmoothing> orders(n);
          for (std::size_t i = 0; i < n; ++i) {
            require(discounts[i].size() == 3, "smoothing: three discounts are needed for every order");
            orders[i] = {{discounts[i][0], discounts[i][1], discounts[i][2]}, per_type[i], constant[i], cut[i]};
          }
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

}  // namespace

void bind_kneser_ney(nb::module_& m) {
  bind_smoothing(m);
  bind_pruning(m);
}

}  // namespace loglinear
