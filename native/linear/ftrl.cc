#include "linear/ftrl.hh"

#include <cmath>
#include <vector>

#include "linear/log_loss.hh"
#include "simd/loops.hh"

namespace loglinear::linear {

double online_pass(const SparseMatrix<std::int32_t>& rows, std::span<const std::int32_t> labels,
                   std::span<const double> sample_weight, std::size_t K, bool intercept, const Separable& penalty,
                   const OnlineSettings& settings, std::span<double> z, std::span<double> n,
                   std::span<double> weights) {
  const std::size_t d = rows.n_columns, size = (d + (intercept ? 1 : 0)) * K;
  require(K >= 1 && labels.size() == rows.n_rows(), "labels do not have one entry per row");
  require(sample_weight.empty() || sample_weight.size() == rows.n_rows(),
          "sample_weight does not have one entry per row");
  require(z.size() == size && n.size() == size && weights.size() == size, "online state does not fit the features");
  check_labels(labels, K);

  auto solve = [&](std::size_t j) {
    const double a = penalty.a(j), b = penalty.b(j), c = -z[j];
    if (penalty.constrained(j) && c <= a) return 0.0;
    if (std::fabs(c) <= a) return 0.0;
    return (c > 0.0 ? c - a : c + a) / ((settings.beta + std::sqrt(n[j])) / settings.alpha + b);
  };
  auto update = [&](std::size_t j, double g) {
    const double sigma = (std::sqrt(n[j] + g * g) - std::sqrt(n[j])) / settings.alpha;
    z[j] += g - sigma * weights[j];
    n[j] += g * g;
    weights[j] = solve(j);
  };

  std::vector<double> margin(K);
  double total = 0.0;
  for (std::size_t r = 0; r < rows.n_rows(); ++r) {
    for (std::size_t k = 0; k < K; ++k) margin[k] = intercept ? weights[d * K + k] : 0.0;
    for (std::int64_t p = rows.indptr[r]; p < rows.indptr[r + 1]; ++p)
      for (std::size_t k = 0; k < K; ++k) margin[k] += rows.values[p] * weights[rows.indices[p] * K + k];
    const std::int32_t* label = labels.data() + r;
    const double* s = sample_weight.empty() ? nullptr : sample_weight.data() + r;
    total += K == 1 ? simd::loops().log_loss_binary(margin.data(), label, s, 0, 1)
                    : simd::loops().log_loss_multinomial(margin.data(), label, s, 0, 1, K);
    for (std::int64_t p = rows.indptr[r]; p < rows.indptr[r + 1]; ++p)
      for (std::size_t k = 0; k < K; ++k) update(rows.indices[p] * K + k, rows.values[p] * margin[k]);
    if (intercept)
      for (std::size_t k = 0; k < K; ++k) update(d * K + k, margin[k]);
  }
  return total;
}

}  // namespace loglinear::linear
