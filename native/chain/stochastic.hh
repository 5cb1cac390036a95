// Stochastic gradient descent on a CRF, to start a quasi-Newton method from: a few passes lead nearer to the optimum
// than dozens of steps along full gradients do.
//
// A step takes a few sequences of similar length, which are computed side by side, and moves their weights:
//
//   w = (1 - eta b m / n) w - eta sum_i ( E f(x_i, Y) - f(x_i, y_i) ),      eta = eta_0 / (1 + t / decay_after)
//
// m of the n sequences, t sequences seen so far, b the ridge (Bottou 2010, section 5). Weights are scale * what is kept,
// so that shrinking all of them costs nothing. One thread makes the steps: the result does not depend on threads.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "chain/inference.hh"

namespace loglinear::chain {

struct StochasticSteps {
  double eta;          // of the first step
  double decay_after;  // sequences after which it is half of that
  double ridge;        // of the whole objective
};

class StochasticChain {
 public:
  // `labels` [n_tokens], all known. Only features of single labels and of label pairs without attributes.
  StochasticChain(ThreadPool& pool, const ChainFeatures& features, const Sequences& sequences,
                  std::span<const std::int32_t> labels);

  std::size_t n_batches() const { return batches_.size(); }
  // Steps along the batches numbered by `order`, after `seen` sequences. Returns the sum of minus the
  // log-probabilities, each before its step; infinite where scores overflow.
  double pass(std::span<const std::int64_t> order, const StochasticSteps& steps, double seen);
  void clear();  // zero weights
  void weights(std::span<double> out) const;

 private:
  using Batch = std::span<const std::size_t>;  // numbers of sequences
  double step(Batch batch, double eta);
  void take_steps();
  void move(Batch batch, double gain);

  const ChainFeatures& features_;
  const Sequences& sequences_;
  std::span<const std::int32_t> labels_;
  SequenceGroups groups_;
  ResolvedWeights tokens_;
  std::vector<Batch> batches_;
  std::vector<std::int64_t> no_pointers_{0};
  ChainFeatures step_features_;  // transitions alone: setting their weights costs nothing beside inference
  ChainModel steps_;
  ChainWorkspace work_;
  ThreadPool alone_{1};
  std::vector<ChainGradient> sums_{1};
  AlignedDoubles rows_, has_;         // [n_expanded][Lp]: weights, and 1 where there is one
  std::vector<double> single_;        // [n_weights], of which those in rows are not used
  std::vector<double> step_weights_, step_gradient_;
  double scale_ = 1.0;
};

}  // namespace loglinear::chain
