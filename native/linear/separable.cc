#include "linear/separable.hh"

#include <algorithm>
#include <cmath>
#include <string>

#include "linear/corners.hh"
#include "simd/loops.hh"
#include "util/views.hh"

namespace loglinear::linear {

void check(const Separable& p, std::size_t n, std::size_t other) {
  require(n == other, "penalty: vectors differ in length");
  require(p.n_penalised <= n, "penalty: more penalised weights than weights");
  require(p.l1_scale.empty() || p.l1_scale.size() >= p.n_penalised, "penalty: l1 scales are too few");
  require(p.l2_scale.empty() || p.l2_scale.size() >= p.n_penalised, "penalty: l2 scales are too few");
  if (!p.by_class()) return;
  require(p.classes8.size() + p.classes16.size() >= p.n_penalised, "penalty: classes are too few");
  const std::size_t size = p.classes16.empty() ? 1 << 8 : 1 << 16;
  require(p.class_l1.size() >= size && p.class_l2.size() >= size && p.class_nonnegative.size() >= size,
          "penalty: a table of strengths is too short");
}

namespace {

bool without_ridge(const Separable& p) {
  if (!p.by_class()) return p.l2 == 0.0;
  return std::all_of(p.class_l2.begin(), p.class_l2.end(), [](double b) { return b == 0.0; });
}

// body(corners, begin, size) over [0, n) in blocks small enough for the corners to stay in the first-level cache.
void over_corners(ThreadPool& pool, const Separable& penalty, std::size_t n, auto body) {
  with_form(penalty, [&](const auto p) {
    parallel_for(pool, n, kVectorChunk, [&, p](std::size_t begin, std::size_t end) {
      Corners corners;
      for (std::size_t b = begin; b < end; b += kBlock) {
        const std::size_t size = std::min(kBlock, end - b);
        corners.read(p, b, size);
        body(corners, b, size);
      }
    });
  });
}

}  // namespace

template <class Class>
ClassTables::ClassTables(ThreadPool& pool, std::span<const Class> classes, std::span<const double> class_l1,
                         std::span<const double> class_l2, std::span<const std::uint8_t> class_nonnegative)
    : l1(class_l1.begin(), class_l1.end()),
      l2(class_l2.begin(), class_l2.end()),
      nonnegative(class_nonnegative.begin(), class_nonnegative.end()) {
  constexpr std::size_t size = std::size_t{1} << (8 * sizeof(Class));
  const std::size_t n = l1.size();
  require(n > 0 && n <= size, "penalty by class: too many or no strengths for this width of classes");
  require(l2.size() == n && nonnegative.size() == n, "penalty by class: l1, l2 and nonnegative differ in length");
  parallel_for(pool, classes.size(), kVectorChunk, [&](std::size_t begin, std::size_t end) {
    for (std::size_t j = begin; j < end; ++j)
      if (classes[j] >= n)
        throw InvalidInput("penalty by class: weight " + std::to_string(j) + " has class " +
                           std::to_string(classes[j]) + ", but there are strengths for " + std::to_string(n));
  });
  l1.resize(size), l2.resize(size), nonnegative.resize(size);
}

template ClassTables::ClassTables(ThreadPool&, std::span<const std::uint8_t>, std::span<const double>,
                                  std::span<const double>, std::span<const std::uint8_t>);
template ClassTables::ClassTables(ThreadPool&, std::span<const std::uint16_t>, std::span<const double>,
                                  std::span<const double>, std::span<const std::uint8_t>);

double separable_value(ThreadPool& pool, const Separable& penalty, std::span<const double> w) {
  check(penalty, w.size(), w.size());
  return with_form(penalty, [&](const auto p) {
    return parallel_sum(pool, p.n_penalised, kVectorChunk, [&, p](std::size_t begin, std::size_t end) {
      double sum = 0.0;
      for (std::size_t j = begin; j < end; ++j) sum += p.a(j) * std::fabs(w[j]) + 0.5 * p.b(j) * w[j] * w[j];
      return sum;
    });
  });
}

double separable_add_smooth(ThreadPool& pool, const Separable& penalty, std::span<const double> w,
                            std::span<double> gradient) {
  check(penalty, w.size(), gradient.size());
  if (without_ridge(penalty)) return 0.0;
  return with_form(penalty, [&](const auto p) {
    return parallel_sum(pool, p.n_penalised, kVectorChunk, [&, p](std::size_t begin, std::size_t end) {
      double lane[4] = {};
      std::size_t j = begin;
      for (; j + 4 <= end; j += 4)
        for (std::size_t l = 0; l < 4; ++l) {
          const double bw = p.b(j + l) * w[j + l];
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
  });
}

void separable_add_curvature(ThreadPool& pool, const Separable& penalty, std::span<double> diagonal) {
  check(penalty, diagonal.size(), diagonal.size());
  if (without_ridge(penalty)) return;
  with_form(penalty, [&](const auto p) {
    parallel_for(pool, p.n_penalised, kVectorChunk, [&, p](std::size_t begin, std::size_t end) {
      for (std::size_t j = begin; j < end; ++j) diagonal[j] += p.b(j);
    });
  });
}

void separable_prox(ThreadPool& pool, const Separable& penalty, std::span<const double> z,
                    std::span<const double> steps, std::span<double> out) {
  check(penalty, z.size(), out.size());
  require(steps.size() == 1 || steps.size() == z.size(), "prox: one step, or one per weight");
  with_form(penalty, [&](const auto p) {
    parallel_for(pool, z.size(), kVectorChunk, [&, p](std::size_t begin, std::size_t end) {
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
  });
}

void separable_pseudo_gradient(ThreadPool& pool, const Separable& penalty, std::span<const double> w,
                               std::span<const double> smooth_gradient, std::span<double> out) {
  check(penalty, w.size(), smooth_gradient.size());
  check(penalty, w.size(), out.size());
  const auto loop = simd::loops().separable.least_subgradient;
  over_corners(pool, penalty, w.size(), [&, loop](const Corners& c, std::size_t begin, std::size_t n) {
    loop(w.data() + begin, smooth_gradient.data() + begin, c.right, c.left, out.data() + begin, n);
  });
}

double separable_violation(ThreadPool& pool, const Separable& penalty, std::span<const double> w,
                           std::span<const double> loss_gradient) {
  check(penalty, w.size(), loss_gradient.size());
  const auto& loops = simd::loops();
  std::vector<double> partial(chunk_count(w.size(), kVectorChunk));
  with_form(penalty, [&](const auto p) {
    parallel_for(pool, w.size(), kVectorChunk, [&, p](std::size_t begin, std::size_t end) {
      Corners corners;
      double smooth[kBlock], top = 0.0;
      for (std::size_t b = begin; b < end; b += kBlock) {
        const std::size_t n = std::min(kBlock, end - b);
        corners.read(p, b, n);
        for (std::size_t i = 0; i < n; ++i) smooth[i] = loss_gradient[b + i] + p.b(b + i) * w[b + i];
        loops.separable.least_subgradient(w.data() + b, smooth, corners.right, corners.left, smooth, n);
        top = larger(top, loops.max_abs(smooth, n));
        for (std::size_t i = 0; i < n; ++i) top = larger(top, corners.left[i] == kInfinity ? -w[b + i] : 0.0);
      }
      partial[begin / kVectorChunk] = top;
    });
  });
  double top = 0.0;
  for (double v : partial) top = larger(top, v);
  return top;
}

double separable_max_strength(ThreadPool& pool, const Separable& penalty, std::span<const double> gradient) {
  check(penalty, gradient.size(), gradient.size());
  std::vector<double> partial(chunk_count(penalty.n_penalised, kVectorChunk));
  with_form(penalty, [&](const auto p) {
    parallel_for(pool, p.n_penalised, kVectorChunk, [&, p](std::size_t begin, std::size_t end) {
      double top = 0.0;
      for (std::size_t j = begin; j < end; ++j) {
        const double g = p.constrained(j) ? -gradient[j] : std::fabs(gradient[j]), a = p.a(j);
        top = larger(top, !(g > 0.0) ? 0.0 : a > 0.0 ? g / a : kInfinity);
      }
      partial[begin / kVectorChunk] = top;
    });
  });
  double top = 0.0;
  for (double v : partial) top = larger(top, v);
  return top;
}

DualParts separable_dual(ThreadPool& pool, const Separable& penalty, std::span<const double> gradient, double scale) {
  check(penalty, gradient.size(), gradient.size());
  std::vector<DualParts> partial(chunk_count(gradient.size(), kVectorChunk));
  with_form(penalty, [&](const auto p) {
    parallel_for(pool, gradient.size(), kVectorChunk, [&, p](std::size_t begin, std::size_t end) {
      DualParts part;
      for (std::size_t j = begin; j < end; ++j) {
        const double slope = scale * gradient[j], a = p.a(j), b = p.b(j);
        const double g = p.constrained(j) ? std::max(-slope, 0.0) : std::fabs(slope), excess = std::max(g - a, 0.0);
        if (b > 0.0)
          part.ridge += excess * excess / (2.0 * b);
        else if (a > 0.0)
          part.ratio = larger(part.ratio, g / a);
        else
          part.free += g;
      }
      partial[begin / kVectorChunk] = part;
    });
  });
  DualParts sum;
  for (const DualParts& part : partial) {
    sum.ridge += part.ridge;
    sum.ratio = larger(sum.ratio, part.ratio);
    sum.free += part.free;
  }
  return sum;
}

void separable_align(ThreadPool& pool, const Separable& penalty, std::span<const double> w,
                     std::span<const double> pseudo, std::span<double> direction) {
  check(penalty, w.size(), pseudo.size());
  check(penalty, pseudo.size(), direction.size());
  const auto loop = simd::loops().separable.align;
  over_corners(pool, penalty, penalty.n_penalised, [&, loop](const Corners& c, std::size_t begin, std::size_t n) {
    loop(w.data() + begin, pseudo.data() + begin, c.left, direction.data() + begin, n);
  });
}

void separable_project(ThreadPool& pool, const Separable& penalty, std::span<const double> from,
                       std::span<const double> pseudo, std::span<double> w) {
  check(penalty, from.size(), pseudo.size());
  check(penalty, from.size(), w.size());
  const auto loop = simd::loops().separable.project;
  over_corners(pool, penalty, penalty.n_penalised, [&, loop](const Corners& c, std::size_t begin, std::size_t n) {
    loop(from.data() + begin, pseudo.data() + begin, c.left, w.data() + begin, n);
  });
}

void separable_hold(ThreadPool& pool, const Separable& penalty, std::span<const double> w, std::span<double> v) {
  check(penalty, w.size(), v.size());
  const auto loop = simd::loops().separable.hold;
  over_corners(pool, penalty, penalty.n_penalised, [&, loop](const Corners& c, std::size_t begin, std::size_t n) {
    loop(w.data() + begin, c.left, v.data() + begin, n);
  });
}

void separable_class_sums(ThreadPool& pool, const Separable& penalty, std::span<const double> w,
                          std::span<const double> v, bool squared, std::span<double> out) {
  check(penalty, w.size(), v.size());
  const std::size_t K = penalty.n_classes, stride = 2 * std::max<std::size_t>(penalty.class_l1.size(), 1);
  require(out.size() == 2 * K && 2 * K <= stride, "penalty: two sums per class are needed");
  const std::size_t chunk = std::max(kVectorChunk, 8 * stride);  // partial sums stay a fraction of the weights
  std::vector<double> partial(chunk_count(penalty.n_penalised, chunk) * stride);
  with_form(penalty, [&](const auto p) {
    parallel_for(pool, p.n_penalised, chunk, [&, p](std::size_t begin, std::size_t end) {
      double* sums = partial.data() + begin / chunk * stride;
      for (std::size_t j = begin; j < end; ++j) {
        const double sign = w[j] > 0.0 ? 1.0 : w[j] < 0.0 ? -1.0 : 0.0;
        const double first = p.a(j) * sign, second = p.b(j) * w[j];
        double* at = sums + 2 * p.class_of(j);
        at[0] += squared ? first * first * v[j] : first * v[j];
        at[1] += squared ? second * second * v[j] : second * v[j];
      }
    });
  });
  std::fill(out.begin(), out.end(), 0.0);
  for (std::size_t c = 0; c < partial.size(); c += stride)
    for (std::size_t k = 0; k < K; ++k) out[k] += partial[c + 2 * k], out[K + k] += partial[c + 2 * k + 1];
}

}  // namespace loglinear::linear
