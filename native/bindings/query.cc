#include <nanobind/operators.h>

#include "bindings/arrays.hh"
#include "bindings/strings.hh"
#include "bindings/tries.hh"

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

void bind_query(nb::module_& m) {
  bind_state(m);
  m.def("build_automaton", &automaton_arrays, nb::arg("pool"), nb::arg("model"),
        "(state after <s>, context_start, contexts [n, 4], entries [m, 3]) of a back-off model");

  nb::class_<BoundQueries>(m, "BackoffQueries", "An automaton and its words, in arrays which it keeps alive.")
      .def(nb::init<ThreadPool&, std::uint32_t, In<std::int64_t>, In<std::uint32_t>, In<std::uint32_t>,
                    In<std::uint8_t>, In<std::int64_t>, bool>(),
           nb::arg("pool"), nb::arg("begin"), nb::arg("context_start").noconvert(), nb::arg("contexts").noconvert(),
           nb::arg("entries").noconvert(), nb::arg("blob").noconvert(), nb::arg("offsets").noconvert(),
           nb::arg("is_open"))
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
