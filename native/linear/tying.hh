// Features and weights that share one value.
//
// * identical columns of a sparse matrix can be tied without loss: with m copies of a column x and u = sqrt(m) w,
//   the column sqrt(m) x and weight u give the same scores and the same ridge penalty, so a solver walks the same path
//   in fewer dimensions;
// * clustered Newton (Mathur and Chakrabarti) ties weights of similar value: sort them, cut into contiguous blocks of
//   least squared error.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "util/thread_pool.hh"
#include "util/views.hh"

namespace loglinear::linear {

// groups[j] = number of the group of column j; columns of one group are equal to the bit. Groups are numbered in order
// of first occurrence. Returns the number of groups.
std::int64_t identical_columns(ThreadPool& pool, const SparseMatrix<std::int32_t>& columns,
                               std::span<std::int32_t> groups);

// X'[r][g] = scale[g] * sum over j in group g of X[r][j], as compressed rows with ascending indices.
struct TiedRows {
  std::vector<std::int64_t> indptr;
  std::vector<std::int32_t> indices;
  std::vector<double> values;
};
template <class Index>
TiedRows tie_columns(ThreadPool& pool, const SparseMatrix<Index>& rows,
                     std::span<const std::int32_t> groups, std::span<const double> scale);

// Cuts the sorted values into at most `n_clusters` contiguous blocks of small within-block squared error; map[i] is the
// block of value i (blocks ascend in value). Optional positive `importance` weighs the error. `split_signs` keeps
// negative, zero and positive values apart. Returns the number of blocks.
//
// The exact optimum costs O(n n_clusters). This takes the cuts of high-resolution quantisation (equal shares of
// density^(1/3), which on sorted data is a running sum of importance^(1/3) gap^(2/3)) and improves them by `sweeps`
// rounds of Lloyd's rule with prefix sums: O(n) and O(n_clusters log n) per sweep, within a few per cent of optimal.
std::int64_t cluster_values(ThreadPool& pool, std::span<const double> values, std::span<const double> importance,
                            std::int64_t n_clusters, int sweeps, bool split_signs, std::span<std::int32_t> map);

// out[map[i]] += values[i] and the reverse; scale (per group, may be empty) multiplies.
void sum_groups(ThreadPool& pool, std::span<const double> values, std::span<const std::int32_t> map,
                std::span<const double> scale, std::span<double> out);
void copy_groups(ThreadPool& pool, std::span<const double> shared, std::span<const std::int32_t> map,
                 std::span<const double> scale, std::span<double> out);
void check_groups(std::span<const std::int32_t> map, std::size_t n_groups);

}  // namespace loglinear::linear
