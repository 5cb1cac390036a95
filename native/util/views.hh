// Views of caller-owned arrays. A SparseMatrix is checked once, when it is made; kernels then trust it.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "util/errors.hh"

namespace loglinear {

// Compressed sparse rows. The transposed matrix is the same type: its rows are the columns of the original.
template <class Index>
struct SparseMatrix {
  std::span<const std::int64_t> indptr;  // [n_rows + 1]
  std::span<const Index> indices;        // [n_nonzeros], each in [0, n_columns)
  std::span<const double> values;        // [n_nonzeros], finite
  std::size_t n_columns = 0;
  std::vector<std::size_t> cuts;  // row numbers that cut the work into chunks of similar size, whatever the threads

  std::size_t n_rows() const { return indptr.size() - 1; }
  std::size_t n_nonzeros() const { return indices.size(); }

  // Checks everything a kernel relies on and cuts the rows; throws InvalidInput with the row at fault.
  SparseMatrix(std::span<const std::int64_t> row_pointers, std::span<const Index> column_indices,
               std::span<const double> entries, std::size_t columns)
      : indptr(row_pointers), indices(column_indices), values(entries), n_columns(columns) {
    if (indptr.empty())
      throw InvalidInput("sparse matrix: indptr is empty; it needs one entry more than there are rows");
    if (indices.size() != values.size()) throw InvalidInput("sparse matrix: indices and values differ in length");
    if (indptr.front() != 0 || indptr.back() != static_cast<std::int64_t>(indices.size()))
      throw InvalidInput("sparse matrix: indptr must start at 0 and end at the number of stored values");
    for (std::size_t r = 0; r < n_rows(); ++r) {
      if (indptr[r + 1] < indptr[r] || indptr[r + 1] > indptr.back())
        throw InvalidInput("sparse matrix: indptr decreases at row " + std::to_string(r));
    }
    for (std::size_t r = 0; r < n_rows(); ++r)
      for (std::int64_t p = indptr[r]; p < indptr[r + 1]; ++p) {
        if (indices[p] < 0 || static_cast<std::uint64_t>(indices[p]) >= n_columns)
          throw InvalidInput("sparse matrix: row " + std::to_string(r) + " has column index " +
                             std::to_string(indices[p]) + ", outside [0, " + std::to_string(n_columns) + ")");
        if (!std::isfinite(values[p]))
          throw InvalidInput("sparse matrix: row " + std::to_string(r) + ", column " + std::to_string(indices[p]) +
                             " is NaN or infinity");
      }
    cut();
  }

 private:
  void cut() {
    constexpr std::int64_t kWork = 1 << 14;  // non-zeros plus rows in a chunk
    cuts.push_back(0);
    std::int64_t work = 0;
    for (std::size_t r = 0; r < n_rows(); ++r) {
      work += indptr[r + 1] - indptr[r] + 1;
      if (work >= kWork) cuts.push_back(r + 1), work = 0;
    }
    if (cuts.back() != n_rows()) cuts.push_back(n_rows());
  }
};

inline void require(bool condition, const char* message) {
  if (!condition) throw InvalidInput(message);
}

}  // namespace loglinear
