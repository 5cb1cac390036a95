"""The ridge-penalised linear model in the coordinates of its examples.

With a uniform ridge every gradient, and so every iterate from zero, lies in the span of the rows of X (the representer
theorem): W = X^T A with A one number per example and class. Where there are far fewer examples than features (text:
5,000 documents, 200,000 words and word pairs) the vector operations of a quasi-Newton method, which dominate its time
on W, all but vanish on A.

A vector is kept as the pair (A, M = X W), next to the intercepts:  [ A | M | b ].  Sums are entrywise, and

    <W1, W2> = <A1, M2>,     gradient = X^T (R + strength A):  A_g = R + strength A,  M_g = X (X^T A_g)

with R the residuals of the loss at margins M + b. One evaluation is one pass over columns and one over rows, as on W.
The iterates are those of the same solver on W, in exact arithmetic: only the inner product is written differently.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loglinear import _core
from loglinear.arrays import FloatArray
from loglinear.losses.multinomial import MultinomialLoss
from loglinear.optimise.objective import Objective
from loglinear.penalties.l2 import L2
from loglinear.protocols import Loss, Penalty


def applies(loss: Loss, penalty: Penalty) -> bool:
    """Return whether the problem can be written in these coordinates and is smaller in them."""
    if not (isinstance(loss, MultinomialLoss) and isinstance(penalty, L2)):
        return False
    uniform = penalty.l2 > 0 and penalty.l2_scale is None and penalty.n_free == loss.n_columns * loss.intercept
    return uniform and 4 * loss.data.n_examples < loss.data.n_features


class RepresenterObjective(Objective):
    """Drop-in for Objective(loss, penalty) in solvers that only evaluate, add and take inner products (lbfgs)."""

    loss: MultinomialLoss
    penalty: L2

    def __init__(self, loss: MultinomialLoss, penalty: L2, n_threads: int | None = None) -> None:
        super().__init__(loss, penalty, n_threads)
        fill = object.__setattr__
        fill(self, "_size", loss.data.n_examples * loss.n_columns)
        fill(self, "_primal", np.empty(loss.data.n_features * loss.n_columns))
        fill(self, "_margins", np.empty(self._size))
        fill(self, "_violation", np.inf)

    _size: int
    _primal: FloatArray
    _margins: FloatArray
    _violation: float

    @property
    def n_weights(self) -> int:
        """Return twice examples x classes, plus the number of intercepts."""
        return 2 * self._size + self.loss.n_columns * self.loss.intercept

    def _split(self, v: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        return v[: self._size], v[self._size : 2 * self._size], v[2 * self._size :]

    def value_and_gradient(self, w: FloatArray, out: FloatArray) -> float:
        """Return the value at ``w`` = [A | M | b]; write the gradient in the same coordinates."""
        loss, strength = self.loss, self.penalty.l2
        A, M, b = self._split(w)
        A_out, M_out, b_out = self._split(out)
        K = loss.n_columns
        if loss.intercept:
            _core.add_bias(self.pool, M, b, self._margins)
        else:
            np.copyto(self._margins, M)
        value = loss._loss(self._margins) + 0.5 * strength * _core.dot(self.pool, A, M)
        if loss.intercept:
            _core.column_sums(self.pool, self._margins, K, b_out)
        _core.combine(self.pool, 1.0, self._margins, strength, A, A_out)
        loss.data.rows.gradient(self.pool, A_out, K, self._primal)
        loss.data.rows.margins(self.pool, self._primal, None, K, M_out)
        violation = max(_core.max_abs(self.pool, self._primal), float(np.max(np.abs(b_out), initial=0.0)))
        object.__setattr__(self, "_violation", violation)
        return value

    def dot(self, a: FloatArray, b: FloatArray) -> float:
        """Return <A_a, M_b> + <b_a, b_b>."""
        out = np.empty((1, 1))
        self.dots([a], [b], out)
        return float(out[0, 0])

    def dots(self, rows: Sequence[NDArray[Any]], targets: Sequence[NDArray[Any]], out: FloatArray) -> None:
        """Write all inner products: the A of each row with the M of each target."""
        n = self._size
        _core.dots(self.pool, [r[:n] for r in rows], [t[n : 2 * n] for t in targets], out)
        if self.loss.intercept:
            out += np.array([[r[2 * n :] @ t[2 * n :] for t in targets] for r in rows])

    def gradient_violation(self, gradient: FloatArray) -> float:
        """Return the largest entry of the gradient over W and b at the last evaluation."""
        return self._violation

    def plain(self, w: FloatArray) -> tuple[Objective, FloatArray]:
        """Return (the objective on [W | b], those weights)."""
        return Objective(self.loss, self.penalty, self.n_threads), self.weights(w)

    def weights(self, v: FloatArray) -> FloatArray:
        """Return [W | b], laid out [feature][class]: the weights of the plain objective."""
        loss = self.loss
        A, _, b = self._split(v)
        out = np.empty(loss.n_weights)
        W, bias = loss.split(out)
        loss.data.rows.gradient(self.pool, A, loss.n_columns, W)
        if bias is not None:
            bias[:] = b
        return out
