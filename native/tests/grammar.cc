// Trees read from noise and put together again; charts of a grammar by hand; samples. Without Python.
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "check.hh"
#include "grammar/outside.hh"
#include "grammar/parsing.hh"
#include "grammar/generate.hh"
#include "grammar/trees.hh"
#include "text/brackets.hh"
#include "util/errors.hh"

namespace loglinear::tests::grammar {

using namespace loglinear::grammar;
using namespace loglinear::text;

namespace {

Trees view_of(const BracketedTrees& t) { return {t.tree_ptr, t.label, t.word, t.size, t.labels.size(), t.words.size()}; }

// S -> S S (0.4) | a (0.6), as rules of one tag and one symbol above it: S -> S S, S -> A, A over the word.
struct Ambiguous {
  std::vector<std::int64_t> ptr{0, 1, 1};
  std::vector<std::int32_t> left{0}, right{0}, parent{0}, child{1}, tags{1}, classes{0, 0}, labels{0};
  Rules rules{2, 0, ptr, left, right, parent, child, tags, 1, classes, labels};
  std::vector<double> rule{std::log(0.4), std::log(0.6)};
};

}  // namespace

TEST(trees_survive_binarisation) {
  ThreadPool pool(2);
  const std::string text = "(S (A (x a) (y b) (z c) (z d)) (B (B (y b))) (q (q (x a) (x a))))";
  const BracketedTrees trees = read_brackets(pool, {text.data(), text.size()});
  view_of(trees).check();
  for (const bool right : {true, false})
    for (const std::int64_t horizontal : {-1, 0, 1}) {
      const BinaryTrees b = binarise(view_of(trees), trees.labels, {right, horizontal, 2, true});
      Trees{b.tree_ptr, b.symbol, b.word, b.size, b.symbols.size(), trees.words.size()}.check();
    }
  const std::vector<char> again =
      write_brackets(pool, trees.tree_ptr, trees.label, trees.word, trees.size, trees.labels, trees.words);
  CHECK(std::string(again.begin(), again.end()) == text + "\n");
}

TEST(noise_is_read_or_refused) {
  ThreadPool pool(1);
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (int i = 0; i < 40; ++i) text += "()) (a b("[random() % 9];
    try {
      view_of(read_brackets(pool, {text.data(), text.size()}, 8)).check();
      CHECK(true);
    } catch (const ParseError& error) {
      CHECK(error.line == 1);
    }
  }
}

TEST(sums_and_maxima_of_an_ambiguous_grammar) {
  const Ambiguous g;
  const double catalan[] = {1, 1, 2, 5, 14, 42};
  TreeSums sums(g.rules);
  LogChart logs(g.rules);
  BestChart best(g.rules);
  for (std::size_t n = 1; n <= 6; ++n) {
    const std::vector<double> token(n, 0.0);
    Scores scores;
    scores.n = n, scores.token = token, scores.rule = g.rule;
    const double one = static_cast<double>(n) * std::log(0.6) + static_cast<double>(n - 1) * std::log(0.4);
    CHECK(std::fabs(sums.fill(scores, {}) - one - std::log(catalan[n - 1])) < 1e-10);
    CHECK(std::fabs(logs.fill(scores, {}) - one - std::log(catalan[n - 1])) < 1e-10);
    CHECK(std::fabs(best.fill(scores, {}) - one) < 1e-10);
    PartCounts counts;
    sums.fill_outside(scores, {}, &counts);
    CHECK(std::fabs(counts.rule[0] - static_cast<double>(n - 1)) < 1e-10);
    CHECK(std::fabs(counts.rule[1] - static_cast<double>(n)) < 1e-10);
  }
}

TEST(long_sentences_stay_in_range) {
  const Ambiguous g;
  InsideChart inside(g.rules);
  for (const double shift : {-300.0, 0.0, 300.0}) {
    const std::vector<double> token(120, shift);
    std::vector<double> rule = g.rule;
    rule[0] += 5.0;
    Scores scores;
    scores.n = token.size(), scores.token = token, scores.rule = rule;
    const double log_z = inside.fill(scores, {});
    // log C(n - 1) = lgamma(2 n - 1) - lgamma(n) - lgamma(n + 1)
    const double catalan = std::lgamma(239.0) - std::lgamma(120.0) - std::lgamma(121.0);
    CHECK(std::fabs(log_z - (120 * (shift + rule[1]) + 119 * rule[0] + catalan)) < 1e-6);
  }
}

TEST(rules_in_a_wrong_order_are_refused) {
  const std::vector<std::int64_t> ptr{0, 0, 0};
  const std::vector<std::int32_t> none, a{0, 1}, b{1, 0}, tag{1};
  CHECK_THROWS(Rules(2, 0, ptr, none, none, a, b, tag, 1, a, b), InvalidInput);
  CHECK_THROWS(Rules(SIZE_MAX, 0, ptr, none, none, none, none, tag, 1, none, none), InvalidInput);  // not std::bad_alloc
  CHECK_THROWS(Rules(2, 5, ptr, none, none, none, none, tag, 1, none, none), InvalidInput);
  CHECK_THROWS(Rules(2, 0, ptr, none, none, none, none, tag, 0, none, a), InvalidInput);
}

TEST(pointers_of_brackets_ascend_before_brackets_are_read) {
  const Ambiguous g;
  const std::vector<std::int64_t> sentence_ptr{0, 1, 2}, bracket_ptr{0, 1 << 28, 0}, label_ptr{0, 0};
  const std::vector<std::int32_t> words{0, 0}, class_of_word{0}, none;
  const std::vector<std::uint8_t> hidden{0, 0};
  const TreeBank bank{sentence_ptr, words, class_of_word};
  const Constraints constraints{bracket_ptr, none, none, none, none, hidden, label_ptr, none};
  CHECK_THROWS(constraints.check(g.rules, bank), InvalidInput);
}

TEST(samples_are_trees) {
  ThreadPool pool(2);
  const std::vector<std::int64_t> ptr{0, 2};
  const std::vector<double> cumulative{0.4, 1.0};
  const std::vector<std::int32_t> first{0, -1}, second{0, -1};
  const GeneratedTrees t = generate_trees(pool, {ptr, cumulative, first, second}, 0, 3000, 7, 100'000);
  Trees{t.tree_ptr, t.symbol, t.word, t.size, 1, 1}.check();
  CHECK(std::fabs(static_cast<double>(t.symbol.size()) / 3000.0 - 5.0) < 1.0);
}

}  // namespace loglinear::tests::grammar
