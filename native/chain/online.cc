#include "chain/online.hh"

#include <algorithm>
#include <cmath>

#include "util/views.hh"

namespace loglinear::chain {

namespace {

std::size_t place_of(std::int64_t i) { return static_cast<std::size_t>(i); }

}  // namespace

OnlineChain::OnlineChain(const ChainFeatures& features, const Sequences& sequences,
                         std::span<const std::int32_t> labels)
    : features_(features),
      sequences_(sequences),
      labels_(labels),
      step_features_(features.L, no_pointers_, {}, no_pointers_, {}, features.transition_code, {}),
      steps_(step_features_, ChainBase{}),
      work_(steps_, sequences.longest()),
      w_(features.n_weights(), 0.0),
      timed_(w_),
      step_weights_(features.transition_code.size()),
      step_gradient_(step_weights_),
      step_place_(features.L * features.L, -1),
      best_(sequences.longest()),
      delta_(w_),
      is_touched_(w_.size()) {
  require(features.pair_code.empty() && features.trigram_code.empty(),
          "online training: features of single labels and of label pairs without attributes only");
  require(sequences.n_attributes == features.n_attributes(), "online training: sequences and features differ");
  require(features.n_numbers == 0 && sequences.emissions.empty(), "online training: no numbers beside attributes");
  require(labels.size() == sequences.n_tokens(), "online training: one label per token is needed");
  for (const std::int32_t y : labels)
    require(y >= 0 && static_cast<std::size_t>(y) < features.L, "online training: a label is unknown or out of range");
  for (std::size_t k = 0; k < features.transition_code.size(); ++k)
    step_place_[static_cast<std::size_t>(features.transition_code[k])] =
        static_cast<std::int32_t>(features.transition_begin() + k);
}

void OnlineChain::clear() {
  for (std::vector<double>* v : {&w_, &timed_}) std::fill(v->begin(), v->end(), 0.0);
  variance_.clear();
  time_ = 1.0, steps_changed_ = true;
}

void OnlineChain::weights(std::span<double> out) const {
  require(out.size() == w_.size(), "weights do not have one entry per feature");
  std::copy(w_.begin(), w_.end(), out.begin());
}

void OnlineChain::average(std::span<double> out) const {
  require(out.size() == w_.size(), "weights do not have one entry per feature");
  for (std::size_t k = 0; k < w_.size(); ++k) out[k] = w_[k] - timed_[k] / time_;
}

void OnlineChain::check_order(std::span<const std::int64_t> order) const {
  for (const std::int64_t i : order)
    require(i >= 0 && place_of(i) < sequences_.size(), "the order of the pass names no sequence");
}

std::int64_t OnlineChain::node_place(std::int32_t attribute, std::int32_t label) const {
  const auto *first = features_.node_label.data() + features_.node_ptr[attribute],
             *last = features_.node_label.data() + features_.node_ptr[attribute + 1];
  const auto* found = std::lower_bound(first, last, label);
  return found < last && *found == label ? found - features_.node_label.data() : -1;
}

std::int64_t OnlineChain::step_place(std::int32_t before, std::int32_t label) const {
  return step_place_[static_cast<std::size_t>(before) * features_.L + static_cast<std::size_t>(label)];
}

void OnlineChain::take_steps(double scale, bool potentials) {
  for (std::size_t k = 0; k < step_weights_.size(); ++k)
    step_weights_[k] = scale * w_[features_.transition_begin() + k];
  steps_.set(step_weights_, potentials);
}

// work_.N of a sequence, from scale * w.
void OnlineChain::score_nodes(std::size_t sequence, double scale) {
  const std::size_t first = sequences_.begin(sequence), T = sequences_.length(sequence), Lp = features_.Lp;
  std::fill_n(work_.N.data(), T * Lp, 0.0);
  for (std::size_t t = 0; t < T; ++t) {
    double* u = work_.N.data() + t * Lp;
    for (std::int64_t p = sequences_.indptr[first + t]; p < sequences_.indptr[first + t + 1]; ++p) {
      const auto a = static_cast<std::size_t>(sequences_.indices[p]);
      const double value = scale * (sequences_.values.empty() ? 1.0 : sequences_.values[p]);
      for (std::int64_t k = features_.node_ptr[a]; k < features_.node_ptr[a + 1]; ++k)
        u[features_.node_label[k]] += value * w_[k];
    }
  }
}

std::size_t OnlineChain::predict(std::size_t sequence) {
  const std::size_t T = sequences_.length(sequence);
  if (T == 0) return 0;
  if (steps_changed_) take_steps(1.0, false), steps_changed_ = false;
  score_nodes(sequence, 1.0);
  best_path(steps_, T, work_, best_.data());
  const std::int32_t* y = labels_.data() + sequences_.begin(sequence);
  std::size_t wrong = 0;
  for (std::size_t t = 0; t < T; ++t) wrong += best_[t] != y[t];
  if (wrong) margin_ = path_score(steps_, T, work_.N.data(), best_.data()) - path_score(steps_, T, work_.N.data(), y);
  return wrong;
}

void OnlineChain::add(std::int64_t place, double value) {
  if (place < 0) return;
  const std::size_t k = place_of(place);
  if (!is_touched_[k]) is_touched_[k] = 1, touched_.push_back(place);
  delta_[k] += value;
}

void OnlineChain::collect(std::size_t sequence) {
  for (const std::int64_t k : touched_) delta_[place_of(k)] = 0.0, is_touched_[place_of(k)] = 0;
  touched_.clear();
  const std::size_t first = sequences_.begin(sequence), T = sequences_.length(sequence);
  const std::int32_t* y = labels_.data() + first;
  for (std::size_t t = 0; t < T; ++t) {
    const bool step_differs = t && (y[t] != best_[t] || y[t - 1] != best_[t - 1]);
    if (step_differs) add(step_place(y[t - 1], y[t]), 1.0), add(step_place(best_[t - 1], best_[t]), -1.0);
    if (y[t] == best_[t]) continue;
    for (std::int64_t p = sequences_.indptr[first + t]; p < sequences_.indptr[first + t + 1]; ++p) {
      const double value = sequences_.values.empty() ? 1.0 : sequences_.values[p];
      add(node_place(sequences_.indices[p], y[t]), value);
      add(node_place(sequences_.indices[p], best_[t]), -value);
    }
  }
  steps_changed_ = true;
}

double OnlineChain::perceptron(std::span<const std::int64_t> order) {
  check_order(order);
  double loss = 0.0;
  for (const std::int64_t i : order) {
    const std::size_t wrong = predict(place_of(i));
    if (wrong) {
      collect(place_of(i));
      for (const std::int64_t k : touched_) {
        w_[place_of(k)] += delta_[place_of(k)];
        timed_[place_of(k)] += time_ * delta_[place_of(k)];
      }
      loss += static_cast<double>(wrong) / static_cast<double>(sequences_.length(place_of(i)));
    }
    time_ += 1.0;
  }
  return loss;
}

double OnlineChain::passive_aggressive(std::span<const std::int64_t> order, const PassiveAggressive& settings) {
  check_order(order);
  double loss = 0.0;
  for (const std::int64_t i : order) {
    if (const std::size_t wrong = predict(place_of(i))) {
      collect(place_of(i));
      const double cost = margin_ + (settings.error_sensitive ? std::sqrt(static_cast<double>(wrong)) : 1.0);
      double norm = settings.type == 2 ? 0.5 / settings.c : 0.0;
      for (const std::int64_t k : touched_) norm += delta_[place_of(k)] * delta_[place_of(k)];
      double tau = norm > 0.0 ? cost / norm : 0.0;  // no feature tells the two labellings apart: nothing to learn
      if (settings.type == 1) tau = std::min(settings.c, tau);
      for (const std::int64_t k : touched_) {
        w_[place_of(k)] += tau * delta_[place_of(k)];
        timed_[place_of(k)] += time_ * tau * delta_[place_of(k)];
      }
      loss += cost;
    }
    time_ += 1.0;
  }
  return loss;
}

double OnlineChain::arow(std::span<const std::int64_t> order, double variance, double gamma) {
  check_order(order);
  if (variance_.empty()) variance_.assign(w_.size(), variance);
  double loss = 0.0;
  for (const std::int64_t i : order) {
    const std::size_t wrong = predict(place_of(i));
    if (wrong == 0) continue;
    collect(place_of(i));
    const double cost = margin_ + static_cast<double>(wrong);
    double spread = gamma;
    for (const std::int64_t k : touched_) spread += delta_[place_of(k)] * delta_[place_of(k)] * variance_[place_of(k)];
    const double alpha = cost / spread;
    for (const std::int64_t at : touched_) {
      const std::size_t k = place_of(at);
      w_[k] += alpha * variance_[k] * delta_[k];
      variance_[k] = 1.0 / (1.0 / variance_[k] + delta_[k] * delta_[k] / gamma);
    }
    loss += cost;
  }
  return loss;
}

// w += gain * (f(x, y) - expected features); work_.N holds the marginals.
void OnlineChain::scatter_marginals(std::size_t sequence, double gain) {
  const std::size_t first = sequences_.begin(sequence), T = sequences_.length(sequence), Lp = features_.Lp;
  const std::int32_t* y = labels_.data() + first;
  for (std::size_t t = 0; t < T; ++t) {
    double* u = work_.N.data() + t * Lp;
    u[y[t]] -= 1.0;
    for (std::int64_t p = sequences_.indptr[first + t]; p < sequences_.indptr[first + t + 1]; ++p) {
      const auto a = static_cast<std::size_t>(sequences_.indices[p]);
      const double value = gain * (sequences_.values.empty() ? 1.0 : sequences_.values[p]);
      for (std::int64_t k = features_.node_ptr[a]; k < features_.node_ptr[a + 1]; ++k)
        w_[k] -= value * u[features_.node_label[k]];
    }
    if (t && step_place(y[t - 1], y[t]) >= 0) w_[place_of(step_place(y[t - 1], y[t]))] += gain;
  }
  steps_.finish(alone_, sums_, step_gradient_);
  for (std::size_t k = 0; k < step_gradient_.size(); ++k)
    w_[features_.transition_begin() + k] -= gain * step_gradient_[k];
}

double OnlineChain::sgd(std::span<const std::int64_t> order, double lambda, double time) {
  check_order(order);
  double loss = 0.0, decay = 1.0;  // the weights are decay * w_
  for (const std::int64_t number : order) {
    const auto i = static_cast<std::size_t>(number);
    const double eta = 1.0 / (lambda * time);
    time += 1.0;
    decay *= 1.0 - eta * lambda;
    if (std::abs(decay) < 1e-100) {  // the step forgets all that was learnt, or decay is about to underflow
      for (double& x : w_) x *= decay;
      decay = 1.0;
    }
    const std::size_t T = sequences_.length(i);
    if (T == 0) continue;
    take_steps(decay, true);
    score_nodes(i, decay);
    const double score = path_score(steps_, T, work_.N.data(), labels_.data() + sequences_.begin(i));
    if (!std::isfinite(score)) return std::numeric_limits<double>::infinity();
    steps_.clear(sums_[0]);
    loss += forward_backward(steps_, T, work_, work_.N.data(), &sums_[0]) - score;
    if (!std::isfinite(loss)) return std::numeric_limits<double>::infinity();
    scatter_marginals(i, eta / decay);
  }
  for (double& x : w_) x *= decay;
  steps_changed_ = true;
  return loss;
}

}  // namespace loglinear::chain
