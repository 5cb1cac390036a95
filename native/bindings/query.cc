#include <nanobind/operators.h>

#include "bindings/arrays.hh"
#include "bindings/tries.hh"
#include "kenlm/query.hh"
#include "kenlm/write.hh"

namespace loglinear::bindings {

using namespace backoff;
namespace {

constexpr double kLog10 = 0.43429448190325182765;  // log10(e)

template <std::size_t kColumns, class T>
nb::object rows_to_numpy(std::vector<T>&& values) {
  auto* owner = new std::vector<T>(std::move(values));
  nb::capsule free(owner, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, std::uint32_t, nb::ndim<2>>(
      reinterpret_cast<std::uint32_t*>(owner->data()), {owner->size(), kColumns}, free));
}

nb::tuple automaton_arrays(ThreadPool& pool, const BoundBackoff& model) {
  OwnedAutomaton automaton;
  {
    nb::gil_scoped_release release;
    automaton = build_automaton(pool, model.model);
  }
  return nb::make_tuple(automaton.begin, to_numpy(std::move(automaton.context_start)),
                        rows_to_numpy<4>(std::move(automaton.contexts)),
                        rows_to_numpy<3>(std::move(automaton.entries)));
}

nb::tuple score_batch(const BoundQueries& q, ThreadPool& pool, nb::handle sentences, bool bos, bool eos) {
  const HeldTexts held(sentences);
  SentenceScores scores;
  {
    nb::gil_scoped_release release;
    scores = score_texts(pool, q.model, held.texts, {bos, eos});
  }
  return to_tuple(std::move(scores));
}

double score_sentence(const BoundQueries& q, nb::handle sentence, bool bos, bool eos) {
  nb::object owner;
  const std::string_view text = text_of(sentence, owner);
  if (text.size() < kLong) return kLog10 * score_text(q.model, text, {bos, eos});
  nb::gil_scoped_release release;
  return kLog10 * score_text(q.model, text, {bos, eos});
}

nb::list full_scores(const BoundQueries& q, nb::handle sentence, bool bos, bool eos) {
  nb::object owner;
  std::uint32_t state = bos ? q.model.automaton.begin : 0;
  nb::list result;
  for (const TokenScore& t : score_tokens(q.model, text_of(sentence, owner), state, eos))
    result.append(nb::make_tuple(kLog10 * t.log_probability, t.length, t.unknown));
  return result;
}

nb::tuple step(const BoundQueries& q, const QueryState& in, nb::handle word, QueryState& out) {
  nb::object owner;
  const std::uint32_t number = number_of(q.model, text_of(word, owner), 0);
  const BackoffAutomaton::Step s = q.model.automaton.step(q.checked(in), number);
  out.context = s.next;
  return nb::make_tuple(kLog10 * s.log_probability, q.model.automaton.length(s.context) + 1,
                        number == q.model.unknown);
}

double base_score(const BoundQueries& q, const QueryState& in, nb::handle word, QueryState& out) {
  nb::object owner;
  const std::uint32_t number = number_of(q.model, text_of(word, owner), 0);
  const BackoffAutomaton::Step s = q.model.automaton.step(q.checked(in), number);
  out.context = s.next;
  return kLog10 * s.log_probability;
}

nb::tuple sample(const BoundQueries& q, ThreadPool& pool, const QueryState& state, std::size_t n,
                 std::size_t max_length, double temperature, bool unknown, std::uint64_t seed) {
  const std::uint32_t context = q.checked(state);
  SampledSentences sampled;
  {
    nb::gil_scoped_release release;
    sampled = sample_sentences(pool, q.model.automaton, context, n, max_length, temperature,
                               unknown ? kBlank : q.model.unknown, seed);
  }
  return nb::make_tuple(to_numpy(std::move(sampled.words)), to_numpy(std::move(sampled.sentence_ptr)));
}

void bind_state(nb::module_& m) {
  nb::class_<QueryState>(m, "QueryState", "What a model needs of the words so far. Equal states predict alike.")
      .def(nb::init<>())
      .def("__copy__", [](const QueryState& s) { return s; })
      .def("__deepcopy__", [](const QueryState& s, nb::handle) { return s; }, nb::arg("memo").none() = nb::none())
      .def("__hash__", &QueryState::hash)
      .def(nb::self == nb::self, nb::sig("def __eq__(self, arg: object, /) -> bool"))
      .def(nb::self != nb::self, nb::sig("def __ne__(self, arg: object, /) -> bool"))
      .def(nb::self < nb::self)
      .def(nb::self <= nb::self)
      .def(nb::self > nb::self)
      .def(nb::self >= nb::self)
      .def("__getstate__", &QueryState::parts)
      .def("__setstate__", [](QueryState& s, const std::tuple<std::uint32_t, std::vector<std::uint32_t>,
                                                              std::vector<float>>& parts) {
        new (&s) QueryState(QueryState::of(parts));
      });
}

}  // namespace

// ---- binary files of KenLM -----------------------------------------------------------------------------------------
namespace binary_files {

using namespace kenlm;
namespace {

struct BoundKenlm {
  In<std::uint8_t> file;
  Model model;

