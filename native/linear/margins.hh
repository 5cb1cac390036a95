// Linear scores of sparse or dense rows, and their gradients.
//
//   margins   M[r][k] = b[k] + sum_j X[r][j] W[j][k]           one pass over the rows
//   gradient  G[j][k] = sum_r X[r][j] R[r][k]                  one pass over the columns (the transposed matrix)
//
// The gradient walks columns so that each G[j] is written once, by one thread, in a fixed order: no partial sums, no
// atomics, the same bits on any number of threads. R (n_rows x K) is the array that is read at random; for text it is
// far smaller than W.
#pragma once
#include <cstdint>
#include <span>

#include "util/thread_pool.hh"
#include "util/views.hh"

namespace loglinear::linear {

template <class Index>
void margins(ThreadPool& pool, const SparseMatrix<Index>& rows, std::span<const double> weights,
             std::span<const double> bias, std::size_t K, std::span<double> out);

template <class Index>
void gradient(ThreadPool& pool, const SparseMatrix<Index>& columns, std::span<const double> residuals,
              std::size_t K, int power, std::span<double> out);

// Only weights that are not zero: those of feature j are weights[w] of class classes[w], w in [weight_ptr[j],
// weight_ptr[j + 1]).
template <class Index>
void sparse_margins(ThreadPool& pool, const SparseMatrix<Index>& rows, std::span<const std::int64_t> weight_ptr,
                    std::span<const std::int32_t> classes, std::span<const double> weights,
                    std::span<const double> bias, std::span<double> out);

// Weight (j, k) is shared[map[j K + k]]: tying happens inside the loops.
template <class Index>
void tied_margins(ThreadPool& pool, const SparseMatrix<Index>& rows, std::span<const double> shared,
                  std::span<const std::int32_t> map, std::span<const double> bias, std::size_t K,
                  std::span<double> out);
template <class Index>
void tied_gradient(ThreadPool& pool, const SparseMatrix<Index>& columns, std::span<const double> residuals,
                   std::span<const std::int32_t> map, std::size_t K, std::span<double> out);

// Entries may be in single precision; all sums are double.
template <class Entry>
void dense_margins(ThreadPool& pool, std::span<const Entry> X, std::size_t n_rows, std::size_t n_columns,
                   std::span<const double> weights, std::span<const double> bias, std::size_t K,
                   std::span<double> out);
template <class Entry>
void dense_gradient(ThreadPool& pool, std::span<const Entry> X, std::size_t n_rows, std::size_t n_columns,
                    std::span<const double> residuals, std::size_t K, int power, std::span<double> out);

// out[k] = sum_r R[r][k]: the gradient of the intercepts.
void column_sums(ThreadPool& pool, std::span<const double> R, std::size_t K, std::span<double> out);

// out[r][k] = M[r][k] + bias[k]; out may be M.
void add_bias(ThreadPool& pool, std::span<const double> M, std::span<const double> bias, std::span<double> out);

// transposed rows = columns of the input, in ascending order of the original row.
template <class Index>
void transpose(ThreadPool& pool, const SparseMatrix<Index>& rows, std::span<std::int64_t> indptr,
               std::span<std::int32_t> indices, std::span<double> values);

}  // namespace loglinear::linear
