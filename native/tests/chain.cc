// Label chains without Python: losses and decoding against enumeration on every machine, threads, bad arrays; what the
// sanitizers run.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "check.hh"
#include "chain/decode.hh"
#include "chain/loss.hh"
#include "chain/online.hh"

namespace loglinear::tests::chain {

using namespace loglinear::chain;
using namespace loglinear;

namespace {

ChainWork sums;  // work space

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Random sequences with labels, and the features that occur in them.
struct Problem {
  std::size_t L, A;
  std::vector<std::int64_t> ptr{0}, indptr{0};
  std::vector<std::int32_t> indices, labels;
  std::vector<double> values, weights;
  std::vector<std::int64_t> node_ptr, pair_ptr;
  std::vector<std::int32_t> node_label, pair_code, transitions, trigrams;

  Problem(std::size_t n_labels, std::vector<std::size_t> lengths, bool pairs, bool second_order, unsigned seed)
      : L(n_labels), A(9) {
    std::mt19937_64 random(seed);
    const auto below = [&](std::size_t n) { return static_cast<std::int32_t>(random() % n); };
    for (const std::size_t T : lengths) {
      for (std::size_t t = 0; t < T; ++t) {
        labels.push_back(below(L));
        for (std::int32_t k = below(4); k > 0; --k)
          indices.push_back(below(A)), values.push_back(0.5 + 0.25 * below(4));
        indptr.push_back(static_cast<std::int64_t>(indices.size()));
      }
      ptr.push_back(static_cast<std::int64_t>(labels.size()));
    }
    ThreadPool pool(2);
    const Sequences found = sequences();
    const std::vector<std::uint8_t> scopes(A, 3);
    ObservedFeatures nodes = observed_features(pool, found, labels, L, scopes, false, 1);
    node_ptr = nodes.ptr, node_label = nodes.codes;
    pair_ptr.assign(A + 1, 0);
    if (pairs) {
      ObservedFeatures both = observed_features(pool, found, labels, L, scopes, true, 1);
      pair_ptr = both.ptr, pair_code = both.codes;
    }
    for (std::size_t k = 0; k < L * L; k += 2) transitions.push_back(static_cast<std::int32_t>(k));
    if (second_order)
      for (std::size_t k = 0; k < (L + 1) * L * L; k += 3) trigrams.push_back(static_cast<std::int32_t>(k));
    std::normal_distribution<double> normal;
    weights.resize(features().n_weights());
    for (double& w : weights) w = normal(random);
  }

  Sequences sequences() const { return {ptr, indptr, indices, values, A}; }
  ChainFeatures features() const { return {L, node_ptr, node_label, pair_ptr, pair_code, transitions, trigrams}; }
};

bool near(double a, double b, double tolerance = 1e-9) { return std::abs(a - b) <= tolerance * (1.0 + std::abs(b)); }

double log_sum(const std::vector<double>& x) {
  double high = -kInfinity, sum = 0.0;
  for (const double v : x) high = std::max(high, v);
  for (const double v : x) sum += std::exp(v - high);
  return high + std::log(sum);
}

// Every labelling of sequence i, and its score.
struct Enumeration {
  std::vector<std::vector<std::int32_t>> labellings;
  std::vector<double> scores;

