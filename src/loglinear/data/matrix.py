"""Feature matrices: sparse or dense rows with the same methods, so that losses need not know which.

Both offer  margins  M = X W + b  and  gradient  G = X^T R  (or with squared entries), into arrays of the caller.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from loglinear import _core
from loglinear._core import ThreadPool
from loglinear.arrays import FloatArray


class SparseRows:
    """Compressed sparse rows; the columns (for gradients) are made on first use. 32- or 64-bit indices."""

    def __init__(self, indptr: Any, indices: Any, values: Any, n_columns: int) -> None:
        self.indptr = np.ascontiguousarray(indptr, dtype=np.int64)
        indices = np.asarray(indices)
        if indices.dtype not in (np.dtype(np.int32), np.dtype(np.int64)):
            if indices.size and indices.dtype.kind not in "iu":
                raise ValueError(f"sparse indices must be integers, not {indices.dtype}")
            indices = indices.astype(np.int64)
        self.indices = np.ascontiguousarray(indices)
        self.values = np.ascontiguousarray(values, dtype=np.float64)
        self.n_columns = int(n_columns)
        native = _core.SparseMatrix32 if self.indices.dtype == np.int32 else _core.SparseMatrix64
        self.native = native(self.indptr, self.indices, self.values, self.n_columns)
        self._columns: SparseRows | None = None

    @classmethod
    def from_scipy(cls, matrix: Any) -> SparseRows:
        """Convert any scipy.sparse matrix or array; duplicates are summed and indices sorted, as scipy defines them."""
        csr = matrix.tocsr()
        if not csr.has_canonical_format:
            csr = csr.copy()
            csr.sum_duplicates()
        return cls(csr.indptr, csr.indices, csr.data, csr.shape[1])

    def __reduce__(self) -> tuple[Any, ...]:
        return SparseRows, (self.indptr, self.indices, self.values, self.n_columns)

    @property
    def n_rows(self) -> int:
        """Number of examples."""
        return self.indptr.size - 1

    @property
    def n_nonzeros(self) -> int:
        """Number of stored values."""
        return self.values.size

    def columns(self, pool: ThreadPool) -> SparseRows:
        """Return the transposed matrix."""
        if self._columns is None:
            indptr = np.empty(self.n_columns + 1, dtype=np.int64)
            indices = np.empty(self.n_nonzeros, dtype=np.int32)
            values = np.empty(self.n_nonzeros)
            self.native.transpose(pool, indptr, indices, values)
            self._columns = SparseRows(indptr, indices, values, self.n_rows)
            self._columns._columns = self
        return self._columns

    def margins(
        self, pool: ThreadPool, w: FloatArray, bias: FloatArray | None, n_classes: int, out: FloatArray
    ) -> None:
        """out [n_rows, K] = X w [n_columns, K] + bias [K]."""
        self.native.margins(pool, w, bias, n_classes, out)

    def sparse_margins(self, pool: ThreadPool, w: SparseRows, bias: FloatArray, out: FloatArray) -> None:
        """out [n_rows, K] = X w [n_columns, K] + bias [K], where few of the weights are not zero."""
        self.native.sparse_margins(pool, w.indptr, w.indices.astype(np.int32, copy=False), w.values, bias, out)

    def gradient(
        self, pool: ThreadPool, residuals: FloatArray, n_classes: int, out: FloatArray, power: int = 1
    ) -> None:
        """out [n_columns, K] = (X ** power)^T residuals [n_rows, K]."""
        self.columns(pool).native.gradient(pool, residuals, n_classes, power, out)

    def column_sizes(self, pool: ThreadPool) -> FloatArray:
        """Return the root mean square of the non-zero values of every column; 1 for a column of zeros."""
        columns = self.columns(pool)
        squares = np.empty(self.n_columns)
        columns.native.gradient(pool, np.ones(self.n_rows), 1, 2, squares)
        return _root_mean(squares, np.diff(columns.indptr))

    def take(self, rows: NDArray[np.intp]) -> SparseRows:
        """Return the rows with these numbers."""
        lengths = np.diff(self.indptr)[rows]
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        at = np.repeat(self.indptr[:-1][rows] - indptr[:-1], lengths) + np.arange(indptr[-1])
        return SparseRows(indptr, self.indices[at], self.values[at], self.n_columns)

    def take_columns(self, pool: ThreadPool, features: NDArray[np.intp]) -> SparseRows:
        """Return the columns with these numbers (ascending), renumbered from 0."""
        columns = self.columns(pool).take(features)
        return columns.columns(pool)

    def with_columns(self, n_columns: int) -> SparseRows:
        """Return the same rows with the given number of columns; values in columns past the last are left out."""
        if self.n_columns <= n_columns:
            return SparseRows(self.indptr, self.indices, self.values, n_columns)
        kept = self.indices < n_columns
        indptr = np.concatenate([[0], np.cumsum(kept)])[self.indptr]
        return SparseRows(indptr, self.indices[kept], self.values[kept], n_columns)

    def beside(self, other: SparseRows) -> SparseRows:
        """Return rows with the columns of both, those of ``other`` after these."""
        if other.n_rows != self.n_rows:
            raise ValueError(f"{other.n_rows} rows beside {self.n_rows}")
        n_columns = self.n_columns + other.n_columns
        size, places = self.n_nonzeros + other.n_nonzeros, []
        for rows, before in ((self, other.indptr[:-1]), (other, self.indptr[1:])):
            places.append(np.arange(rows.n_nonzeros) + np.repeat(before, np.diff(rows.indptr)))
        indices = np.empty(size, dtype=np.int32 if n_columns < 2**31 else np.int64)
        indices[places[0]], indices[places[1]] = self.indices, other.indices + indices.dtype.type(self.n_columns)
        values = np.empty(size)
        values[places[0]], values[places[1]] = self.values, other.values
        return SparseRows(self.indptr + other.indptr, indices, values, n_columns)

    def tie_columns(self, pool: ThreadPool, groups: NDArray[np.int32], scale: FloatArray) -> SparseRows:
        """Return the matrix whose column g is scale[g] * sum of the columns of group g."""
        indptr, indices, values = _core.tie_columns(self.native, pool, groups, scale)
        return SparseRows(indptr, indices, values, scale.size)

    def identical_columns(self, pool: ThreadPool) -> tuple[NDArray[np.int32], int]:
        """Return a group number per column, the same for bit-identical columns, and the number of groups."""
        groups = np.empty(self.n_columns, dtype=np.int32)
        columns = cast(_core.SparseMatrix32, self.columns(pool).native)  # row numbers always fit 32 bits
        n_groups = _core.identical_columns(pool, columns, groups)
        return groups, n_groups


class DenseRows:
    """A dense matrix, row-major, in double or in single precision: float32 is kept, without a copy."""

    def __init__(self, X: Any) -> None:
        single = getattr(X, "dtype", None) == np.float32
        self.X: NDArray[Any] = np.ascontiguousarray(X, dtype=np.float32 if single else np.float64)
        if self.X.ndim != 2:
            raise ValueError(f"a matrix is needed, not an array of {self.X.ndim} dimensions")
        if not np.isfinite(self.X.sum()) and not np.all(np.isfinite(self.X)):
            row, column = np.argwhere(~np.isfinite(self.X))[0]
            raise ValueError(f"row {row}, column {column} is NaN or infinity")
        self.n_rows, self.n_columns = self.X.shape

    def margins(
        self, pool: ThreadPool, w: FloatArray, bias: FloatArray | None, n_classes: int, out: FloatArray
    ) -> None:
        """out [n_rows, K] = X w [n_columns, K] + bias [K]."""
        _core.dense_margins(pool, self.X, self.n_columns, w, bias, n_classes, out)

    def sparse_margins(self, pool: ThreadPool, w: SparseRows, bias: FloatArray, out: FloatArray) -> None:
        """out [n_rows, K] = X w [n_columns, K] + bias [K], where few of the weights are not zero."""
        rows, columns = np.nonzero(self.X)
        indptr = np.searchsorted(rows, np.arange(self.n_rows + 1))
        same = SparseRows(indptr, columns.astype(np.int32), self.X[rows, columns], self.n_columns)
        same.sparse_margins(pool, w, bias, out)

    def gradient(
        self, pool: ThreadPool, residuals: FloatArray, n_classes: int, out: FloatArray, power: int = 1
    ) -> None:
        """out [n_columns, K] = (X ** power)^T residuals [n_rows, K]."""
        _core.dense_gradient(pool, self.X, self.n_columns, residuals, n_classes, power, out)

    @property
    def n_nonzeros(self) -> int:
        """Number of values, zeros included."""
        return self.X.size

    def column_sizes(self, pool: ThreadPool) -> FloatArray:
        """Return the root mean square of the non-zero values of every column; 1 for a column of zeros."""
        squares = np.empty(self.n_columns)
        self.gradient(pool, np.ones(self.n_rows), 1, squares, 2)
        return _root_mean(squares, np.count_nonzero(self.X, axis=0))

    def take(self, rows: NDArray[np.intp]) -> DenseRows:
        """Return the rows with these numbers."""
        return DenseRows(self.X[rows])

    def take_columns(self, pool: ThreadPool, features: NDArray[np.intp]) -> DenseRows:
        """Return the columns with these numbers."""
        return DenseRows(self.X[:, features])

    def tie_columns(self, pool: ThreadPool, groups: NDArray[np.int32], scale: FloatArray) -> DenseRows:
        """Return the matrix whose column g is scale[g] * sum of the columns of group g."""
        out = np.zeros((self.n_rows, scale.size))
        np.add.at(out.T, groups, self.X.T)
        return DenseRows(out * scale)


def _root_mean(squares: FloatArray, counts: NDArray[Any]) -> FloatArray:
    """Return sqrt(squares / counts), and 1 where the squares vanish."""
    return np.where(squares > 0, np.sqrt(squares / np.maximum(counts, 1)), 1.0)


def is_sparse(matrix: Any) -> bool:
    """Return whether it is a matrix or an array of scipy.sparse, which needs not be imported to tell."""
    return hasattr(matrix, "tocsr")


def as_dense(matrix: Any) -> Any:
    """Return a scipy sparse matrix as an array, an array as it is."""
    return matrix.toarray() if is_sparse(matrix) else matrix


Rows = SparseRows | DenseRows
