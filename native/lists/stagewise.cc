#include "lists/stagewise.hh"

#include <cmath>

namespace loglinear::lists {

namespace {

constexpr std::size_t kFeatures = 1 << 10;  // features in a chunk of work
constexpr std::size_t kAhead = 12;          // features whose sums are prefetched
constexpr double kNoise = 1e-12;            // of the loss: smaller gains are rounding

// Sums have the rounding errors of the loss when they were computed: when it has fallen to this fraction, they are
// recomputed.
constexpr double kFallen = 1.0 / 16.0;

const double kFarthestRatio = std::exp(2.0 * MarginSums::kFarthest);  // of C+ to C-, where the optimum is the farthest

}  // namespace

Stagewise::Stagewise(ThreadPool& pool, const SparseMatrix<std::int32_t>& rows,
                     const SparseMatrix<std::int32_t>& columns, std::span<const double> base,
                     std::span<const double> pair_weights, StagewiseRule rule)
    : rule_(rule),
      sums_(pool, rows, columns, base, pair_weights, rule.step),
      forward_(columns.n_rows()),
      backward_(rule.method == StagewiseMethod::blasso ? columns.n_rows() : 0) {
  require(std::isfinite(rule.step) && rule.step > 0.0, "step must be positive and finite");
  require(rule.threshold >= 0.0, "threshold must not be negative");
  require(std::isfinite(rule.smoothing) && rule.smoothing >= 0.0, "smoothing must not be negative");
  require(rule.shrinkage > 0.0 && rule.shrinkage <= 1.0, "shrinkage must be in (0, 1]");
  require(rule.separated >= 0.0, "the loss of separated lists must not be negative");
  weights_.assign(n_features(), 0.0);
  nonzero_ = BitSet(n_features());
}

void Stagewise::hold_out(const ListArrays& lists) {
  auto made = std::make_unique<HeldOutLists>(lists);
  require(made->n_features() == n_features(), "held-out lists have another number of features");
  held_out_ = std::move(made);
}

// ---- keys -----------------------------------------------------------------------------------------------------------

double Stagewise::forward_key(std::size_t feature) const {
  return moves_by_fixed_steps() ? fixed_change(feature) : best_change(feature);
}

Stagewise::Sides Stagewise::sides(std::size_t feature) const {
  Sides change{0.0, 0.0};
  for (const auto& c : sums_.cells(feature)) change.up += c.sum * c.up, change.down += c.sum * c.down;
  return change;
}

double Stagewise::fixed_change(std::size_t feature) const {
  const Sides change = sides(feature);
  return std::min(change.up, change.down);
}

double Stagewise::best_change(std::size_t feature) const {
  const auto cells = sums_.cells(feature);
  if (cells.size() == 2 && cells[0].value == -1.0 && cells[1].value == 1.0) {
    const double least = std::min(cells[0].sum, cells[1].sum), most = std::max(cells[0].sum, cells[1].sum);
    if (least > 0.0 && least * kFarthestRatio >= most) {  // the optimum is within reach: -(sqrt C+ - sqrt C-)^2
      const double root = std::sqrt(most) - std::sqrt(least);
      return -root * root;
    }
  }
  return sums_.change(feature, sums_.optimum(feature));
}

double Stagewise::backward_change(std::size_t feature) const {
  return std::copysign(std::min(sums_.step(feature), std::fabs(weights_[feature])), -weights_[feature]);
}

double Stagewise::backward_key(std::size_t feature) const {
  if (weights_[feature] == 0.0) return MinimumTree::kNone;
  const double change = backward_change(feature);
  return sums_.change(feature, change) / std::fabs(change);
}

void Stagewise::rebuild(ThreadPool& pool) {
  sums_.rebuild(pool, weights_);
  if (held_out_) held_out_->rebuild(pool, weights_);
  l1_ = 0.0;
  n_nonzeros_ = 0;
  for (std::size_t k = 0; k < n_features(); ++k) {
    l1_ += std::fabs(weights_[k]);
    n_nonzeros_ += weights_[k] != 0.0;
    nonzero_.set(k, weights_[k] != 0.0);
  }
  parallel_for(pool, n_features(), kFeatures, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) {
      forward_.keys()[k] = forward_key(k);
      if (has_back()) backward_.keys()[k] = backward_key(k);
    }
  });
  forward_.rebuild();
  if (has_back()) backward_.rebuild();
  fresh_at_ = n_steps_;
  fresh_loss_ = sums_.loss();
}

// ---- steps ----------------------------------------------------------------------------------------------------------

void Stagewise::start(ThreadPool& pool, std::span<const double> weights, std::int64_t n_steps, double alpha,
                      double fewest, std::int64_t fewest_at) {
  require(weights.size() == n_features(), "weights do not have one entry per feature");
  require(n_steps >= 0, "the number of steps is negative");
  for (const double w : weights) require(std::isfinite(w), "weights must be finite");
  weights_.assign(weights.begin(), weights.end());
  n_steps_ = n_steps;
  alpha_ = alpha;
  fewest_ = fewest;
  fewest_at_ = fewest_at;
  rebuild(pool);
  if (held_out_ && !std::isfinite(fewest_)) fewest_ = held_out_->errors(), fewest_at_ = n_steps;
}

