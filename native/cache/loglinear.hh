// A log-linear cache over a mixture of models, exactly normalised:
//
//   P(w | h) = sum over models of weight * P_m(w | h)
//   p(w | h) = P(w | h) exp(s(w)) / Z,      s(w) = sum_j lambda[w][j] f_j(w) for words in memory, else 0
//   Z = 1 + sum over the words v in memory of P(v | h) (exp(s(v)) - 1)
//
// With d_j(w) the sums of cache/memory.hh and D_j their sum over all words, each gives two features:
//
//   log(1 + d_j(w))        and        log(1 + r (d_j(w) / D_j) / P(w | h))
//
// The second with weight one is a linear cache of share r / (1 + r). Probabilities of the words in memory are collected
// once, in single precision, and the weights are then fitted to them: the loss is convex in lambda. Scores of a text are
// in double precision.
// Events go in chunks of fixed size, each with a memory of its own: the same bits on any number of threads.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cache/memory.hh"
#include "ngram/within.hh"
#include "util/thread_pool.hh"

namespace loglinear::cache {

struct Component {  // of the mixture, for a range of events
  const ngram::Within* words;
  std::span<const std::uint32_t> leaf;    // [n]
  std::span<const double> class_log_p;    // [n][n_classes]; empty where there is one class
  double weight;
};

struct Features;  // of the words in memory

class LoglinearCache {
 public:
  // The events of a text, 0 for the ends of sentences, and where its documents begin.
  LoglinearCache(ThreadPool& pool, Shape shape, std::size_t n_words, std::span<const std::uint32_t> words,
                 std::span<const std::int64_t> document_start);

  const Shape& shape() const { return shape_; }
  std::size_t n_events() const { return words_.size(); }
  std::size_t n_pairs() const { return pair_start_.back(); }  // of events and words in memory

  // Events [begin, begin + n): P of the words in memory, appended to `pairs`, and log P of the event itself.
  void collect(ThreadPool& pool, std::size_t begin, std::span<const Component> components, std::span<float> pairs,
               std::span<double> log_p) const;
  std::size_t n_pairs(std::size_t begin, std::size_t end) const;

  // The loss of all events but for the sum of log P, and its gradient: lambda and gradient [n_words][n_features].
  double value_and_gradient(ThreadPool& pool, std::span<const float> pairs, std::span<const double> lambda,
                            std::span<double> gradient) const;

  // Sums of P times squared features: about the diagonal of the second derivatives at lambda = 0.
  void curvature(ThreadPool& pool, std::span<const float> pairs, std::span<double> out) const;

  // log p of events [begin, begin + n), with the cache.
  void score(ThreadPool& pool, std::size_t begin, std::span<const Component> components,
             std::span<const double> lambda, std::span<double> out) const;
  // p of all words before one event: [n_words].
  void distribution(std::size_t event, std::span<const Component> components, std::span<const double> lambda,
                    std::span<double> out) const;

  // The share of each event's word in the sums of the first half-life: the probabilities of a linear cache; -1 where
  // the memory is empty. And the sums of all words before one event: [n_words].
  void linear(ThreadPool& pool, std::span<double> out) const;
  void uses(std::size_t event, std::span<double> out) const;
  // Features of one word before an event: [n_features].
  void features(std::size_t event, std::uint32_t word, std::span<const Component> components,
                std::span<double> out) const;

 private:
  std::size_t check(std::size_t begin, std::span<const Component> components, std::size_t n) const;
  template <class Use>
  void each_chunk(ThreadPool& pool, std::size_t begin, std::size_t end, Use use) const;
  // s of every word in memory, and the features, given P of these words.
  template <class Real>
  void boosts(Memory& memory, const Real* p, std::span<const double> lambda, Features& features,
              std::vector<double>& out) const;

  template <class Use>
  double sum_events(ThreadPool& pool, std::span<const float> pairs, std::span<const double> lambda,
                    std::span<double> out, Use use) const;
  template <class Real, class Of>
  void add_features(const Memory& memory, const Features& f, const Real* weight, Of of, std::vector<double>& out) const;

  Shape shape_;
  std::size_t n_words_;
  std::span<const std::uint32_t> words_;
  std::span<const std::int64_t> document_start_;
  std::vector<std::size_t> pair_start_;  // [n_events + 1]
};

}  // namespace loglinear::cache
