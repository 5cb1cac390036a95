#include "kenlm/query.hh"

#include "bindings/strings.hh"
#include "bindings/tries.hh"
#include "kenlm/write.hh"

namespace loglinear::bindings {

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

}  // namespace

void bind_kenlm(nb::module_& m) {
  bind_queries(m);
  m.def("write_kenlm", [](ThreadPool& pool, const BoundBackoff& model, In<std::uint8_t> blob, In<std::int64_t> offsets,
                          unsigned bits, unsigned array_bits) {
    std::vector<std::uint8_t> file;
    {
      nb::gil_scoped_release release;
      const backoff::ArpaText text(pool, model.model, Strings{as_characters(blob), view(offsets)});
      file = write_trie(pool, text, {bits, bits, array_bits});
    }
    return to_numpy(std::move(file));
  }, nb::arg("pool"), nb::arg("model"), nb::arg("blob").noconvert(), nb::arg("offsets").noconvert(), nb::arg("bits"),
        nb::arg("array_bits"), "the bytes of a file of the kind trie; bits: of quantised values, 0: exact values");
}

}  // namespace loglinear::bindings
