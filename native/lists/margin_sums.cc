#include "lists/margin_sums.hh"

#include <algorithm>
#include <cmath>
#include <limits>

namespace loglinear::lists {

namespace {

constexpr std::size_t kPairs = 1 << 12;     // pairs in a chunk of work
constexpr std::size_t kFeatures = 1 << 10;  // features in a chunk of work

}  // namespace

MarginSums::MarginSums(ThreadPool& pool, const SparseMatrix<std::int32_t>& rows,
                       const SparseMatrix<std::int32_t>& columns, std::span<const double> base,
                       std::span<const double> pair_weights, double step)
    : rows_(rows), columns_(columns), base_(base), pair_weights_(pair_weights), step_(step) {
  const std::size_t n_pairs = rows.n_rows();
  require(columns.n_rows() == rows.n_columns && columns.n_columns == n_pairs &&
              columns.n_nonzeros() == rows.n_nonzeros(),
          "columns of pairs are not those of the rows");
  require(base.size() == n_pairs, "base margins do not have one entry per pair");
  require(pair_weights.empty() || pair_weights.size() == n_pairs, "pair weights do not have one entry per pair");
  require(rows.n_nonzeros() < std::numeric_limits<std::uint32_t>::max(), "more than 2^32 differences of features");
  for (const double c : pair_weights) require(std::isfinite(c) && c >= 0.0, "pair weights must be finite and >= 0");
  for (const double m : base) require(std::isfinite(m), "base margins must be finite");
  margins_.resize(n_pairs);
  q_.resize(n_pairs);
  seen_ = BitSet(n_features());
  make_cells();
  rebuild(pool, std::vector<double>(n_features(), 0.0));
}

// Columns in order, pairs ascending in each: every row meets its entries in their order too, so one cursor per row
// finds where in the row an entry of a column stands.
void MarginSums::make_cells() {
  const std::size_t n = columns_.n_nonzeros();
  cell_ptr_.assign(1, 0);
  cell_of_row_.resize(n);
  cell_of_column_.resize(n);
  std::vector<std::int64_t> cursor(rows_.indptr.begin(), rows_.indptr.end() - 1);
  std::vector<double> distinct;
  for (std::size_t k = 0; k < n_features(); ++k) {
    const std::int64_t begin = columns_.indptr[k], end = columns_.indptr[k + 1];
    distinct.assign(columns_.values.begin() + begin, columns_.values.begin() + end);
    std::sort(distinct.begin(), distinct.end());
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    const std::size_t first = cells_.size();
    const double step = distinct.empty() ? 0.0 : std::min(step_, farthest(distinct.front(), distinct.back()));
    for (const double v : distinct) cells_.push_back({0.0, v, std::expm1(-step * v), std::expm1(step * v)});
    for (std::int64_t e = begin; e < end; ++e) {
      const auto found = std::lower_bound(distinct.begin(), distinct.end(), columns_.values[e]);
      const auto cell = static_cast<std::uint32_t>(first + static_cast<std::size_t>(found - distinct.begin()));
      const std::int32_t pair = columns_.indices[e];
      const std::int64_t at = cursor[pair]++;
      require(at < rows_.indptr[pair + 1] && rows_.indices[at] == static_cast<std::int32_t>(k) &&
                  rows_.values[at] == columns_.values[e],
              "columns of pairs are not those of the rows, or rows are not ascending");
      cell_of_column_[e] = cell_of_row_[at] = cell;
    }
    cell_ptr_.push_back(static_cast<std::uint32_t>(cells_.size()));
  }
}

double MarginSums::weighted_exponential(std::size_t pair) const {
  return (pair_weights_.empty() ? 1.0 : pair_weights_[pair]) * std::exp(-margins_[pair]);
}

void MarginSums::rebuild(ThreadPool& pool, std::span<const double> weights) {
  require(weights.size() == n_features(), "weights do not have one entry per feature");
  loss_ = parallel_sum(pool, q_.size(), kPairs, [&](std::size_t begin, std::size_t end) {
    double total = 0.0;
    for (std::size_t p = begin; p < end; ++p) {
      double margin = base_[p];
      for (std::int64_t e = rows_.indptr[p]; e < rows_.indptr[p + 1]; ++e)
        margin += rows_.values[e] * weights[rows_.indices[e]];
      margins_[p] = margin;
      q_[p] = weighted_exponential(p);
      total += q_[p];
    }
    return total;
  });
  require(std::isfinite(loss_), "the exponential loss overflows at these weights; scale the base scores down");
  parallel_for(pool, n_features(), kFeatures, [&](std::size_t begin, std::size_t end) {
    for (std::uint32_t c = cell_ptr_[begin]; c < cell_ptr_[end]; ++c) cells_[c].sum = 0.0;
    for (std::int64_t e = columns_.indptr[begin]; e < columns_.indptr[end]; ++e)
      cells_[cell_of_column_[e]].sum += q_[columns_.indices[e]];
  });
}

// Sums of features lie anywhere in memory, but which ones is known ahead: entries are prefetched a few at a time.
std::span<const std::int32_t> MarginSums::move(std::size_t feature, double delta) {
  constexpr std::int64_t kAhead = 12;
  touched_.assign(1, static_cast<std::int32_t>(feature));
  seen_.set(feature, true);
  const auto n_entries = static_cast<std::int64_t>(cell_of_row_.size());
  for (std::int64_t e = columns_.indptr[feature]; e < columns_.indptr[feature + 1]; ++e) {
    const std::int32_t pair = columns_.indices[e];
    margins_[pair] += delta * columns_.values[e];
    const double now = weighted_exponential(static_cast<std::size_t>(pair));
    const double gained = now - q_[pair];
    q_[pair] = now;
    loss_ += gained;
    for (std::int64_t r = rows_.indptr[pair]; r < rows_.indptr[pair + 1]; ++r) {
      if (r + kAhead < n_entries) loglinear::prefetch(&cells_[cell_of_row_[r + kAhead]]);
      cells_[cell_of_row_[r]].sum += gained;
      const auto k = static_cast<std::size_t>(rows_.indices[r]);
      if (!seen_.has(k)) seen_.set(k, true), touched_.push_back(rows_.indices[r]);
    }
  }
  for (const std::int32_t k : touched_) seen_.set(static_cast<std::size_t>(k), false);
  return touched_;
}

double MarginSums::change(std::size_t feature, double delta) const {
  double total = 0.0;
  for (const Cell& c : cells(feature)) total += c.sum * std::expm1(-delta * c.value);
  return total;
}

double MarginSums::slope(std::size_t feature, double delta) const {
  double total = 0.0;
  for (const Cell& c : cells(feature)) total -= c.sum * c.value * std::exp(-delta * c.value);
  return total;
}

// The root of  phi(delta) = log(P / N),  P and N the pulls up and down: P = sum over v > 0 of A v exp(-delta v), N the
// same of v < 0. phi falls everywhere, with slope -(mean v of P + mean |v| of N): a straight line where differences are
// +-1, nearly one where they are not, so Newton's method from 0 needs one step or a few; a bracket keeps it safe.
double MarginSums::optimum(std::size_t feature, double floor) const {
  const double bound = farthest(feature);
  double low = -bound, high = bound, delta = 0.0;
  for (int iteration = 0; iteration < 100; ++iteration) {
    double p = floor * std::exp(-delta), n = floor * std::exp(delta);
    double p_slope = p, n_slope = n;
    for (const Cell& c : cells(feature)) {
      if (!(c.sum > 0.0)) continue;  // rounding left nothing of it, or less
      const double pull = c.sum * std::fabs(c.value) * std::exp(-delta * c.value);
      (c.value > 0.0 ? p : n) += pull;
      (c.value > 0.0 ? p_slope : n_slope) += pull * std::fabs(c.value);
    }
    if (!(p > 0.0) || !(n > 0.0)) return p > 0.0 ? bound : n > 0.0 ? -bound : 0.0;
    const double phi = std::log(p / n);
    (phi > 0.0 ? low : high) = delta;
    const double next = std::clamp(delta + phi / (p_slope / p + n_slope / n), low, high);
    if (std::fabs(next - delta) <= 1e-15 * bound) return next;
    delta = next;
  }
  return delta;
}

}  // namespace loglinear::lists
