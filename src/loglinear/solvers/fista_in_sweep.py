"""FISTA whose steps are taken by the loss: the same steps as solvers/fista.py, at the cost of evaluations alone.

The gradient of a weight is known, and in cache, before the evaluation is over. The loss (power StepsInSweep) then tests
the step that led there, adds up the penalty and the violation, and moves the weight on, all at once
(native/linear/accelerated.hh). The momentum and the constant L of that next step must be foretold: they are those that
follow if the last step was good. Where the sums of the evaluation say otherwise, the step is taken again from what is
kept, which costs a pass over vectors but no evaluation. A refused step is taken again without momentum, because the
point before the last one is gone.

Beside the weights there are two points, two gradients and the metric; in single precision these are 20 bytes a weight.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from loglinear import _core
from loglinear.arrays import FloatArray, new_copy, new_zeros
from loglinear.protocols import Curvature, Entrywise, Metric, StepsInSweep
from loglinear.solvers.solver import State
from loglinear.status import Status

if TYPE_CHECKING:
    from loglinear.optimise.objective import Objective

NOISE = 1e-13  # smaller changes, relative to the objective, are rounding errors


class Trial(NamedTuple):
    """What is known of the point that a step leads to."""

    value: float  # of the objective
    change: float  # (g(x+) - h) . (x+ - y): change of the gradient along the step
    length: float  # |x+ - y|_d^2
    turn: float  # positive where the momentum points uphill

    def judge(self, lipschitz: float, value: float, noise: float) -> tuple[bool, bool]:
        """Return whether L was large enough, and whether the point is kept though it was not: it goes downhill."""
        bound = lipschitz * self.length
        fits = self.change <= bound or self.change <= 1e-3 * noise
        return fits, not fits and self.change <= 2.0 * bound and self.value < value - noise

    def raised(self, lipschitz: float, most: float) -> float:
        """Return L raised to the value that the step would have needed, by the factor ``most`` at most."""
        needed = 1.1 * self.change / self.length if self.length > 0.0 else math.inf
        return lipschitz * (min(needed / lipschitz, most) if math.isfinite(needed) else most)


def following(age: float, ratio: float) -> tuple[float, float]:
    """Return (the next momentum, the next age t), where L has changed by ``ratio`` (Scheinberg et al. 2014)."""
    older = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * ratio * age**2))
    return (age - 1.0) / older, older


def can_step_in_sweep(objective: Objective) -> bool:
    """Return whether loss and penalty have the powers."""
    loss, penalty = objective.loss, objective.penalty
    able = isinstance(loss, StepsInSweep) and isinstance(loss, Curvature)
    return able and isinstance(penalty, Entrywise) and isinstance(penalty, Metric)


def _none() -> Any:
    return None


@dataclass
class SweepState(State):
    """Two points with their gradients, the trial after them, and how it was made; ``weights`` is the last point."""

    path: Any = field(default_factory=_none)  # _core.AcceleratedPath: the trial and all that is kept
    points: list[NDArray[Any]] = field(default_factory=list)  # the last point, and the vector for the next one
    penalty: Any = None  # its native form
    lipschitz: float = 1.0  # L of the trial
    last_lipschitz: float = 1.0  # L of the step before
    momentum: float = 0.0  # of the trial
    age: float = 1.0  # t of the literature after the trial: m = (t - 1) / t+
    largest: float = math.inf  # at least max |trial|
    quiet: bool = False  # whether the last step changed the gradient by no more than rounding errors

    @classmethod
    def start(cls, objective: Objective, w0: FloatArray, metric: FloatArray, single: bool) -> SweepState:
        """Return the state at ``w0``, which becomes the trial, after the first evaluation."""
        kept = np.float32 if single else np.float64
        metric = metric if metric.dtype == kept else new_copy(metric, kept)
        points = [new_copy(w0, kept), new_copy(w0, kept)]
        w0[:] = points[0]
        gradients = [new_zeros(w0.size, kept), new_zeros(w0.size, kept)]
        make: Any = _core.SingleAcceleratedPath if single else _core.AcceleratedPath
        state = cls(points[0], math.inf, math.inf, points=points)
        state.path = make(w0, *points, *gradients, metric)
        state.penalty = cast(Entrywise, objective.penalty).native(w0.size)
        trial, state.violation = state._evaluate(objective, 0.0, 1.0)
        state._take(trial.value)
        return state

    def point(self) -> FloatArray:
        """Return the last point in double precision."""
        return self.weights if self.weights.dtype == np.float64 else new_copy(self.weights, np.float64)

    def best(self) -> tuple[FloatArray, float]:
        """Return the last point, and the objective there."""
        return self.point(), self.value

    def under(self, before: Objective, objective: Objective) -> bool:
        """Go on under another penalty: the gradients that are kept are those of the loss alone."""
        w = self.point()
        self.value += objective.penalty.value(w) - before.penalty.value(w)
        self.penalty = cast(Entrywise, objective.penalty).native(w.size)
        self.momentum, self.age, self.violation, self.passes, self.finished = 0.0, 1.0, math.inf, 0.0, None
        self._retake(objective)
        return True

    def step(self, objective: Objective, shrink: float) -> None:
        """Evaluate at the trial, which takes the next step from there; mend that if it was not as foretold."""
        noise = NOISE * abs(self.value)
        for _ in range(60):
            momentum, _ = following(self.age, self.lipschitz / self.last_lipschitz)
            ahead = self.lipschitz if self.quiet else shrink * self.lipschitz
            trial, violation = self._evaluate(objective, momentum, ahead)
            fits, kept = trial.judge(self.lipschitz, self.value, noise)
            lipschitz = self.lipschitz if fits else trial.raised(self.lipschitz, 1.2 if kept else 10.0)
            uphill = not trial.value <= self.value + noise and self.momentum != 0.0
            if (fits or kept) and not uphill:
                break
            self.momentum, self.age, self.lipschitz = 0.0, 1.0, lipschitz
            self._retake(objective)
        else:
            self.finished = Status.NO_DECREASE
            return
        self._take(trial.value)
        self.violation, self.quiet = violation, trial.change <= noise
        uphill = trial.turn > 0.0
        self.momentum, self.age = (0.0, 1.0) if uphill else following(self.age, lipschitz / self.last_lipschitz)
        self.last_lipschitz, self.lipschitz = lipschitz, lipschitz if self.quiet else shrink * lipschitz
        if (self.momentum, self.lipschitz) != (momentum, ahead):
            self._retake(objective)

    def _evaluate(self, objective: Objective, momentum: float, lipschitz: float) -> tuple[Trial, float]:
        """Evaluate at the trial, which moves on with this momentum and constant; return what it was, its violation."""
        loss = cast(StepsInSweep, objective.loss)
        numbers = (self.momentum, momentum, lipschitz, self.largest)
        value, sums = loss.value_and_step(self.path, self.penalty, *numbers)
        self.passes += 1
        change, length, turn, penalty, violation, self.largest = sums
        return Trial(value + penalty, change, length, turn), violation

    def _take(self, value: float) -> None:
        """Make the point that was evaluated the last one."""
        self.path.turn()
        self.points.reverse()
        self.weights, self.value = self.points[0], value

    def _retake(self, objective: Objective) -> None:
        """Make the trial anew, from the last point."""
        self.path.retake(objective.pool, self.penalty, self.momentum, self.lipschitz)
        self.largest = math.inf
