"""Proximal SVRG (Xiao and Zhang 2014) over random parts of the data, in a diagonal metric.

One step is an epoch: the full gradient at an anchor, then one proximal step per part along

    D^-1 ( parts * (grad_part(w) - grad_part(anchor)) + grad(anchor) )

whose variance vanishes at the optimum, so that a constant step converges linearly. The step length adapts: an epoch
that does not decrease the objective is undone and the step halved. For data on which full passes are too expensive.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, cast

import numpy as np

from loglinear.arrays import FloatArray
from loglinear.errors import IncompatibleError
from loglinear.protocols import Curvature, Loss, Metric, Scaled, Stochastic
from loglinear.solvers.metric import value_unit
from loglinear.solvers.solver import State
from loglinear.status import Status

if TYPE_CHECKING:
    from loglinear.optimise.objective import Objective


@dataclass
class StochasticState(State):
    """Anchor (= weights), its loss gradient, the parts, the metric and the step length."""

    gradient: FloatArray = field(default_factory=lambda: np.empty(0))
    parts: Sequence[Loss] = ()
    metric: FloatArray = field(default_factory=lambda: np.empty(0))
    rate: float = 1.0
    rng: np.random.Generator = field(default_factory=np.random.default_rng)


@dataclass(frozen=True)
class StochasticProximal:
    """Variance-reduced proximal steps on random parts of the data (prox-SVRG): any separable penalty."""

    n_parts: int = 32
    rate: float = 0.2
    random_state: int = 0

    name: ClassVar[str] = "stochastic"
    loss_powers: ClassVar[tuple[type, ...]] = (Stochastic,)
    penalty_powers: ClassVar[tuple[type, ...]] = (Metric,)
    monotone: ClassVar[bool] = True

    def init(self, objective: Objective, w0: FloatArray) -> StochasticState:
        """Return the state at ``w0`` after the first evaluation, with the parts of the data and the metric."""
        rng = np.random.default_rng(self.random_state)
        parts = cast(Stochastic, objective.loss).partition(self.n_parts, rng)
        gradient, metric = np.empty_like(w0), np.empty_like(w0)
        value = objective.value_and_loss_gradient(w0, gradient)
        if isinstance(objective.loss, Curvature):
            objective.loss.hessian(w0).diagonal(metric)
        elif isinstance(objective.loss, Scaled):
            objective.loss.curvature_estimate(metric)
        else:
            raise IncompatibleError("solver 'stochastic' needs a loss with the power Curvature or Scaled")
        unit = value_unit(objective)
        squares = 1.0 if unit is None else unit**2  # the least curvature is judged where features are of one size
        metric *= squares
        np.maximum(metric, 1e-3 * max(float(metric.max(initial=0.0)), 1e-300), out=metric)
        metric /= squares
        violation = objective.violation(w0, gradient)
        return StochasticState(
            w0, value, violation, 1, gradient=gradient, parts=parts, metric=metric, rate=self.rate, rng=rng
        )

    def step(self, objective: Objective, state: StochasticState) -> None:
        """Take one epoch."""
        anchor, full, parts = state.weights, state.gradient, state.parts
        w = anchor.copy()
        here, there = np.empty_like(w), np.empty_like(w)
        step = state.rate / len(parts) ** 0.5 / state.metric
        for part in state.rng.permutation(len(parts)):
            parts[part].value_and_gradient(w, here)
            parts[part].value_and_gradient(anchor, there)
            here -= there
            here *= len(parts)
            here += full
            here *= step
            np.subtract(w, here, out=here)
            objective.penalty.prox(here, step, w)
        gradient = np.empty_like(w)
        value = objective.value_and_loss_gradient(w, gradient)
        state.passes += 3
        if not value <= state.value + 1e-13 * abs(state.value):
            state.rate *= 0.5
            state.note = "undone, step halved"
            if state.rate < 1e-12:
                state.finished = Status.NO_DECREASE
            return
        state.note = ""
        state.rate *= 1.1
        state.weights, state.gradient, state.value = w, gradient, value
        state.violation = objective.violation(w, gradient)
