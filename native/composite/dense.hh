// Normalisers and expectations where outcomes are few, as word classes are: every outcome of every history is scored.
//
//   s(x, k) = theta_k + sum over sources, over the contexts c of x, of g(c, k) theta(c, k)
//   loss = sum_x count(x) log sum_k exp s(x, k) - sum of observed * theta
//
// Outcomes may fall into groups, as the classes of a tree of classes do: a history then knows the group of its outcome,
// and its sum is over that group alone. OutcomeGroups are ranges of outcomes, and share no weights.
//
// Contexts with entries for many outcomes are dense rows: the sums of the weights along their chain, made anew for each
// evaluation, so a history adds one row per source and then the few entries of its rarer contexts. The threshold is
// where both ways cost the same; it rises where the rows would take more memory than `max_row_bytes`.
//
// Histories go through in blocks: first their probabilities, by histories; then the expectations, by sources, so that no
// two threads add to one number and the sums have the same bits on any number of threads. Expectations of a row's
// ancestors are added up once, at the end. Scores are shifted by their maximum: right for any finite weights.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "composite/problem.hh"
#include "util/aligned.hh"
#include "util/thread_pool.hh"

namespace loglinear::composite {

// Which contexts of a source are dense rows. Row 0 is the empty context; rows ascend with their contexts, so a row's
// parent comes before it.
struct Rows {
  std::vector<std::uint32_t> nearest;  // [n_contexts] row of the nearest context, itself or above, that is one
  std::vector<std::uint32_t> context;  // [n_rows]

  std::size_t size() const { return context.size(); }
};

// Ranges of outcomes, group_start[g] .. group_start[g + 1] - 1, and the range of each history. Empty: one range of all.
struct OutcomeGroups {
  std::span<const std::uint32_t> start;  // [n_groups + 1]
  std::span<const std::uint32_t> of;     // [n_histories]
};

inline constexpr std::size_t kMaxRowBytes = std::size_t{1} << 30;

class Dense {
 public:
  explicit Dense(const Problem& problem, OutcomeGroups groups = {}, std::size_t max_row_bytes = kMaxRowBytes);

  double value_and_gradient(ThreadPool& pool, std::span<const double> w, std::span<double> gradient) const;
  void hessian_vector(ThreadPool& pool, std::span<const double> w, std::span<const double> v,
                      std::span<double> out) const;
  void log_z(ThreadPool& pool, std::span<const double> w, std::span<double> out) const;

  std::uint64_t terms() const;
  std::size_t bytes() const;

  // Weights made ready for queries; the weights themselves must outlive it.
  struct Prepared {
    std::vector<AlignedDoubles> rows;
    std::span<const double> w;
  };
  Prepared prepare(ThreadPool& pool, std::span<const double> w) const;
  // Log-probabilities of all outcomes, each within its group, in histories given by their contexts: leaf [source][n],
  // out [n][n_words].
  void log_probabilities(ThreadPool& pool, const Prepared& prepared,
                         const std::vector<std::span<const std::uint32_t>>& leaf, std::span<double> out) const;

 private:
  using Table = AlignedDoubles;  // [n_rows][width_]

  std::vector<Table> fill(ThreadPool& pool, std::span<const double> w, double padding) const;
  void score(const std::vector<Table>& rows, std::span<const double> w,
             const std::vector<std::span<const std::uint32_t>>& leaf, std::size_t history, Range range,
             double* out) const;
  Range range(std::size_t history) const;
  void collect(std::size_t source, std::size_t begin, std::size_t end, const double* block, Table& rows,
               std::span<double> out) const;
  void finish(std::size_t source, Table& rows, std::span<double> out) const;

  // Calls make(x, range, row) for each history, which writes what is to be added up for it: count * p, or its derivative.
  template <class Make>
  double expectations(ThreadPool& pool, std::span<double> out, Make make) const;

  const Problem& problem_;
  OutcomeGroups groups_;
  std::size_t width_;   // n_words, rounded up to whole vectors
  std::size_t widest_;  // of the ranges
  std::vector<Rows> rows_;
};

}  // namespace loglinear::composite
