// Linear scores, log-loss, vector operations, penalties, FTRL and tying, against plain loops.
#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "check.hh"
#include "linear/ftrl.hh"
#include "linear/log_loss.hh"
#include "linear/margins.hh"
#include "linear/separable.hh"
#include "linear/tying.hh"
#include "linear/vector.hh"
#include "simd/loops.hh"
#include "util/thread_pool.hh"

namespace loglinear::tests::linear {

using namespace loglinear::linear;
using namespace loglinear;

namespace {

struct Matrix {
  std::vector<std::int64_t> indptr{0};
  std::vector<std::int32_t> indices;
  std::vector<double> values, dense;
  std::size_t rows, columns;

  Matrix(std::size_t n, std::size_t d, double density, unsigned seed) : dense(n * d), rows(n), columns(d) {
    std::mt19937 rng(seed);
    std::uniform_real_distribution<double> u(-1.0, 1.0);
    for (std::size_t r = 0; r < n; ++r) {
      for (std::size_t j = 0; j < d; ++j)
        if (std::fabs(u(rng)) < density) {
          indices.push_back(static_cast<std::int32_t>(j));
          values.push_back(u(rng));
          dense[r * d + j] = values.back();
        }
      indptr.push_back(static_cast<std::int64_t>(indices.size()));
    }
  }
  SparseMatrix<std::int32_t> view() const { return {indptr, indices, values, columns}; }
};

std::vector<double> noise(std::size_t n, unsigned seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<double> g;
  std::vector<double> out(n);
  for (auto& x : out) x = g(rng);
  return out;
}

bool near(double a, double b, double tolerance = 1e-12) {
  return std::fabs(a - b) <= tolerance * (1.0 + std::fabs(a) + std::fabs(b));
}

}  // namespace

TEST(extrapolated_steps_match_plain_loops) {
  for (std::size_t n : {0, 1, 9, 70001}) {
    const auto x = noise(n, 1), before = noise(n, 2), g = noise(n, 3), g_before = noise(n, 4), to = noise(n, 5),
               g_to = noise(n, 6);
    auto d = noise(n, 7);
    for (auto& v : d) v = 0.5 + v * v;
    ThreadPool one(1), four(4);
    for (bool metric : {false, true}) {
      Extrapolation from{x, before, g, g_before, 0.6, {}};
      if (metric) from.metric = d;
      std::vector<double> step(metric ? n : 0), z(n);
      forward_step(four, from, 3.0, step, z);
      bool same = true;
      StepTest sum{};
      for (std::size_t i = 0; i < n; ++i) {
        const double scale = metric ? d[i] : 1.0, y = x[i] + 0.6 * (x[i] - before[i]),
                     h = g[i] + 0.6 * (g[i] - g_before[i]);
        same = same && near(z[i], y - h / (3.0 * scale)) && (!metric || near(step[i], 1.0 / (3.0 * scale)));
        sum.change += (g_to[i] - h) * (to[i] - y);
        sum.length += scale * (to[i] - y) * (to[i] - y);
        sum.turn += scale * (y - to[i]) * (to[i] - x[i]);
      }
      CHECK(same);
      const StepTest a = test_step(one, from, to, g_to), b = test_step(four, from, to, g_to);
      CHECK(a.change == b.change && a.length == b.length && a.turn == b.turn);
      CHECK(near(a.change, sum.change, 1e-9) && near(a.length, sum.length, 1e-9) && near(a.turn, sum.turn, 1e-9));
    }
    const Extrapolation torn{x, before, g, {}, 0.6, {}};
    if (n > 0) CHECK_THROWS(test_step(one, torn, to, g_to), InvalidInput);
  }
}

TEST(linear_kernels_equal_plain_loops) {
  ThreadPool pool(3);
  const Matrix m(300, 70, 0.2, 3);
  const auto rows = m.view();
  std::vector<std::int64_t> tp(m.columns + 1);
  std::vector<std::int32_t> ti(m.indices.size());
  std::vector<double> tv(m.values.size());
  transpose(pool, rows, tp, ti, tv);
  const SparseMatrix<std::int32_t> columns(tp, ti, tv, m.rows);
  const std::vector<float> single(m.dense.begin(), m.dense.end());
  const std::vector<double> rounded(single.begin(), single.end());
  for (const char* simd : {"baseline", "avx2", "avx512"}) {
    if (!simd::select(simd)) continue;
    for (std::size_t K : {1, 2, 3, 7, 8, 9, 17, 31}) {
      const auto W = noise(m.columns * K, 4), b = noise(K, 5);
      std::vector<double> M(m.rows * K), D(m.rows * K), G(m.columns * K), H(m.columns * K);
      margins(pool, rows, W, b, K, M);
      dense_margins<double>(pool, m.dense, m.rows, m.columns, W, b, K, D);
      gradient(pool, columns, M, K, 1, G);
      dense_gradient<double>(pool, m.dense, m.rows, m.columns, M, K, 1, H);
      bool ok = true;
      for (std::size_t r = 0; r < m.rows; ++r)
        for (std::size_t k = 0; k < K; ++k) {
          double s = b[k];
          for (std::size_t j = 0; j < m.columns; ++j) s += m.dense[r * m.columns + j] * W[j * K + k];
          ok = ok && near(s, M[r * K + k]) && near(s, D[r * K + k]);
        }
      for (std::size_t j = 0; j < m.columns; ++j)
        for (std::size_t k = 0; k < K; ++k) {
          double s = 0.0;
          for (std::size_t r = 0; r < m.rows; ++r) s += m.dense[r * m.columns + j] * M[r * K + k];
          ok = ok && near(s, G[j * K + k]) && near(s, H[j * K + k]);
        }
      CHECK(ok);
      std::vector<double> D1(D.size()), H1(H.size());
      for (int power : {1, 2}) {  // entries in single precision are those doubles
        dense_margins<double>(pool, rounded, m.rows, m.columns, W, b, K, D);
        dense_margins<float>(pool, single, m.rows, m.columns, W, b, K, D1);
        dense_gradient<double>(pool, rounded, m.rows, m.columns, M, K, power, H);
        dense_gradient<float>(pool, single, m.rows, m.columns, M, K, power, H1);
        const auto same = [](double a, double b) { return near(a, b); };
        CHECK(std::ranges::equal(D, D1, same) && std::ranges::equal(H, H1, same));
      }
    }
  }
  simd::select("auto");
}

TEST(log_loss_is_shifted) {
  ThreadPool pool(2);
  std::vector<double> margins{1000.0, -1000.0, 0.0, -1000.0, 1000.0, 0.0};
  std::vector<std::int32_t> labels{0, 0};
  const double loss = log_loss(pool, margins, labels, {}, 3);
  CHECK(near(loss, 2000.0));
  CHECK(near(margins[3], -1.0) && near(margins[4], 1.0) && margins[0] == 0.0);
  std::vector<double> binary{800.0, -800.0};
  labels = {0, 0};
  CHECK(near(log_loss(pool, binary, labels, {}, 1), 800.0));
  std::vector<std::int32_t> bad{0, 3};
  CHECK_THROWS(check_labels(bad, 3), InvalidInput);
}

TEST(vector_kernels) {
  ThreadPool pool(2);
  const std::size_t n = 70001;
  const auto a = noise(n, 6), b = noise(n, 7);
  const std::vector<float> single(b.begin(), b.end());
  const Row rows[] = {{.wide = a.data()}, {.wide = b.data()}},
            mixed[] = {{.wide = a.data()}, {.single = single.data()}};
  std::vector<double> grid(4), out(n);
  dots(pool, rows, rows, n, grid);
  CHECK(near(grid[1], grid[2]) && near(grid[0], dot(pool, a, a)) && near(grid[3], dot(pool, b, b)));
  std::vector<double> c{2.0, -3.0};
  weighted_sum(pool, c, rows, out);
  bool ok = true;
  for (std::size_t i = 0; i < n; ++i) ok = ok && near(out[i], 2 * a[i] - 3 * b[i]);
  CHECK(ok);
  std::vector<double> narrow(4);
  dots(pool, mixed, mixed, n, narrow);
  for (int i = 0; i < 4; ++i) CHECK(std::fabs(narrow[i] - grid[i]) < 1e-6 * n);
  weighted_sum(pool, c, mixed, out);
  for (std::size_t i = 0; i < n; ++i) ok = ok && near(out[i], 2 * a[i] - 3 * static_cast<double>(single[i]));
  CHECK(ok);
  CHECK(near(dot_difference(pool, a, a, b), grid[0] - grid[1]));
  std::vector<float> less(n);
  scaled_difference<double, float>(pool, a, b, b, true, less);
  for (std::size_t i = 0; i < n; ++i) ok = ok && less[i] == static_cast<float>((a[i] - b[i]) / b[i]);
  CHECK(ok);
  CHECK_THROWS((scaled_difference<double, float>(pool, a, b, std::span(b).first(5), true, less)), InvalidInput);
  out[17] = NAN;
  CHECK(std::isnan(max_abs(pool, out)));
}

TEST(penalty_by_class_equals_scales) {
  ThreadPool pool(2);
  const std::size_t n = 70001;
  const std::vector<double> l1{0.5, 0.0, 2.0}, l2{0.0, 1.5, 0.25};
  const std::vector<std::uint8_t> signs{0, 0, 0};
  std::vector<std::uint16_t> classes(n);
  std::vector<double> w(n), v(n), a(n), b(n), first(n), second(n), sums(6), plain_sums(2);
  for (std::size_t j = 0; j < n; ++j) {
    classes[j] = j * 7 % 3;
    w[j] = j % 5 == 0 ? 0.0 : std::sin(static_cast<double>(j));
    v[j] = std::cos(static_cast<double>(j));
    a[j] = l1[classes[j]], b[j] = l2[classes[j]];
  }
  const ClassTables tables(pool, std::span<const std::uint16_t>(classes), l1, l2, signs);
  Separable plain, table;
  plain.l1 = plain.l2 = 1.0, plain.l1_scale = a, plain.l2_scale = b;
  plain.n_penalised = table.n_penalised = n - 1;
  table.classes16 = classes, table.class_l1 = tables.l1, table.class_l2 = tables.l2;
  table.class_nonnegative = tables.nonnegative, table.n_classes = 3;
  CHECK(separable_value(pool, plain, w) == separable_value(pool, table, w));
  separable_pseudo_gradient(pool, plain, w, v, first);
  separable_pseudo_gradient(pool, table, w, v, second);
  CHECK(first == second);
  separable_class_sums(pool, table, w, v, false, sums);
  separable_class_sums(pool, plain, w, v, false, plain_sums);
  CHECK(std::fabs(sums[0] + sums[1] + sums[2] - plain_sums[0]) < 1e-8);
  CHECK(std::fabs(sums[3] + sums[4] + sums[5] - plain_sums[1]) < 1e-8);
  CHECK_THROWS(separable_class_sums(pool, table, w, v, false, plain_sums), InvalidInput);
  classes[n / 2] = 3;
  CHECK_THROWS(ClassTables(pool, std::span<const std::uint16_t>(classes), l1, l2, signs), InvalidInput);
  table.n_penalised = n + 1;
  CHECK_THROWS(separable_value(pool, table, w), InvalidInput);
}

TEST(online_pass_learns) {
  const Matrix m(400, 5, 0.9, 8);
  const auto rows = m.view();
  std::vector<std::int32_t> labels(m.rows);
  for (std::size_t r = 0; r < m.rows; ++r) labels[r] = m.dense[r * 5] > 0;
  std::vector<double> z(6), n(6), w(6);
  Separable penalty;
  penalty.n_penalised = 5;
  const double first = online_pass(rows, labels, {}, 1, true, penalty, {}, z, n, w);
  double last = first;
  for (int pass = 0; pass < 5; ++pass) last = online_pass(rows, labels, {}, 1, true, penalty, {}, z, n, w);
  CHECK(last < 0.8 * first);
  CHECK(w[0] > 0.0);
  CHECK_THROWS(online_pass(rows, labels, {}, 1, false, penalty, {}, z, n, w), InvalidInput);
}

TEST(identical_columns_are_found) {
  ThreadPool pool(2);
  std::vector<std::int64_t> p{0, 2, 3, 5, 5, 5, 7};
  std::vector<std::int32_t> i{0, 3, 1, 0, 3, 0, 3}, groups(6);
  std::vector<double> v{1, 2, 1, 1, 2, 1, 3};
  const SparseMatrix<std::int32_t> columns(p, i, v, 4);
  CHECK(identical_columns(pool, columns, groups) == 4);
  CHECK((groups == std::vector<std::int32_t>{0, 1, 0, 2, 2, 3}));
}

}  // namespace loglinear::tests::linear
