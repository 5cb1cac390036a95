// The exponential loss of n-best lists as a function of each single weight, updated step by step.
//
// With q_p = c_p exp(-m_p) for the margins m of pairs and pair weights c, moving weight k by delta changes the loss by
//
//   L(w + delta e_k) - L(w) = sum over distinct differences v of feature k of  A_{k,v} (exp(-delta v) - 1),
//   A_{k,v} = sum of q_p over the pairs in which feature k differs by v,
//
// exactly, whatever the differences are (of counts mostly +1 and -1: then A_{k,+1} and A_{k,-1} are C+ and C- of Gao,
// Suzuki and Yu 2006, eq. 16). A step on one weight changes q in the pairs of its column only, and each of those the
// sums of the features in its row only.
//
// Updated sums drift by rounding, so callers recompute them from the weights from time to time.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "util/bit_set.hh"
#include "util/pages.hh"
#include "util/thread_pool.hh"
#include "util/views.hh"

namespace loglinear::lists {

class MarginSums {
 public:
  struct Cell {
    double sum;    // A_{k,v}
    double value;  // v
    double up;     // exp(-step(k) v) - 1: of a step forward
    double down;   // exp(+step(k) v) - 1: of a step back
  };

  // rows: pairs x features, columns: the same transposed; base [n_pairs]: margins under the base scores alone;
  // pair_weights [n_pairs], or empty for ones. All are kept by reference. step: the one whose effects are tabulated.
  MarginSums(ThreadPool& pool, const SparseMatrix<std::int32_t>& rows,
             const SparseMatrix<std::int32_t>& columns, std::span<const double> base,
             std::span<const double> pair_weights, double step);

  std::size_t n_features() const { return columns_.n_rows(); }
  double loss() const { return loss_; }
  std::span<const Cell> cells(std::size_t feature) const {
    return {cells_.data() + cell_ptr_[feature], cells_.data() + cell_ptr_[feature + 1]};
  }

  // Prefetches the cells of a feature.
  void prefetch(std::size_t feature) const { loglinear::prefetch(cells_.data() + cell_ptr_[feature]); }

  // Everything from these weights of features.
  void rebuild(ThreadPool& pool, std::span<const double> weights);

  // Weight k moves by delta: margins, q, sums and loss follow. Returns the features whose sums changed, each once, in
  // no order, k always among them.
  std::span<const std::int32_t> move(std::size_t feature, double delta);

  // Change of the loss when weight k moves by delta.
  double change(std::size_t feature, double delta) const;

  // The farthest that weight k may move at once: neither it nor a margin changes by more than kFarthest.
  double farthest(std::size_t feature) const {
    const auto all = cells(feature);
    return all.empty() ? 0.0 : farthest(all.front().value, all.back().value);
  }

  // The tabulated step of weight k: `step`, or the farthest where that is less.
  double step(std::size_t feature) const { return std::min(step_, farthest(feature)); }

  // The delta that minimises  loss + floor (exp(-delta) + exp(delta)), the farthest where the optimum is farther or at
  // infinity; 0 where nothing is to be gained.
  double optimum(std::size_t feature, double floor = 0.0) const;

  // d loss / d delta at delta.
  double slope(std::size_t feature, double delta) const;

  // Sums are right to 1e-16 of the largest they were since they were made; exp(10) times that is still next to nothing.
  static constexpr double kFarthest = 10.0;

 private:
  static double farthest(double least, double largest) {
    return kFarthest / std::max({1.0, -least, largest});
  }
  void make_cells();
  double weighted_exponential(std::size_t pair) const;

  const SparseMatrix<std::int32_t>&rows_, &columns_;
  std::span<const double> base_, pair_weights_;
  std::vector<std::uint32_t> cell_ptr_;     // [n_features + 1]
  Pages<Cell> cells_;                       // by feature, ascending in v
  std::vector<std::uint32_t> cell_of_row_;  // [n_nonzeros], in the order of rows
  std::vector<std::uint32_t> cell_of_column_;
  std::vector<double> margins_, q_;
  double step_;
  double loss_ = 0.0;
  BitSet seen_;  // features of touched_ while it is made: bits, which stay in the cache
  std::vector<std::int32_t> touched_;
};

}  // namespace loglinear::lists
