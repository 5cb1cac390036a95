"""Examples with one label each: a feature matrix, labels 0..K-1, optional sample weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from loglinear import _core
from loglinear.arrays import FloatArray, fingerprint
from loglinear.data.matrix import Rows, SparseRows
from loglinear.structure.tying import Tying
from loglinear.threads import pool


@dataclass(frozen=True, eq=False)
class MulticlassData:
    """``labels`` are numbers below ``n_classes``; two classes mean one weight vector (sigmoid)."""

    rows: Rows
    labels: NDArray[np.int32]  # [n_examples]
    n_classes: int
    sample_weight: FloatArray | None = None  # [n_examples], nonnegative

    def __post_init__(self) -> None:
        labels = np.ascontiguousarray(self.labels, dtype=np.int32)
        if labels.shape != (self.rows.n_rows,):
            raise ValueError(f"{labels.size} labels for {self.rows.n_rows} examples")
        _core.check_labels(labels, max(self.n_classes, 1))
        object.__setattr__(self, "labels", labels)
        if self.sample_weight is not None:
            weight = np.ascontiguousarray(self.sample_weight, dtype=np.float64)
            if weight.shape != labels.shape:
                raise ValueError(f"{weight.size} sample weights for {labels.size} examples")
            if not np.all(np.isfinite(weight)) or np.any(weight < 0):
                raise ValueError("sample weights must be finite and not negative")
            object.__setattr__(self, "sample_weight", weight)

    @property
    def n_examples(self) -> int:
        """Number of examples."""
        return self.rows.n_rows

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.rows.n_columns

    def fingerprint(self) -> str:
        """Return a short hash of features, labels and sample weights, which identifies the examples."""
        rows = self.rows
        matrix = (rows.indptr, rows.indices, rows.values) if isinstance(rows, SparseRows) else (rows.X,)
        return fingerprint(*matrix, self.labels, self.sample_weight)

    def take(self, rows: NDArray[np.intp]) -> MulticlassData:
        """Return the examples with these numbers."""
        weight = None if self.sample_weight is None else self.sample_weight[rows]
        return MulticlassData(self.rows.take(rows), self.labels[rows], self.n_classes, weight)

    def merge_identical_features(self, n_threads: int | None = None) -> tuple[MulticlassData, Tying] | None:
        """Return the problem with equal columns merged, and the tying that undoes it; None if none are equal.

        Exact for every separable penalty that treats the merged features alike: by symmetry and convexity equal
        columns have equal weights at an optimum. Text is full of them (words and pairs that occur in one document).
        """
        if not isinstance(self.rows, SparseRows):
            return None
        threads = pool(n_threads)
        groups, n_groups = self.rows.identical_columns(threads)
        if n_groups > 0.9 * self.n_features:
            return None
        tying = Tying(groups, n_groups, n_threads)
        rows = self.rows.tie_columns(threads, tying.groups, tying.scale)
        return MulticlassData(rows, self.labels, self.n_classes, self.sample_weight), tying
