"""Truncated Newton in a trust region (Steihaug 1983; Lin, Weng and Keerthi 2008).

Each step solves H p = -g by conjugate gradients, preconditioned by the diagonal, to a precision that rises as the
gradient falls, and within a region that grows or shrinks with the quality of the quadratic model.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, cast

import numpy as np

from loglinear import _core
from loglinear.arrays import FloatArray
from loglinear.protocols import Curvature, Hessian, Smooth
from loglinear.solvers.solver import State
from loglinear.status import Status

if TYPE_CHECKING:
    from loglinear.optimise.objective import Objective


@dataclass
class NewtonState(State):
    """The weights, their gradient, the radius of the trust region and the norm of the first gradient."""

    gradient: FloatArray = field(default_factory=lambda: np.empty(0))
    radius: float = math.inf
    first_norm: float = 1.0


@dataclass(frozen=True)
class Newton:
    """Truncated Newton with a trust region and preconditioned conjugate gradients, for smooth objectives."""

    forcing: float = 0.1  # conjugate gradients stop at this fraction of the gradient's norm, or less near the optimum
    max_products: int = 250

    name: ClassVar[str] = "newton"
    loss_powers: ClassVar[tuple[type, ...]] = (Curvature,)
    penalty_powers: ClassVar[tuple[type, ...]] = (Smooth,)
    monotone: ClassVar[bool] = True

    def init(self, objective: Objective, w0: FloatArray) -> NewtonState:
        """Evaluate the objective at the start."""
        gradient = np.empty_like(w0)
        value = objective.value_and_gradient(w0, gradient)
        norm = math.sqrt(_core.dot(objective.pool, gradient, gradient))
        return NewtonState(w0, value, _core.max_abs(objective.pool, gradient), 1, gradient=gradient, first_norm=norm)

    def step(self, objective: Objective, state: NewtonState) -> None:
        """Solve for a step, and accept it if the objective falls by enough of the predicted decrease."""
        pool = objective.pool
        hessian = cast(Curvature, objective.loss).hessian(state.weights)
        step, predicted, length, at_border = self._solve(objective, state, hessian)
        trial, gradient = np.empty_like(step), np.empty_like(step)
        _core.combine(pool, 1.0, state.weights, 1.0, step, trial)
        value = objective.value_and_gradient(trial, gradient)
        state.passes += 1
        actual = state.value - value
        noise = 1e-14 * abs(state.value)
        ratio = (actual + noise) / (predicted + noise) if math.isfinite(value) else -1.0
        if ratio < 0.25:
            state.radius = 0.25 * length
        elif ratio > 0.75 and at_border:
            state.radius = max(state.radius, 3.0 * length)
        if ratio > 1e-4:
            state.weights, state.gradient, state.value = trial, gradient, value
            state.violation = _core.max_abs(pool, gradient)
        if predicted <= noise * 1e-3 or state.radius < 1e-300 or length == 0.0:
            state.finished = Status.NO_DECREASE

    def _solve(
        self, objective: Objective, state: NewtonState, hessian: Hessian
    ) -> tuple[FloatArray, float, float, bool]:
        """Return (step, predicted decrease, length in the preconditioner's norm, whether it ends at the border)."""
        pool, g = objective.pool, state.gradient
        penalty = cast(Smooth, objective.penalty)
        n = g.size
        M = np.empty(n)
        hessian.diagonal(M)
        penalty.add_curvature_diagonal(state.weights, M)
        np.maximum(M, 1e-10 * max(float(M.max(initial=0.0)), 1e-300), out=M)
        step, product = np.zeros(n), np.empty(n)
        residual = -g
        z = residual / M
        d = z.copy()
        rz = _core.dot(pool, residual, z)
        norm = math.sqrt(_core.dot(pool, g, g))
        forcing = min(self.forcing, math.sqrt(norm / max(state.first_norm, 1e-300)))
        goal = (forcing**2) * rz
        length2, step_d, d2 = 0.0, 0.0, rz  # |step|_M^2, step.M.d, |d|_M^2
        decrease = 0.0
        state.note = ""
        for products in range(1, self.max_products + 1):
            hessian.product(d, product)
            penalty.add_hessian_vector(state.weights, d, product)
            curvature = _core.dot(pool, d, product)
            alpha = rz / curvature if curvature > 0.0 else math.inf
            next2 = length2 + 2.0 * alpha * step_d + alpha * alpha * d2
            state.note = f"{products} products"
            state.passes += 1.0
            if not next2 < state.radius**2:
                root = math.sqrt(max(step_d**2 + d2 * (state.radius**2 - length2), 0.0))
                tau = (root - step_d) / d2 if math.isfinite(state.radius) else 1.0 / max(math.sqrt(d2), 1e-300)
                _core.combine(pool, 1.0, step, tau, d, step)
                decrease += tau * rz - 0.5 * tau * tau * curvature
                return step, decrease, state.radius if math.isfinite(state.radius) else tau * math.sqrt(d2), True
            _core.combine(pool, 1.0, step, alpha, d, step)
            decrease += 0.5 * alpha * rz
            _core.combine(pool, 1.0, residual, -alpha, product, residual)
            np.divide(residual, M, out=z)
            rz_new = _core.dot(pool, residual, z)
            length2 = next2
            if rz_new <= goal:
                break
            beta = rz_new / rz
            _core.combine(pool, 1.0, z, beta, d, d)
            step_d = beta * (step_d + alpha * d2)
            d2 = rz_new + beta * beta * d2
            rz = rz_new
        return step, decrease, math.sqrt(length2), False
