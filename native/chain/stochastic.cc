#include "chain/stochastic.hh"

#include <algorithm>
#include <cmath>
#include <limits>

#include "simd/loops.hh"
#include "util/views.hh"

namespace loglinear::chain {

namespace {

constexpr std::size_t kBatch = 4;         // sequences; of more, steps would have to be shorter
constexpr double kSmallestScale = 1e-100;  // where kept weights are multiplied out

}  // namespace

StochasticChain::StochasticChain(ThreadPool& pool, const ChainFeatures& f, const Sequences& sequences,
                                 std::span<const std::int32_t> labels)
    : features_(f),
      sequences_(sequences),
      labels_(labels),
      groups_(f, sequences),
      tokens_(pool, f.nodes, sequences, f.Lp, false),
      step_features_(f.L, no_pointers_, {}, no_pointers_, {}, f.transition_code, {}),
      steps_(step_features_, ChainBase{}, "dense"),
      work_(steps_, groups_.most_tokens),
      rows_(f.nodes.expanded.size() * f.Lp),
      has_(rows_.size()),
      single_(f.n_weights()),
      step_weights_(f.transition_code.size()),
      step_gradient_(step_weights_) {
  require(f.pair_code.empty() && f.trigram_code.empty(),
          "stochastic steps: features of single labels and of label pairs without attributes only");
  require(f.n_numbers == 0 && sequences.emissions.empty(), "stochastic steps: no numbers beside attributes");
  require(sequences.n_attributes == f.n_attributes(), "stochastic steps: sequences and features differ");
  require(labels.size() == sequences.n_tokens(), "stochastic steps: one label per token is needed");
  for (const std::int32_t y : labels)
    require(y >= 0 && static_cast<std::size_t>(y) < f.L, "stochastic steps: a label is unknown or out of range");
  for (std::size_t e = 0; e < f.nodes.expanded.size(); ++e)
    for (std::int64_t k = f.node_ptr[f.nodes.expanded[e]]; k < f.node_ptr[f.nodes.expanded[e] + 1]; ++k)
      has_[e * f.Lp + f.nodes.offsets[static_cast<std::size_t>(k)]] = 1.0;
  for (std::size_t g = 0; g < groups_.size(); ++g)
    for (Batch rest = groups_.members(g); !rest.empty(); rest = rest.subspan(std::min(kBatch, rest.size())))
      batches_.push_back(rest.first(std::min(kBatch, rest.size())));
}

void StochasticChain::clear() {
  std::fill(rows_.begin(), rows_.end(), 0.0);
  std::fill(single_.begin(), single_.end(), 0.0);
  scale_ = 1.0;
}

void StochasticChain::weights(std::span<double> out) const {
  require(out.size() == single_.size(), "weights do not have one entry per feature");
  for (std::size_t k = 0; k < out.size(); ++k) out[k] = scale_ * single_[k];
  const WeightRows& nodes = features_.nodes;
  for (std::size_t e = 0; e < nodes.expanded.size(); ++e)
    for (std::int64_t k = features_.node_ptr[nodes.expanded[e]]; k < features_.node_ptr[nodes.expanded[e] + 1]; ++k)
      out[static_cast<std::size_t>(k)] =
          scale_ * rows_[e * features_.Lp + nodes.offsets[static_cast<std::size_t>(k)]];
}

void StochasticChain::take_steps() {
  for (std::size_t k = 0; k < step_weights_.size(); ++k)
    step_weights_[k] = scale_ * single_[features_.transition_begin() + k];
  steps_.set(step_weights_, true);
}

// Kept weights += gain * residuals in work_.N.
void StochasticChain::move(Batch batch, double gain) {
  const std::size_t Lp = features_.Lp;
  double* u = work_.N.data();
  for (const std::size_t i : batch)
    for (std::size_t t = sequences_.begin(i), end = t + sequences_.length(i); t < end; ++t, u += Lp) {
      for (std::size_t y = 0; y < Lp; ++y) u[y] *= gain;
      tokens_.scatter_where(t, u, Lp, has_.data(), single_.data(), rows_.data());
    }
  steps_.finish(alone_, sums_, step_gradient_);
  for (std::size_t k = 0; k < step_gradient_.size(); ++k)
    single_[features_.transition_begin() + k] += gain * step_gradient_[k];
}

double StochasticChain::step(Batch batch, double eta) {
  const std::size_t Lp = features_.Lp;
  std::size_t lengths[simd::kChainGroup];
  double log_z[simd::kChainGroup], loss = 0.0, *N = work_.N.data();
  take_steps();
  const auto each = [&](auto body) {
    double* at = N;
    for (std::size_t k = 0; k < batch.size(); at += lengths[k++] * Lp) body(k, at);
  };
  for (std::size_t k = 0; k < batch.size(); ++k) lengths[k] = sequences_.length(batch[k]);
  each([&](std::size_t k, double* at) {
    const std::size_t first = sequences_.begin(batch[k]);
    std::fill_n(at, lengths[k] * Lp, 0.0);
    for (std::size_t t = 0; t < lengths[k]; ++t)
      tokens_.add(first + t, single_.data(), rows_.data(), Lp, at + t * Lp);
    for (std::size_t i = 0; i < lengths[k] * Lp; ++i) at[i] *= scale_;
    loss -= path_score(steps_, lengths[k], at, labels_.data() + first);
  });
  if (!std::isfinite(loss)) return std::numeric_limits<double>::infinity();
  steps_.clear(sums_[0]);
  forward_backward(steps_, {lengths, batch.size()}, work_, sums_[0], log_z);
  ChainGradient& sums = sums_[0];
  each([&](std::size_t k, double* at) {
    loss += log_z[k];
    const std::int32_t* y = labels_.data() + sequences_.begin(batch[k]);
    for (std::size_t t = 0; t < lengths[k]; ++t) {
      at[t * Lp + static_cast<std::size_t>(y[t])] -= 1.0;
      if (t > 0) sums.transitions[static_cast<std::size_t>(y[t - 1]) * Lp + static_cast<std::size_t>(y[t])] -= 1.0;
    }
  });
  if (std::isfinite(loss)) move(batch, -eta / scale_);
  return loss;
}

double StochasticChain::pass(std::span<const std::int64_t> order, const StochasticSteps& steps, double seen) {
  double loss = 0.0;
  const double n = static_cast<double>(groups_.order.size());
  for (const std::int64_t number : order) {
    require(number >= 0 && static_cast<std::size_t>(number) < batches_.size(), "the order of the pass names no batch");
    const Batch batch = batches_[static_cast<std::size_t>(number)];
    const double eta = steps.eta / (1.0 + seen / steps.decay_after), m = static_cast<double>(batch.size());
    scale_ *= std::max(1.0 - eta * steps.ridge * m / n, 0.5);
    if (scale_ < kSmallestScale) {
      for (double& x : rows_) x *= scale_;
      for (double& x : single_) x *= scale_;
      scale_ = 1.0;
    }
    loss += step(batch, eta);
    if (!std::isfinite(loss)) return std::numeric_limits<double>::infinity();
    seen += m;
  }
  return loss;
}

}  // namespace loglinear::chain
