"""A lower bound of the optimum from tangents at the last points of a path, where the penalty is a ridge.

The loss is convex, so it lies above the mean of its tangents at w_0..w_k, whatever the shares lambda_i >= 0, sum 1:

    loss(u)  >=  sum_i lambda_i (c_i + h_i . u),        h_i = gradient of the loss at w_i,  c_i = loss(w_i) - h_i . w_i
    optimum  >=  max over lambda of  lambda . c - sum_j (sum_i lambda_i h_ij)^2 / (2 b_j),     b_j the ridge of weight j

which is a quadratic problem in k + 1 numbers. (Teo et al. 2010 train by such bundles; here they only certify.) L-BFGS
has the points and their gradients in its memory, so the bound costs a pass over that and no evaluation. One tangent
alone is 5 to 60 times as far from the optimum as the point is; those at the last eight points, in the mean, twice.
"""

from __future__ import annotations

import numpy as np

from loglinear.arrays import FloatArray, new_zeros
from loglinear.optimise.objective import Objective
from loglinear.protocols import Smooth
from loglinear.solvers.solver import State, Tangents

BLOCK = 1 << 15  # weights at a time: what is made of them stays in the cache
MAX_SWAPS = 2000  # between two tangents
NEGLIGIBLE = 1e-12  # part of the objective


def bundle_bound(objective: Objective, state: State) -> float | None:
    """Return a lower bound of the optimum; None where the solver has no tangents or the penalty is no ridge."""
    tangents = state.tangents()
    if tangents is None or not objective.can_be_bounded or objective.plain(state.weights)[0] is not objective:
        return None
    ridge = _ridge(objective, state.weights)
    if ridge is None:
        return None
    constants, gram = _constants_and_gram(tangents, ridge)
    return best_mean(constants, gram)


def _ridge(objective: Objective, w: FloatArray) -> FloatArray | None:
    """Return the ridge of every weight; None where the penalty is something else, or leaves a weight free."""
    penalty = objective.penalty
    if not isinstance(penalty, Smooth):
        return None
    ridge = new_zeros(w.size)
    penalty.add_curvature_diagonal(w, ridge)
    if not ridge.min(initial=1.0) > 0.0:
        return None
    value, own = objective.penalty_value(w), 0.5 * float(np.sum(ridge * w * w))
    return ridge if abs(value - own) <= 1e-10 * abs(value) else None


def _constants_and_gram(tangents: Tangents, ridge: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return c [k + 1], and <h_i, h_j> / b [k + 1, k + 1]."""
    k = len(tangents.steps)
    constants, gram = np.array(tangents.values), np.zeros((k + 1, k + 1))
    for begin in range(0, ridge.size, BLOCK):
        at = slice(begin, begin + BLOCK)
        unit = 1.0 if tangents.unit is None else tangents.unit[at]
        b, w, g = ridge[at], tangents.weights[at], tangents.gradient[at] / unit
        rows = np.empty((k + 1, b.size))
        for i in range(k, -1, -1):  # from the last point back: g is the gradient of the whole objective
            np.subtract(g, b * w, out=rows[i])
            constants[i] += w @ (0.5 * b * w - g)  # objective - b w.w / 2 - (g - b w).w
            if i:
                w = w - unit * tangents.steps[i - 1][at]
                g = g - tangents.changes[i - 1][at] / unit
        rows /= np.sqrt(b)
        gram += rows @ rows.T
    return constants, gram


def best_mean(constants: FloatArray, gram: FloatArray) -> float:
    """Return max over shares of  shares . constants - shares . gram shares / 2,  by swaps between two of them."""
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
    shares /= shares.sum()
    return float(shares @ constants - 0.5 * shares @ gram @ shares)
