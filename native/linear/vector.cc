#include "linear/vector.hh"

#include <algorithm>

#include "simd/loops.hh"
#include "util/views.hh"

namespace loglinear::linear {

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

double dot_difference(ThreadPool& pool, std::span<const double> g, std::span<const double> x,
                      std::span<const double> y) {
  require(g.size() == x.size() && g.size() == y.size(), "dot: vectors differ in length");
  return parallel_sum(pool, g.size(), kVectorChunk, [&](std::size_t begin, std::size_t end) {
    double lane[8] = {}, sum = 0.0;
    std::size_t i = begin;
    for (; i + 8 <= end; i += 8)
      for (std::size_t l = 0; l < 8; ++l) lane[l] += g[i + l] * (x[i + l] - y[i + l]);
    for (; i < end; ++i) sum += g[i] * (x[i] - y[i]);
    for (double l : lane) sum += l;
    return sum;
  });
}

template <class Factor>
void multiply(ThreadPool& pool, std::span<const double> x, std::span<const Factor> y, std::span<double> out) {
  require(x.size() == y.size() && out.size() == x.size(), "multiply: vectors differ in length");
  parallel_for(pool, out.size(), kVectorChunk, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) out[i] = x[i] * static_cast<double>(y[i]);
  });
}

template <class Out>
void combine(ThreadPool& pool, double a, std::span<const double> x, double b, std::span<const double> y,
             std::span<Out> out) {
  require(x.size() == y.size() && out.size() == x.size(), "combine: vectors differ in length");
  parallel_for(pool, out.size(), kVectorChunk, [&](std::size_t begin, std::size_t end) {
    if constexpr (sizeof(Out) == sizeof(double))
      simd::loops().combine(a, x.data() + begin, b, y.data() + begin, out.data() + begin, end - begin);
    else if (b == 0.0)
      for (std::size_t i = begin; i < end; ++i) out[i] = static_cast<Out>(a * x[i]);
    else
      for (std::size_t i = begin; i < end; ++i) out[i] = static_cast<Out>(a * x[i] + b * y[i]);
  });
}

template <class Unit, class Out>
void scaled_difference(ThreadPool& pool, std::span<const double> x, std::span<const double> y,
                       std::span<const Unit> unit, bool divide, std::span<Out> out) {
  require(x.size() == y.size() && out.size() == x.size(), "difference: vectors differ in length");
  require(unit.empty() || unit.size() == x.size(), "difference: one unit per entry is needed");
  parallel_for(pool, out.size(), kVectorChunk, [&](std::size_t begin, std::size_t end) {
    if (unit.empty())
      for (std::size_t i = begin; i < end; ++i) out[i] = static_cast<Out>(x[i] - y[i]);
    else if (divide)
      for (std::size_t i = begin; i < end; ++i) out[i] = static_cast<Out>((x[i] - y[i]) / unit[i]);
    else
      for (std::size_t i = begin; i < end; ++i) out[i] = static_cast<Out>((x[i] - y[i]) * unit[i]);
  });
}

#define LOGLINEAR_FOR(T)                                                                                      \
  template void multiply(ThreadPool&, std::span<const double>, std::span<const T>, std::span<double>);        \
  template void combine(ThreadPool&, double, std::span<const double>, double, std::span<const double>,        \
                        std::span<T>);                                                                        \
  template void scaled_difference(ThreadPool&, std::span<const double>, std::span<const double>,              \
                                  std::span<const T>, bool, std::span<double>);                               \
  template void scaled_difference(ThreadPool&, std::span<const double>, std::span<const double>,              \
                                  std::span<const T>, bool, std::span<float>);
LOGLINEAR_FOR(double)
LOGLINEAR_FOR(float)
#undef LOGLINEAR_FOR

namespace {

void check(const Extrapolation& from) {
  const std::size_t n = from.x.size();
  require(from.before.size() == n && from.g.size() == n && from.g_before.size() == n,
          "extrapolation: vectors differ in length");
  require(from.metric.empty() || from.metric.size() == n, "extrapolation: the metric has one entry per weight");
}

template <bool kMetric>
StepTest test_range(const Extrapolation& from, const double* to, const double* g_to, std::size_t begin,
                    std::size_t end) {
  constexpr std::size_t kLanes = 8;  // sums in a fixed order that vector instructions can follow
  double change[kLanes] = {}, length[kLanes] = {}, turn[kLanes] = {};
  const double m = from.momentum;
  const auto add = [&](std::size_t i, std::size_t lane) {
    const double x = from.x[i], ahead = m * (x - from.before[i]);
    const double move = (to[i] - x) - ahead;
    const double bent = (g_to[i] - from.g[i]) - m * (from.g[i] - from.g_before[i]);
    const double scaled = kMetric ? from.metric[i] * move : move;
    change[lane] += bent * move;
    length[lane] += scaled * move;
    turn[lane] -= scaled * (to[i] - x);
  };
  std::size_t i = begin;
  for (; i + kLanes <= end; i += kLanes)
    for (std::size_t l = 0; l < kLanes; ++l) add(i + l, l);
  for (; i < end; ++i) add(i, 0);
  StepTest out{};
  for (std::size_t l = 0; l < kLanes; ++l)
    out.change += change[l], out.length += length[l], out.turn += turn[l];
  return out;
}

}  // namespace

