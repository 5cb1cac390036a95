"""A quadratic model of a function of few variables, and its minimum in a box: the steps of both tunings.

    m(p) = slopes . p + p B p / 2,        low <= p <= high
"""

from __future__ import annotations

import math

import numpy as np

from loglinear.arrays import FloatArray

FIRST_RADIUS = math.log(2.0)  # the first step changes a strength by a factor of two at most
LARGEST_RADIUS = math.log(8.0)


def box_minimum(slopes: FloatArray, matrix: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Return argmin slopes . p + p B p / 2 over low <= p <= high, by coordinate descent; B is positive definite."""
    p = np.clip(np.zeros(low.size), low, high)
    gradient = slopes + matrix @ p
    for _ in range(200):
        largest = 0.0
        for k in range(p.size):
            change = min(max(p[k] - gradient[k] / matrix[k, k], low[k]), high[k]) - p[k]
            p[k] += change
            gradient += change * matrix[k]
            largest = max(largest, abs(change))
        if largest < 5e-5 * float((high - low).max()):
            break
    return p


class TrustRegion:
    """The model around the best point so far: its slopes, a BFGS matrix, and the box in which it is trusted."""

    def __init__(self, guess: FloatArray, slopes: FloatArray) -> None:
        self.radius = FIRST_RADIUS
        self.slopes = slopes
        top = float(np.diag(guess).max(initial=0.0))
        if not (top > 0.0 and math.isfinite(top)):
            guess, top = np.diag(np.abs(slopes) / self.radius), float(np.abs(slopes).max())
        self.matrix = guess + 1e-3 * top * np.eye(slopes.size)
        self.pairs = 0

    def step(self, low: FloatArray, high: FloatArray) -> FloatArray:
        """Return the minimum of the model over the trust region and low <= p <= high."""
        low, high = np.maximum(low, -self.radius), np.minimum(high, self.radius)
        return box_minimum(self.slopes, self.matrix, low, high)

    def predicted_gain(self, step: FloatArray) -> float:
        """Return by how much the function falls along a step, according to the model."""
        return -float(self.slopes @ step + 0.5 * step @ self.matrix @ step)

    def learn(self, step: FloatArray, gain: float, hope: float, slopes: FloatArray | None, accepted: bool) -> None:
        """Update the matrix by the change of slopes, and the radius by the gain and by the gain that was predicted.

        slopes : those at the end of the step, or None where they are not known
        accepted : whether the end of the step is the best point from now on
        """
        length = float(np.abs(step).max())
        if slopes is not None:
            self._update(step, slopes - self.slopes)
        if not accepted:
            slope = float(self.slopes @ step)  # the parabola through both values and the first slope
            bend = -gain - slope
            shorter = -0.5 * slope / bend if bend > 0 else 0.5
            self.radius = length * min(max(shorter, 0.1), 0.5)
            return
        if gain > 0.75 * hope and length > 0.9 * self.radius:
            self.radius = min(2.0 * self.radius, LARGEST_RADIUS)
        elif gain < 0.25 * hope:
            self.radius = 0.5 * length
        if slopes is not None:
            self.slopes = slopes

    def _update(self, s: FloatArray, y: FloatArray) -> None:
        """Apply the BFGS update, damped so that the matrix stays positive definite (Powell 1978)."""
        Bs = self.matrix @ s
        sBs, sy = float(s @ Bs), float(s @ y)
        if self.pairs == 0 and sy > 0.0:  # the first guess has the right shape rather than the right size
            scale = min(max(sy / sBs, 0.05), 20.0)
            self.matrix, Bs, sBs = self.matrix * scale, Bs * scale, sBs * scale
        if sy < 0.2 * sBs:
            theta = 0.8 * sBs / (sBs - sy)
            y = theta * y + (1.0 - theta) * Bs
            sy = float(s @ y)
        self.matrix += np.outer(y, y) / sy - np.outer(Bs, Bs) / sBs
        self.pairs += 1
