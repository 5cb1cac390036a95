#include "lists/loss.hh"

#include <algorithm>
#include <cmath>
#include <vector>

#include "lists/features.hh"

namespace loglinear::lists {

namespace {

constexpr std::size_t kLists = 256;  // in a chunk

struct Pairs {
  std::size_t begin, end;
};

Pairs pairs_of(std::span<const std::int64_t> list_ptr, std::size_t begin_list, std::size_t end_list) {
  return {static_cast<std::size_t>(list_ptr[begin_list]), static_cast<std::size_t>(list_ptr[end_list])};
}

void check_pairs(ListLoss kind, std::span<const std::int64_t> list_ptr, std::size_t n_pairs, std::size_t n_errors) {
  check_list_ptr(list_ptr, n_pairs, "pairs");
  require(n_errors == 0 || n_errors == n_pairs, "errors do not have one entry per pair");
  require(kind != ListLoss::expected_error || n_errors == n_pairs, "the expected error needs the errors of the pairs");
}

// exp(-m) and its tangent below -kSteepest.
struct Exponential {
  double value, slope, curvature;
  explicit Exponential(double margin) {
    slope = std::exp(std::min(-margin, kSteepest));
    const bool tangent = -margin > kSteepest;
    value = tangent ? slope * (1.0 - margin - kSteepest) : slope;
    curvature = tangent ? 0.0 : slope;
  }
};

// Margins of one list -> q in place; returns log(1 + sum). costs may be null.
double normalise(double* m, const double* costs, std::size_t n) {
  double top = 0.0;
  for (std::size_t p = 0; p < n; ++p) {
    m[p] = (costs ? costs[p] : 0.0) - m[p];
    top = std::max(top, m[p]);
  }
  double sum = std::exp(-top);
  for (std::size_t p = 0; p < n; ++p) sum += m[p] = std::exp(m[p] - top);
  for (std::size_t p = 0; p < n; ++p) m[p] /= sum;
  return top + std::log(sum);
}

double exponential_loss(std::span<const double> errors, Pairs range, std::span<double> margins) {
  double total = 0.0;
  for (std::size_t p = range.begin; p < range.end; ++p) {
    const double weight = errors.empty() ? 1.0 : errors[p];
    const Exponential e(margins[p]);
    total += weight * e.value;
    margins[p] = -weight * e.slope;
  }
  return total;
}

double log_loss_of_list(std::span<const double> errors, Pairs range, std::span<double> margins) {
  const std::size_t n = range.end - range.begin;
  double* m = margins.data() + range.begin;
  const double value = normalise(m, errors.empty() ? nullptr : errors.data() + range.begin, n);
  for (std::size_t p = 0; p < n; ++p) m[p] = -m[p];
  return value;
}

double expected_error_of_list(std::span<const double> errors, Pairs range, std::span<double> margins) {
  const std::size_t n = range.end - range.begin;
  double* m = margins.data() + range.begin;
  const double* e = errors.data() + range.begin;
  normalise(m, nullptr, n);
  double mean = 0.0;
  for (std::size_t p = 0; p < n; ++p) mean += e[p] * m[p];
  for (std::size_t p = 0; p < n; ++p) m[p] *= mean - e[p];
  return mean;
}

}  // namespace

double list_loss(ThreadPool& pool, ListLoss kind, std::span<const std::int64_t> list_ptr,
                 std::span<const double> errors, std::span<double> margins) {
  check_pairs(kind, list_ptr, margins.size(), errors.size());
  return parallel_sum(pool, list_ptr.size() - 1, kLists, [&](std::size_t begin, std::size_t end) {
    if (kind == ListLoss::exponential) return exponential_loss(errors, pairs_of(list_ptr, begin, end), margins);
    double total = 0.0;
    for (std::size_t i = begin; i < end; ++i) {
      const Pairs range = pairs_of(list_ptr, i, i + 1);
      total += kind == ListLoss::log ? log_loss_of_list(errors, range, margins)
                                     : expected_error_of_list(errors, range, margins);
    }
    return total;
  });
}

void list_probabilities(ThreadPool& pool, ListLoss kind, std::span<const std::int64_t> list_ptr,
                        std::span<const double> errors, std::span<double> margins) {
  check_pairs(kind, list_ptr, margins.size(), errors.size());
  const double* costs = kind == ListLoss::log && !errors.empty() ? errors.data() : nullptr;
  parallel_for(pool, list_ptr.size() - 1, kLists, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const Pairs range = pairs_of(list_ptr, i, i + 1);
      if (kind == ListLoss::exponential) {
        for (std::size_t p = range.begin; p < range.end; ++p)
          margins[p] = (errors.empty() ? 1.0 : errors[p]) * Exponential(margins[p]).curvature;
      } else {
        normalise(margins.data() + range.begin, costs ? costs + range.begin : nullptr, range.end - range.begin);
      }
    }
  });
}

