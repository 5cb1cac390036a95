#include "linear/margins.hh"

#include <algorithm>
#include <limits>

#include "simd/loops.hh"

namespace loglinear::linear {

namespace {

void check_linear(std::size_t rows, std::size_t columns, std::size_t weights, std::size_t bias, std::size_t K,
                  std::size_t out) {
  require(K >= 1, "the number of classes must be at least 1");
  require(weights == columns * K, "weights do not have n_features x n_classes entries");
  require(bias == 0 || bias == K, "the intercept does not have n_classes entries");
  require(out == rows * K, "the output does not have n_rows x n_classes entries");
}

const double* data_or_null(std::span<const double> s) { return s.empty() ? nullptr : s.data(); }

// Sums `n_parts` equal pieces of `partial` into out, in order.
void add_partials(ThreadPool& pool, const std::vector<double>& partial, std::size_t n_parts, std::span<double> out) {
  parallel_for(pool, out.size(), kVectorChunk, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      double sum = 0.0;
      for (std::size_t part = 0; part < n_parts; ++part) sum += partial[part * out.size() + i];
      out[i] = sum;
    }
  });
}

}  // namespace

template <class Index>
void margins(ThreadPool& pool, const SparseMatrix<Index>& rows, std::span<const double> weights,
             std::span<const double> bias, std::size_t K, std::span<double> out) {
  check_linear(rows.n_rows(), rows.n_columns, weights.size(), bias.size(), K, out.size());
  const auto loop = simd::loops().sparse<Index>().margins;
  pool.run(rows.cuts.size() - 1, [&](std::size_t c) {
    loop(rows.indptr.data(), rows.indices.data(), rows.values.data(), rows.cuts[c], rows.cuts[c + 1], weights.data(),
         data_or_null(bias), K, out.data());
  });
}

template <class Index>
void sparse_margins(ThreadPool& pool, const SparseMatrix<Index>& rows, std::span<const std::int64_t> weight_ptr,
                    std::span<const std::int32_t> classes, std::span<const double> weights,
                    std::span<const double> bias, std::span<double> out) {
  const std::size_t K = bias.size();
  const SparseMatrix<std::int32_t> by_feature(weight_ptr, classes, weights, K);  // checks all of them
  require(by_feature.n_rows() == rows.n_columns, "weights are not those of n_features features");
  require(out.size() == rows.n_rows() * K, "the output does not have n_rows x n_classes entries");
  pool.run(rows.cuts.size() - 1, [&](std::size_t c) {
    for (std::size_t r = rows.cuts[c]; r < rows.cuts[c + 1]; ++r) {
      double* scores = out.data() + r * K;
      std::copy(bias.begin(), bias.end(), scores);
      for (std::int64_t i = rows.indptr[r]; i < rows.indptr[r + 1]; ++i) {
        const std::size_t j = static_cast<std::size_t>(rows.indices[i]);
        for (std::int64_t w = weight_ptr[j]; w < weight_ptr[j + 1]; ++w)
          scores[classes[w]] += rows.values[i] * weights[w];
      }
    }
  });
}

template <class Index>
void gradient(ThreadPool& pool, const SparseMatrix<Index>& columns, std::span<const double> residuals, std::size_t K,
              int power, std::span<double> out) {
  check_linear(columns.n_rows(), columns.n_columns, residuals.size(), 0, K, out.size());
  const auto loop = simd::loops().sparse<Index>().gradient;
  pool.run(columns.cuts.size() - 1, [&](std::size_t c) {
    loop(columns.indptr.data(), columns.indices.data(), columns.values.data(), columns.cuts[c], columns.cuts[c + 1],
         residuals.data(), K, power, out.data());
  });
}

template <class Index>
void tied_margins(ThreadPool& pool, const SparseMatrix<Index>& rows, std::span<const double> shared,
                  std::span<const std::int32_t> map, std::span<const double> bias, std::size_t K,
                  std::span<double> out) {
  check_linear(rows.n_rows(), rows.n_columns, map.size(), bias.size(), K, out.size());
  const auto loop = simd::loops().sparse<Index>().tied_margins;
  pool.run(rows.cuts.size() - 1, [&](std::size_t c) {
    loop(rows.indptr.data(), rows.indices.data(), rows.values.data(), rows.cuts[c], rows.cuts[c + 1], shared.data(),
         map.data(), data_or_null(bias), K, out.data());
  });
}

