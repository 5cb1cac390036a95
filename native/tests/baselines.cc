// Normalisers of an n-gram model in all ways, without Python: what the sanitizers run.
#include <cmath>
#include <vector>

#include "check.hh"
#include "baselines/iterative_scaling.hh"
#include "baselines/ngram_normalisers.hh"
#include "baselines/ngram_totals.hh"
#include "ngram/hierarchical_normalisation.hh"
#include "util/errors.hh"

namespace loglinear::tests::baselines {

using namespace loglinear::baselines;
using namespace loglinear::ngram;
using namespace loglinear::trie;
using namespace loglinear;

namespace {

// Trigrams of "1 2 </s>", twice, and "2 </s>": three words, <s> is 3.
struct Corpus {
  std::vector<std::int64_t> context_start{0, 1, 4, 7}, entry_start{0, 3, 7, 10};
  std::vector<std::uint32_t> context_word{kNowhere, 1, 2, 3, 3, 1, 3}, context_child{1, 4, 5, 7, 7, 7, 7, 7},
      context_entry{0, 3, 4, 5, 7, 8, 9, 10}, context_count{8, 2, 3, 3, 2, 2, 1};
  std::vector<std::uint32_t> entry_word{0, 1, 2, 2, 0, 1, 2, 2, 0, 0},
      entry_parent{kNowhere, kNowhere, kNowhere, 2, 0, 1, 2, 3, 4, 4}, entry_count{3, 2, 3, 2, 3, 2, 1, 2, 2, 1};
  std::vector<double> weights{0.1, -0.4, 0.3, 1.0, -0.7, 0.2, 0.5, -1.1, 0.9, 0.6};

  TrieView view() const {
    return {3,           3,          context_start, entry_start,  context_word, context_child, context_entry,
            context_count, entry_word, entry_parent,  entry_count};
  }
};

bool near(double a, double b) { return std::abs(a - b) < 1e-12; }

}  // namespace

TEST(terms_of_a_known_corpus) {
  const Corpus corpus;
  const TermCounts count = NgramHistories(corpus.view()).terms();
  CHECK(count.histories == 4);
  CHECK(count.naive == 12);
  CHECK(count.unigram_caching == 5);
  CHECK(count.hierarchical == 10);
}

TEST(all_ways_to_the_normalisers_agree) {
  const Corpus corpus;
  const NgramHistories h(corpus.view());
  const std::size_t n = corpus.weights.size();
  ThreadPool pool(3);
  std::vector<double> z(7, 0.0), E(n, 0.0), gradient(n);
  CHECK(naive_normalisers(pool, h, corpus.weights, h.histories, z, E) == 12);
  const double loss = ngram_log_loss(pool, h, corpus.weights, z);
  CHECK(near(NgramMaxent(corpus.view()).value_and_gradient(pool, corpus.weights, gradient), loss));
  for (std::size_t e = 0; e < n; ++e) CHECK(near(gradient[e] + corpus.entry_count[e], E[e]));
  for (const bool shared : {false, true})
    for (const std::uint64_t work : {1, 3, 1000}) {
      std::vector<double> other_z(7, 0.0), other(n);
      CHECK(caching_normalisers(pool, h, corpus.weights, other_z, other, shared, work) == 5);
      for (std::uint32_t x : h.histories) CHECK(near(other_z[x], z[x]));
      for (std::size_t e = 0; e < n; ++e) CHECK(near(other[e], E[e]));
    }
}

TEST(expectations_by_total_add_up) {
  const Corpus corpus;
  const std::size_t n = corpus.weights.size();
  ThreadPool pool(2);
  std::vector<double> log_p(n), log_r(7), split(3 * n), gradient(n);
  const NgramMaxent model(corpus.view());
  model.log_probabilities(pool, corpus.weights, log_p, log_r);
  model.value_and_gradient(pool, corpus.weights, gradient);
  expectations_by_total(pool, NgramHistories(corpus.view()), log_p, log_r, split);
  double events = 0.0;
  for (std::size_t e = 0; e < n; ++e)
    CHECK(near(split[e] + split[n + e] + split[2 * n + e], gradient[e] + corpus.entry_count[e]));
  for (std::size_t e = 0; e < 3; ++e) events += split[e] + split[n + e] + split[2 * n + e];
  CHECK(near(events, 8.0));
}

TEST(bad_lengths_and_contexts_are_refused) {
  const Corpus corpus;
  const NgramHistories h(corpus.view());
  ThreadPool pool(1);
  std::vector<double> z(7), few(2), none;
  const std::vector<std::uint32_t> outside{7};
  CHECK_THROWS(naive_normalisers(pool, h, corpus.weights, outside, z, none), InvalidInput);
  CHECK_THROWS(caching_normalisers(pool, h, few, z, none), InvalidInput);
  CHECK_THROWS(caching_normalisers(pool, h, corpus.weights, few, none), InvalidInput);
  Corpus wrong;
  wrong.context_count[1] = 9;
  CHECK_THROWS(NgramHistories(wrong.view()), InvalidInput);
}

TEST(a_scaling_step_solves_its_equation) {
  ThreadPool pool(1);
  const std::vector<double> E{0.5, 2.0, 0.25, 0.0}, m{1.0, 2.0}, counts{3.0, 1.0}, b{0.5, 0.0}, w{0.2, -1.0};
  std::vector<double> step(2);
  scaling_step(pool, E, m, counts, b, w, 20.0, step);
  CHECK(near(0.5 * std::exp(step[0]) + 0.25 * std::exp(2 * step[0]) + 0.5 * (0.2 + step[0]), 3.0));
  CHECK(near(step[1], std::log(0.5)));
}

}  // namespace loglinear::tests::baselines
