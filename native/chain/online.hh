// Online training of first-order label chains: one sequence after another, in the order that the caller gives.
//
// With y' the best labelling under the weights, d its number of wrong labels and  delta = f(x, y) - f(x, y'),  each
// sequence with d > 0 is answered by
//
//   perceptron           w += delta                                                              (Collins 2002)
//   passive-aggressive   w += tau delta,  cost = w.f(x, y') - w.f(x, y) + sqrt(d) (or + 1),      (Crammer et al. 2006)
//                        tau = cost / |delta|^2,  at most c (PA-I), or cost / (|delta|^2 + 1 / (2 c)) (PA-II)
//   arow                 mean += alpha S delta,  alpha = (w.f(x, y') - w.f(x, y) + d) / (gamma + delta' S delta),
//                        1 / S_k += delta_k^2 / gamma,  S diagonal                (Crammer, Kulesza and Dredze 2009)
//
// and every sequence, in stochastic gradient descent on  lambda / 2 |w|^2 + mean of -log p(y | x),  by
//
//   sgd                  w = (1 - eta lambda) w + eta (f(x, y) - E f(x, Y)),  eta = 1 / (lambda t)
//                                                                (Shalev-Shwartz, Singer and Srebro 2007)
//
// Updates follow one another, so one thread makes them. The mean of the weights over all moments is kept by the sum of
// time * update: it is  w - timed / T  at time T, the zero weights at the start included.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "chain/decode.hh"

namespace loglinear::chain {

struct PassiveAggressive {
  int type;              // 0: no slack, 1: PA-I, 2: PA-II
  double c;              // aggressiveness of types 1 and 2
  bool error_sensitive;  // the cost has sqrt(d), else 1
};

class OnlineChain {
 public:
  // `labels` [n_tokens], all known. Features of label pairs or triples with attributes are refused.
  OnlineChain(const ChainFeatures& features, const Sequences& sequences, std::span<const std::int32_t> labels);

  // One pass over the sequences numbered by `order`. Each returns the sum of losses: the share of wrong labels
  // (perceptron), the cost (passive-aggressive, arow), minus the log-probability (sgd; infinite where it overflows).
  double perceptron(std::span<const std::int64_t> order);
  double passive_aggressive(std::span<const std::int64_t> order, const PassiveAggressive& settings);
  double arow(std::span<const std::int64_t> order, double variance, double gamma);
  // `time`: of the first sequence; its step is 1 / (lambda time).
  double sgd(std::span<const std::int64_t> order, double lambda, double time);

  void clear();  // zero weights, time 1
  std::size_t n_weights() const { return w_.size(); }
  void weights(std::span<double> out) const;
  void average(std::span<double> out) const;

 private:
  // Finds y' and the scores of both labellings; returns the number of wrong labels.
  std::size_t predict(std::size_t sequence);
  void score_nodes(std::size_t sequence, double scale);
  void check_order(std::span<const std::int64_t> order) const;
  std::int64_t node_place(std::int32_t attribute, std::int32_t label) const;  // -1 where there is no weight
  std::int64_t step_place(std::int32_t before, std::int32_t label) const;
  void collect(std::size_t sequence);  // delta_ and touched_, of the sequence that was predicted last
  void add(std::int64_t place, double value);
  void scatter_marginals(std::size_t sequence, double gain);
  void take_steps(double scale, bool potentials);

  const ChainFeatures& features_;
  const Sequences& sequences_;
  std::span<const std::int32_t> labels_;
  std::vector<std::int64_t> no_pointers_{0};
  ChainFeatures step_features_;  // transitions alone: setting their weights costs nothing beside inference
  ChainModel steps_;
  ChainWorkspace work_;
  ThreadPool alone_{1};
  std::vector<ChainGradient> sums_{1};
  std::vector<double> w_, timed_, variance_, step_weights_, step_gradient_;
  std::vector<std::int32_t> step_place_;  // [L L]
  std::vector<std::int32_t> best_;
  std::vector<double> delta_;             // [n_weights], zero but for touched_
  std::vector<std::uint8_t> is_touched_;
  std::vector<std::int64_t> touched_;
  double margin_ = 0.0;  // w.f(x, y') - w.f(x, y)
  double time_ = 1.0;
  bool steps_changed_ = true;
};

}  // namespace loglinear::chain