template <class Index>
void tied_gradient(ThreadPool& pool, const SparseMatrix<Index>& columns, std::span<const double> residuals,
                   std::span<const std::int32_t> map, std::size_t K, std::span<double> out) {
  check_linear(columns.n_rows(), columns.n_columns, residuals.size(), 0, K, map.size());
  const auto loop = simd::loops().sparse<Index>().tied_gradient;
  const std::size_t n_parts = static_cast<std::size_t>(pool.size()), n_cuts = columns.cuts.size() - 1;
  std::vector<double> partial(n_parts * out.size());
  pool.run(n_parts, [&](std::size_t part) {
    const std::size_t begin = n_cuts * part / n_parts, end = n_cuts * (part + 1) / n_parts;
    loop(columns.indptr.data(), columns.indices.data(), columns.values.data(), columns.cuts[begin], columns.cuts[end],
         residuals.data(), map.data(), K, partial.data() + part * out.size());
  });
  add_partials(pool, partial, n_parts, out);
}

template <class Entry>
void dense_margins(ThreadPool& pool, std::span<const Entry> X, std::size_t n_rows, std::size_t n_columns,
                   std::span<const double> weights, std::span<const double> bias, std::size_t K,
                   std::span<double> out) {
  require(X.size() == n_rows * n_columns, "the dense matrix does not have n_rows x n_features entries");
  check_linear(n_rows, n_columns, weights.size(), bias.size(), K, out.size());
  const std::size_t size = std::max<std::size_t>(4, (1 << 15) / (n_columns + 1) & ~std::size_t{3});
  parallel_for(pool, n_rows, size, [&](std::size_t begin, std::size_t end) {
    simd::loops().dense_of<Entry>().margins(X.data(), n_columns, begin, end, weights.data(), data_or_null(bias), K,
                                            out.data());
  });
}

template <class Entry>
void dense_gradient(ThreadPool& pool, std::span<const Entry> X, std::size_t n_rows, std::size_t n_columns,
                    std::span<const double> residuals, std::size_t K, int power, std::span<double> out) {
  require(X.size() == n_rows * n_columns, "the dense matrix does not have n_rows x n_features entries");
  check_linear(n_rows, n_columns, out.size(), 0, K, residuals.size());
  const std::size_t n_parts = static_cast<std::size_t>(pool.size());
  std::vector<double> partial(n_parts * out.size());
  pool.run(n_parts, [&](std::size_t part) {
    simd::loops().dense_of<Entry>().gradient(X.data(), n_columns, n_rows * part / n_parts,
                                             n_rows * (part + 1) / n_parts, residuals.data(), K, power,
                                             partial.data() + part * out.size());
  });
  add_partials(pool, partial, n_parts, out);
}

void column_sums(ThreadPool& pool, std::span<const double> R, std::size_t K, std::span<double> out) {
  require(K >= 1 && out.size() == K && R.size() % K == 0, "column sums: shapes do not agree");
  const std::size_t n = R.size() / K, size = 4096;
  std::vector<double> partial(chunk_count(n, size) * K);
  parallel_for(pool, n, size, [&](std::size_t begin, std::size_t end) {
    double* sum = partial.data() + begin / size * K;
    for (std::size_t r = begin; r < end; ++r)
      for (std::size_t k = 0; k < K; ++k) sum[k] += R[r * K + k];
  });
  for (std::size_t k = 0; k < K; ++k) {
    out[k] = 0.0;
    for (std::size_t c = 0; c < partial.size() / K; ++c) out[k] += partial[c * K + k];
  }
}

void add_bias(ThreadPool& pool, std::span<const double> M, std::span<const double> bias, std::span<double> out) {
  const std::size_t K = bias.size();
  require(K >= 1 && M.size() % K == 0 && out.size() == M.size(), "add bias: shapes do not agree");
  parallel_for(pool, M.size() / K, std::max<std::size_t>(1, kVectorChunk / K), [&](std::size_t begin, std::size_t end) {
    for (std::size_t r = begin; r < end; ++r)
      for (std::size_t k = 0; k < K; ++k) out[r * K + k] = M[r * K + k] + bias[k];
  });
}