  Enumeration(const Problem& p, const ChainInput& input, std::size_t i) {
    ThreadPool pool(1);
    const std::size_t first = static_cast<std::size_t>(p.ptr[i]), T = static_cast<std::size_t>(p.ptr[i + 1]) - first;
    std::size_t n = 1;
    for (std::size_t t = 0; t < T; ++t) n *= p.L;
    std::vector<std::int32_t> all(p.labels.size(), 0);
    std::vector<double> out(p.ptr.size() - 1);
    for (std::size_t code = 0; code < n; ++code) {
      std::vector<std::int32_t> y(T);
      for (std::size_t t = 0, rest = code; t < T; ++t, rest /= p.L) y[t] = static_cast<std::int32_t>(rest % p.L);
      std::copy(y.begin(), y.end(), all.begin() + static_cast<std::ptrdiff_t>(first));
      chain_scores(pool, input, all, out);
      labellings.push_back(y), scores.push_back(out[i]);
    }
  }
};

struct Shape {
  const char* machine;
  bool pairs, second_order;
};
const Shape kShapes[] = {
    {"dense", false, false}, {"sparse", false, false}, {"auto", true, false}, {"auto", true, true}};

}  // namespace

TEST(chain_decoding_is_that_of_enumeration) {
  for (const Shape& shape : kShapes)
    for (const bool local : {false, true}) {
      const Problem p(3, {4, 1, 0, 3}, shape.pairs, shape.second_order, 5);
      const ChainFeatures features = p.features();
      const Sequences sequences = p.sequences();
      ChainModel model(features, {}, shape.machine);
      model.set(p.weights, true);
      const ChainInput input{model, sequences, {}, local ? &model : nullptr};
      ThreadPool pool(3);
      const std::size_t n = p.labels.size(), S = sequences.size(), k = 100;
      std::vector<std::int32_t> best(n), paths(k * n), drawn(7 * n);
      std::vector<double> scores(S), ranked(k * S), log_z(S), nodes(n * p.L), edges(n * p.L * p.L);
      chain_viterbi(pool, input, best);
      chain_scores(pool, input, best, scores);
      chain_nbest(pool, input, k, paths, ranked);
      chain_marginals(pool, input, log_z, nodes, edges);
      chain_sample(pool, input, 3, 7, drawn);
      for (const std::int32_t y : drawn) CHECK(y >= 0 && y < 3);
      for (std::size_t i = 0; i < S; ++i) {
        const std::size_t T = sequences.length(i), first = sequences.begin(i);
        if (T == 0) continue;
        const Enumeration all(p, input, i);
        CHECK(near(scores[i], *std::max_element(all.scores.begin(), all.scores.end())));
        CHECK(near(ranked[i * k], scores[i]));
        CHECK(near(log_z[i], log_sum(all.scores)));
        if (local) CHECK(near(log_z[i], 0.0));
        std::vector<double> expected(T * p.L, 0.0);
        for (std::size_t c = 0; c < all.scores.size(); ++c)
          for (std::size_t t = 0; t < T; ++t)
            expected[t * p.L + static_cast<std::size_t>(all.labellings[c][t])] += std::exp(all.scores[c] - log_z[i]);
        for (std::size_t j = 0; j < expected.size(); ++j) CHECK(near(nodes[first * p.L + j], expected[j]));
      }
    }
}

TEST(chain_gradients_are_differences) {
  for (const Shape& shape : kShapes)
    for (const ChainLoss kind : {ChainLoss::crf, ChainLoss::memm, ChainLoss::pseudolikelihood}) {
      Problem p(4, {5, 1, 0, 3, 2}, shape.pairs, shape.second_order, 7);
      const ChainFeatures features = p.features();
      const Sequences sequences = p.sequences();
      ChainModel model(features, {}, shape.machine);
      ThreadPool pool(2);
      const ChainTokens tokens(pool, features, sequences);
      std::vector<double> gradient(p.weights.size()), ignored(p.weights.size());
      const auto loss = [&](std::vector<double>& out) {
        model.set(p.weights, true);
        return chain_loss(pool, kind, model, sequences, tokens, {}, p.labels, {}, sums, out);
      };
      CHECK(std::isfinite(loss(gradient)));
      for (std::size_t j = 0; j < p.weights.size(); j += 5) {
        const double w = p.weights[j], h = 1e-5;
        p.weights[j] = w + h;
        const double up = loss(ignored);
        p.weights[j] = w - h;
        const double down = loss(ignored);
        p.weights[j] = w;
        CHECK(std::abs((up - down) / (2 * h) - gradient[j]) < 1e-6);
      }
    }
}

TEST(chain_machines_agree_on_many_labels) {
  const Problem p(60, {30, 7, 1, 12}, false, false, 11);
  const ChainFeatures features = p.features();
  const Sequences sequences = p.sequences();
  std::vector<std::vector<double>> gradients;
  std::vector<std::vector<std::int32_t>> labels;
  std::vector<double> losses;
  for (const char* machine : {"dense", "sparse"})
    for (const int threads : {1, 4}) {
      ThreadPool pool(threads);
      ChainModel model(features, {}, machine);
      model.set(p.weights, true);
      const ChainTokens tokens(pool, features, sequences);
      gradients.emplace_back(p.weights.size()), labels.emplace_back(p.labels.size());
      losses.push_back(
          chain_loss(pool, ChainLoss::crf, model, sequences, tokens, {}, p.labels, {}, sums, gradients.back()));
      chain_viterbi(pool, {model, sequences, {}, nullptr}, labels.back());
    }
  for (std::size_t r = 1; r < losses.size(); ++r) {
    CHECK(near(losses[r], losses[0], 1e-12));
    CHECK(labels[r] == labels[0]);
    for (std::size_t j = 0; j < gradients[0].size(); ++j) CHECK(near(gradients[r][j], gradients[0][j]));
  }
}

TEST(chain_partial_labels_and_constraints) {
  Problem p(3, {4, 3}, true, true, 13);
  const ChainFeatures features = p.features();
  const Sequences sequences = p.sequences();
  std::vector<double> steps(9, 0.0), gradient(p.weights.size());
  ThreadPool pool(2);
  const ChainTokens tokens(pool, features, sequences);
  ChainModel model(features, {}, "auto");
  model.set(p.weights, true);
  std::vector<std::uint8_t> allowed(p.labels.size() * 3, 1);
  const double whole =
      chain_loss(pool, ChainLoss::crf, model, sequences, tokens, {}, p.labels, allowed, sums, gradient);
  std::vector<std::int32_t> partly = p.labels;
  partly[1] = partly[5] = -1;
  allowed[1 * 3 + static_cast<std::size_t>((p.labels[1] + 1) % 3)] = 0;
  const double less = chain_loss(pool, ChainLoss::crf, model, sequences, tokens, {}, partly, allowed, sums, gradient);
  CHECK(less > 0.0 && less < whole);
  for (const double g : gradient) CHECK(std::isfinite(g));
  partly.assign(partly.size(), -1);
  allowed.assign(allowed.size(), 1);
  CHECK(std::abs(chain_loss(pool, ChainLoss::crf, model, sequences, tokens, {}, partly, allowed, sums, gradient)) <
        1e-9);
  std::fill_n(allowed.begin() + 6, 3, std::uint8_t{0});
  CHECK_THROWS(chain_loss(pool, ChainLoss::crf, model, sequences, tokens, {}, partly, allowed, sums, gradient),
               InvalidInput);

  // A label that nothing may follow, and a MEMM that must not put its trust elsewhere because of it.
  for (std::size_t y = 0; y < 3; ++y) steps[0 * 3 + y] = kForbidden;
  ChainModel limited(features, {{}, {}, steps, {}}, "auto");
  limited.set(p.weights, true);
  std::vector<std::int32_t> best(p.labels.size());
  std::vector<double> free_scores(2), scores(2), log_z(2);
  chain_viterbi(pool, {limited, sequences, {}, &model}, best);
  for (const std::size_t t : {0, 1, 2, 4, 5}) CHECK(best[t] != 0);
  chain_scores(pool, {limited, sequences, {}, &model}, best, scores);
  chain_scores(pool, {model, sequences, {}, &model}, best, free_scores);
  chain_marginals(pool, {limited, sequences, {}, &model}, log_z, {}, {});
  for (std::size_t i = 0; i < 2; ++i) CHECK(near(scores[i], free_scores[i]) && log_z[i] < 0.0 && log_z[i] > scores[i]);
  steps.assign(9, kForbidden);
  ChainModel none(features, {{}, {}, steps, {}}, "auto");
  none.set(p.weights, true);
  CHECK_THROWS(chain_viterbi(pool, {none, sequences, {}, nullptr}, best), InvalidInput);
  CHECK_THROWS(chain_marginals(pool, {none, sequences, {}, nullptr}, log_z, {}, {}), InvalidInput);
}

TEST(chain_extreme_scores) {
  for (const Shape& shape : kShapes)
    for (const double scale : {300.0, 1e5, 1e7}) {
      Problem p(3, {4, 2}, shape.pairs, shape.second_order, 17);
      for (double& w : p.weights) w = w > 0 ? scale : -scale;
      const ChainFeatures features = p.features();
      const Sequences sequences = p.sequences();
      ChainModel model(features, {}, shape.machine);
      model.set(p.weights, true);
      ThreadPool pool(1);
      std::vector<std::int32_t> best(p.labels.size());
      std::vector<double> log_z(2), nodes(best.size() * 3);
      chain_viterbi(pool, {model, sequences, {}, nullptr}, best);
      chain_marginals(pool, {model, sequences, {}, nullptr}, log_z, nodes, {});
      for (std::size_t t = 0; t < best.size(); ++t) {
        CHECK(best[t] >= 0 && best[t] < 3);
        CHECK(near(nodes[t * 3] + nodes[t * 3 + 1] + nodes[t * 3 + 2], 1.0, 1e-6));
      }
    }
  Problem p(60, {6, 30}, false, false, 19);
  p.weights.assign(p.weights.size(), 1.7e308);
  for (double& v : p.values) v = 1e3;
  const ChainFeatures features = p.features();
  ChainModel model(features, {}, "sparse");
  model.set(p.weights, true);
  ThreadPool pool(1);
  const Sequences sequences = p.sequences();
  std::vector<std::int32_t> best(p.labels.size());
  CHECK_THROWS(chain_viterbi(pool, {model, sequences, {}, nullptr}, best), InvalidInput);
}

TEST(observed_features_are_those_that_occur) {
  const std::vector<std::int64_t> ptr{0, 3, 3, 5}, indptr{0, 2, 3, 4, 5, 7};
  const std::vector<std::int32_t> indices{0, 2, 1, 0, 0, 1, 1}, labels{1, 0, 1, -1, 2};
  const Sequences sequences(ptr, indptr, indices, {}, 4);
  for (const int threads : {1, 3}) {
    ThreadPool pool(threads);
    const ObservedFeatures nodes = observed_features(pool, sequences, labels, 3, {}, false, 1);
    CHECK((nodes.ptr == std::vector<std::int64_t>{0, 1, 3, 4, 4}));
    CHECK((nodes.codes == std::vector<std::int32_t>{1, 0, 2, 1}));
    const std::vector<std::uint8_t> scopes{2, 3, 0, 1};
    const ObservedFeatures pairs = observed_features(pool, sequences, labels, 3, scopes, true, 1);
    CHECK((pairs.ptr == std::vector<std::int64_t>{0, 1, 2, 2, 2}));
    CHECK((pairs.codes == std::vector<std::int32_t>{1, 3}));
    const ObservedFeatures twice = observed_features(pool, sequences, labels, 3, {}, false, 2);
    CHECK((twice.ptr == std::vector<std::int64_t>{0, 1, 2, 2, 2}));
    CHECK((twice.codes == std::vector<std::int32_t>{1, 2}));
    CHECK_THROWS(observed_features(pool, sequences, std::span(labels).first(4), 3, {}, false, 1), InvalidInput);
    CHECK_THROWS(observed_features(pool, sequences, labels, 2, {}, false, 1), InvalidInput);
    CHECK_THROWS(observed_features(pool, sequences, labels, 3, std::span(scopes).first(3), true, 1), InvalidInput);
  }
}

TEST(chain_arrays_are_checked) {
  const auto features = [](auto change) {
    Problem p(3, {4, 3}, true, true, 23);
    change(p);
    p.features();
  };
  features([](Problem&) {});
  CHECK_THROWS(features([](Problem& p) { p.node_label[0] = 3; }), InvalidInput);
  CHECK_THROWS(features([](Problem& p) { p.node_label[0] = -1; }), InvalidInput);
  CHECK_THROWS(features([](Problem& p) { p.pair_code[0] = 9; }), InvalidInput);
  CHECK_THROWS(features([](Problem& p) { p.transitions[1] = p.transitions[0]; }), InvalidInput);
  CHECK_THROWS(features([](Problem& p) { p.trigrams.back() = 36; }), InvalidInput);
  CHECK_THROWS(features([](Problem& p) { p.node_ptr[1] = std::int64_t{1} << 62; }), InvalidInput);
  CHECK_THROWS(features([](Problem& p) { p.node_ptr.back() += 1; }), InvalidInput);
  CHECK_THROWS(features([](Problem& p) { p.node_ptr.clear(); }), InvalidInput);
  CHECK_THROWS(features([](Problem& p) { p.pair_ptr.pop_back(); }), InvalidInput);
  CHECK_THROWS(features([](Problem& p) { p.L = 0; }), InvalidInput);
  CHECK_THROWS(features([](Problem& p) { p.L = 70000; }), InvalidInput);
  const auto sequences = [](auto change) {
    Problem p(3, {4, 3}, false, false, 23);
    change(p);
    p.sequences();
  };
  CHECK_THROWS(sequences([](Problem& p) { p.indices[0] = 9; }), InvalidInput);
  CHECK_THROWS(sequences([](Problem& p) { p.indices[0] = -1; }), InvalidInput);
  CHECK_THROWS(sequences([](Problem& p) { p.values[0] = kInfinity; }), InvalidInput);
  CHECK_THROWS(sequences([](Problem& p) { p.values.pop_back(); }), InvalidInput);
  CHECK_THROWS(sequences([](Problem& p) { p.ptr[1] = -4; }), InvalidInput);
  CHECK_THROWS(sequences([](Problem& p) { p.ptr.back() = 100; }), InvalidInput);
  CHECK_THROWS(sequences([](Problem& p) { p.indptr[2] = 1000; }), InvalidInput);

  const Problem p(3, {4, 3}, false, false, 23);
  const ChainFeatures f = p.features();
  const Sequences s = p.sequences();
  ThreadPool pool(1);
  const ChainTokens tokens(pool, f, s);
  ChainModel model(f, {}, "auto");
  std::vector<double> out(p.weights.size()), wrong(p.weights.size() + 1), bad(9, kInfinity);
  CHECK_THROWS(model.set(wrong, true), InvalidInput);
  model.set(p.weights, true);
  CHECK_THROWS(chain_loss(pool, ChainLoss::crf, model, s, tokens, {}, p.labels, {}, sums, wrong), InvalidInput);
  CHECK_THROWS(chain_loss(pool, ChainLoss::crf, model, s, tokens, bad, p.labels, {}, sums, out), InvalidInput);
  CHECK_THROWS(chain_loss(pool, ChainLoss::crf, model, s, tokens, {}, std::vector<std::int32_t>(7, 3), {}, sums, out),
               InvalidInput);
  const Problem shorter(3, {4, 2}, false, false, 23);
  const Sequences s2 = shorter.sequences();
  const ChainTokens foreign(pool, f, s2);
  CHECK_THROWS(chain_loss(pool, ChainLoss::crf, model, s, foreign, {}, p.labels, {}, sums, out), InvalidInput);
  CHECK_THROWS(ChainModel(f, {{}, {}, bad, {}}, "auto"), InvalidInput);
  CHECK_THROWS(ChainModel(f, {std::span(bad).first(2), {}, {}, {}}, "auto"), InvalidInput);
  CHECK_THROWS(ChainModel(f, {}, "steam"), InvalidInput);
  std::vector<std::int32_t> labels(7);
  const Sequences fewer(p.ptr, p.indptr, p.indices, p.values, 10);
  CHECK_THROWS(chain_viterbi(pool, {model, fewer, {}, nullptr}, labels), InvalidInput);
  CHECK_THROWS(chain_viterbi(pool, {model, s, {}, nullptr}, std::span(labels).first(6)), InvalidInput);
  const Problem q(3, {4, 3}, true, true, 23);
  const ChainFeatures others = q.features();
  ChainModel other(others, {}, "auto");
  CHECK_THROWS(chain_viterbi(pool, {model, s, {}, &other}, labels), InvalidInput);
  const ChainTokens resolved(pool, others, s);
  CHECK_THROWS(chain_loss(pool, ChainLoss::crf, model, s, resolved, {}, p.labels, {}, sums, out), InvalidInput);
}

TEST(chain_online_training_learns_and_repeats_itself) {
  for (const std::size_t L : {std::size_t{3}, std::size_t{60}}) {  // dense and sparse transitions
    const Problem p(L, {9, 1, 0, 12, 7}, false, false, 31);
    const ChainFeatures features = p.features();
    const Sequences sequences = p.sequences();
    const std::vector<std::int64_t> order{3, 0, 2, 4, 1};
    std::vector<double> first(features.n_weights()), again(first);
    OnlineChain chain(features, sequences, p.labels);
    const auto train = [&](int method, std::vector<double>& out) {
      double loss = 0.0;
      chain.clear();
      for (int round = 0; round < 20; ++round)
        loss = method == 0   ? chain.perceptron(order)
               : method == 1 ? chain.passive_aggressive(order, {1, 1.0, true})
               : method == 2 ? chain.arow(order, 1.0, 1.0)
                             : chain.sgd(order, 0.1, 50.0 + 5 * round);
      method < 2 ? chain.average(out) : chain.weights(out);
      return loss;
    };
    for (int method = 0; method < 4; ++method) {
      const double loss = train(method, first);
      CHECK(std::isfinite(loss));
      CHECK(loss == train(method, again) && first == again);
      CHECK(std::any_of(first.begin(), first.end(), [](double x) { return x != 0.0; }));
    }
    CHECK_THROWS(chain.perceptron(std::vector<std::int64_t>{5}), InvalidInput);
    CHECK_THROWS(OnlineChain(features, sequences, std::span(p.labels).first(2)), InvalidInput);
  }
}

TEST(chain_model_is_shared_by_threads) {
  for (const Shape& shape : kShapes) {
    const Problem p(5, {9, 1, 0, 12, 7, 30}, shape.pairs, shape.second_order, 29);
    const ChainFeatures features = p.features();
    const Sequences sequences = p.sequences();
    ChainModel model(features, {}, shape.machine);
    model.set(p.weights, true);
    ThreadPool shared(3);
    const ChainInput input{model, sequences, {}, nullptr};
    const auto ask = [&] {
      std::vector<std::int32_t> best(p.labels.size()), drawn(2 * p.labels.size());
      std::vector<double> log_z(sequences.size()), nodes(p.labels.size() * p.L);
      chain_viterbi(shared, input, best);
      chain_marginals(shared, input, log_z, nodes, {});
      chain_sample(shared, input, 1, 2, drawn);
      best.insert(best.end(), drawn.begin(), drawn.end());
      nodes.insert(nodes.end(), log_z.begin(), log_z.end());
      return std::pair(best, nodes);
    };
    const auto expected = ask();
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&] {
        for (int round = 0; round < 5; ++round) wrong += ask() != expected;
      });
    for (std::thread& thread : threads) thread.join();
    CHECK(wrong == 0);
  }
}

}  // namespace loglinear::tests::chain
