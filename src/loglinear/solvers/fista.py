"""FISTA: accelerated proximal gradient with backtracking and adaptive restart (Beck and Teboulle 2009;
O'Donoghue and Candes 2015).

Works with any penalty that has a prox. ``metric="curvature"`` takes steps of 1 / (L d_j), d the diagonal of the loss's
Hessian at the start (solvers/metric.py), where the penalty's prox allows one step per weight (power Metric).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from loglinear import _core
from loglinear.errors import IncompatibleError
from loglinear.minimise import State
from loglinear.objective import Objective
from loglinear.protocols import Curvature, Loss, Metric, Penalty
from loglinear.solvers.metric import curvature_unit
from loglinear.structure import FloatArray


@dataclass
class FistaState(State):
    """Weights, the extrapolated point and the momentum."""

    ahead: FloatArray = field(default_factory=lambda: np.empty(0))
    metric: FloatArray | None = None
    lipschitz: float = 1.0
    momentum: float = 1.0


@dataclass(frozen=True)
class Fista:
    """Accelerated proximal gradient with backtracking and restart: any penalty with a prox."""

    metric: str = "curvature"  # or "none"
    shrink: float = 0.95  # of the estimated Lipschitz constant before every step, so that it can fall again

    name: ClassVar[str] = "fista"
    loss_powers: ClassVar[tuple[type, ...]] = (Loss,)
    penalty_powers: ClassVar[tuple[type, ...]] = (Penalty,)
    monotone: ClassVar[bool] = False

    def init(self, objective: Objective, w0: FloatArray) -> FistaState:
        """First evaluation and the metric."""
        objective.penalty.prox(w0.copy(), 1e-300, w0)  # a feasible start
        gradient = np.empty_like(w0)
        value = objective.value_and_loss_gradient(w0, gradient)
        state = FistaState(w0, value, objective.violation(w0, gradient), 1, ahead=w0.copy())
        if self.metric not in ("none", "curvature"):
            raise IncompatibleError(f"metric must be 'none' or 'curvature', not {self.metric!r}")
        able = isinstance(objective.loss, Curvature) and isinstance(objective.penalty, Metric)
        if self.metric == "curvature" and able:
            state.metric = curvature_unit(objective, w0) ** -2
            state.lipschitz = 1.0
        else:
            norm = math.sqrt(_core.dot(objective.pool, gradient, gradient))
            state.lipschitz = max(norm, 1e-12)
        return state

    def step(self, objective: Objective, state: FistaState) -> None:
        """Prox step from the extrapolated point, then extrapolate."""
        n = state.weights.size
        gradient, new = np.empty(n), np.empty(n)
        smooth = objective.loss.value_and_gradient(state.ahead, gradient)
        state.evaluations += 1
        new_gradient = np.empty(n)
        d: FloatArray | float = 1.0 if state.metric is None else state.metric
        state.lipschitz *= self.shrink
        for _ in range(60):
            step = 1.0 / (state.lipschitz * d)
            objective.penalty.prox(state.ahead - step * gradient, step, new)
            new_smooth = objective.loss.value_and_gradient(new, new_gradient)
            state.evaluations += 1
            move = new - state.ahead
            model = smooth + gradient @ move + 0.5 * state.lipschitz * float(np.sum(d * move * move))
            if new_smooth <= model + 1e-14 * abs(smooth):
                break
            state.lipschitz *= 2.0
        else:
            state.finished = "no further decrease in floating point"
            return
        step_taken = new - state.weights
        restart = float(np.sum(d * (state.ahead - new) * step_taken)) > 0.0
        if restart:
            state.momentum = 1.0
            state.ahead = new.copy()
        else:
            following = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * state.momentum**2))
            state.ahead = new + (state.momentum - 1.0) / following * step_taken
            state.momentum = following
        state.weights = new
        state.value = new_smooth + objective.penalty.value(new)
        state.violation = objective.violation(new, new_gradient)
