"""The loss of M-estimation: a log-linear correction of a base model q0 without any inference.

    l(w) = 1/n sum_i exp(-w.f(x_i, y_i))  +  w.E_q0[f],         p_w(x, y) ∝ q0(x, y) exp(w.f(x, y))

(Smith, Vail and Lafferty, "Computationally Efficient M-Estimation of Log-Linear Structure Models", equations 2 and 3,
after Jeon and Lin 2006). The counts f(x_i, y_i) and the expectations are constants: one pass over the counts is all an
evaluation costs. The gradient is

    dl/dw_j = -1/n sum_i exp(-w.f(x_i, y_i)) f_j(x_i, y_i)  +  E_q0[f_j];

equation 13 prints it without the 1/n, which finite differences of equation 3 refute. The regulariser of equation 14,
|w|^2 / (2c), is an l2 penalty of strength 1/c. The Hessian F' diag(exp(-m)/n) F makes Newton's method possible (end of
section 4.2).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from loglinear import _core
from loglinear.arrays import FloatArray
from loglinear.data.matrix import SparseRows
from loglinear.structure.tying import Tying
from loglinear.threads import pool

_LARGEST = 690.0  # exponents are cut here in gradients: e^690 = 1e299, times any count, stays finite


class MEstimationLoss:
    """M-estimation loss of feature counts [n_sequences, n_weights].

    Powers: Curvature, Spread, Stochastic, Restrict, Tied.
    """

    floor = -np.inf  # it falls without limit along weights whose expectation has no counterpart in the counts

    def __init__(
        self,
        counts: SparseRows,
        expectations: FloatArray,
        n_threads: int | None = None,
        *,
        sequence_weight: float | None = None,
    ) -> None:
        self.counts = counts
        self.expectations = np.ascontiguousarray(expectations, dtype=np.float64)
        if self.expectations.shape != (counts.n_columns,):
            raise ValueError(f"{self.expectations.size} expectations for {counts.n_columns} features")
        if not np.all(np.isfinite(self.expectations)):
            raise ValueError("expectations must be finite: the base model may be improper")
        if counts.n_rows == 0:
            raise ValueError("M-estimation needs at least one sequence")
        self.n_threads = n_threads
        self.n_weights = counts.n_columns
        self.sequence_weight = 1.0 / counts.n_rows if sequence_weight is None else sequence_weight
        self._margins = np.empty(counts.n_rows)

    def margins(self, w: FloatArray, out: FloatArray) -> None:
        """Write w.f(x_i, y_i) of every sequence to ``out`` [n_sequences]."""
        if w.size != self.n_weights:
            raise ValueError(f"{w.size} weights for a loss of {self.n_weights}")
        self.counts.margins(pool(self.n_threads), w, None, 1, out)

    def _exponentials(self, w: FloatArray) -> tuple[float, FloatArray]:
        """Return the sum of the weighted exp(-m), and the exponentials themselves, cut where they would overflow."""
        self.margins(w, self._margins)
        exponents = np.negative(self._margins, out=self._margins)
        overflows = exponents.size > 0 and not float(exponents.max()) <= _LARGEST
        np.minimum(exponents, _LARGEST, out=exponents)
        np.exp(exponents, out=exponents)
        exponents *= self.sequence_weight
        # Where a term is cut the value is infinite, so that a line search backs off; the gradient stays a number.
        return (np.inf if overflows else float(exponents.sum())), exponents

    # Loss
    def value_and_gradient(self, w: FloatArray, out: FloatArray) -> float:
        """Return the loss and write its gradient to ``out``; the loss is infinite where an exponential overflows."""
        threads = pool(self.n_threads)
        value, exponentials = self._exponentials(w)
        self.counts.gradient(threads, exponentials, 1, out)
        _core.combine(threads, 1.0, self.expectations, -1.0, out, out)
        return value + _core.dot(threads, w, self.expectations)

    # Curvature
    def hessian(self, w: FloatArray) -> MEstimationHessian:
        """Return the Hessian F' diag(exp(-m)/n) F at w."""
        return MEstimationHessian(self, self._exponentials(w)[1].copy())

    # Spread
    def spread(self, step: FloatArray) -> float:
        """Return the largest change of an exponent."""
        margins = np.empty_like(self._margins)
        self.margins(step, margins)
        return float(np.abs(margins).max(initial=0.0))

    # Stochastic
    def partition(self, n_parts: int, rng: np.random.Generator) -> Sequence[MEstimationLoss]:
        """Return random parts of near-equal size, each with its share of the expectations."""
        n = self.counts.n_rows
        parts = np.array_split(rng.permutation(n), min(n_parts, n))
        return [self._like(self.counts.take(np.sort(p)), self.expectations * (p.size / n)) for p in parts]

    # Restrict
    def work(self) -> float:
        """Return the number of values, twice, and an exponential, as dear as ten of them, per sequence."""
        return 2.0 * self.counts.n_nonzeros + 10.0 * self.counts.n_rows

    def restrict(self, active: NDArray[np.bool_]) -> tuple[MEstimationLoss, NDArray[np.intp]]:
        """Return the loss of the active weights alone, and their numbers."""
        kept = np.flatnonzero(active)
        return self._like(self.counts.take_columns(pool(self.n_threads), kept), self.expectations[kept]), kept

    # Tied
    def tied(self, tying: Tying) -> MEstimationLoss:
        """Return the loss of shared weights; columns are summed once, so its data are smaller too."""
        counts = self.counts.tie_columns(pool(self.n_threads), tying.groups, tying.scale)
        return self._like(counts, tying.down(self.expectations))

    def _like(self, counts: SparseRows, expectations: FloatArray) -> MEstimationLoss:
        return MEstimationLoss(counts, expectations, self.n_threads, sequence_weight=self.sequence_weight)


class MEstimationHessian:
    """Second derivatives of an MEstimationLoss at one point."""

    def __init__(self, loss: MEstimationLoss, exponentials: FloatArray) -> None:
        self.loss, self.exponentials = loss, exponentials
        self._work = np.empty_like(exponentials)

    def product(self, v: FloatArray, out: FloatArray) -> None:
        """Write F' diag(exp(-m)/n) F v to ``out``."""
        loss = self.loss
        loss.margins(v, self._work)
        self._work *= self.exponentials
        loss.counts.gradient(pool(loss.n_threads), self._work, 1, out)

    def diagonal(self, out: FloatArray) -> None:
        """Write the diagonal 1/n sum_i exp(-m_i) f_j(x_i, y_i)^2 to ``out``."""
        self.loss.counts.gradient(pool(self.loss.n_threads), self.exponentials, 1, out, power=2)


def rank_features(loss: MEstimationLoss, weights: FloatArray | None = None) -> NDArray[np.intp]:
    """Return features from the most to the least useful, to choose those of a CRF, which trains slower (section 6).

    They are ranked by the size of their M-estimated ``weights``; without weights by that of the gradient at zero, the
    difference between their mean count in the training data and the base model's expectation. Ties keep their order.
    """
    if weights is None:
        weights = np.empty(loss.n_weights)
        loss.value_and_gradient(np.zeros(loss.n_weights), weights)
    elif weights.shape != (loss.n_weights,):
        raise ValueError(f"{weights.size} weights for a loss of {loss.n_weights}")
    return np.argsort(-np.abs(weights), kind="stable")
