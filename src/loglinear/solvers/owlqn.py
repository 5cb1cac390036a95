"""OWL-QN (Andrew and Gao 2007): L-BFGS within the orthant that the least subgradient points into.

For l1, elastic net and sign constraints: exact zeros. The curvature pairs come from the smooth part alone. The paper
zeroes every entry of the direction that disagrees in sign with the pseudo-gradient; that spoils the quasi-Newton step
of weights already in the support (where disagreement is legitimate) and convergence near the optimum with it. Here
only weights at zero are aligned: the direction still descends, since what is dropped only added to its slope.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, cast

import numpy as np

from loglinear import _core
from loglinear.minimise import State
from loglinear.objective import Objective
from loglinear.protocols import Loss, Orthant
from loglinear.solvers.memory import InverseHessian
from loglinear.structure import FloatArray


@dataclass
class OwlqnState(State):
    """Weights, the gradient of the smooth part and the pseudo-gradient of the whole."""

    gradient: FloatArray = field(default_factory=lambda: np.empty(0))
    pseudo: FloatArray = field(default_factory=lambda: np.empty(0))
    memory: InverseHessian = field(default_factory=lambda: InverseHessian(0, 1))
    direction: FloatArray = field(default_factory=lambda: np.empty(0))
    pair: tuple[FloatArray, FloatArray] | None = None
    stalled: int = 0  # steps in a row without a decrease
    trial: FloatArray = field(default_factory=lambda: np.empty(0))
    trial_gradient: FloatArray = field(default_factory=lambda: np.empty(0))


@dataclass(frozen=True)
class Owlqn:
    """Orthant-wise L-BFGS: l1, elastic net, nonnegative weights; exact zeros."""

    memory: int = 8

    name: ClassVar[str] = "owlqn"
    loss_powers: ClassVar[tuple[type, ...]] = (Loss,)
    penalty_powers: ClassVar[tuple[type, ...]] = (Orthant,)
    monotone: ClassVar[bool] = True

    def init(self, objective: Objective, w0: FloatArray) -> OwlqnState:
        """First evaluation."""
        penalty = cast(Orthant, objective.penalty)
        if np.any(getattr(objective.penalty, "nonnegative", False)):
            objective.penalty.prox(w0.copy(), 1e-300, w0)  # a feasible start
        gradient, pseudo = np.empty_like(w0), np.empty_like(w0)
        value = objective.value_and_smooth_gradient(w0, gradient)
        penalty.pseudo_gradient(w0, gradient, pseudo)
        state = OwlqnState(w0, value, _core.max_abs(objective.pool, pseudo), 1, gradient=gradient, pseudo=pseudo)
        state.memory = InverseHessian(w0.size, self.memory)
        state.direction, state.trial, state.trial_gradient = (np.empty_like(w0) for _ in range(3))
        return state

    def step(self, objective: Objective, state: OwlqnState) -> None:
        """Direction, projected backtracking, new pair."""
        pool, memory = objective.pool, state.memory
        penalty = cast(Orthant, objective.penalty)
        memory.direction(objective, state.pseudo, state.direction, state.pair)
        state.pair = None
        penalty.align(state.weights, state.pseudo, state.direction)
        slope = objective.dot(state.pseudo, state.direction)
        if not slope < 0.0:
            memory.clear()
            memory.direction(objective, state.pseudo, state.direction)
            slope = objective.dot(state.pseudo, state.direction)
        t = 1.0 if memory.s else 1.0 / max(np.sqrt(-slope), 1e-300)
        s = memory.buffer()
        for _ in range(40):
            _core.combine(pool, 1.0, state.weights, t, state.direction, state.trial)
            penalty.project(state.weights, state.pseudo, state.trial)
            value = objective.value_and_smooth_gradient(state.trial, state.trial_gradient)
            state.evaluations += 1
            _core.combine(pool, 1.0, state.trial, -1.0, state.weights, s)
            if value <= state.value + 1e-4 * objective.dot(state.pseudo, s) + 1e-15 * abs(state.value):
                break
            t *= 0.5 if memory.s else 0.1
        else:
            memory.release(s)
            if memory.s:
                memory.clear()
                return
            state.finished = "no further decrease in floating point"
            return
        state.stalled = state.stalled + 1 if value >= state.value else 0
        if state.stalled == 5:
            state.finished = "no further decrease in floating point"
        y = memory.buffer()
        _core.combine(pool, 1.0, state.trial_gradient, -1.0, state.gradient, y)
        state.pair = (s, y)
        state.weights, state.trial = state.trial, state.weights
        state.gradient, state.trial_gradient = state.trial_gradient, state.gradient
        penalty.pseudo_gradient(state.weights, state.gradient, state.pseudo)
        state.value, state.violation = value, _core.max_abs(pool, state.pseudo)