void forward_step(ThreadPool& pool, const Extrapolation& from, double lipschitz, std::span<double> step,
                  std::span<double> z) {
  check(from);
  require(z.size() == from.x.size(), "forward step: vectors differ in length");
  require(step.size() == from.metric.size(), "forward step: steps are written where there is a metric, and only there");
  const double m = from.momentum, plain = 1.0 / lipschitz;
  const auto *x = from.x.data(), *before = from.before.data(), *g = from.g.data(), *g_before = from.g_before.data();
  parallel_for(pool, z.size(), kVectorChunk, [&](std::size_t begin, std::size_t end) {
    if (step.empty())
      for (std::size_t i = begin; i < end; ++i)
        z[i] = x[i] + m * (x[i] - before[i]) - plain * (g[i] + m * (g[i] - g_before[i]));
    else
      for (std::size_t i = begin; i < end; ++i) {
        step[i] = 1.0 / (lipschitz * from.metric[i]);
        z[i] = x[i] + m * (x[i] - before[i]) - step[i] * (g[i] + m * (g[i] - g_before[i]));
      }
  });
}

StepTest test_step(ThreadPool& pool, const Extrapolation& from, std::span<const double> to,
                   std::span<const double> g_to) {
  check(from);
  require(to.size() == from.x.size() && g_to.size() == to.size(), "step: vectors differ in length");
  std::vector<StepTest> partial(chunk_count(to.size(), kVectorChunk));
  parallel_for(pool, to.size(), kVectorChunk, [&](std::size_t begin, std::size_t end) {
    partial[begin / kVectorChunk] = from.metric.empty() ? test_range<false>(from, to.data(), g_to.data(), begin, end)
                                                        : test_range<true>(from, to.data(), g_to.data(), begin, end);
  });
  StepTest out{};
  for (const StepTest& p : partial) out.change += p.change, out.length += p.length, out.turn += p.turn;
  return out;
}

namespace {

constexpr std::size_t kBlock = 2048;  // doubles: targets of a block stay in the first-level cache

void check(std::span<const Row> rows) {
  for (const Row& row : rows) require(row.wide || row.single, "a vector is missing");
}

}  // namespace

void dots(ThreadPool& pool, std::span<const Row> rows, std::span<const Row> targets, std::size_t n,
          std::span<double> out) {
  const std::size_t R = rows.size(), T = targets.size();
  require(out.size() == R * T, "dots: output does not have n_rows x n_targets entries");
  if (n > 0) check(rows), check(targets);
  std::vector<double> partial(chunk_count(n, kVectorChunk) * R * T);
  const auto& loops = simd::loops();
  const bool narrow = std::any_of(targets.begin(), targets.end(), [](const Row& t) { return t.single != nullptr; });
  parallel_for(pool, n, kVectorChunk, [&](std::size_t begin, std::size_t end) {
    double* sums = partial.data() + begin / kVectorChunk * R * T;
    std::vector<double> widened(narrow ? T * kBlock : 0);
    std::vector<const double*> at(T);
    for (std::size_t b = begin; b < end; b += kBlock) {
      const std::size_t size = std::min(kBlock, end - b);
      for (std::size_t j = 0; j < T; ++j) {
        at[j] = targets[j].wide ? targets[j].wide + b : widened.data() + j * kBlock;
        if (!targets[j].wide) loops.single.widen(targets[j].single + b, widened.data() + j * kBlock, size);
      }
      for (std::size_t i = 0; i < R; ++i)
        for (std::size_t j = 0; j < T; ++j)
          sums[i * T + j] += rows[i].wide ? loops.dot(rows[i].wide + b, at[j], size)
                                          : loops.single.dot(rows[i].single + b, at[j], size);
    }
  });
  std::fill(out.begin(), out.end(), 0.0);
  for (std::size_t c = 0; c < partial.size(); c += R * T)
    for (std::size_t i = 0; i < R * T; ++i) out[i] += partial[c + i];
}

void weighted_sum(ThreadPool& pool, std::span<const double> coefficients, std::span<const Row> rows,
                  std::span<double> out) {
  require(coefficients.size() == rows.size(), "weighted sum: one coefficient per row is needed");
  if (!out.empty()) check(rows);
  const auto& loops = simd::loops();
  parallel_for(pool, out.size(), kVectorChunk, [&](std::size_t begin, std::size_t end) {
    for (std::size_t b = begin; b < end; b += kBlock) {
      const std::size_t size = std::min(kBlock, end - b);
      double* o = out.data() + b;
      std::fill(o, o + size, 0.0);
      for (std::size_t r = 0; r < rows.size(); ++r)
        if (rows[r].wide) loops.axpy(coefficients[r], rows[r].wide + b, o, size);
        else loops.single.axpy(coefficients[r], rows[r].single + b, o, size);
    }
  });
}

}  // namespace loglinear::linear
