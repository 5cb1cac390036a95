"""A straightforward BLasso with NumPy and SciPy: every step looks at all features (column sums by sparse products).

It is the plain peer of ``loglinear.stagewise``: the same algorithm (Gao, Suzuki and Yu 2006, figure 2), the same path.
With q_p = exp(-margin of pair p) a step of delta on weight k changes the loss by  sum_p q_p (exp(-delta x_pk) - 1).
"""

from __future__ import annotations

import numpy as np
import scipy.optimize
import scipy.sparse as sp

NOISE = 1e-12  # relative to the loss: smaller gains are rounding


class PlainBlasso:
    """A path of BLasso.

    ``differences`` [n_pairs, n_features] are features of the reference minus those of the candidate; ``margins``
    [n_pairs] are those of the base scores.
    """

    def __init__(self, differences: sp.csr_matrix, margins: np.ndarray, step: float) -> None:
        self.columns = sp.csc_matrix(differences)
        self.step, self.alpha = step, np.inf
        self.weights = np.zeros(self.columns.shape[1])
        self.q = np.exp(-margins)  # [n_pairs]
        self._up, self._down = (
            sp.csr_matrix(self.columns.copy().T)
            for _ in range(2)  # [n_features, n_pairs]
        )
        self._up.data, self._down.data = np.expm1(-step * self._up.data), np.expm1(step * self._down.data)

    def take(self) -> tuple[int, float]:
        """Take one step and return (feature, change); raise StopIteration if none lowers the loss."""
        up, down = self._up @ self.q, self._down @ self.q  # all features, both ways
        noise = NOISE * self.q.sum()
        back = self._backward(up, down, noise)
        if back is not None:
            return self._moved(*back)
        least = np.minimum(up, down)
        k = int(np.argmin(least))
        if not least[k] < -noise:
            raise StopIteration
        change = self._forward(k, self.step if up[k] <= down[k] else -self.step)
        self.alpha = min(self.alpha, -self._change(k, change) / abs(change))
        return self._moved(k, change)

    def _backward(self, up: np.ndarray, down: np.ndarray, noise: float) -> tuple[int, float] | None:
        """Return the cheapest step towards zero, or None if the lasso loss would not fall."""
        chosen = np.flatnonzero(self.weights)
        if chosen.size == 0:
            return None
        w = self.weights[chosen]
        length = np.minimum(self.step, np.abs(w))
        rise = np.where(w > 0, down[chosen], up[chosen]) / length
        for i in np.flatnonzero(length < self.step):  # shorter than the tabulated step
            rise[i] = self._change(chosen[i], -np.sign(w[i]) * length[i]) / length[i]
        i = int(np.argmin(rise))
        if (self.alpha - rise[i]) * length[i] > noise:
            return int(chosen[i]), float(-np.sign(w[i]) * length[i])
        return None

    def _forward(self, k: int, change: float) -> float:
        """Return the change, or the shorter one that leads to the optimum along weight k."""
        pairs, x = self._column(k)

        def slope(delta: float) -> float:
            return float(-(self.q[pairs] * x) @ np.exp(-delta * x))

        return float(scipy.optimize.brentq(slope, 0.0, change, xtol=1e-14)) if slope(change) * change > 0 else change

    def _column(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        part = slice(self.columns.indptr[k], self.columns.indptr[k + 1])
        return self.columns.indices[part], self.columns.data[part]

    def _change(self, k: int, delta: float) -> float:
        pairs, x = self._column(k)
        return float(self.q[pairs] @ np.expm1(-delta * x))

    def _moved(self, k: int, change: float) -> tuple[int, float]:
        pairs, x = self._column(k)
        self.q[pairs] *= np.exp(-change * x)
        self.weights[k] += change
        if abs(self.weights[k]) < 1e-15:
            self.weights[k] = 0.0
        return k, change
