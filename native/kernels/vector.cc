#include "kernels/vector.hh"

#include <algorithm>

#include "simd/loops.hh"
#include "util/views.hh"

namespace loglinear {

double dot(ThreadPool& pool, std::span<const double> a, std::span<const double> b) {
  require(a.size() == b.size(), "dot: vectors differ in length");
  return parallel_sum(pool, a.size(), kVectorChunk, [&](std::size_t begin, std::size_t end) {
    return simd::loops().dot(a.data() + begin, b.data() + begin, end - begin);
  });
}

double max_abs(ThreadPool& pool, std::span<const double> a) {
  std::vector<double> partial(chunk_count(a.size(), kVectorChunk));
  parallel_for(pool, a.size(), kVectorChunk, [&](std::size_t begin, std::size_t end) {
    partial[begin / kVectorChunk] = simd::loops().max_abs(a.data() + begin, end - begin);
  });
  double top = 0.0;
  for (double x : partial) top = x > top || x != x ? x : top;
  return top;
}

void multiply(ThreadPool& pool, std::span<const double> x, std::span<const double> y, std::span<double> out) {
  require(x.size() == y.size() && out.size() == x.size(), "multiply: vectors differ in length");
  parallel_for(pool, out.size(), kVectorChunk, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) out[i] = x[i] * y[i];
  });
}

void combine(ThreadPool& pool, double a, std::span<const double> x, double b, std::span<const double> y,
             std::span<double> out) {
  require(x.size() == y.size() && out.size() == x.size(), "combine: vectors differ in length");
  parallel_for(pool, out.size(), kVectorChunk, [&](std::size_t begin, std::size_t end) {
    simd::loops().combine(a, x.data() + begin, b, y.data() + begin, out.data() + begin, end - begin);
  });
}

namespace {
constexpr std::size_t kBlock = 2048;  // doubles: targets of a block stay in the first-level cache
}

void dots(ThreadPool& pool, std::span<const double* const> rows, std::span<const double* const> targets, std::size_t n,
          std::span<double> out) {
  const std::size_t R = rows.size(), T = targets.size();
  require(out.size() == R * T, "dots: output does not have n_rows x n_targets entries");
  std::vector<double> partial(chunk_count(n, kVectorChunk) * R * T);
  const auto dot_loop = simd::loops().dot;
  parallel_for(pool, n, kVectorChunk, [&](std::size_t begin, std::size_t end) {
    double* sums = partial.data() + begin / kVectorChunk * R * T;
    for (std::size_t b = begin; b < end; b += kBlock) {
      const std::size_t size = std::min(kBlock, end - b);
      for (std::size_t i = 0; i < R; ++i)
        for (std::size_t j = 0; j < T; ++j) sums[i * T + j] += dot_loop(rows[i] + b, targets[j] + b, size);
    }
  });
  std::fill(out.begin(), out.end(), 0.0);
  for (std::size_t c = 0; c < partial.size(); c += R * T)
    for (std::size_t i = 0; i < R * T; ++i) out[i] += partial[c + i];
}

void weighted_sum(ThreadPool& pool, std::span<const double> coefficients, std::span<const double* const> rows,
                  std::span<double> out) {
  require(coefficients.size() == rows.size(), "weighted sum: one coefficient per row is needed");
  parallel_for(pool, out.size(), kVectorChunk, [&](std::size_t begin, std::size_t end) {
    for (std::size_t b = begin; b < end; b += kBlock) {
      const std::size_t size = std::min(kBlock, end - b);
      double* o = out.data() + b;
      std::fill(o, o + size, 0.0);
      for (std::size_t r = 0; r < rows.size(); ++r) simd::loops().axpy(coefficients[r], rows[r] + b, o, size);
    }
  });
}

}  // namespace loglinear
