// Stagewise training on n-best lists under the exponential loss: one weight at a time, always the best one.
//
// Methods (Gao, Suzuki and Yu 2006; f_k(delta) is the change of the loss when weight k moves by delta):
//
//   boosting     k = argmin_k min_delta f_k(delta)          (7)   weight k moves by shrinkage * the smoothed optimum,
//                                                                 argmin_delta f_k + smoothing * loss * 2 cosh delta
//   fslr         k as above                                 (7)   by step towards the optimum               (11)
//   f_boosting   k = argmin_k min f_k(+-step)              (12)   by step towards the better side           (13)
//   blasso       the same, and before it, where the lasso loss  loss + alpha |w|_1  would fall by more than threshold,
//                back towards zero: k = argmin over w_k != 0 of the rise of the loss per unit of |w_k|, by
//                min(step, |w_k|)
//
// Where the optimum of a forward step is nearer than step, the step ends there; no step changes a weight or a margin by
// more than 10. alpha is the gain per unit of the first step, and falls to that of a forward step wherever it is less
// (figure 2). The smoothed optimum of boosting is eq. 16, 1/2 log((C+ + smoothing Z) / (C- + smoothing Z)), where all
// differences are +-1, and extends it to any others.
//
// A path ends where the lists are separated for good. The loss never rises but by backward steps, and the lasso loss
// loss + alpha |w|_1 of blasso never rises at all: a forward step gains alpha or more per unit, and alpha only falls. So
// once it (of the other methods, the loss) is below the least weight c of a pair, every c exp(-margin) stays below c:
// all margins stay positive, and no further step changes a choice.
//
// The best step is found without looking at all features: keys of features are recomputed where a step changed their
// sums (lists/margin_sums.hh), and a tree keeps the least (util/minimum_tree.hh). Forward keys are f_k at the candidate
// step; backward keys are the rise per unit, which do not depend on alpha: with equal steps their order is that of
// eq. 14.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "lists/held_out.hh"
#include "lists/margin_sums.hh"
#include "util/minimum_tree.hh"
#include "util/thread_pool.hh"

namespace loglinear::lists {

enum class StagewiseMethod { boosting, fslr, f_boosting, blasso };

struct StagewiseRule {
  StagewiseMethod method = StagewiseMethod::blasso;
  double step = 0.5;        // all but boosting
  double threshold = 0.0;   // theta of blasso
  double smoothing = 1e-3;  // of boosting
  double shrinkage = 1.0;   // of boosting
  double separated = 0.0;   // the loss below which the lists are separated for good; 0: they never are
};

enum class StagewiseEnd { steps, no_descent, patience, separated };  // the steps asked for are done; or why not

// Where the figures of steps go: spans of equal length.
struct StagewiseRecord {
  std::span<std::int32_t> feature;
  std::span<double> change, loss, l1, alpha;  // the last three after the step
  std::span<std::uint8_t> backward;
  std::span<std::int64_t> n_nonzeros;
  std::span<double> held_out;  // empty without held-out lists
};

class Stagewise {
 public:
  Stagewise(ThreadPool& pool, const SparseMatrix<std::int32_t>& rows,
            const SparseMatrix<std::int32_t>& columns, std::span<const double> base,
            std::span<const double> pair_weights, StagewiseRule rule);

  void hold_out(const ListArrays& lists);

  // The state before step number n_steps of a path that has these weights: alpha NaN before the first step; the fewest
  // held-out errors so far and where, infinity where none are known. For a path that goes on as if it had never
  // stopped, n_steps must be its fresh_at; `replay` takes the known steps from there.
  void start(ThreadPool& pool, std::span<const double> weights, std::int64_t n_steps, double alpha, double fewest,
             std::int64_t fewest_at);
  void replay(ThreadPool& pool, std::span<const std::int32_t> features, std::span<const double> changes);

  // Takes steps until the record is full or something ends them. Returns how many, and why. patience: steps without
  // fewer held-out errors after which to end; 0: none.
  std::pair<std::size_t, StagewiseEnd> run(ThreadPool& pool, std::int64_t patience,
                                           const StagewiseRecord& record);

  std::size_t n_features() const { return sums_.n_features(); }
  std::span<const double> weights() const { return weights_; }
  double loss() const { return sums_.loss(); }
  double l1() const { return l1_; }
  double bound() const { return loss() + (has_back() && l1_ > 0.0 ? alpha_ * l1_ : 0.0); }  // on all later losses
  std::int64_t n_nonzeros() const { return n_nonzeros_; }
  double held_out_errors() const { return held_out_ ? held_out_->errors() : 0.0; }

  // The step after which all sums were last recomputed: they are after kRebuild steps, or where the loss has fallen
  // far.
  std::int64_t fresh_at() const { return fresh_at_; }

  static constexpr std::int64_t kRebuild = 4096;

 private:
  struct Step {
    std::size_t feature;
    double change;
    double gain;  // by which the loss falls
    bool backward;
  };

  struct Sides {
    double up, down;  // changes of the loss by +step and by -step
  };

  bool has_back() const { return rule_.method == StagewiseMethod::blasso; }
  bool moves_by_fixed_steps() const { return has_back() || rule_.method == StagewiseMethod::f_boosting; }

  // Keys: how the methods choose a feature.
  Sides sides(std::size_t feature) const;
  double fixed_change(std::size_t feature) const;  // min f_k(+-step), equation 12
  double best_change(std::size_t feature) const;   // min_delta f_k(delta), equation 7
  double forward_key(std::size_t feature) const;
  double backward_key(std::size_t feature) const;

  // Steps: by how much the methods move the weight of the chosen feature.
  double smoothed_update(std::size_t feature) const;  // equation 16
  double boosting_step(std::size_t feature) const;    // the smoothed update, shrunken
  double fslr_step(std::size_t feature) const;        // equation 11
  double f_boosting_step(std::size_t feature) const;  // equation 13; the forward steps of blasso too
  double forward_change(std::size_t feature) const;   // that of the method
  double backward_change(std::size_t feature) const;  // towards zero

  // The next step; none where no step helps. blasso_step also lowers alpha.
  std::optional<Step> forward_step() const;
  std::optional<Step> backward_step() const;
  std::optional<Step> blasso_step();

  void rebuild(ThreadPool& pool);
  void take(ThreadPool& pool, std::size_t feature, double change);

  StagewiseRule rule_;
  MarginSums sums_;
  std::unique_ptr<HeldOutLists> held_out_;
  MinimumTree forward_, backward_;
  std::vector<double> weights_;
  BitSet nonzero_;  // weights that are not zero
  std::vector<std::int32_t> moved_;
  std::int64_t n_steps_ = 0;
  double alpha_ = 0.0;
  double l1_ = 0.0;
  std::int64_t n_nonzeros_ = 0;
  std::int64_t fresh_at_ = 0;
  double fresh_loss_ = 0.0;
  double fewest_ = 0.0;
  std::int64_t fewest_at_ = 0;
};

}  // namespace loglinear::lists