  explicit BoundKenlm(In<std::uint8_t> bytes) : file(std::move(bytes)), model(view(file)) {}
};

double score_sentence(const BoundKenlm& q, nb::handle sentence, bool bos, bool eos) {
  nb::object owner;
  State state;
  if (bos) state = q.model.begin_state();
  double sum = 0.0;
  for (const auto& t : score_tokens(q.model, text_of(sentence, owner), state, eos)) sum += t.score.log10;
  return sum;
}

nb::list full_scores(const BoundKenlm& q, nb::handle sentence, bool bos, bool eos) {
  nb::object owner;
  State state;
  if (bos) state = q.model.begin_state();
  nb::list result;
  for (const auto& t : score_tokens(q.model, text_of(sentence, owner), state, eos))
    result.append(nb::make_tuple(static_cast<double>(t.score.log10), t.score.length, t.unknown));
  return result;
}

double base_score(const BoundKenlm& q, const QueryState& in, nb::handle word, QueryState& out) {
  nb::object owner;
  out.context = 0;
  return q.model.score(in.words, q.model.number_of(text_of(word, owner)), out.words).log10;
}

nb::tuple step(const BoundKenlm& q, const QueryState& in, nb::handle word, QueryState& out) {
  nb::object owner;
  out.context = 0;
  const std::uint32_t number = q.model.number_of(text_of(word, owner));
  const Score s = q.model.score(in.words, number, out.words);
  return nb::make_tuple(static_cast<double>(s.log10), s.length, number == 0);
}

nb::tuple words(const BoundKenlm& q) {
  PackedStrings packed;
  {
    nb::gil_scoped_release release;
    for (const std::string_view word : words_of(q.model)) packed.push_back(word);
  }
  return nb::make_tuple(bytes_array(std::move(packed.blob)), to_numpy(std::move(packed.offsets)));
}

nb::list ngrams(const BoundKenlm& q) {
  std::vector<ListedOrder> orders;
  {
    nb::gil_scoped_release release;
    orders = list_ngrams(q.model);
  }
  nb::list result;
  for (ListedOrder& o : orders)
    result.append(nb::make_tuple(to_numpy(std::move(o.words)), to_numpy(std::move(o.log10)),
                                 to_numpy(std::move(o.log10_backoff))));
  return result;
}

void bind_queries(nb::module_& m) {
  nb::class_<BoundKenlm>(m, "KenlmQueries", "A binary file of KenLM, which it keeps alive.")
      .def(nb::init<In<std::uint8_t>>(), nb::arg("file").noconvert())
      .def_prop_ro("order", [](const BoundKenlm& q) { return q.model.layout().order; })
      .def_prop_ro("kind", [](const BoundKenlm& q) { return static_cast<std::uint32_t>(q.model.layout().kind); })
      .def_prop_ro("counts", [](const BoundKenlm& q) { return q.model.layout().counts; })
      .def_prop_ro("has_words", [](const BoundKenlm& q) { return q.model.layout().has_words; })
      .def_prop_ro("specials", [](const BoundKenlm& q) { return nb::make_tuple(q.model.begin(), q.model.end()); },
                   "numbers of <s> and </s>")
      .def("words", &words, "(blob, offsets) of the words by number; <unk> is the first")
      .def("ngrams", &ngrams, "[(words, log10 of probabilities, of back-offs)] of each order of a trie")
      .def("contains", [](const BoundKenlm& q, nb::handle word) {
        nb::object owner;
        return q.model.number_of(text_of(word, owner)) != 0;
      }, nb::arg("word").none())
      .def("score", &score_sentence, nb::arg("sentence").none(), nb::arg("bos"), nb::arg("eos"),
           "log10 of the probability")
      .def("full_scores", &full_scores, nb::arg("sentence").none(), nb::arg("bos"), nb::arg("eos"),
           "[(log10 of the probability, length of the n-gram found, unknown)] of each token")
      .def("score_batch", [](const BoundKenlm& q, ThreadPool& pool, nb::handle sentences, bool bos, bool eos) {
        const HeldTexts held(sentences);
        kenlm::SentenceScores scores;
        {
          nb::gil_scoped_release release;
          scores = score_texts(pool, q.model, held.texts, {bos, eos});
        }
        return to_tuple(std::move(scores));
      }, nb::arg("pool"), nb::arg("sentences").none(), nb::arg("bos"), nb::arg("eos"),
           "(log_probability, unknown_log_probability, n_words, n_unknown, hits)")
      .def("score_lines", [](const BoundKenlm& q, ThreadPool& pool, In<std::uint8_t> text) {
        kenlm::SentenceScores scores;
        {
          nb::gil_scoped_release release;
          scores = score_lines(pool, q.model, as_characters(text));
        }
        return to_tuple(std::move(scores));
      }, nb::arg("pool"), nb::arg("text").noconvert(), "as score_batch, for every line")
      .def("score_sentences", [](const BoundKenlm& q, ThreadPool& pool, In<std::uint32_t> numbers,
                                 In<std::int64_t> sentence_ptr, std::optional<Out<double>> tokens,
                                 std::optional<Out<std::uint8_t>> lengths) {
        kenlm::SentenceScores scores;
        {
          nb::gil_scoped_release release;
          scores = score_sentences(pool, q.model, view(numbers), view(sentence_ptr),
                                   tokens ? view(*tokens) : std::span<double>{},
                                   lengths ? view(*lengths) : std::span<std::uint8_t>{});
        }
        return to_tuple(std::move(scores));
      }, nb::arg("pool"), nb::arg("words").noconvert(), nb::arg("sentence_ptr").noconvert(),
           nb::arg("tokens").noconvert().none() = nb::none(), nb::arg("lengths").noconvert().none() = nb::none(),
           "as score_batch, for numbers of the file; tokens and lengths of n-grams found: [n_words + n_sentences]")
      .def("begin", [](const BoundKenlm& q, QueryState& state) { state.context = 0, state.words = q.model.begin_state(); },
           nb::arg("state"))
      .def("empty", [](const BoundKenlm&, QueryState& state) { state.context = 0, state.words.length = 0; },
           nb::arg("state"))
      .def("base_score", &base_score, nb::arg("in_state"), nb::arg("word").none(), nb::arg("out_state"),
           "log10 of the probability")
      .def("step", &step, nb::arg("in_state"), nb::arg("word").none(), nb::arg("out_state"),
           "(log10 of the probability, length of the n-gram found, unknown)")
      .def("walk", [](const BoundKenlm& q, QueryState& state, nb::handle text) {
        nb::object owner;
        score_tokens(q.model, text_of(text, owner), state.words, false);
      }, nb::arg("state"), nb::arg("text").none(), "move the state over the words of a text")
      .def("next_distribution", [](const BoundKenlm& q, ThreadPool& pool, const QueryState& state,
                                   In<std::uint32_t> numbers, Out<double> out) {
        nb::gil_scoped_release release;
        next_distribution(pool, q.model, state.words, view(numbers), view(out));
      }, nb::arg("pool"), nb::arg("state"), nb::arg("words").noconvert(), nb::arg("out").noconvert(),
           "out[i] = probability of words[i]")
      .def("sample", [](const BoundKenlm& q, ThreadPool& pool, const QueryState& state, In<std::uint32_t> numbers,
                        std::size_t n, std::size_t max_length, double temperature, bool unknown, std::uint64_t seed) {
        SampledSentences sampled;
        {
          nb::gil_scoped_release release;
          sampled = sample_sentences(pool, q.model, state.words, view(numbers), n, max_length, temperature,
                                     unknown ? backoff::kBlank : 1, seed);
        }
        return nb::make_tuple(to_numpy(std::move(sampled.words)), to_numpy(std::move(sampled.sentence_ptr)));
      }, nb::arg("pool"), nb::arg("state"), nb::arg("words").noconvert(), nb::arg("n"), nb::arg("max_length"),
           nb::arg("temperature"), nb::arg("unknown"), nb::arg("seed"), "(places in words, sentence_ptr)");
}

void bind_writing(nb::module_& m) {
  m.def("write_kenlm", [](ThreadPool& pool, const BoundBackoff& model, In<std::uint8_t> blob, In<std::int64_t> offsets,
                          unsigned bits, unsigned array_bits) {
    std::vector<std::uint8_t> file;
    {
      nb::gil_scoped_release release;
      const arpa::ArpaText text(pool, model.model, Strings{as_characters(blob), view(offsets)});
      file = write_trie(pool, text, {bits, bits, array_bits});
    }
    return to_numpy(std::move(file));
  }, nb::arg("pool"), nb::arg("model"), nb::arg("blob").noconvert(), nb::arg("offsets").noconvert(), nb::arg("bits"),
        nb::arg("array_bits"), "the bytes of a file of the kind trie; bits: of quantised values, 0: exact values");
}

}  // namespace
}  // namespace binary_files


void bind_query(nb::module_& m) {
  bind_state(m);
  binary_files::bind_queries(m);
  binary_files::bind_writing(m);
  m.def("build_automaton", &automaton_arrays, nb::arg("pool"), nb::arg("model"),
        "(state after <s>, context_start, contexts [n, 4], entries [m, 3]) of a back-off model");

  nb::class_<BoundFile>(m, "AutomatonFile", "An open file, and where the arrays of an automaton begin in it.")
      .def(nb::init<int, std::string, std::uint64_t, std::uint64_t>(), nb::arg("descriptor"), nb::arg("name"),
           nb::arg("contexts_at"), nb::arg("entries_at"));
  nb::class_<BoundQueries>(m, "BackoffQueries", "An automaton and its words, in arrays which it keeps alive.")
      .def(nb::init<ThreadPool&, std::uint32_t, In<std::int64_t>, In<std::uint32_t>, In<std::uint32_t>,
                    In<std::uint8_t>, In<std::int64_t>, bool, const BoundFile*>(),
           nb::arg("pool"), nb::arg("begin"), nb::arg("context_start").noconvert(), nb::arg("contexts").noconvert(),
           nb::arg("entries").noconvert(), nb::arg("blob").noconvert(), nb::arg("offsets").noconvert(),
           nb::arg("is_open"), nb::arg("file").none() = nb::none(), nb::keep_alive<1, 10>(),
           "With a file, contexts and entries are empty memory, to which it is read when it is used.")
      .def("check_all", [](const BoundQueries& q, ThreadPool& pool) {
        nb::gil_scoped_release release;
        q.check_all(pool);
      }, nb::arg("pool"), "check what no query has come to yet")
      .def("score", &score_sentence, nb::arg("sentence").none(), nb::arg("bos"), nb::arg("eos"),
           "log10 of the probability")
      .def("full_scores", &full_scores, nb::arg("sentence").none(), nb::arg("bos"), nb::arg("eos"),
           "[(log10 of the probability, length of the n-gram found, unknown)] of each token")
      .def("score_batch", &score_batch, nb::arg("pool"), nb::arg("sentences").none(), nb::arg("bos"), nb::arg("eos"),
           "(log_probability, unknown_log_probability, n_words, n_unknown, hits)")
      .def(
          "score_lines",
          [](const BoundQueries& q, ThreadPool& pool, In<std::uint8_t> text) {
            SentenceScores scores;
            {
              nb::gil_scoped_release release;
              scores = score_lines(pool, q.model, as_characters(text));
            }
            return to_tuple(std::move(scores));
          },
          nb::arg("pool"), nb::arg("text").noconvert(), "as score_batch, for every line")
      .def(
          "score_sentences",
          [](const BoundQueries& q, ThreadPool& pool, In<std::uint32_t> words, In<std::int64_t> sentence_ptr,
             std::optional<Out<double>> tokens, std::optional<Out<std::uint8_t>> lengths) {
            SentenceScores scores;
            {
              nb::gil_scoped_release release;
              scores = score_sentences(pool, q.model.automaton, q.model.unknown, view(words), view(sentence_ptr),
                                       tokens ? view(*tokens) : std::span<double>{},
                                       lengths ? view(*lengths) : std::span<std::uint8_t>{});
            }
            return to_tuple(std::move(scores));
          },
          nb::arg("pool"), nb::arg("words").noconvert(), nb::arg("sentence_ptr").noconvert(),
          nb::arg("tokens").noconvert().none() = nb::none(), nb::arg("lengths").noconvert().none() = nb::none(),
          "as score_batch; tokens and lengths of n-grams found: [n_words + n_sentences]")
      .def(
          "begin", [](const BoundQueries& q, QueryState& state) { state.context = q.model.automaton.begin; },
          nb::arg("state"))
      .def(
          "empty", [](const BoundQueries&, QueryState& state) { state.context = 0; }, nb::arg("state"))
      .def("base_score", &base_score, nb::arg("in_state"), nb::arg("word").none(), nb::arg("out_state"),
           "log10 of the probability")
      .def("step", &step, nb::arg("in_state"), nb::arg("word").none(), nb::arg("out_state"),
           "(log10 of the probability, length of the n-gram found, unknown)")
      .def(
          "walk",
          [](const BoundQueries& q, QueryState& state, nb::handle text) {
            nb::object owner;
            std::uint32_t context = q.checked(state);
            score_tokens(q.model, text_of(text, owner), context, false);
            state.context = context;
          },
          nb::arg("state"), nb::arg("text").none(), "move the state over the words of a text")
      .def(
          "next_distribution",
          [](const BoundQueries& q, const QueryState& state, Out<double> out) {
            nb::gil_scoped_release release;
            next_distribution(q.model.automaton, state.context, view(out));
          },
          nb::arg("state"), nb::arg("out").noconvert(), "out[w] = probability of word w: [n_words]")
      .def("sample", &sample, nb::arg("pool"), nb::arg("state"), nb::arg("n"), nb::arg("max_length"),
           nb::arg("temperature"), nb::arg("unknown"), nb::arg("seed"), "(words, sentence_ptr)");
  m.def("most_probable", [](In<double> probabilities, std::size_t k) {
    std::vector<std::uint32_t> best;
    {
      nb::gil_scoped_release release;
      best = most_probable(view(probabilities), k);
    }
    return to_numpy(std::move(best));
  }, nb::arg("probabilities").noconvert(), nb::arg("k"), "numbers of the k largest, largest first");
}

}  // namespace loglinear::bindings
