// The query automaton without Python: what the sanitizers run.
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "check.hh"
#include "backoff/query.hh"

namespace loglinear::tests::backoff_query {

using namespace loglinear::backoff;
using namespace loglinear::trie;
using namespace loglinear;

namespace {

// Words </s> <unk> a b and <s>; p(w) = 1/4; after a (context 1): p(b) = 1/2, backing off costs 2/3.
struct Bigrams {
  OwnedShape shape{2, 4, {0, 1, 2}, {0, 4, 5}, {kNowhere, 2}, {1, 2, 2}, {0, 4, 5}, {0, 1, 2, 3, 3}};
  std::vector<double> log_backoff{0.0, std::log(2.0 / 3)};
  std::vector<double> log_probability{std::log(0.25), std::log(0.25), std::log(0.25), std::log(0.25), std::log(0.5)};
  std::vector<char> blob;
  std::vector<std::int64_t> offsets{0, 4, 9, 10, 11};
  Bigrams() {
    for (const char c : std::string("</s><unk>ab")) blob.push_back(c);
  }
  OwnedAutomaton automaton(ThreadPool& pool) const {
    return build_automaton(pool, {shape, log_backoff, log_probability});
  }
};

// One context, a, with n of the words: a table where n is large.
struct Wide {
  OwnedShape shape;
  std::vector<double> log_backoff{0.0, -0.5}, log_probability;
  explicit Wide(std::uint32_t n_words) {
    shape.order = 2, shape.n_words = n_words;
    shape.context_start = {0, 1, 2}, shape.context_word = {kNowhere, 1}, shape.context_child = {1, 2, 2};
    for (std::uint32_t w = 0; w < n_words; ++w) shape.entry_word.push_back(w);
    for (std::uint32_t w = 0; w < n_words; w += 3) shape.entry_word.push_back(w);
    const auto n = static_cast<std::uint32_t>(shape.entry_word.size());
    shape.entry_start = {0, n_words, n}, shape.context_entry = {0, n_words, n};
    for (std::uint32_t e = 0; e < n; ++e) log_probability.push_back(-1.0 - e);
  }
};

bool near(double a, double b) { return std::abs(a - b) < 1e-6; }

}  // namespace

TEST(queries_score_text) {
  const Bigrams m;
  ThreadPool pool(2);
  const OwnedAutomaton automaton = m.automaton(pool);
  BackoffAutomaton(automaton).check(pool);
  CHECK(automaton.contexts.size() == 2 && automaton.begin == 0);
  const StringIndex words(Strings{m.blob, m.offsets});
  const QueryModel model{automaton, words, 1};
  CHECK(near(score_text(model, "a b", {}), std::log(0.25 * 0.5 * 0.25)));
  CHECK(near(score_text(model, "a  a\tx", {}), std::log(0.25) * 4 + 2 * std::log(2.0 / 3)));
  CHECK(score_text(model, "", {true, false}) == 0.0);
  const std::string text = "a b\n\na a x\nb";
  const SentenceScores scores = score_lines(pool, model, text, 1);
  CHECK((scores.n_words == std::vector<std::int64_t>{2, 0, 3, 1}));
  CHECK((scores.n_unknown == std::vector<std::int64_t>{0, 0, 1, 0}));
  CHECK((scores.hits == std::vector<std::int64_t>{9, 1}));
  CHECK(near(scores.log_probability[2], score_text(model, "a a x", {})));
  CHECK(near(scores.unknown_log_probability[2], std::log(0.25 * 2 / 3)));
  CHECK_THROWS(score_text(QueryModel{automaton, words, kBlank}, "a x", {}), InvalidInput);
}

TEST(queries_use_all_lanes) {
  const Bigrams m;
  ThreadPool one(1), three(3);
  const OwnedAutomaton automaton = m.automaton(one);
  std::vector<std::uint32_t> words;
  std::vector<std::int64_t> ptr{0};
  for (std::uint32_t i = 0; i < 3000; ++i) {
    for (std::uint32_t k = 0; k < i % 37; ++k) words.push_back((i * 7 + k * k) % 4);
    ptr.push_back(static_cast<std::int64_t>(words.size()));
  }
  std::vector<double> tokens(words.size() + 3000), again(tokens.size());
  const SentenceScores a = score_sentences(one, automaton, 1, words, ptr, tokens);
  const SentenceScores b = score_sentences(three, automaton, 1, words, ptr, again);
  CHECK(a.log_probability == b.log_probability && a.hits == b.hits && tokens == again);
  std::size_t at = 0;
  bool same = true;
  for (std::size_t i = 0; i < 3000; ++i) {
    std::uint32_t state = automaton.begin;
    double sum = 0.0;
    for (std::int64_t p = ptr[i]; p <= ptr[i + 1]; ++p) {
      const auto s = BackoffAutomaton(automaton).step(state, p < ptr[i + 1] ? words[p] : 0);
      same = same && tokens[at++] == s.log_probability;
      sum += s.log_probability, state = s.next;
    }
    same = same && sum == a.log_probability[i];
  }
  CHECK(same);
  words[5] = 4;
  CHECK_THROWS(score_sentences(one, automaton, 1, words, ptr), InvalidInput);
}

TEST(queries_find_every_entry_of_a_table) {
  for (const std::uint32_t n_words : {20u, 24u, 25u, 28u, 1000u}) {
    const Wide m(n_words);
    ThreadPool pool(2);
    const OwnedAutomaton owned = build_automaton(pool, {m.shape, m.log_backoff, m.log_probability});
    const BackoffAutomaton a = owned;
    a.check(pool);
    bool right = true;
    for (std::uint32_t w = 0; w < n_words; ++w) {
      const double expected = w % 3 ? -0.5 - 1.0 - w : -1.0 - (n_words + w / 3);
      right = right && std::abs(a.step(1, w).log_probability - expected) < 1e-3;
    }
    CHECK(right);
  }
}

TEST(queries_refuse_damage) {
  const Wide m(100);
  ThreadPool pool(1);
  const OwnedAutomaton whole = build_automaton(pool, {m.shape, m.log_backoff, m.log_probability});
  const auto damaged = [&](auto change) {
    OwnedAutomaton copy = whole;
    change(copy);
    BackoffAutomaton(copy).check(pool);
  };
  CHECK_THROWS(damaged([](auto& a) { a.begin = 2; }), InvalidInput);
  CHECK_THROWS(damaged([](auto& a) { a.contexts[1].size = 0xFFFFFFFF; }), InvalidInput);
  CHECK_THROWS(damaged([](auto& a) { a.contexts[1].parent = 1; }), InvalidInput);
  CHECK_THROWS(damaged([](auto& a) { a.entries[3].next = 2; }), InvalidInput);
  CHECK_THROWS(damaged([](auto& a) { a.entries[3].log_probability = std::nanf(""); }), InvalidInput);
  CHECK_THROWS(damaged([](auto& a) { a.entries.pop_back(); }), InvalidInput);
  CHECK_THROWS(damaged([](auto& a) {
    for (std::size_t i = 100; i < a.entries.size(); ++i) a.entries[i].word = 1;
  }), InvalidInput);
}

TEST(queries_draw_and_rank) {
  const Bigrams m;
  ThreadPool pool(2);
  const OwnedAutomaton automaton = m.automaton(pool);
  std::vector<double> p(4);
  next_distribution(automaton, 1, p);
  CHECK(near(p[3], 0.5) && near(p[0], 1.0 / 6) && near(p[0] + p[1] + p[2] + p[3], 1.0));
  CHECK((most_probable(p, 2) == std::vector<std::uint32_t>{3, 0}));
  CHECK(most_probable(p, 9).size() == 4);
  const SampledSentences s = sample_sentences(pool, automaton, 0, 200, 5, 1.0, 1, 42);
  CHECK(s.sentence_ptr.size() == 201 && s.sentence_ptr.back() == static_cast<std::int64_t>(s.words.size()));
  bool right = true;
  for (const std::uint32_t w : s.words) right = right && (w == 2 || w == 3);
  CHECK(right);
  CHECK_THROWS(sample_sentences(pool, automaton, 2, 1, 5, 1.0, kBlank, 0), InvalidInput);
  CHECK_THROWS(sample_sentences(pool, automaton, 0, 1, 5, 0.0, kBlank, 0), InvalidInput);
}

}  // namespace loglinear::tests::backoff_query
