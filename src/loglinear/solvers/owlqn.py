"""OWL-QN (Andrew and Gao 2007): L-BFGS within the orthant that the least subgradient points into.

For l1, elastic net and sign constraints: exact zeros. The curvature pairs come from the smooth part alone. The paper
zeroes every entry of the direction that disagrees in sign with the pseudo-gradient; that spoils the quasi-Newton step
of weights already in the support (where disagreement is legitimate) and convergence near the optimum with it. Here
only weights at zero are aligned: the direction still descends, since what is dropped only added to its slope.

``metric="curvature"`` works on v = w / unit (solvers/metric.py). A positive scaling changes no sign, so orthants stay
the same: pairs and directions are scaled, everything else stays in the units of the weights.

Besides weights, gradient and pairs the state holds three vectors: the pseudo-gradient is no longer needed when a trial
is evaluated, so the gradient there takes its place.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from loglinear import _core
from loglinear.arrays import FloatArray, new_copy, new_like
from loglinear.protocols import Loss, Orthant
from loglinear.solvers.memory import InverseHessian, Pair, single_pairs
from loglinear.solvers.metric import find_unit
from loglinear.solvers.solver import State, Tangents
from loglinear.status import Status

if TYPE_CHECKING:
    from loglinear.optimise.objective import Objective

_TANGENTS = 10  # pairs at most that bounds are made of
_PATIENCE = 5  # steps in a row without a decrease: then the pairs are dropped, and after as many more it ends


@dataclass
class OwlqnState(State):
    """Weights, the gradient of the smooth part and the pseudo-gradient of the whole."""

    gradient: FloatArray = field(default_factory=lambda: np.empty(0))
    pseudo: FloatArray = field(default_factory=lambda: np.empty(0))  # between steps; during one, the trial's gradient
    memory: InverseHessian = field(default_factory=lambda: InverseHessian(0, 1))
    direction: FloatArray = field(default_factory=lambda: np.empty(0))
    unit: NDArray[Any] | None = None  # w = unit * v
    pair: Pair | None = None
    stalled: int = 0  # steps in a row without a decrease
    trial: FloatArray = field(default_factory=lambda: np.empty(0))
    values: list[float] = field(default_factory=list)  # at the last points that pairs connect without a gap

    def tangents(self) -> Tangents | None:
        """Return the points that the memory connects with this one; gradients are those of the smooth part."""
        pairs = list(zip(self.memory.s, self.memory.y))
        if self.pair is not None:
            pairs.append(self.pair)
        k = min(len(pairs), len(self.values) - 1, _TANGENTS)
        if k < 1 or self.memory.dtype != np.float64:
            return None
        steps, changes = zip(*pairs[-k:])
        gradient = self.gradient if self.unit is None else self.gradient * self.unit
        return Tangents(self.values[-k - 1 :], self.weights, gradient, steps, changes, self.unit)


@dataclass(frozen=True)
class Owlqn:
    """Orthant-wise L-BFGS: l1, elastic net, nonnegative weights; exact zeros."""

    memory: int = 8
    metric: str = "auto"  # "none", "values", "curvature", "estimate"; auto is "values"
    single_precision: bool | None = None  # of the pairs; None: from five million weights on

    name: ClassVar[str] = "owlqn"
    loss_powers: ClassVar[tuple[type, ...]] = (Loss,)
    penalty_powers: ClassVar[tuple[type, ...]] = (Orthant,)
    monotone: ClassVar[bool] = True

    def init(self, objective: Objective, w0: FloatArray) -> OwlqnState:
        """Return the state at ``w0`` after the first evaluation."""
        penalty = cast(Orthant, objective.penalty)
        gradient, pseudo = new_like(w0), new_like(w0)
        value = objective.value_and_smooth_gradient(w0, gradient)
        penalty.pseudo_gradient(w0, gradient, pseudo)
        state = OwlqnState(w0, value, objective.largest(pseudo), 1, gradient=gradient, pseudo=pseudo, values=[value])
        state.memory = InverseHessian(w0.size, self.memory, single_pairs(self.single_precision, objective))
        unit = find_unit(self.metric, objective, w0)
        state.unit = unit if unit is None or unit.dtype == state.memory.dtype else new_copy(unit, state.memory.dtype)
        state.direction, state.trial = new_like(w0), new_like(w0)
        return state

    def step(self, objective: Objective, state: OwlqnState) -> None:
        """Compute a direction, backtrack along it within the orthant and keep the new pair."""
        pool, memory = objective.pool, state.memory
        penalty = cast(Orthant, objective.penalty)
        self._direction(objective, state)
        penalty.align(state.weights, state.pseudo, state.direction)
        slope = objective.dot(state.pseudo, state.direction)
        if not slope < 0.0:
            memory.clear()
            self._direction(objective, state)
            slope = objective.dot(state.pseudo, state.direction)
        scaled = bool(memory.s) or state.unit is not None  # then a step of one is a Newton step, roughly
        t = 1.0 if scaled else 1.0 / max(np.sqrt(-slope), 1e-300)
        for attempt in range(40):
            if attempt:
                penalty.pseudo_gradient(state.weights, state.gradient, state.pseudo)
            _core.combine(pool, 1.0, state.weights, t, state.direction, state.trial)
            penalty.project(state.weights, state.pseudo, state.trial)
            slope = objective.dot_difference(state.pseudo, state.trial, state.weights)
            value = objective.value_and_smooth_gradient(state.trial, state.pseudo)
            state.passes += 1
            if value <= state.value + 1e-4 * slope + 1e-15 * abs(state.value):
                break
            t *= 0.5 if scaled else 0.1
        else:
            penalty.pseudo_gradient(state.weights, state.gradient, state.pseudo)
            if memory.s:
                memory.clear()
                return
            state.finished = Status.NO_DECREASE
            return
        self._take(objective, state, value)

    @staticmethod
    def _direction(objective: Objective, state: OwlqnState) -> None:
        """Write -H pseudo into ``state.direction``, in the units of the weights."""
        pool, target = objective.pool, state.pseudo
        if state.unit is not None:
            target = state.trial
            _core.multiply(pool, state.pseudo, state.unit, target)
        memory = state.memory
        memory.direction(objective, target, state.direction, state.pair)
        if state.pair is not None and not (memory.s and memory.s[-1] is state.pair[0]):  # refused: a gap in the path
            state.values = [state.value]
        state.pair = None
        if state.unit is not None:
            _core.multiply(pool, state.direction, state.unit, state.direction)

    @staticmethod
    def _take(objective: Objective, state: OwlqnState, value: float) -> None:
        """Make the trial, whose gradient is in ``state.pseudo``, the current point."""
        pool, unit = objective.pool, state.unit
        state.stalled = state.stalled + 1 if value >= state.value else 0
        s, y = state.memory.buffer(), state.memory.buffer()
        _core.scaled_difference(pool, state.trial, state.weights, unit, True, s)
        _core.scaled_difference(pool, state.pseudo, state.gradient, unit, False, y)
        state.pair = (s, y)
        state.weights, state.trial = state.trial, state.weights
        state.gradient, state.pseudo = state.pseudo, state.gradient
        cast(Orthant, objective.penalty).pseudo_gradient(state.weights, state.gradient, state.pseudo)
        state.value, state.violation = value, objective.largest(state.pseudo)
        state.values = [*state.values[-_TANGENTS:], value]
        if state.stalled == _PATIENCE:  # projections may have cut every step along the pairs: try without them
            state.memory.clear()
            state.memory.release(s, y)
            state.pair, state.values = None, [value]
        elif state.stalled == 2 * _PATIENCE:
            state.finished = Status.NO_DECREASE
