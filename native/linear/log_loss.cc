#include "linear/log_loss.hh"

#include <algorithm>
#include <string>

#include "simd/loops.hh"
#include "util/errors.hh"
#include "util/views.hh"

namespace loglinear::linear {

namespace {

std::size_t row_chunk(std::size_t K) { return std::max<std::size_t>(64, (1 << 14) / K); }

std::size_t check_rows(std::size_t margins, std::size_t sample_weight, std::size_t K) {
  require(K >= 1 && margins % K == 0, "margins do not have n_rows x n_classes entries");
  require(sample_weight == 0 || sample_weight == margins / K, "sample_weight does not have one entry per row");
  return margins / K;
}

}  // namespace

void check_labels(std::span<const std::int32_t> labels, std::size_t K) {
  const std::int32_t limit = K == 1 ? 2 : static_cast<std::int32_t>(K);
  for (std::size_t r = 0; r < labels.size(); ++r)
    if (labels[r] < 0 || labels[r] >= limit)
      throw InvalidInput("label " + std::to_string(labels[r]) + " of row " + std::to_string(r) + " is outside [0, " +
                         std::to_string(limit) + ")");
}

double log_loss(ThreadPool& pool, std::span<double> margins, std::span<const std::int32_t> labels,
                std::span<const double> sample_weight, std::size_t K) {
  const std::size_t n = check_rows(margins.size(), sample_weight.size(), K);
  require(labels.size() == n, "labels do not have one entry per row");
  const double* s = sample_weight.empty() ? nullptr : sample_weight.data();
  const auto& loops = simd::loops();
  return parallel_sum(pool, n, row_chunk(K), [&](std::size_t begin, std::size_t end) {
    return K == 1 ? loops.log_loss_binary(margins.data(), labels.data(), s, begin, end)
                  : loops.log_loss_multinomial(margins.data(), labels.data(), s, begin, end, K);
  });
}

void probabilities(ThreadPool& pool, std::span<double> margins, std::size_t K, bool logarithm) {
  const std::size_t n = check_rows(margins.size(), 0, K);
  parallel_for(pool, n, row_chunk(K), [&](std::size_t begin, std::size_t end) {
    simd::loops().probabilities(margins.data(), begin, end, K, logarithm);
  });
}

void log_loss_hessian(ThreadPool& pool, std::span<const double> P, std::span<const double> sample_weight,
                      std::size_t K, std::span<double> vectors) {
  const std::size_t n = check_rows(P.size(), sample_weight.size(), K);
  require(vectors.size() == P.size(), "vectors and probabilities differ in size");
  parallel_for(pool, n, row_chunk(K), [&](std::size_t begin, std::size_t end) {
    for (std::size_t r = begin; r < end; ++r) {
      const double s = sample_weight.empty() ? 1.0 : sample_weight[r];
      const double* p = P.data() + r * K;
      double* v = vectors.data() + r * K;
      if (K == 1) {
        v[0] *= s * p[0] * (1.0 - p[0]);
        continue;
      }
      double mean = 0.0;
      for (std::size_t k = 0; k < K; ++k) mean += p[k] * v[k];
      for (std::size_t k = 0; k < K; ++k) v[k] = s * p[k] * (v[k] - mean);
    }
  });
}

void log_loss_curvature(ThreadPool& pool, std::span<const double> P, std::span<const double> sample_weight,
                        std::size_t K, std::span<double> out) {
  const std::size_t n = check_rows(P.size(), sample_weight.size(), K);
  require(out.size() == P.size(), "output and probabilities differ in size");
  parallel_for(pool, n, row_chunk(K), [&](std::size_t begin, std::size_t end) {
    for (std::size_t r = begin; r < end; ++r) {
      const double s = sample_weight.empty() ? 1.0 : sample_weight[r];
      for (std::size_t k = 0; k < K; ++k) {
        const double p = P[r * K + k];
        out[r * K + k] = s * p * (1.0 - p);
      }
    }
  });
}

}  // namespace loglinear::linear
