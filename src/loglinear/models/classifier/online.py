"""Learning from a stream: the state of FTRL-Proximal (native/linear/ftrl.hh) between batches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np

from loglinear import _core
from loglinear.arrays import FloatArray
from loglinear.data.matrix import SparseRows
from loglinear.data.multiclass import MulticlassData
from loglinear.penalties import SeparablePenalty

RATE, OFFSET = 0.1, 1.0  # alpha and beta of McMahan et al. 2013


@dataclass
class OnlineLearner:
    """Weights and, per weight, the corrected gradient sum z and the squared gradient sum n."""

    weights: FloatArray
    z: FloatArray
    n: FloatArray

    @classmethod
    def start(cls, weights: FloatArray, penalty: SeparablePenalty) -> OnlineLearner:
        """Start from given weights: z is chosen such that its minimiser is ``weights``.

        w = -(z + a sign w) / (OFFSET / RATE + b)  for  n = 0, so  z = -(w (OFFSET / RATE + b) + a sign w).
        """
        curvature = np.full(weights.size, OFFSET / RATE)
        penalty.add_curvature_diagonal(weights, curvature)
        z = -curvature * weights
        inside = slice(0, weights.size - penalty.n_free)
        z[inside] -= penalty.l1 * np.sign(weights[inside])
        return cls(weights, z, np.zeros(weights.size))

    def learn(self, data: MulticlassData, penalty: SeparablePenalty, *, intercept: bool) -> float:
        """Make one pass over the examples, in order; return their loss, each scored before it is learnt."""
        rows = data.rows
        if not isinstance(rows, SparseRows):
            import scipy.sparse

            rows = SparseRows.from_scipy(scipy.sparse.csr_matrix(rows.X))
        if rows.indices.dtype != np.int32:
            if rows.n_columns >= 2**31:
                raise ValueError(
                    f"{rows.n_columns} features are more than online learning can number: hash or renumber them"
                )
            rows = SparseRows(rows.indptr, rows.indices.astype(np.int32), rows.values, rows.n_columns)
        K = 1 if data.n_classes <= 2 else data.n_classes
        return _core.online_pass(
            cast(_core.SparseMatrix32, rows.native), data.labels, data.sample_weight, K, intercept,
            penalty.native(self.weights.size), RATE, OFFSET, self.z, self.n, self.weights,
        )