template <class Index>
void transpose(ThreadPool& pool, const SparseMatrix<Index>& rows, std::span<std::int64_t> indptr,
               std::span<std::int32_t> indices, std::span<double> values) {
  require(indptr.size() == rows.n_columns + 1, "transpose: indptr does not have n_columns + 1 entries");
  require(indices.size() == rows.n_nonzeros() && values.size() == rows.n_nonzeros(),
          "transpose: output does not have n_nonzeros entries");
  require(rows.n_rows() <= static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()),
          "more than 2^31 - 1 examples: split the data");
  std::fill(indptr.begin(), indptr.end(), 0);
  for (Index j : rows.indices) ++indptr[static_cast<std::size_t>(j) + 1];
  for (std::size_t j = 0; j < rows.n_columns; ++j) indptr[j + 1] += indptr[j];
  // Each part owns a range of columns of equal weight and scans all indices: reads are sequential, writes are its own.
  const std::size_t n_parts = static_cast<std::size_t>(pool.size());
  std::vector<std::size_t> cut(n_parts + 1, rows.n_columns);
  for (std::size_t part = 0; part < n_parts; ++part) {
    const auto target = static_cast<std::int64_t>(rows.n_nonzeros() * part / n_parts);
    cut[part] = static_cast<std::size_t>(std::lower_bound(indptr.begin(), indptr.end() - 1, target) - indptr.begin());
  }
  cut[0] = 0;
  pool.run(n_parts, [&](std::size_t part) {
    const auto low = static_cast<Index>(cut[part]), high = static_cast<Index>(cut[part + 1]);
    if (low >= high) return;
    std::vector<std::int64_t> next(indptr.begin() + low, indptr.begin() + high);
    for (std::size_t r = 0; r < rows.n_rows(); ++r)
      for (std::int64_t p = rows.indptr[r]; p < rows.indptr[r + 1]; ++p) {
        const Index j = rows.indices[p];
        if (j < low || j >= high) continue;
        const std::int64_t q = next[static_cast<std::size_t>(j - low)]++;
        indices[q] = static_cast<std::int32_t>(r);
        values[q] = rows.values[p];
      }
  });
}

#define LOGLINEAR_INSTANTIATE(Index)                                                                                  \
  template void margins(ThreadPool&, const SparseMatrix<Index>&, std::span<const double>, std::span<const double>,   \
                        std::size_t, std::span<double>);                                                             \
  template void sparse_margins(ThreadPool&, const SparseMatrix<Index>&, std::span<const std::int64_t>,               \
                               std::span<const std::int32_t>, std::span<const double>, std::span<const double>,      \
                               std::span<double>);                                                                   \
  template void gradient(ThreadPool&, const SparseMatrix<Index>&, std::span<const double>, std::size_t, int,         \
                         std::span<double>);                                                                         \
  template void tied_margins(ThreadPool&, const SparseMatrix<Index>&, std::span<const double>,                       \
                             std::span<const std::int32_t>, std::span<const double>, std::size_t, std::span<double>);\
  template void tied_gradient(ThreadPool&, const SparseMatrix<Index>&, std::span<const double>,                      \
                              std::span<const std::int32_t>, std::size_t, std::span<double>);                        \
  template void transpose(ThreadPool&, const SparseMatrix<Index>&, std::span<std::int64_t>,                          \
                          std::span<std::int32_t>, std::span<double>);
LOGLINEAR_INSTANTIATE(std::int32_t)
LOGLINEAR_INSTANTIATE(std::int64_t)

#define LOGLINEAR_INSTANTIATE_DENSE(Entry)                                                                            \
  template void dense_margins(ThreadPool&, std::span<const Entry>, std::size_t, std::size_t,                         \
                              std::span<const double>, std::span<const double>, std::size_t, std::span<double>);     \
  template void dense_gradient(ThreadPool&, std::span<const Entry>, std::size_t, std::size_t,                        \
                               std::span<const double>, std::size_t, int, std::span<double>);
LOGLINEAR_INSTANTIATE_DENSE(double)
LOGLINEAR_INSTANTIATE_DENSE(float)

}  // namespace loglinear::linear
