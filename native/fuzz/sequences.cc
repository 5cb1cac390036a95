// Label chains and hidden Markov models of model files, and the sequences they are asked about.
#include <cmath>

#include "chain/decode.hh"
#include "chain/loss.hh"
#include "fuzz/target.hh"
#include "hmm/posteriors.hh"
#include "hmm/sequences.hh"

namespace loglinear::fuzz::sequences {
namespace {

using Ints = std::vector<std::int32_t>;
using Longs = std::vector<std::int64_t>;
using Doubles = std::vector<double>;

struct FeatureLists {
  Longs node_ptr, pair_ptr;
  Ints node_label, pair_code, transitions, trigrams;

  FeatureLists() = default;
  explicit FeatureLists(Input& input)
      : node_ptr(input.array<std::int64_t>()), pair_ptr(input.array<std::int64_t>()),
        node_label(input.array<std::int32_t>()), pair_code(input.array<std::int32_t>()),
        transitions(input.array<std::int32_t>()), trigrams(input.array<std::int32_t>()) {}
  void add_to(Seed& seed) const {
    seed.array(node_ptr).array(pair_ptr).array(node_label).array(pair_code).array(transitions).array(trigrams);
  }
};

// Two labels or three, four attributes.
FeatureLists lists_of(std::int32_t n_labels, bool pairs, bool second_order) {
  FeatureLists f;
  f.node_ptr = {0, 2, 3, 3, 5}, f.node_label = {0, 1, 1, 0, 1};
  f.pair_ptr = {0, 0, 0, 0, 0};
  if (pairs) f.pair_ptr = {0, 1, 1, 3, 3}, f.pair_code = {0, 1, 2};
  for (std::int32_t c = 0; c < n_labels * n_labels; c += 2) f.transitions.push_back(c);
  if (second_order)
    for (std::int32_t c = 0; c < (n_labels + 1) * n_labels * n_labels; c += 3) f.trigrams.push_back(c);
  return f;
}

const Longs kPtr{0, 3, 4}, kIndptr{0, 2, 3, 4, 6};
const Ints kIndices{0, 3, 1, 2, 0, 1}, kLabels{0, 1, 1, 0};

Doubles finite(Doubles x) {  // what loaders let through
  for (double& v : x)
    if (!std::isfinite(v)) v = 0.0;
  return x;
}

void use_chain(Input& input) {
  ThreadPool& pool = input.pool();
  const std::size_t settings = input.byte();
  const auto n_labels = input.number<std::size_t>(), n_attributes = input.number<std::size_t>();
  const FeatureLists f(input);
  const Longs ptr = input.array<std::int64_t>(), indptr = input.array<std::int64_t>();
  const Ints indices = input.array<std::int32_t>(), labels = input.array<std::int32_t>();
  const Doubles values = settings & 1 ? finite(input.array<double>()) : Doubles();
  Doubles base[4];
  for (Doubles& b : base) b = settings & 2 ? input.array<double>() : Doubles();
  const chain::ChainFeatures features(n_labels, f.node_ptr, f.node_label, f.pair_ptr, f.pair_code, f.transitions, f.trigrams);
  if (n_labels > 40) return;  // how much a model of many labels takes is not the question here
  const chain::Sequences data(ptr, indptr, indices, values, n_attributes);
  const char* const machines[] = {"auto", "dense", "sparse", "auto"};
  chain::ChainModel model(features, {base[0], base[1], base[2], base[3]}, machines[settings / 4 % 4]);
  const Doubles w = finite(input.array<double>(features.n_weights()));
  model.set(w, true);
  const chain::ChainInput asked{model, data, {}, settings & 16 ? &model : nullptr};
  const std::size_t n = data.n_tokens(), k = 1 + settings / 32 % 3;
  Ints found(n * k);
  Doubles scores(data.size() * k), log_z(data.size()), nodes(n * n_labels), edges(n * n_labels * n_labels);
  chain::chain_viterbi(pool, asked, std::span(found).first(n));
  for (const std::int32_t y : std::span(found).first(n))
    expect(y >= 0 && static_cast<std::size_t>(y) < n_labels, "chain: a label that is none");
  chain::chain_nbest(pool, asked, k, found, scores);
  chain::chain_marginals(pool, asked, log_z, nodes, edges);
  chain::chain_sample(pool, asked, 3, k, found);
  chain::chain_scores(pool, asked, labels, std::span(scores).first(data.size()));
  const chain::ChainTokens tokens(pool, features, data);
  chain::ChainWork work;
  Doubles gradient(features.n_weights());
  chain::chain_loss(pool, static_cast<chain::ChainLoss>(settings % 3), model, data, tokens, {}, labels, {}, work, gradient);
}

std::vector<Bytes> chain_seeds() {
  std::vector<Bytes> seeds;
  for (const std::size_t settings : {0, 1, 2, 4, 8, 16, 35, 49})
    for (const bool second_order : {false, true}) {
      Seed seed;
      seed.byte(0).byte(settings).number(2).number(4);
      lists_of(2, settings % 3 == 1, second_order).add_to(seed);
      seed.array(kPtr).array(kIndptr).array(kIndices).array(kLabels);
      if (settings & 1) seed.array(Doubles{1.0, 0.5, 1.0, 1.0, -1.0, 0.0});
      if (settings & 2) seed.array(Doubles{-0.5, 0.0}).array(Doubles{0.0, 0.0}).array(Doubles{0.0, -1.0, -1.0, 0.0}).array(Doubles{});
      for (int j = 0; j < 24; ++j) seed.number(0.125 * (j % 5 - 2));
      seeds.push_back(seed);
    }
  return seeds;
}

void use_hmm(Input& input) {
  ThreadPool& pool = input.pool();
  const bool second_order = input.flag();
  const auto n_labels = input.number<std::size_t>();
  const Ints label = input.array<std::int32_t>(), previous = second_order ? input.array<std::int32_t>() : Ints();
  const Longs indptr = input.array<std::int64_t>();
  const Ints indices = input.array<std::int32_t>();
  const Doubles values = input.array<double>(), enter = input.array<double>(), leave = input.array<double>();
  const FeatureLists f(input);
  const Longs ptr = input.array<std::int64_t>(), rows = input.array<std::int64_t>();
  const Ints attributes = input.array<std::int32_t>(), labels = input.array<std::int32_t>();
  const hmm::StateChain chain{n_labels, label, previous, indptr, indices, values, enter, leave};
  chain.check();
  if (n_labels > 40) return;
  const Doubles emission = finite(input.array<double>(3 * n_labels));
  sample_sequences(pool, chain, {std::span<const double>(emission)}, 2, 5, 50);
  const hmm::LabelledSequences data{ptr, labels, rows, attributes, {}};
  const hmm::ChainFeatureLists lists{n_labels, f.node_ptr, f.node_label, f.pair_ptr, f.pair_code, f.transitions, f.trigrams};
  const std::size_t n_tokens = rows.empty() ? 0 : rows.size() - 1;
  const Doubles scores(n_tokens * n_labels, -1.0);
  Doubles out(ptr.empty() ? 0 : ptr.size() - 1), counts(f.node_label.size() + f.pair_code.size() + f.transitions.size() + f.trigrams.size());
  input_log_probabilities(pool, chain, ptr, scores, out);
  count_features(pool, data, lists);
  posterior_counts(pool, chain, data, scores, lists, counts);
}

std::vector<Bytes> hmm_seeds() {
  std::vector<Bytes> seeds;
  for (const bool second_order : {false, true}) {
    Seed seed;
    seed.byte(0).byte(second_order).number(2);
    if (second_order) seed.array(Ints{0, 1, 0, 1}).array(Ints{2, 2, 0, 1});
    else seed.array(Ints{0, 1});
    if (second_order) seed.array(Longs{0, 1, 2, 3, 4}).array(Ints{2, 3, 2, 3}).array(Doubles{0.5, 0.5, 0.5, 0.5});
    else seed.array(Longs{0, 2, 4}).array(Ints{0, 1, 0, 1}).array(Doubles{0.25, 0.5, 0.5, 0.25});
    const std::size_t n = second_order ? 4 : 2;
    seed.array(Doubles(n, 0.5 / (second_order ? 1 : 1))).array(Doubles(n, second_order ? 0.5 : 0.25));
    lists_of(2, true, true).add_to(seed);
    seed.array(kPtr).array(kIndptr).array(kIndices).array(kLabels);
    for (int i = 0; i < 6; ++i) seed.number(i % 3 == 0 ? 0.5 : 0.25);
    seeds.push_back(seed);
  }
  return seeds;
}

[[maybe_unused]] const bool added =
    add_target({"chain", use_chain, chain_seeds, {}}) && add_target({"hmm", use_hmm, hmm_seeds, {}});

}  // namespace
}  // namespace loglinear::fuzz::sequences
