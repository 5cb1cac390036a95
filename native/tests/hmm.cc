// Expectations, samples and feature counts of label chains, without Python: what the sanitizers run.
#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include "check.hh"
#include "hmm/expectations.hh"
#include "hmm/feature_counts.hh"
#include "hmm/posteriors.hh"
#include "hmm/sequences.hh"

namespace loglinear::tests::hmm {

using namespace loglinear::hmm;
using namespace loglinear;

namespace {

// One label that goes on with probability 3/4 and emits value 0 with probability 0.6, value 1 with 0.4.
struct Geometric {
  std::vector<std::int32_t> label{0}, indices{0};
  std::vector<std::int64_t> indptr{0, 1};
  std::vector<double> values{0.75}, enter{1.0}, leave{0.25}, into{4.0}, out_of{1.0}, table{0.6, 0.4};
  StateChain chain() const { return {1, label, {}, indptr, indices, values, enter, leave}; }
};

// Expectation of (attribute, label 0) for one template of macros at the offsets, all looking at the one view.
double expected(const std::vector<std::int32_t>& offsets, const std::vector<std::int32_t>& values, int n_threads = 1) {
  const Geometric g;
  ThreadPool pool(n_threads);
  const std::vector<std::int64_t> ptr{0, static_cast<std::int64_t>(offsets.size())}, view_ptr{0, 2}, one{0, 1},
      none{0, 0};
  const std::vector<std::int32_t> views(offsets.size(), 0), zero{0};
  std::vector<double> out(1, -1.0);
  attribute_expectations(pool, g.chain(), {g.into, g.out_of, {}, {}}, {ptr, offsets, views}, {view_ptr, g.table},
                         {zero, values, offsets.size()}, {one, zero, none, {}}, out, {});
  return out[0];
}

bool near(double a, double b) { return std::abs(a - b) < 1e-12; }

}  // namespace

TEST(expectations_of_a_geometric_chain) {
  CHECK(near(expected({}, {}), 4.0));
  CHECK(near(expected({0}, {1}), 4.0 * 0.4));
  CHECK(near(expected({2}, {0}), 4.0 * 0.75 * 0.75 * 0.6));
  CHECK(near(expected({-1, 1}, {0, 1}), 4.0 * 0.75 * 0.75 * 0.6 * 0.4));
  CHECK(near(expected({-1}, {-2}), 1.0));                         // the first token
  CHECK(near(expected({1}, {-3}), 1.0));                          // the last token
  CHECK(near(expected({-1, 1}, {-2, -3}), 0.25));                 // the only token
  CHECK(near(expected({-2}, {-2}), 0.75));                        // the second token
  CHECK(near(expected({-2, -1}, {-2, 0}), 0.75 * 0.6));
  const std::vector<std::pair<std::int32_t, std::int32_t>> impossible{{0, -1},  {0, -2},  {0, -3}, {1, -2},
                                                                      {-1, -3}, {-1, -4}, {-2, -2147483647}};
  for (const auto& [offset, value] : impossible)
    CHECK(expected({offset}, {value}) == 0.0);
  CHECK(expected({-2, -1}, {0, -2}) == 0.0);  // a token before the first one
  CHECK(expected({1, 2}, {-3, 1}) == 0.0);
  CHECK(expected({-2, -1}, {-2, -2}) == 0.0);  // two different beginnings
  CHECK_THROWS(expected({0}, {2}), InvalidInput);
  CHECK_THROWS(expected({20000}, {0}), InvalidInput);
}

TEST(chains_are_checked) {
  const auto bad = [](auto change) {
    Geometric g;
    change(g);
    g.chain().check();
  };
  bad([](Geometric&) {});
  CHECK_THROWS(bad([](Geometric& g) { g.label[0] = 1; }), InvalidInput);
  CHECK_THROWS(bad([](Geometric& g) { g.indices[0] = 1; }), InvalidInput);
  CHECK_THROWS(bad([](Geometric& g) { g.indptr[1] = 2; }), InvalidInput);
  CHECK_THROWS(bad([](Geometric& g) { g.values[0] = std::nan(""); }), InvalidInput);
  CHECK_THROWS(bad([](Geometric& g) { g.enter.clear(); }), InvalidInput);
}

TEST(samples_do_not_depend_on_threads) {
  const Geometric g;
  const std::vector<std::span<const double>> emissions{g.table};
  ThreadPool one(1), four(4);
  const auto a = sample_sequences(one, g.chain(), emissions, 3000, 5, 1000);
  const auto b = sample_sequences(four, g.chain(), emissions, 3000, 5, 1000);
  CHECK(a.sequence_ptr == b.sequence_ptr && a.labels == b.labels && a.columns == b.columns);
  CHECK(a.sequence_ptr.size() == 3001);
  CHECK(std::abs(static_cast<double>(a.labels.size()) / 3000 - 4.0) < 0.4);
  CHECK_THROWS(sample_sequences(four, g.chain(), emissions, 3000, 5, 3), InvalidInput);
  std::vector<double> scores, out(3000);
  for (const auto v : a.columns[0]) scores.push_back(std::log(g.table[v]));
  input_log_probabilities(four, g.chain(), a.sequence_ptr, scores, out);
  double sum = 0.0;
  for (std::int64_t t = 0; t < a.sequence_ptr[1]; ++t) sum += scores[t];
  const auto length = static_cast<double>(a.sequence_ptr[1]);
  CHECK(near(out[0], sum + (length - 1) * std::log(0.75) + std::log(0.25)));
  CHECK_THROWS(input_log_probabilities(one, g.chain(), a.sequence_ptr, scores, std::span(out).first(5)), InvalidInput);
}

TEST(features_are_counted) {
  // Two labels; attribute 0 has both, attribute 1 has label 1 and the pair (0, 1).
  const std::vector<std::int64_t> sequence_ptr{0, 3, 3, 4}, indptr{0, 2, 3, 4, 4}, node_ptr{0, 2, 3}, pair_ptr{0, 0, 1};
  const std::vector<std::int32_t> attributes{0, 1, 1, 0}, node_label{0, 1, 1}, pair_code{1}, transitions{1, 3},
      trigrams{3, 9};
  std::vector<std::int32_t> labels{0, 1, 1, 0};
  const ChainFeatureLists features{2, node_ptr, node_label, pair_ptr, pair_code, transitions, trigrams};
  for (int n_threads : {1, 3}) {
    ThreadPool pool(n_threads);
    const FeatureRows rows = count_features(pool, {sequence_ptr, labels, indptr, attributes, {}}, features);
    CHECK((rows.indptr == std::vector<std::int64_t>{0, 8, 8, 8}));
    CHECK((rows.indices == std::vector<std::int32_t>{0, 1, 2, 3, 4, 5, 6, 7}));
  }
  ThreadPool pool(1);
  labels[1] = -1;
  CHECK_THROWS(count_features(pool, {sequence_ptr, labels, indptr, attributes, {}}, features), InvalidInput);
  labels[1] = 2;
  CHECK_THROWS(count_features(pool, {sequence_ptr, labels, indptr, attributes, {}}, features), InvalidInput);
  labels[1] = 1;
  const std::vector<std::int32_t> high{3, 12};
  const ChainFeatureLists wrong{2, node_ptr, node_label, pair_ptr, pair_code, transitions, high};
  CHECK_THROWS(count_features(pool, {sequence_ptr, labels, indptr, attributes, {}}, wrong), InvalidInput);
  const std::vector<std::int32_t> far{0, 1, 1, 2};
  CHECK_THROWS(count_features(pool, {sequence_ptr, labels, indptr, far, {}}, features), InvalidInput);
}

TEST(posteriors_of_one_label_are_counts) {
  const Geometric g;
  const std::vector<std::int64_t> sequence_ptr{0, 3, 3, 4}, indptr{0, 1, 2, 3, 4}, node_ptr{0, 1}, pair_ptr{0, 1};
  const std::vector<std::int32_t> attributes(4, 0), zero{0}, labels(4, -1), trigrams{0, 1};
  const std::vector<double> scores{-1.0, -2.0, -3.0, -1000.0}, values{1.0, 2.0, 4.0, 8.0};
  const ChainFeatureLists features{1, node_ptr, zero, pair_ptr, zero, zero, trigrams};
  for (int n_threads : {1, 3}) {
    ThreadPool pool(n_threads);
    std::vector<double> out(5, -1.0);
    posterior_counts(pool, g.chain(), {sequence_ptr, labels, indptr, attributes, values}, scores, features, out);
    const std::vector<double> expected{15.0, 6.0, 2.0, 1.0, 1.0};
    for (std::size_t j = 0; j < out.size(); ++j) CHECK(near(out[j], expected[j]));
    CHECK_THROWS(posterior_counts(pool, g.chain(), {sequence_ptr, labels, indptr, attributes, values},
                                  std::span(scores).first(3), features, out),
                 InvalidInput);
  }
}

}  // namespace loglinear::tests::hmm
