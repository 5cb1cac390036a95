"""Choose a few settings of a penalty by a validation loss V, along a path of warm starts and without derivatives.

    minimise over rho   V(w(rho)),     w(rho) = argmin  loss(w) + penalty of settings exp(rho)

``tuning_by_gradient`` follows the derivative of V, for which it must know how the optimum moves with every strength.
Under tree norms the optimum has no simple derivative: whole groups of weights come and go, or share one value. But they
have only two or three settings, and V is smooth enough in them for a quadratic model of the trials so far: among the
quadratics that fit them, the one whose curvature changed least since the last (Powell 2004), minimised within a box
that grows and shrinks with its success.

Every trial is trained from the solved weights nearest to it, loosely at first. When the search has settled, a second
one with small steps begins at its best trial, with training tightened by ``Budget.tighten``.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from loglinear.arrays import FloatArray
from loglinear.optimise.minimise import Result, minimise
from loglinear.optimise.objective import Objective
from loglinear.optimise.quadratic_model import box_minimum
from loglinear.optimise.solver_choice import choose_solver
from loglinear.optimise.training_log import log_trial
from loglinear.optimise.tuning_by_gradient import LeastTrial, Trial, Tuned
from loglinear.solvers.solver import Solver
from loglinear.status import Status

LARGEST_RADIUS = 4.0  # of the box, in units of the first steps
SMALLEST_RADIUS = 0.05  # of the box: a search ends there
KEPT = 3  # solved weights to start from, besides those of the best trial


@dataclass(frozen=True)
class Setting:
    """A positive number to choose. ``step`` is the first change of its logarithm; 0 keeps the value."""

    name: str
    value: float
    step: float = 0.5
    bounds: tuple[float, float] = (1e-6, 1e6)


@dataclass(frozen=True)
class Budget:
    """How precisely trials are trained, and how many there may be."""

    trials: int = 30
    gain: float = 1e-4  # training stops where five steps gained less than this, relatively
    passes: int = 45  # over the data, of the training of a trial
    first_passes: int = 110  # of the first trial, which starts far away
    tighten: float = 0.1  # of the gain in the second search
    second_radius: float = 0.3  # of the second search, in first steps


@dataclass
class _Point:
    place: FloatArray  # [n_free], in first steps from where the search began
    validation: float
    result: Result
    objective: Objective


@dataclass
class _Phase:
    """One search: its trials, and the quadratic model of them."""

    gain: float
    radius: float
    places: list[FloatArray] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    curvature: FloatArray | None = None


def tune_path(
    objective_at: Callable[[FloatArray], Objective],
    validation: Callable[[FloatArray], float],
    settings: Sequence[Setting],
    w0: FloatArray | None = None,
    *,
    solver: str | Solver = "auto",
    solver_options: Mapping[str, Any] | None = None,
    tolerance: float = 1e-5,
    budget: Budget | None = None,
    callback: Callable[[Trial], bool | None] | None = None,
) -> Tuned:
    """Minimise ``validation(weights)`` over the settings.

    Ctrl-C stops with the best settings so far.

    objective_at : function from the values of the settings to their objective
    w0 : weights that the first training starts from; None: zeros
    solver, solver_options : as in ``choose_solver``
    tolerance : stop where the model of the trials predicts a gain below this fraction of the validation loss
    budget : how precisely trials are trained, and how many there may be
    callback : called with every trial; it may return True to stop
    """
    for s in settings:
        if not (math.isfinite(s.value) and s.value > 0) and s.step:
            raise ValueError(f"{s.name} is {s.value!r}: what is tuned begins with a positive number; or give it step=0")
    if not any(s.step for s in settings):
        raise ValueError("no setting has a step: there is nothing to tune")
    if not tolerance >= 0:
        raise ValueError(f"the tolerance must not be negative, not {tolerance!r}")
    return _Search(
        objective_at, validation, settings, solver, dict(solver_options or {}), budget or Budget(), tolerance, callback
    ).run(w0)


class _Search:
    def __init__(
        self,
        objective_at: Callable[[FloatArray], Objective],
        validation: Callable[[FloatArray], float],
        settings: Sequence[Setting],
        solver: str | Solver,
        solver_options: dict[str, Any],
        budget: Budget,
        tolerance: float,
        callback: Callable[[Trial], bool | None] | None,
    ) -> None:
        self.objective_at, self.validation, self.callback = objective_at, validation, callback
        self.solver, self.solver_options, self.budget, self.tolerance = solver, solver_options, budget, tolerance
        self.start = np.array([s.value for s in settings])
        self.free = np.flatnonzero([s.step for s in settings])
        chosen = [s for s in settings if s.step]
        self.steps = np.array([s.step for s in chosen])
        middle = np.log(self.start[self.free])
        low, high = (np.log([s.bounds[i] for s in chosen]) for i in (0, 1))
        self.low, self.high = (low - middle) / self.steps, (high - middle) / self.steps
        self.history: list[Trial] = []
        self.solved: list[_Point] = []
        self.status: Status | None = None
        self.began = time.perf_counter()
        self.best: _Point
        self.least: LeastTrial

    # ---- the search --------------------------------------------------------------------------------------------------
    def run(self, w0: FloatArray | None) -> Tuned:
        """Search with loose training, then with precise training around the best trial."""
        budget = self.budget
        loose = _Phase(budget.gain, 1.0)
        tight = _Phase(budget.gain * budget.tighten, budget.second_radius)
        self._trial(np.zeros(self.steps.size), loose, w0, budget.first_passes)
        try:
            self._descend(loose)
            if not self.status and budget.tighten < 1.0:
                tight.curvature = loose.curvature
                self._trial(self.best.place, tight, self.best.result.weights, budget.passes, again=True)
                self._descend(tight)
        except KeyboardInterrupt:
            self.status = Status.INTERRUPTED
        status = self.status or Status.BEST_SETTINGS
        best = self.best
        penalty, result = best.objective.penalty, best.result
        return Tuned(penalty, result.weights, self.history, status, result, self.least, best.objective)

    def _descend(self, phase: _Phase) -> None:
        """Take a step along every setting, then steps to the minimum of the model, until it predicts no gain."""
        for k in range(self.steps.size):
            step = np.zeros(self.steps.size)
            room = self.high[k] - self.best.place[k]
            step[k] = phase.radius if room >= phase.radius else -phase.radius
            if self._over():
                return
            self._trial(np.clip(self.best.place + step, self.low, self.high), phase)
        enough = self.tolerance * abs(self.best.validation)
        while not self._over() and phase.radius > SMALLEST_RADIUS:
            slopes, matrix = self._model(phase)
            low = np.maximum(self.low - self.best.place, -phase.radius)
            high = np.minimum(self.high - self.best.place, phase.radius)
            step = box_minimum(slopes, matrix, low, high)
            hope = -float(slopes @ step + 0.5 * step @ matrix @ step)
            if hope <= enough:
                return
            before = self.best.validation
            length = float(np.abs(step).max())
            self._trial(self.best.place + step, phase)
            gained = before - self.best.validation
            if gained > 0.5 * hope and length > 0.9 * phase.radius:
                phase.radius = min(2.0 * phase.radius, LARGEST_RADIUS)
            elif gained < 0.1 * hope:
                phase.radius = 0.5 * length

    def _over(self) -> bool:
        if not self.status and len(self.history) >= self.budget.trials:
            self.status = Status.MAX_TRIALS
        return bool(self.status)

    def _model(self, phase: _Phase) -> tuple[FloatArray, FloatArray]:
        """Return slopes and curvature at the best trial, by weighted least squares with the old curvature as prior."""
        n = self.steps.size
        rows, columns = np.triu_indices(n)
        away = np.array(phase.places) - self.best.place
        rise = np.array(phase.values) - self.best.validation
        # Trials far away say little about the curvature around the best one.
        weight = 1.0 / (1.0 + np.sum((away / (2.0 * phase.radius)) ** 2, axis=1))
        square = away[:, rows] * away[:, columns] * np.where(rows == columns, 0.5, 1.0)
        unit = max(self.tolerance, 1e-6) * abs(self.best.validation)
        old = np.zeros(rows.size) if phase.curvature is None else phase.curvature[rows, columns]
        hold = np.hstack([np.zeros((rows.size, n)), 1e-3 * np.eye(rows.size)])
        system = np.vstack([np.hstack([away, square]) * weight[:, None], hold])
        target = np.concatenate([rise * weight, 1e-3 * old]) / unit
        found = np.linalg.lstsq(system, target, rcond=None)[0] * unit
        matrix = np.empty((n, n))
        matrix[rows, columns] = matrix[columns, rows] = found[n:]
        phase.curvature = matrix
        sizes, axes = np.linalg.eigh(matrix)
        floor = max(1e-3 * float(np.abs(sizes).max()), unit)
        return found[:n], (axes * np.maximum(sizes, floor)) @ axes.T

    # ---- one trial ---------------------------------------------------------------------------------------------------
    def _trial(
        self,
        place: FloatArray,
        phase: _Phase,
        w0: FloatArray | None = None,
        max_iterations: int | None = None,
        *,
        again: bool = False,
    ) -> None:
        """Train and record a trial, and keep it if it is the best; ``again``: the best one, now trained precisely."""
        values = self.start.copy()
        values[self.free] *= np.exp(place * self.steps)
        objective = self.objective_at(values)
        result = minimise(
            objective, choose_solver(objective, self.solver, self.solver_options)[0],
            w0 if w0 is not None or not self.solved else self._nearest(place), tolerance=None,
            decrease_tolerance=phase.gain, max_iterations=max_iterations or self.budget.passes,
        )
        if not math.isfinite(result.value):
            raise ValueError(f"training diverged at {values.tolist()}: begin with a larger strength")
        validation = self.validation(result.weights)
        if not math.isfinite(validation):
            raise ValueError("the validation loss is not finite: it gives no probability to a validation example")
        point = _Point(place, validation, result, objective)
        phase.places.append(place)
        phase.values.append(validation)
        accepted = again or not self.history or validation < self.best.validation
        if accepted:
            self.best = point
        self.solved = [*[p for p in self.solved if p is not self.best][-KEPT:], point]
        if result.status == Status.INTERRUPTED:
            self.status = Status.INTERRUPTED
        self._record(point, values, accepted)

    def _nearest(self, place: FloatArray) -> FloatArray:
        candidates = [*self.solved, self.best]
        return min(candidates, key=lambda p: float(np.sum((p.place - place) ** 2))).result.weights

    def _record(self, point: _Point, values: FloatArray, accepted: bool) -> None:
        trial = Trial(
            strengths=values, validation=point.validation, expected=point.validation, objective=point.result.value,
            slopes=None, accepted=accepted, iterations=point.result.n_iterations, products=0,
            n_active=int(np.count_nonzero(point.result.weights)), seconds=time.perf_counter() - self.began,
        )
        if not self.history or point.validation < self.least.validation:
            self.least = LeastTrial(len(self.history), point.validation, point.objective, point.result)
        self.history.append(trial)
        log_trial(len(self.history), trial)
        if self.callback is not None and self.callback(trial):
            self.status = self.status or Status.STOPPED
