"""Loss + penalty: the only place where they meet."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar, cast
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from loglinear import _core
from loglinear._core import ThreadPool
from loglinear.arrays import FloatArray, new, new_copy, new_zeros
from loglinear.protocols import Loss, Metric, Orthant, OwnMetric, Penalty, Restrict, Separable, Smooth, Split, Tied
from loglinear.structure.tying import Tying
from loglinear.threads import pool

_TINY_STEP = 1e-100  # too short to move a feasible weight
# One evaluation serves all objectives of a loss: those of a path of strengths, or of the trials of a tuning.
_GRADIENT_SCALES: WeakKeyDictionary[Loss, float] = WeakKeyDictionary()


@dataclass(frozen=True)
class Objective:
    """The sum of losses + strength * penalty, as a function of one flat vector of weights."""

    loss: Loss
    penalty: Penalty
    n_threads: int | None = None

    @property
    def n_weights(self) -> int:
        """Return the number of weights."""
        return self.loss.n_weights

    @property
    def n_all_weights(self) -> int:
        """Return the number of weights wherever they live."""
        return self.n_weights

    can_be_bounded: ClassVar[bool] = True  # whether bounds of the optimum (optimise/certificate.py) can be computed

    @property
    def pool(self) -> ThreadPool:
        """Return the thread pool of a solver's vector operations."""
        return pool(self.n_threads)

    def value_and_loss_gradient(self, w: FloatArray, out: FloatArray) -> float:
        """Return the value of the whole; write the gradient of the loss alone."""
        return self.loss.value_and_gradient(w, out) + self.penalty.value(w)

    def value_and_gradient(self, w: FloatArray, out: FloatArray) -> float:
        """Return the value of the whole; write its gradient. The penalty must be Smooth."""
        value = self.loss.value_and_gradient(w, out)
        return value + cast(Smooth, self.penalty).add_gradient(w, out)

    def value_and_smooth_gradient(self, w: FloatArray, out: FloatArray) -> float:
        """Return the value of the whole; write the gradient of its smooth part. The penalty must be Orthant."""
        value = self.loss.value_and_gradient(w, out)
        cast(Orthant, self.penalty).add_smooth_gradient(w, out)
        return value + self.penalty.value(w)

    def penalty_value(self, w: FloatArray) -> float:
        """Return strength * penalty."""
        return self.penalty.value(w)

    def violation(self, w: FloatArray, loss_gradient: FloatArray) -> float:
        """Return the largest entry of the least subgradient: the distance from optimality."""
        return self.penalty.violation(w, loss_gradient)

    def make_feasible(self, w: FloatArray) -> None:
        """Project ``w`` in place onto the weights that the penalty allows, by a prox with a tiny step."""
        penalty = self.penalty
        if isinstance(penalty, Smooth):  # it allows all weights
            return
        if isinstance(penalty, Split):
            penalty = penalty.rest
        if isinstance(penalty, Metric) and isinstance(penalty, OwnMetric):
            step = np.ones_like(w)
            penalty.own_metric(step)
            penalty.prox(w.copy(), np.divide(_TINY_STEP, step, out=step), w)
        else:
            penalty.prox(new_copy(w), _TINY_STEP, w)

    def plain(self, w: FloatArray) -> tuple[Objective, FloatArray]:
        """Return (the objective as a function of the weights themselves, these weights [n_weights])."""
        return self, w

    # Numbers that vectors of weights give. Solvers use these, so that an objective may keep its vectors in other
    # coordinates (optimise/representer.py) or other processes (optimise/lockstep.py) and still be walked by the same
    # solver in the same steps.
    def dot(self, a: FloatArray, b: FloatArray) -> float:
        """Return <a, b>."""
        return _core.dot(self.pool, a, b)

    def dots(self, rows: Sequence[NDArray[Any]], targets: Sequence[NDArray[Any]], out: FloatArray) -> None:
        """Write <rows[i], targets[j]> into out[i, j]; vectors are in double or single precision."""
        _core.dots(self.pool, rows, targets, out)

    def dot_difference(self, a: FloatArray, b: FloatArray, c: FloatArray) -> float:
        """Return <a, b - c>."""
        return _core.dot_difference(self.pool, a, b, c)

    def largest(self, v: FloatArray) -> float:
        """Return max |v|."""
        return _core.max_abs(self.pool, v)

    def gradient_violation(self, gradient: FloatArray) -> float:
        """Return the largest entry of the gradient of the whole that ``value_and_gradient`` wrote last."""
        return self.largest(gradient)

    def gradient_scale(self) -> float:
        """Return max |gradient of the loss at 0|: tolerances are relative to it, so they do not depend on units."""
        with suppress(KeyError, TypeError):  # not yet known, or the loss is no key
            return _GRADIENT_SCALES[self.loss]
        gradient = new(self.loss.n_weights)
        self.loss.value_and_gradient(new_zeros(self.loss.n_weights), gradient)
        scale = self.largest(gradient) or 1.0
        with suppress(TypeError):
            _GRADIENT_SCALES[self.loss] = scale
        return scale

    def tied(self, tying: Tying) -> Objective:
        """Return the same objective on shared weights."""
        return Objective(
            cast(Tied, self.loss).tied(tying), cast(Separable, self.penalty).tied(tying), self.n_threads
        )

    def restrict(self, active: NDArray[np.bool_]) -> tuple[Objective, NDArray[np.intp]]:
        """Return (the objective with the other weights held at zero, the numbers of its weights [n_kept])."""
        loss, kept = cast(Restrict, self.loss).restrict(active)
        return Objective(loss, cast(Separable, self.penalty).restrict(kept), self.n_threads), kept
