"""A lower bound of the optimum from tangents at the last points of a path, where every weight has a ridge.

The loss is convex, so it lies above the mean of its tangents at w_0..w_k, whatever the shares lambda_i >= 0, sum 1:

    loss(u)  >=  sum_i lambda_i (c_i + h_i . u),        h_i = gradient of the loss at w_i,  c_i = loss(w_i) - h_i . w_i
    optimum  >=  lambda . c - penalty*(-sum_i lambda_i h_i),                            penalty* the conjugate

Under a ridge b the conjugate is quadratic, sum_j h_j^2 / (2 b_j), and the best shares solve a quadratic problem in
k + 1 numbers. (Teo et al. 2010 train by such bundles; here they only certify.) With corners besides, as in the elastic
net, it is sum_j (|h_j| - a_j)_+^2 / (2 b_j): shares are the best ones for weights that keep their signs, and those that
are zero left out; the bound is that of all weights. L-BFGS and OWL-QN have the points and their gradients in memory, so
a bound costs a pass over that and no evaluation. One tangent alone is 5 to 60 times as far from the optimum as the
point is; those at the last eight points, in the mean, twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import numpy as np

from loglinear.arrays import FloatArray, new, new_zeros
from loglinear.optimise.objective import Objective
from loglinear.protocols import Dual, Metric, Orthant, Smooth
from loglinear.solvers.solver import State, Tangents

BLOCK = 1 << 15  # weights at a time: what is made of them stays in the cache
MAX_SWAPS = 2000  # between two tangents
NEGLIGIBLE = 1e-12  # part of the objective


def bundle_bound(objective: Objective, state: State) -> float | None:
    """Return a lower bound of the optimum; None where the solver has no tangents or a weight has no ridge."""
    tangents = state.tangents()
    if tangents is None or not objective.can_be_bounded or objective.plain(state.weights)[0] is not objective:
        return None
    ridge = _ridge(objective, state.weights)
    if ridge is None:
        return None
    if isinstance(objective.penalty, Smooth):
        return best_mean(*_constants_and_gram(tangents, ridge))
    corners = _corners(objective, state.weights, ridge)
    return None if corners is None else _with_corners(objective, tangents, ridge, corners)


def _ridge(objective: Objective, w: FloatArray) -> FloatArray | None:
    """Return the ridge of every weight; None where the penalty is something else, or leaves a weight free."""
    penalty = objective.penalty
    if not isinstance(penalty, Metric if isinstance(penalty, Orthant) else Smooth):
        return None
    ridge = new_zeros(w.size)
    cast(Metric, penalty).add_curvature_diagonal(w, ridge)
    if not ridge.min(initial=1.0) > 0.0:
        return None
    if not isinstance(penalty, Smooth):
        return ridge
    value, own = objective.penalty_value(w), 0.5 * float(np.sum(ridge * w * w))
    return ridge if abs(value - own) <= 1e-10 * abs(value) else None


def _corners(objective: Objective, w: FloatArray, ridge: FloatArray) -> FloatArray | None:
    """Return a of every weight where the penalty is sum a |w| + b w^2 / 2; None where it is something else."""
    penalty = objective.penalty
    if not (isinstance(penalty, Orthant) and isinstance(penalty, Dual)):
        return None
    corners = new(w.size)
    penalty.pseudo_gradient(np.ones_like(w), new_zeros(w.size), corners)
    value, own = objective.penalty_value(w), float(np.sum(corners * np.abs(w) + 0.5 * ridge * w * w))
    return corners if abs(value - own) <= 1e-10 * abs(value) else None


def _points(tangents: Tangents, at: slice) -> Iterator[tuple[int, FloatArray, FloatArray]]:
    """Yield (number, weights, gradient of the smooth part) of the points, the last one first."""
    unit = 1.0 if tangents.unit is None else tangents.unit[at]
    w, g = tangents.weights[at], tangents.gradient[at] / unit
    for i in range(len(tangents.steps), -1, -1):
        yield i, w, g
        if i:
            w = w - unit * tangents.steps[i - 1][at]
            g = g - tangents.changes[i - 1][at] / unit


def _constants_and_gram(
    tangents: Tangents, ridge: FloatArray, corners: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return c [k + 1], and <h_i, h_j> / b [k + 1, k + 1]; with corners, over the weights that are not zero."""
    k = len(tangents.steps)
    constants, gram = np.array(tangents.values), np.zeros((k + 1, k + 1))
    for begin in range(0, ridge.size, BLOCK):
        at = slice(begin, begin + BLOCK)
        b = ridge[at]
        rows = np.empty((k + 1, b.size))
        for i, w, g in _points(tangents, at):
            np.subtract(g, b * w, out=rows[i])
            constants[i] += w @ (0.5 * b * w - g)  # objective - b w.w / 2 - (g - b w).w
            if corners is not None:
                constants[i] -= corners[at] @ np.abs(w)
        if corners is not None:
            signs = np.sign(tangents.weights[at])
            rows = ((rows + corners[at] * signs) / np.sqrt(b))[:, signs != 0.0]
        else:
            rows /= np.sqrt(b)
        gram += rows @ rows.T
    return constants, gram


def _with_corners(objective: Objective, tangents: Tangents, ridge: FloatArray, corners: FloatArray) -> float | None:
    constants, gram = _constants_and_gram(tangents, ridge, corners)
    shares = best_shares(constants, gram)
    h = new_zeros(ridge.size)
    for begin in range(0, ridge.size, BLOCK):
        at = slice(begin, begin + BLOCK)
        for i, w, g in _points(tangents, at):
            if shares[i] > 0.0:
                h[at] += shares[i] * (g - ridge[at] * w)
    conjugate, ratio, free = cast(Dual, objective.penalty).dual(h, 1.0)
    return float(shares @ constants - conjugate) if ratio <= 1.0 and free == 0.0 else None


def best_mean(constants: FloatArray, gram: FloatArray) -> float:
    """Return max over shares of  shares . constants - shares . gram shares / 2."""
    shares = best_shares(constants, gram)
    return float(shares @ constants - 0.5 * shares @ gram @ shares)


def best_shares(constants: FloatArray, gram: FloatArray) -> FloatArray:
    """Return the shares of that, found by swaps between two of them."""
    shares = np.zeros(constants.size)
    shares[np.argmax(constants - 0.5 * np.diag(gram))] = 1.0
    slopes = constants - gram @ shares
    for _ in range(MAX_SWAPS):
        held = np.flatnonzero(shares)
        up, down = int(np.argmax(slopes)), int(held[np.argmin(slopes[held])])
        slope = slopes[up] - slopes[down]
        if not slope > NEGLIGIBLE * float(np.max(np.abs(constants))):
            break
        curvature = gram[up, up] + gram[down, down] - 2.0 * gram[up, down]
        moved = min(shares[down], slope / curvature) if curvature > 0.0 else shares[down]
        shares[up] += moved
        shares[down] = 0.0 if moved == shares[down] else shares[down] - moved
        slopes -= moved * (gram[:, up] - gram[:, down])
    return shares / shares.sum()
