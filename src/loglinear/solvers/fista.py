"""FISTA: accelerated proximal gradient with backtracking and adaptive restart (Beck and Teboulle 2009;
O'Donoghue and Candes 2015), with one evaluation of the loss per step.

A step goes from an extrapolated point y = x + m (x - x'), x' the point before x, to

    x+ = prox(y - h / (L d)),        h = g(x) + m (g(x) - g(x')).

The textbook evaluates the gradient at y, and the loss once more at x+ to test L. Here h approximates the gradient at y
(Lan and Zhou 2018 extrapolate gradients so), up to terms of second order that vanish as the steps do. Value and
gradient are then known at x+ itself, where the test of L,

    (g(x+) - h) . (x+ - y)  <=  L |x+ - y|_d^2,

the objective and the violation need them. From x itself (m = 0) a step that passes the test never goes uphill, by
convexity; so a step that goes uphill under momentum is taken again without it, and the objective falls throughout.
A step that fails the test by less than a factor of two and still goes downhill is kept, and L is raised a little for
the next one. As L varies, the momenta are those of Scheinberg et al. (2014).

d is the diagonal of the loss's Hessian at the start (solvers/metric.py) where the penalty's prox allows one step per
weight (power Metric), or the penalty's own metric where it has one (power OwnMetric). A ridge that the penalty can
separate from the rest (power Split) is added to the loss. docs/results/fista.md has the measurements behind these
choices.

Where the loss can take such steps itself, weight by weight, while its gradient is in cache (power StepsInSweep), it
does (solvers/fista_in_sweep.py): the same steps, at the cost of evaluations alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from loglinear import _core
from loglinear.arrays import FloatArray
from loglinear.errors import IncompatibleError
from loglinear.protocols import Curvature, Loss, Metric, Orthant, OwnMetric, Penalty, Split
from loglinear.solvers.fista_in_sweep import NOISE, SweepState, Trial, can_step_in_sweep, following
from loglinear.solvers.memory import single_pairs
from loglinear.solvers.metric import curvature
from loglinear.solvers.solver import State
from loglinear.status import Status

if TYPE_CHECKING:
    from loglinear.optimise.objective import Objective

def _vector() -> FloatArray:
    return np.empty(0)


@dataclass
class FistaState(State):
    """Two points with the gradients of the smooth part (loss and ridge) there, and the momentum."""

    before: FloatArray = field(default_factory=_vector)  # the point before ``weights``
    gradient: FloatArray = field(default_factory=_vector)
    gradient_before: FloatArray = field(default_factory=_vector)
    trial: FloatArray = field(default_factory=_vector)
    trial_gradient: FloatArray = field(default_factory=_vector)
    metric: FloatArray | None = None  # d; None: ones
    step: FloatArray | None = None  # 1 / (L d)
    lipschitz: float = 1.0  # L, an estimate of the Lipschitz constant of the gradient
    last_lipschitz: float = 1.0  # L of the step before
    momentum: float = 0.0  # m
    age: float = 1.0  # t of the literature: m = (t - 1) / t+
    n_steps: int = 0
    quiet: bool = False  # whether the last step changed the gradient by no more than rounding errors


@dataclass(frozen=True)
class Fista:
    """Accelerated proximal gradient with backtracking and restart: any penalty with a prox."""

    metric: str = "curvature"  # or "none"
    shrink: float = 0.98  # factor of the estimated Lipschitz constant before every step, so that it can fall again
    certify_every: int = 5  # steps between two computations of the violation, where one costs as much as a prox
    in_sweep: bool = True  # let the loss take the steps, where it can
    single_precision: bool | None = None  # of vectors kept beside the weights there; None: from five million weights on

    name: ClassVar[str] = "fista"
    loss_powers: ClassVar[tuple[type, ...]] = (Loss,)
    penalty_powers: ClassVar[tuple[type, ...]] = (Penalty,)
    monotone: ClassVar[bool] = True

    def init(self, objective: Objective, w0: FloatArray) -> FistaState | SweepState:
        """Return the state at ``w0`` after the first evaluation, with the metric of all steps."""
        if self.metric not in ("none", "curvature"):
            raise IncompatibleError(f"metric must be 'none' or 'curvature', not {self.metric!r}")
        if self.certify_every < 1:
            raise ValueError(f"certify_every must be at least 1, not {self.certify_every}")
        if self.in_sweep and self.metric != "none" and can_step_in_sweep(objective):
            single = single_pairs(self.single_precision, objective)
            return SweepState.start(objective, w0, curvature(objective, w0), single)
        state = FistaState(w0, 0.0, math.inf, gradient=np.empty_like(w0))
        state.metric, state.lipschitz = self._metric(objective, w0)
        smooth = _evaluate(objective, state, w0, state.gradient)
        state.value = smooth + _rest(objective).value(w0)
        state.violation = _rest(objective).violation(w0, state.gradient)
        if state.metric is None:
            state.lipschitz = max(math.sqrt(_core.dot(objective.pool, state.gradient, state.gradient)), 1e-12)
        else:
            state.step = np.empty_like(w0)
        state.last_lipschitz = state.lipschitz
        state.before, state.gradient_before = w0.copy(), state.gradient.copy()
        state.trial, state.trial_gradient = np.empty_like(w0), np.empty_like(w0)
        return state

    def _metric(self, objective: Objective, w: FloatArray) -> tuple[FloatArray | None, float]:
        """Return (d, the first L); d is None for steps of equal length."""
        penalty = objective.penalty
        if not isinstance(penalty, Metric):
            return None, 1.0
        metric, own = None, isinstance(penalty, OwnMetric)
        if self.metric == "curvature" and isinstance(objective.loss, Curvature):
            metric = curvature(objective, w)
        elif own:
            metric = np.ones_like(w)
        if metric is None or not isinstance(penalty, OwnMetric):
            return metric, 1.0
        total = float(metric.sum())
        penalty.own_metric(metric)
        return metric, total / float(metric.sum())

    def step(self, objective: Objective, state: FistaState | SweepState) -> None:
        """Take a proximal step from the extrapolated point, with backtracking on L; then set the next momentum."""
        if isinstance(state, SweepState):
            state.step(objective, self.shrink)
            return
        if not state.quiet:
            state.lipschitz *= self.shrink
        noise = NOISE * abs(state.value)
        for _ in range(60):
            trial = self._try(objective, state)
            fits, kept = trial.judge(state.lipschitz, state.value, noise)
            if not fits:
                state.lipschitz = trial.raised(state.lipschitz, 1.2 if kept else 10.0)
            if fits or kept:
                if trial.value <= state.value + noise or state.momentum == 0.0:
                    break
                state.momentum, state.age = 0.0, 1.0  # uphill: again from the last point, without momentum
        else:
            state.finished = Status.NO_DECREASE
            return
        state.quiet = trial.change <= noise
        self._take(objective, state, trial.value)
        self._extrapolate(state, restart=trial.turn > 0.0)

    @staticmethod
    def _try(objective: Objective, state: FistaState) -> Trial:
        """Make the proximal step into ``state.trial`` and evaluate there."""
        rest, pool = _rest(objective), objective.pool
        origin = (state.weights, state.before, state.gradient, state.gradient_before, state.momentum, state.metric)
        ahead = state.trial_gradient  # free until the trial is evaluated
        _core.forward_step(pool, *origin, state.lipschitz, state.step, ahead)
        rest.prox(ahead, 1.0 / state.lipschitz if state.step is None else state.step, state.trial)
        smooth = _evaluate(objective, state, state.trial, state.trial_gradient)
        change, length, turn = _core.test_step(pool, *origin, state.trial, state.trial_gradient)
        return Trial(smooth + rest.value(state.trial), change, length, turn)

    def _take(self, objective: Objective, state: FistaState, value: float) -> None:
        """Make the trial the current point, and compute its violation where that is cheap or due."""
        state.weights, state.before, state.trial = state.trial, state.weights, state.before
        state.gradient, state.gradient_before, state.trial_gradient = (
            state.trial_gradient, state.gradient, state.gradient_before,
        )
        state.value = value
        state.n_steps += 1
        cheap = isinstance(objective.penalty, Orthant)
        state.violation = math.inf
        if cheap or state.n_steps % self.certify_every == 0:
            state.violation = _rest(objective).violation(state.weights, state.gradient)

    @staticmethod
    def _extrapolate(state: FistaState, restart: bool) -> None:
        """Set the momentum of the next step: none where it points uphill."""
        ratio = state.lipschitz / state.last_lipschitz
        state.last_lipschitz = state.lipschitz
        if restart:
            state.momentum, state.age = 0.0, 1.0
            return
        state.momentum, state.age = following(state.age, ratio)


def _rest(objective: Objective) -> Penalty:
    """Return the penalty without the ridge that is added to the loss."""
    return objective.penalty.rest if isinstance(objective.penalty, Split) else objective.penalty


def _evaluate(objective: Objective, state: FistaState, w: FloatArray, gradient: FloatArray) -> float:
    """Return the value of loss and ridge; write their gradient."""
    state.passes += 1
    value = objective.loss.value_and_gradient(w, gradient)
    if isinstance(objective.penalty, Split):
        value += objective.penalty.add_smooth_gradient(w, gradient)
    return value
