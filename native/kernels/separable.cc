#include "kernels/separable.hh"

#include <cmath>
#include <vector>

#include "util/views.hh"

namespace loglinear {
namespace {

void check(const Separable& p, std::size_t n, std::size_t other) {
  require(n == other, "penalty: vectors differ in length");
  require(p.n_penalised <= n, "penalty: more penalised weights than weights");
  require(p.l1_scale.empty() || p.l1_scale.size() >= p.n_penalised, "penalty: l1 scales are too few");
  require(p.l2_scale.empty() || p.l2_scale.size() >= p.n_penalised, "penalty: l2 scales are too few");
}

// The least subgradient at w of g w + a|w| (+ the constraint w >= 0): g is the smooth gradient.
inline double least_subgradient(double w, double g, double a, bool constrained) {
  if (w > 0.0) return g + a;
  if (constrained) return g + a < 0.0 ? g + a : 0.0;
  if (w < 0.0) return g - a;
  if (g + a < 0.0) return g + a;
  if (g - a > 0.0) return g - a;
  return 0.0;
}

}  // namespace

double separable_value(ThreadPool& pool, const Separable& p, std::span<const double> w) {
  check(p, w.size(), w.size());
  return parallel_sum(pool, p.n_penalised, kVectorChunk, [&](std::size_t begin, std::size_t end) {
    double sum = 0.0;
    for (std::size_t j = begin; j < end; ++j) sum += p.a(j) * std::fabs(w[j]) + 0.5 * p.b(j) * w[j] * w[j];
    return sum;
  });
}

double separable_add_smooth(ThreadPool& pool, const Separable& p, std::span<const double> w,
                            std::span<double> gradient) {
  check(p, w.size(), gradient.size());
  if (p.l2 == 0.0) return 0.0;
  return parallel_sum(pool, p.n_penalised, kVectorChunk, [&](std::size_t begin, std::size_t end) {
    double lane[4] = {};
    std::size_t j = begin;
    for (; j + 4 <= end; j += 4)
      for (std::size_t l = 0; l < 4; ++l) {
        const double bw = (p.l2_scale.empty() ? p.l2 : p.l2 * p.l2_scale[j + l]) * w[j + l];
        gradient[j + l] += bw;
        lane[l] += bw * w[j + l];
      }
    for (; j < end; ++j) {
      const double bw = p.b(j) * w[j];
      gradient[j] += bw;
      lane[0] += bw * w[j];
    }
    return 0.5 * (lane[0] + lane[1] + lane[2] + lane[3]);
  });
}

void separable_prox(ThreadPool& pool, const Separable& p, std::span<const double> z, std::span<const double> steps,
                    std::span<double> out) {
  check(p, z.size(), out.size());
  require(steps.size() == 1 || steps.size() == z.size(), "prox: one step, or one per weight");
  parallel_for(pool, z.size(), kVectorChunk, [&](std::size_t begin, std::size_t end) {
    for (std::size_t j = begin; j < end; ++j) {
      const double step = steps.size() == 1 ? steps[0] : steps[j];
      const double threshold = step * p.a(j), shrink = 1.0 / (1.0 + step * p.b(j));
      double x = z[j];
      if (p.constrained(j)) {
        x = x > threshold ? x - threshold : 0.0;
      } else if (threshold > 0.0) {
        x = x > threshold ? x - threshold : x < -threshold ? x + threshold : 0.0;
      }
      out[j] = x * shrink;
    }
  });
}

void separable_pseudo_gradient(ThreadPool& pool, const Separable& p, std::span<const double> w,
                               std::span<const double> smooth_gradient, std::span<double> out) {
  check(p, w.size(), smooth_gradient.size());
  check(p, w.size(), out.size());
  parallel_for(pool, w.size(), kVectorChunk, [&](std::size_t begin, std::size_t end) {
    for (std::size_t j = begin; j < end; ++j)
      out[j] = least_subgradient(w[j], smooth_gradient[j], p.a(j), p.constrained(j));
  });
}

double separable_violation(ThreadPool& pool, const Separable& p, std::span<const double> w,
                           std::span<const double> loss_gradient) {
  check(p, w.size(), loss_gradient.size());
  std::vector<double> partial(chunk_count(w.size(), kVectorChunk));
  parallel_for(pool, w.size(), kVectorChunk, [&](std::size_t begin, std::size_t end) {
    double top = 0.0;
    for (std::size_t j = begin; j < end; ++j) {
      double v = std::fabs(least_subgradient(w[j], loss_gradient[j] + p.b(j) * w[j], p.a(j), p.constrained(j)));
      if (p.constrained(j) && w[j] < 0.0) v = v > -w[j] ? v : -w[j];
      top = v > top || v != v ? v : top;
    }
    partial[begin / kVectorChunk] = top;
  });
  double top = 0.0;
  for (double v : partial) top = v > top || v != v ? v : top;
  return top;
}

void separable_align(ThreadPool& pool, const Separable& p, std::span<const double> w, std::span<const double> pseudo,
                     std::span<double> direction) {
  check(p, w.size(), pseudo.size());
  check(p, pseudo.size(), direction.size());
  parallel_for(pool, p.n_penalised, kVectorChunk, [&](std::size_t begin, std::size_t end) {
    for (std::size_t j = begin; j < end; ++j)
      if (w[j] == 0.0 && direction[j] * pseudo[j] >= 0.0) direction[j] = 0.0;
  });
}

void separable_project(ThreadPool& pool, const Separable& p, std::span<const double> from,
                       std::span<const double> pseudo, std::span<double> w) {
  check(p, from.size(), pseudo.size());
  check(p, from.size(), w.size());
  parallel_for(pool, p.n_penalised, kVectorChunk, [&](std::size_t begin, std::size_t end) {
    for (std::size_t j = begin; j < end; ++j) {
      if (p.a(j) == 0.0 && !p.nonnegative) continue;
      const double orthant = from[j] != 0.0 ? from[j] : -pseudo[j];
      if (w[j] * orthant <= 0.0 || (p.nonnegative && w[j] < 0.0)) w[j] = 0.0;
    }
  });
}

}  // namespace loglinear
