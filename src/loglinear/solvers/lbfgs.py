"""L-BFGS with a strong-Wolfe line search, for smooth objectives.

``metric="curvature"`` measures steps in units of 1/sqrt(curvature + penalty): the change of variables
v = sqrt(D) w with D the diagonal of the Hessian at the start (solvers/metric.py).

Where the loss has a way to come near the optimum before (power Approach: stochastic steps of a CRF), steps begin there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, cast

import numpy as np

from loglinear import _core
from loglinear.arrays import FloatArray, new_like, new_zeros
from loglinear.protocols import Approach, Loss, Smooth
from loglinear.solvers.line_search import Point, strong_wolfe
from loglinear.solvers.memory import InverseHessian, Pair, single_pairs
from loglinear.solvers.metric import find_unit
from loglinear.solvers.solver import State, Tangents
from loglinear.status import Status

if TYPE_CHECKING:
    from loglinear.optimise.objective import Objective


@dataclass
class LbfgsState(State):
    """Weights, gradient (in the metric's units) and the memory of pairs."""

    gradient: FloatArray = field(default_factory=lambda: np.empty(0))
    memory: InverseHessian = field(default_factory=lambda: InverseHessian(0, 1))
    direction: FloatArray = field(default_factory=lambda: np.empty(0))
    unit: FloatArray | None = None  # w = unit * v
    along: FloatArray = field(default_factory=lambda: np.empty(0))  # unit * direction
    pair: Pair | None = None
    trial: FloatArray = field(default_factory=lambda: np.empty(0))
    trial_gradient: FloatArray = field(default_factory=lambda: np.empty(0))
    values: list[float] = field(default_factory=list)  # at the last points that pairs connect without a gap

    def tangents(self) -> Tangents | None:
        """Return the points that the memory connects with this one."""
        pairs = list(zip(self.memory.s, self.memory.y))
        if self.pair is not None:
            pairs.append(self.pair)
        k = min(len(pairs), len(self.values) - 1)
        if k < 1 or self.memory.dtype != np.float64:
            return None
        steps, changes = zip(*pairs[-k:])
        return Tangents(self.values[-k - 1 :], self.weights, self.gradient, steps, changes, self.unit)


@dataclass(frozen=True)
class Lbfgs:
    """Limited-memory BFGS; the default for smooth objectives without second derivatives."""

    memory: int = 8
    metric: str = "auto"  # "none", "values", "curvature", "estimate"; auto: "estimate" for a Scaled loss, else "values"
    single_precision: bool | None = None  # of the pairs; None: from five million weights on
    stochastic_passes: int = 5  # of a loss with the power Approach, to begin from instead of zero weights

    name: ClassVar[str] = "lbfgs"
    loss_powers: ClassVar[tuple[type, ...]] = (Loss,)
    penalty_powers: ClassVar[tuple[type, ...]] = (Smooth,)
    monotone: ClassVar[bool] = True

    def init(self, objective: Objective, w0: FloatArray) -> LbfgsState:
        """Return the state at ``w0`` after the first evaluation."""
        gradient, passes = new_like(w0), 1.0 + self._approach(objective, w0)
        value = objective.value_and_gradient(w0, gradient)
        violation = objective.gradient_violation(gradient)
        state = LbfgsState(w0, value, violation, passes=passes, gradient=gradient, values=[value])
        state.unit = find_unit(self.metric, objective, w0)
        if state.unit is not None:
            state.gradient *= state.unit
            state.along = new_like(w0)
        state.memory = InverseHessian(w0.size, self.memory, single_pairs(self.single_precision, objective))
        state.direction, state.trial, state.trial_gradient = (new_like(w0) for _ in range(3))
        return state

    def _approach(self, objective: Objective, w0: FloatArray) -> int:
        """Let the loss move zero weights to where steps had better begin; return the passes that took."""
        loss, penalty = objective.loss, objective.penalty
        able = isinstance(loss, Approach) and isinstance(penalty, Smooth)
        if not (able and self.stochastic_passes and objective.n_all_weights == w0.size) or w0.any():
            return 0
        ridge = new_zeros(w0.size)
        cast(Smooth, penalty).add_curvature_diagonal(w0, ridge)
        return cast(Approach, loss).approach(float(ridge.mean()), self.stochastic_passes, w0)

    def step(self, objective: Objective, state: LbfgsState) -> None:
        """Compute a direction, search along it and keep the new pair."""
        pool, memory = objective.pool, state.memory
        memory.direction(objective, state.gradient, state.direction, state.pair)
        if state.pair is not None and not (memory.s and memory.s[-1] is state.pair[0]):  # refused: a gap in the path
            state.values = [state.value]
        state.pair = None
        slope = objective.dot(state.gradient, state.direction)
        if not slope < 0.0:
            memory.clear()
            memory.direction(objective, state.gradient, state.direction)
            slope = objective.dot(state.gradient, state.direction)
        along = state.direction  # of the weights: w moves along unit * direction
        if state.unit is not None:
            along = state.along
            _core.multiply(pool, state.direction, state.unit, along)
        first = 1.0 if memory.s else 1.0 / max(float(np.sqrt(-slope)), 1e-300)

        def phi(t: float) -> Point:
            _core.combine(pool, 1.0, state.weights, t, along, state.trial)
            value = objective.value_and_gradient(state.trial, state.trial_gradient)
            state.passes += 1
            return Point(t, value, objective.dot(state.trial_gradient, along))

        accepted = strong_wolfe(phi, Point(0.0, state.value, slope), first)
        if accepted is None:
            if memory.s:  # once more from steepest descent before giving up
                memory.clear()
                return
            state.finished = Status.NO_DECREASE
            return
        violation = objective.gradient_violation(state.trial_gradient)
        s, y = memory.buffer(), memory.buffer()
        if state.unit is not None:
            _core.multiply(pool, state.trial_gradient, state.unit, state.trial_gradient)
        _core.combine(pool, accepted.t, state.direction, 0.0, state.direction, s)
        _core.combine(pool, 1.0, state.trial_gradient, -1.0, state.gradient, y)
        state.pair = (s, y)
        state.weights, state.trial = state.trial, state.weights
        state.gradient, state.trial_gradient = state.trial_gradient, state.gradient
        state.value, state.violation = accepted.value, violation
        state.values = [*state.values[-self.memory - 1 :], accepted.value]
