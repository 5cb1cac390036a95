"""Generalised iterative scaling (GIS), under a ridge or no penalty: a baseline, slower than the gradient solvers.

    E[f_j] exp(C delta_j)  =  count_j - b_j (w_j + delta_j),        C the largest number of features active in an event

With the expectations E at w and a ridge of strengths b, delta minimises an upper bound of the objective that separates
the weights, so no step raises the objective and no line search is needed (Darroch and Ratcliff 1972; without the
correction feature, Curran and Clark 2003; with a Gaussian prior, Chen and Rosenfeld 1999). Without a penalty,
delta_j = log(count_j / E[f_j]) / C. The equations are solved in native/baselines/iterative_scaling.hh.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, cast

import numpy as np

from loglinear import _core
from loglinear.arrays import FloatArray
from loglinear.protocols import Expectations, Separable, Smooth
from loglinear.solvers.solver import State
from loglinear.status import Status

if TYPE_CHECKING:
    from loglinear.optimise.objective import Objective

_LONGEST_STEP = 20.0  # where a feature never occurs and nothing is penalised, the optimum lies at infinity
_PATIENCE = 10  # steps in a row without a decrease after which rounding errors are taken for the reason


@dataclass
class ScalingState(State):
    """The weights and the expectations of features there."""

    expectations: FloatArray = field(default_factory=lambda: np.empty(0))  # [n_totals, n_weights]
    multiplicity: FloatArray = field(default_factory=lambda: np.empty(0))  # [n_totals]
    counts: FloatArray = field(default_factory=lambda: np.empty(0))
    ridge: FloatArray = field(default_factory=lambda: np.empty(0))  # b
    change: FloatArray = field(default_factory=lambda: np.empty(0))
    stalled: int = 0


@dataclass(frozen=True)
class Gis:
    """Generalised iterative scaling: all features as if they were active in the fullest event."""

    name: ClassVar[str] = "gis"
    loss_powers: ClassVar[tuple[type, ...]] = (Expectations,)
    penalty_powers: ClassVar[tuple[type, ...]] = (Smooth, Separable)
    monotone: ClassVar[bool] = True

    def _totals(self, loss: Expectations) -> FloatArray:
        """Return the numbers of active features m that expectations are kept for: only the largest, C."""
        return np.array([float(loss.features_per_event)])

    def _evaluate(self, loss: Expectations, w: FloatArray, out: FloatArray) -> float:
        return loss.expectations(w, out[0])

    def init(self, objective: Objective, w0: FloatArray) -> ScalingState:
        """Return the state at ``w0`` after the first evaluation, with counts and strengths."""
        loss = cast(Expectations, objective.loss)
        totals = self._totals(loss)
        counts, ridge = np.empty_like(w0), np.zeros_like(w0)
        loss.empirical(counts)
        cast(Smooth, objective.penalty).add_curvature_diagonal(w0, ridge)
        state = ScalingState(
            w0, np.inf, np.inf, expectations=np.empty((totals.size, w0.size)), multiplicity=totals, counts=counts,
            ridge=ridge, change=np.empty_like(w0),
        )
        self._look(objective, state)
        return state

    def _look(self, objective: Objective, state: ScalingState) -> None:
        """Compute the value, the expectations and the violation at the weights."""
        loss = cast(Expectations, objective.loss)
        state.value = self._evaluate(loss, state.weights, state.expectations) + objective.penalty.value(state.weights)
        state.passes += 1
        gradient = state.expectations.sum(axis=0)
        gradient -= state.counts
        state.violation = objective.violation(state.weights, gradient)

    def step(self, objective: Objective, state: ScalingState) -> None:
        """Solve the equation of the head of this file for the change of each weight, then evaluate."""
        _core.scaling_step(  # writes delta into ``state.change``
            objective.pool,
            state.expectations,
            state.multiplicity,
            state.counts,
            state.ridge,
            state.weights,
            _LONGEST_STEP,
            state.change,
        )
        before = state.value
        _core.combine(objective.pool, 1.0, state.weights, 1.0, state.change, state.weights)
        self._look(objective, state)
        state.stalled = 0 if state.value < before else state.stalled + 1
        if state.stalled >= _PATIENCE:
            state.finished = Status.NO_DECREASE