void Stagewise::take(ThreadPool& pool, std::size_t feature, double change) {
  const auto touched = sums_.move(feature, change);
  if (held_out_) held_out_->move(feature, change);
  const double before = weights_[feature];
  weights_[feature] += change;
  l1_ += std::fabs(weights_[feature]) - std::fabs(before);
  n_nonzeros_ += (weights_[feature] != 0.0) - (before != 0.0);
  nonzero_.set(feature, weights_[feature] != 0.0);
  ++n_steps_;
  if (n_steps_ - fresh_at_ >= kRebuild || sums_.loss() < kFallen * fresh_loss_) {
    rebuild(pool);
    return;
  }
  const auto keys = forward_.keys();
  for (std::size_t i = 0; i < touched.size(); ++i) {
    if (i + kAhead < touched.size()) {
      const auto soon = static_cast<std::size_t>(touched[i + kAhead]);
      sums_.prefetch(soon), prefetch(&keys[soon]);
    }
    keys[touched[i]] = forward_key(static_cast<std::size_t>(touched[i]));
  }
  forward_.update(touched);
  if (!has_back()) return;
  moved_.clear();  // of those touched, few have a weight
  for (const std::int32_t k : touched)
    if (nonzero_.has(static_cast<std::size_t>(k)) || static_cast<std::size_t>(k) == feature) moved_.push_back(k);
  for (const std::int32_t k : moved_) backward_.keys()[k] = backward_key(static_cast<std::size_t>(k));
  backward_.update(moved_);
}

void Stagewise::replay(ThreadPool& pool, std::span<const std::int32_t> features, std::span<const double> changes) {
  require(features.size() == changes.size(), "features and changes differ in length");
  for (std::size_t t = 0; t < features.size(); ++t) {
    require(features[t] >= 0 && static_cast<std::size_t>(features[t]) < n_features(), "a step on no feature");
    require(std::isfinite(changes[t]), "a step is not finite");
    take(pool, static_cast<std::size_t>(features[t]), changes[t]);
  }
}

double Stagewise::smoothed_update(std::size_t feature) const {
  return sums_.optimum(feature, rule_.smoothing * sums_.loss());
}

double Stagewise::boosting_step(std::size_t feature) const { return rule_.shrinkage * smoothed_update(feature); }

double Stagewise::fslr_step(std::size_t feature) const {
  const double optimum = sums_.optimum(feature);
  return std::copysign(std::min(sums_.step(feature), std::fabs(optimum)), optimum);
}

double Stagewise::f_boosting_step(std::size_t feature) const {
  const Sides change = sides(feature);
  const double side = change.up <= change.down ? sums_.step(feature) : -sums_.step(feature);
  const bool passed = sums_.slope(feature, side) * side > 0.0;  // the loss rises again before the end of the step
  return passed ? sums_.optimum(feature) : side;
}

double Stagewise::forward_change(std::size_t feature) const {
  switch (rule_.method) {
    case StagewiseMethod::boosting: return boosting_step(feature);
    case StagewiseMethod::fslr: return fslr_step(feature);
    case StagewiseMethod::f_boosting:
    case StagewiseMethod::blasso: break;
  }
  return f_boosting_step(feature);
}

std::optional<Stagewise::Step> Stagewise::forward_step() const {
  if (n_features() == 0 || !(forward_.minimum() < -kNoise * sums_.loss())) return std::nullopt;
  const std::size_t k = forward_.first();
  const double change = forward_change(k);
  const double gain = -sums_.change(k, change);
  if (!(gain > 0.0)) return std::nullopt;
  return Step{k, change, gain, false};
}

std::optional<Stagewise::Step> Stagewise::backward_step() const {
  const double rise = backward_.minimum();
  if (std::isnan(alpha_) || rise == MinimumTree::kNone) return std::nullopt;
  const std::size_t k = backward_.first();
  const double change = backward_change(k);
  if (!((alpha_ - rise) * std::fabs(change) > std::max(rule_.threshold, kNoise * sums_.loss()))) return std::nullopt;
  return Step{k, change, -rise * std::fabs(change), true};
}

std::optional<Stagewise::Step> Stagewise::blasso_step() {
  if (const auto back = backward_step()) return back;
  const auto forward = forward_step();
  if (forward) {
    const double rate = forward->gain / std::fabs(forward->change);
    if (!(alpha_ <= rate)) alpha_ = rate;  // also before the first step, where alpha is NaN
  }
  return forward;
}

std::pair<std::size_t, StagewiseEnd> Stagewise::run(ThreadPool& pool, std::int64_t patience,
                                                    const StagewiseRecord& record) {
  const std::size_t n = record.feature.size();
  require(record.change.size() == n && record.loss.size() == n && record.l1.size() == n && record.alpha.size() == n &&
              record.backward.size() == n && record.n_nonzeros.size() == n &&
              record.held_out.size() == (held_out_ ? n : 0),
          "the arrays of a record differ in length");
  for (std::size_t t = 0; t < n; ++t) {
    if (bound() < rule_.separated) return {t, StagewiseEnd::separated};
    if (patience > 0 && held_out_ && n_steps_ - fewest_at_ >= patience) return {t, StagewiseEnd::patience};
    const auto step = has_back() ? blasso_step() : forward_step();
    if (!step) return {t, StagewiseEnd::no_descent};
    take(pool, step->feature, step->change);
    record.feature[t] = static_cast<std::int32_t>(step->feature);
    record.change[t] = step->change;
    record.loss[t] = sums_.loss();
    record.l1[t] = l1_;
    record.alpha[t] = alpha_;
    record.backward[t] = step->backward;
    record.n_nonzeros[t] = n_nonzeros_;
    if (!held_out_) continue;
    record.held_out[t] = held_out_->errors();
    if (held_out_->errors() < fewest_) fewest_ = held_out_->errors(), fewest_at_ = n_steps_;
  }
  return {n, StagewiseEnd::steps};
}

}  // namespace loglinear::lists
