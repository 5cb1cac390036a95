"""Units for the weights of a quasi-Newton method: it works on v = w / unit.

With unit = 1 / sqrt(curvature + b), b the penalty's ridge, every weight alone has second derivative one. That helps
where counts span orders of magnitude (n-gram models) and hurts where features overlap.

With unit = 1 / size, the size of a feature being that of its values (power Sized), a problem does not depend on the
units in which its features are measured. Sizes are left alone where they differ little.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from loglinear.arrays import FloatArray, new_like
from loglinear.errors import IncompatibleError
from loglinear.protocols import Curvature, Metric, Scaled, Sized, Smooth

if TYPE_CHECKING:
    from loglinear.optimise.objective import Objective


UNEVEN = 10.0  # sizes of features that differ by a smaller factor do no harm, and units cost a little


def _with_ridge(objective: Objective, w: FloatArray, diagonal: FloatArray) -> FloatArray:
    if isinstance(objective.penalty, (Metric, Smooth)):
        objective.penalty.add_curvature_diagonal(w, diagonal)
    return diagonal


def _floor(objective: Objective, diagonal: FloatArray, fraction: float) -> float:
    return fraction * max(objective.largest(diagonal), 1e-300)


def curvature_unit(objective: Objective, w: FloatArray) -> FloatArray:
    """Return 1 / sqrt of the curvature at ``w``."""
    diagonal = curvature(objective, w)
    np.sqrt(diagonal, out=diagonal)
    return np.divide(1.0, diagonal, out=diagonal)


def curvature(objective: Objective, w: FloatArray) -> FloatArray:
    """Return the diagonal of the Hessian at ``w``, without entries that are next to nothing beside the largest.

    Where the loss is also Scaled, the larger of the diagonal and the estimate is taken: the curvature at one point may
    be almost zero and large a step away (words that are improbable under the starting weights).
    """
    if not isinstance(objective.loss, Curvature):
        raise IncompatibleError("metric='curvature' needs the power Curvature, which this loss lacks")
    diagonal = new_like(w)
    objective.loss.hessian(w).diagonal(diagonal)
    if isinstance(objective.loss, Scaled):
        estimate = new_like(w)
        objective.loss.curvature_estimate(estimate)
        np.maximum(diagonal, estimate, out=diagonal)
        del estimate
    _with_ridge(objective, w, diagonal)
    return np.maximum(diagonal, _floor(objective, diagonal, 1e-8), out=diagonal)


def estimated_unit(objective: Objective, w: FloatArray) -> FloatArray:
    """Return the fifth root of 1 / curvature, where Newton's metric is the square root, from the loss's own estimate.

    Where features overlap, as in chains, the diagonal overestimates the curvature along a step, and the full scaling (a
    square root) is worse than none. The fifth root took a chunking CRF from 87 to 70 evaluations, with a memory of 20.
    """
    if not isinstance(objective.loss, Scaled):
        raise IncompatibleError("metric='estimate' needs the power Scaled, which this loss lacks")
    diagonal = new_like(w)
    objective.loss.curvature_estimate(diagonal)
    diagonal *= 0.2
    _with_ridge(objective, w, diagonal)
    unit = value_unit(objective)  # the fifth root is for differences in frequency, not in size
    if unit is not None:
        diagonal *= unit**2
    root = np.maximum(diagonal, _floor(objective, diagonal, 1e-3)) ** -0.2
    return root if unit is None else root * unit


def value_unit(objective: Objective) -> FloatArray | None:
    """Return 1 / size of every weight's feature; None where sizes are not known or differ by less than UNEVEN."""
    loss = objective.loss
    if not isinstance(loss, Sized) or objective.n_weights != loss.n_weights:  # other coordinates than the weights
        return None
    sizes = np.empty(loss.n_weights)
    loss.feature_sizes(sizes)
    if sizes.size == 0 or sizes.max() < UNEVEN * sizes.min():
        return None
    return np.divide(1.0, sizes, out=sizes)


def find_unit(metric: str, objective: Objective, w: FloatArray) -> FloatArray | None:
    """Return the unit that a solver's option ``metric`` names; None for units of one."""
    if metric == "auto":
        scaled = isinstance(objective.loss, Scaled) and isinstance(objective.penalty, Smooth)
        metric = "estimate" if scaled else "values"
    if metric == "none":
        return None
    if metric == "values":
        return value_unit(objective)
    if metric == "curvature":
        return curvature_unit(objective, w)
    if metric == "estimate":
        return estimated_unit(objective, w)
    raise IncompatibleError(f"metric must be 'auto', 'none', 'values', 'curvature' or 'estimate', not {metric!r}")