void list_loss_hessian(ThreadPool& pool, ListLoss kind, std::span<const std::int64_t> list_ptr,
                       std::span<const double> q, std::span<double> vectors) {
  check_pairs(kind, list_ptr, q.size(), 0);
  require(vectors.size() == q.size(), "vectors and probabilities differ in size");
  parallel_for(pool, list_ptr.size() - 1, kLists, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const Pairs range = pairs_of(list_ptr, i, i + 1);
      double mean = 0.0;
      if (kind == ListLoss::log)
        for (std::size_t p = range.begin; p < range.end; ++p) mean += q[p] * vectors[p];
      for (std::size_t p = range.begin; p < range.end; ++p) vectors[p] = q[p] * (vectors[p] - mean);
    }
  });
}

void list_loss_curvature(ThreadPool& pool, ListLoss kind, std::span<const std::int64_t> list_ptr,
                         const SparseMatrix<std::int32_t>& columns, std::span<const double> q, std::span<double> out) {
  check_pairs(kind, list_ptr, q.size(), 0);
  require(columns.n_columns == q.size() && columns.n_rows() == out.size(), "curvature: shapes do not agree");
  std::vector<std::int32_t> list_of(q.size());
  for (std::size_t i = 0; i + 1 < list_ptr.size(); ++i)
    std::fill(list_of.begin() + list_ptr[i], list_of.begin() + list_ptr[i + 1], static_cast<std::int32_t>(i));
  pool.run(columns.cuts.size() - 1, [&](std::size_t c) {
    for (std::size_t j = columns.cuts[c]; j < columns.cuts[c + 1]; ++j) {
      double total = 0.0, mean = 0.0;
      std::int32_t list = -1;
      for (std::int64_t k = columns.indptr[j]; k < columns.indptr[j + 1]; ++k) {
        const auto p = static_cast<std::size_t>(columns.indices[k]);
        const double x = columns.values[k];
        if (list_of[p] != list) {  // pairs of one list are neighbours
          total -= mean * mean;
          mean = 0.0;
          list = list_of[p];
        }
        total += q[p] * x * x;
        if (kind == ListLoss::log) mean += q[p] * x;
      }
      out[j] = std::max(total - mean * mean, 0.0);
    }
  });
}

void choose_candidates(ThreadPool& pool, std::span<const std::int64_t> list_ptr, std::span<const double> margins,
                       std::span<const std::int32_t> places, std::span<const std::int32_t> reference,
                       std::span<std::int32_t> out) {
  check_list_ptr(list_ptr, margins.size(), "pairs");
  const std::size_t n_lists = list_ptr.size() - 1;
  require(places.size() == margins.size(), "places do not have one entry per pair");
  require(reference.size() == n_lists && out.size() == n_lists, "choices do not have one entry per list");
  parallel_for(pool, n_lists, kLists, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      double best = 0.0;
      std::int32_t place = reference[i];
      const Pairs range = pairs_of(list_ptr, i, i + 1);
      for (std::size_t p = range.begin; p < range.end; ++p)
        if (margins[p] < best || (margins[p] == best && places[p] < place)) best = margins[p], place = places[p];
      out[i] = place;
    }
  });
}

}  // namespace loglinear::lists
