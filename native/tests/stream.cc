// Online n-grams without Python: what the sanitizers run.
#include <cmath>
#include <vector>

#include "check.hh"
#include "stream/tree.hh"
#include "util/errors.hh"
#include "util/random.hh"

namespace loglinear::tests::stream {

using namespace loglinear::stream;
using namespace loglinear;

namespace {

struct Text {
  std::vector<std::uint32_t> words;
  std::vector<std::int64_t> ptr{0};
};

Text random_text(std::uint64_t seed, std::size_t n_sentences, std::uint32_t n_words) {
  Random random(seed, 0);
  Text text;
  for (std::size_t i = 0; i < n_sentences; ++i) {
    for (int k = static_cast<int>(random.uniform() * 9.0); k > 0; --k)
      text.words.push_back(1 + static_cast<std::uint32_t>(random.uniform() * (n_words - 1)));
    text.ptr.push_back(static_cast<std::int64_t>(text.words.size()));
  }
  return text;
}

OnlineTreeSettings settings_of(tree::SmallForestPenalty penalty, bool eager) {
  OnlineTreeSettings s;
  s.n_words = 12;
  s.order = 0;
  s.penalty = penalty;
  s.collapse = penalty != tree::SmallForestPenalty::kTreeL2;
  s.strengths = {0.2};
  s.depth_growth = 1.1;
  s.ridges = {0.05};
  s.eager = eager;
  return s;
}

std::vector<double> learnt(tree::SmallForestPenalty penalty, bool eager, int n_threads) {
  ThreadPool pool(n_threads);
  OnlineTree tree(settings_of(penalty, eager));
  for (std::uint64_t batch = 0; batch < 25; ++batch) {
    const Text text = random_text(batch, 6, 12);
    CHECK(std::isfinite(tree.learn(pool, text.words, text.ptr, 0.0)));
  }
  std::vector<std::int64_t> again{3, 77, 20};
  tree.step(pool, again, static_cast<double>(tree.n_tokens()));
  std::vector<double> w(tree.n_entries());
  tree.values(pool, w);
  return w;
}

}  // namespace

TEST(online_trees_that_lag_behind_and_threads_give_the_same_bits) {
  for (const auto penalty :
       {tree::SmallForestPenalty::kTreeLinf, tree::SmallForestPenalty::kTreeL2, tree::SmallForestPenalty::kL1}) {
    const auto w = learnt(penalty, false, 1);
    CHECK(w == learnt(penalty, true, 1));
    CHECK(w == learnt(penalty, false, 4));
  }
}

TEST(online_tree_keeps_every_token) {
  ThreadPool pool(2);
  OnlineTree tree(settings_of(tree::SmallForestPenalty::kTreeLinf, false));
  const Text text = random_text(5, 3000, 12);
  tree.extend(pool, text.words, text.ptr);
  const OnlineLayout layout = tree.layout();
  CHECK(layout.context_word.size() == tree.n_contexts());
  CHECK(layout.entry_word.size() == tree.n_entries());
  std::size_t tokens = 0;
  for (std::size_t c = 1; c < static_cast<std::size_t>(layout.context_start[2]); ++c) tokens += layout.context_count[c];
  CHECK(tokens == tree.n_tokens());
}

TEST(online_tree_refuses_bad_text) {
  ThreadPool pool(1);
  OnlineTree tree(settings_of(tree::SmallForestPenalty::kL1, false));
  const std::vector<std::uint32_t> words{1, 12};
  const std::vector<std::int64_t> ptr{0, 2}, crossed{0, 3, 2}, open{0, 1};
  CHECK_THROWS(tree.extend(pool, words, ptr), InvalidInput);
  CHECK_THROWS(tree.extend(pool, std::vector<std::uint32_t>{1, 2}, crossed), InvalidInput);
  CHECK_THROWS(tree.extend(pool, std::vector<std::uint32_t>{1, 2}, open), InvalidInput);
  CHECK_THROWS(tree.step(pool, std::vector<std::int64_t>{0}, 1.0), InvalidInput);
  std::vector<double> few(3);
  CHECK_THROWS(tree.values(pool, few), InvalidInput);
  CHECK(tree.n_tokens() == 0);
}

}  // namespace loglinear::tests::stream
