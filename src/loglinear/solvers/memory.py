"""The L-BFGS approximation of the inverse Hessian from inner products alone.

Keeps the last m pairs s = w' - w, y = g' - g and the Gram matrix of {s_1..s_m, y_1..y_m}. The two-loop recursion then
runs on coefficients: every vector it forms is a combination of the s, the y and g. One native pass gives the new inner
products, one more forms the direction (native/linear/vector.hh), where the usual form passes over memory twice as
often. (Chen, Wang and Zhou 2014 use the same rearrangement to distribute L-BFGS.)

Pairs may be kept in single precision: they only shape the direction, and half the memory is half the traffic. Inner
products are summed in double either way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from loglinear import _core
from loglinear.arrays import FloatArray, new
from loglinear.structure.tying import Tying

if TYPE_CHECKING:
    from loglinear.optimise.objective import Objective

Vector = NDArray[Any]  # float64, or float32 for pairs in single precision
Pair = tuple[Vector, Vector]

MANY_WEIGHTS = 5_000_000  # from here on pairs are kept in single precision unless told otherwise


def single_pairs(asked: bool | None, objective: Objective) -> bool:
    """Return whether pairs are kept in single precision: as asked, or None: where weights are many."""
    return objective.n_all_weights >= MANY_WEIGHTS if asked is None else asked


class InverseHessian:
    """The L-BFGS matrix H of the last ``size`` pairs."""

    def __init__(self, n_weights: int, size: int, single_precision: bool = False) -> None:
        self.n, self.size = n_weights, size
        self.dtype = np.dtype(np.float32 if single_precision else np.float64)
        self.s: list[Vector] = []
        self.y: list[Vector] = []
        self._free: list[Vector] = []
        self._gram = np.zeros((2 * size, 2 * size))  # rows and columns: s_0..s_{k-1}, then y_0.. at offset ``size``

    def buffer(self) -> Vector:
        """Return a vector to fill, reused from dropped pairs: fresh pages cost more than the arithmetic."""
        return self._free.pop() if self._free else new(self.n, self.dtype)

    def release(self, *vectors: Vector) -> None:
        """Give vectors back for reuse."""
        self._free.extend(vectors)

    def clear(self) -> None:
        """Forget all pairs."""
        self.release(*self.s, *self.y)
        self.s, self.y = [], []

    def direction(self, objective: Objective, g: FloatArray, out: FloatArray, pair: Pair | None = None) -> None:
        """Write -H g into ``out`` after adding ``pair`` = (s, y), which the memory then owns."""
        if pair is not None:
            self._push(*pair)
        k, m, pool = len(self.s), self.size, objective.pool
        if k == 0:
            _core.combine(pool, -1.0, g, 0.0, g, out)
            return
        rows = self.s + self.y
        targets = [g] if pair is None else [g, *pair]
        dots = np.empty((2 * k, len(targets)))
        objective.dots(rows, targets, dots)
        index = np.r_[0:k, m : m + k]  # where the rows live in the Gram matrix
        if pair is not None:
            if not self._accept(dots[k - 1, 2], dots[2 * k - 1, 2]):  # s.y and y.y of the new pair
                self.release(self.s.pop(), self.y.pop())
                self.direction(objective, g, out)
                return
            for column, at in ((1, k - 1), (2, m + k - 1)):
                self._gram[index, at] = self._gram[at, index] = dots[:, column]
        gram = self._gram[np.ix_(index, index)]
        coefficients = np.zeros(2 * k)  # q = g + sum coefficients * rows
        alpha = np.zeros(k)
        g_dots = dots[:, 0]
        for i in range(k - 1, -1, -1):
            alpha[i] = (g_dots[i] + gram[i] @ coefficients) / gram[i, k + i]
            coefficients[k + i] -= alpha[i]
        gamma = gram[k - 1, 2 * k - 1] / gram[2 * k - 1, 2 * k - 1]
        coefficients *= gamma
        for i in range(k):
            beta = (gamma * g_dots[k + i] + gram[k + i] @ coefficients) / gram[i, k + i]
            coefficients[i] += alpha[i] - beta
        _core.weighted_sum(pool, -np.append(coefficients, gamma), [*rows, g], out)

    @staticmethod
    def _accept(sy: float, yy: float) -> bool:
        """Return whether the pair has positive curvature: only such pairs keep H positive definite."""
        return sy > 1e-12 * yy and yy > 0.0

    def _push(self, s: Vector, y: Vector) -> None:
        if len(self.s) == self.size:
            self.release(self.s.pop(0), self.y.pop(0))
            m = self.size
            for block in (slice(0, m), slice(m, 2 * m)):
                self._gram[block] = np.roll(self._gram[block], -1, axis=0)
            for block in (slice(0, m), slice(m, 2 * m)):
                self._gram[:, block] = np.roll(self._gram[:, block], -1, axis=1)
        self.s.append(s)
        self.y.append(y)

    def lift(self, objective: Objective, shared: InverseHessian, tying: Tying, unit: FloatArray | None = None) -> None:
        """Take over the last pairs of a memory of shared weights; ``unit`` is the metric of this memory, w = unit * v.

        The map is orthonormal, so inner products stay the same; a metric changes them.
        """
        k = min(self.size, len(shared.s))

        def up(vectors: list[Vector]) -> list[Vector]:
            wide = (v.astype(np.float64, copy=False) for v in vectors[len(vectors) - k :])
            return [tying.up(v).astype(self.dtype, copy=False) for v in wide]

        self.s, self.y = up(shared.s), up(shared.y)
        here = np.r_[0:k, self.size : self.size + k]
        if unit is None:
            last = len(shared.s)
            there = np.r_[last - k : last, shared.size + last - k : shared.size + last]
            self._gram[np.ix_(here, here)] = shared._gram[np.ix_(there, there)]
            return
        for s, y in zip(self.s, self.y):
            s /= unit
            y *= unit
        rows = self.s + self.y
        gram = np.empty((2 * k, 2 * k))
        if k:
            objective.dots(rows, rows, gram)
        self._gram[np.ix_(here, here)] = gram
