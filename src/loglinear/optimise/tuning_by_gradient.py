"""Strengths of a penalty chosen by a validation loss, all at once, along its gradient.

    minimise over rho   V(w(rho)),     w(rho) = argmin  loss(w) + penalty of strengths exp(rho)

At an optimum the smooth gradient g and the penalty's derivatives d_k, one per strength and each proportional to it,
balance: g(w) + sum_k d_k(w) = 0 on the active set (weights that do not rest in a corner). Differentiating by rho_k,

    H dw/drho_k = -d_k,       so       dV/drho_k = -a . d_k     with   H a = grad V

where H is the Hessian on the active set: one linear system, solved by conjugate residuals, gives the derivative by
every strength (Bengio 2000; Pedregosa 2016; with corners, Bertrand et al. 2022).

The same a tells what stopping the training early has cost: to first order V(w*) = V(w) - a . (gradient at w). Trials
are compared by that value, which forgives loose training; training is tightened where the term outweighs the gains.

Steps are those of BFGS in rho within a box (a trust region, and bounds on the strengths), from a Gauss-Newton guess of
the curvature:  B_kl = sum_j v_j d_kj d_lj / H_jj^2,  v the diagonal of the validation loss's Hessian.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from loglinear.arrays import FloatArray
from loglinear.errors import IncompatibleError
from loglinear.optimise.minimise import Result, minimise
from loglinear.optimise.objective import Objective
from loglinear.optimise.solver_choice import choose_solver
from loglinear.protocols import Curvature, Loss, Metric, Orthant, Penalty, Tunable
from loglinear.solvers.conjugate_residuals import solve_active
from loglinear.solvers.solver import Solver
from loglinear.status import Status

FINEST = 1e-4  # training is tightened by this factor at most
LONGEST_STEP = math.log(8.0)
SHORTEST_STEP = 0.01  # a hundredth of a strength: nothing to be found below


@dataclass(frozen=True)
class Trial:
    """One training at given strengths."""

    strengths: FloatArray
    validation: float  # the validation loss at the weights found
    expected: float  # what it would be at the exact optimum, to first order: trials are compared by it
    objective: float  # training loss + penalty
    slopes: FloatArray | None  # derivative of the validation loss by every log-strength; None for a refused trial
    accepted: bool
    iterations: int  # of the solver
    products: int  # with the Hessian
    n_active: int  # weights that are not zero
    seconds: float  # since the start


@dataclass(frozen=True)
class Tuned:
    """The best strengths found, as a penalty, the weights trained with them, and all that was tried."""

    penalty: Any
    weights: FloatArray
    history: list[Trial]
    status: Status
    result: Result  # of the training that gave the weights

    @property
    def best(self) -> Trial:
        """The trial that won."""
        return [trial for trial in self.history if trial.accepted][-1]


@dataclass(frozen=True)
class Budget:
    """What one round may cost."""

    tolerance: float = 1e-4  # of training: violation relative to the gradient at zero ...
    gain: float = 1e-6  # ... or relative gain of its last five steps; both are tightened where they blur the gains
    iterations: int = 100  # of training in a round
    first_iterations: int = 500  # of the first training, which starts far away
    residual: float = 3e-3  # relative, of the linear system
    products: int = 40  # with the Hessian in a round


@dataclass
class _Point:
    """A trained model and what is known of the validation loss there."""

    rho: FloatArray  # logarithms of the free strengths
    objective: Objective
    result: Result
    validation: float
    expected: float
    pull: FloatArray  # gradient of the validation loss by the weights
    rest: FloatArray  # least subgradient of the objective: what training left
    slopes: FloatArray = field(default_factory=lambda: np.empty(0))
    products: int = 0


def tune_strengths(
    loss: Loss,
    penalty: Penalty,
    validation_loss: Loss,
    w0: FloatArray | None = None,
    *,
    solver: str | Solver = "auto",
    solver_options: Mapping[str, Any] | None = None,
    max_rounds: int = 20,
    seconds: float | None = None,
    tolerance: float = 1e-5,
    bounds: tuple[float, float] = (1e-6, 1e6),
    fixed: Sequence[int] = (),
    budget: Budget | None = None,
    n_threads: int | None = None,
    callback: Callable[[Trial], bool | None] | None = None,
) -> Tuned:
    """Minimise ``validation_loss`` over the strengths of ``penalty`` that are not zero, from those it has.

    ``tolerance``: stop when two rounds gain, or one can hope to gain, less than this fraction of the validation loss.
    ``fixed``: numbers of strengths that stay as they are. ``seconds``: no round is begun that would probably end
    later. ``callback(trial)`` may return True to stop.
    Ctrl-C stops with the best so far.
    """
    if not isinstance(penalty, Tunable):
        raise IncompatibleError(f"tuning needs the power Tunable, which {type(penalty).__name__} lacks")
    if not isinstance(loss, Curvature):
        raise IncompatibleError(f"tuning needs the power Curvature, which {type(loss).__name__} lacks")
    if validation_loss.n_weights != loss.n_weights:
        raise ValueError(
            f"the validation loss has {validation_loss.n_weights} weights and the training loss {loss.n_weights}: "
            "encode both with the same features and classes"
        )
    if max_rounds < 0 or not tolerance >= 0 or not 0 < bounds[0] < bounds[1]:
        raise ValueError("max_rounds and tolerance must not be negative, and bounds must be positive and rise")
    free = penalty.strengths > 0
    free[list(fixed)] = False
    if not np.any(free):
        raise ValueError("no strength is free and positive: there is nothing to tune; begin with a positive one")
    tuner = _Tuner(
        loss, penalty, validation_loss, free, solver, dict(solver_options or {}), budget or Budget(), bounds, n_threads,
        tolerance, seconds, callback,
    )  # fmt: skip
    return tuner.run(w0, max_rounds)


class _Tuner:
    def __init__(
        self,
        loss: Loss,
        penalty: Tunable,
        validation_loss: Loss,
        free: NDArray[np.bool_],
        solver: str | Solver,
        solver_options: dict[str, Any],
        budget: Budget,
        bounds: tuple[float, float],
        n_threads: int | None,
        tolerance: float,
        seconds: float | None,
        callback: Callable[[Trial], bool | None] | None,
    ) -> None:
        self.loss, self.penalty, self.validation_loss, self.n_threads = loss, penalty, validation_loss, n_threads
        self.solver, self.solver_options, self.budget = solver, solver_options, budget
        self.tolerance, self.seconds, self.callback = tolerance, seconds, callback
        self.free = np.flatnonzero(free)
        start = np.log(penalty.strengths[self.free])
        self.start = start
        self.low, self.high = np.minimum(start, math.log(bounds[0])), np.maximum(start, math.log(bounds[1]))
        self.precision = 1.0  # what the tolerances of training are multiplied by
        self.adjoint = np.zeros(loss.n_weights)
        self.history: list[Trial] = []
        self.status: Status | None = None
        self.began = time.perf_counter()
        self.longest_round = 0.0
        self.idle = 0  # rounds in a row that gained next to nothing
        self.best: _Point

    # ---- the outer loop ----------------------------------------------------------------------------------------------
    def run(self, w0: FloatArray | None, max_rounds: int) -> Tuned:
        """Trials until nothing is gained."""
        self.best = self._train(self.start, w0, self.budget.first_iterations)
        try:
            if not self.status:
                self._differentiate(self.best)
                self.best = self._settle(self.best, 1e-3 * abs(self.best.validation), self.budget.first_iterations)
            if not self.status and not self.best.slopes.size:
                self._differentiate(self.best)
            self._record(self.best, True)
            if not self.status and not np.any(self.best.slopes):
                self.status = Status.NO_SLOPE
            model = None if self.status else _Model(self._curvature_guess(self.best), self.best.slopes)
            for _ in range(max_rounds):
                if self.status or model is None:
                    break
                self._round(model)
        except KeyboardInterrupt:
            self.status = Status.INTERRUPTED
            if not self.history:
                self.callback = None
                self._record(self.best, True)
        status = self.status or Status.MAX_ROUNDS
        best = self.best
        return Tuned(best.objective.penalty, best.result.weights, self.history, status, best.result)

    def _round(self, model: _Model) -> None:
        """One more trial, the best from now on if it is better; sets the status when it is time to stop."""
        best = self.best
        step = model.step(self.low - best.rho, self.high - best.rho)
        hope = model.predicted_gain(step)
        enough = self.tolerance * abs(best.expected)
        if hope <= enough:
            self.status = Status.NO_EXPECTED_GAIN
        if self.status or self._out_of_time():
            return
        mark = time.perf_counter()
        trial = self._train(best.rho + step, best.result.weights, self.budget.iterations)
        trial = self._settle(trial, max(0.5 * hope, enough), self.budget.iterations)
        gain = best.expected - trial.expected
        accepted = gain > 0
        if accepted and not self.status:
            self._differentiate(trial)
            gain = best.expected - trial.expected
            accepted = gain > 0
        self._tighten(trial, gain)
        model.learn(step, gain, hope, trial.slopes if trial.slopes.size else None, accepted)
        self.longest_round = max(self.longest_round, time.perf_counter() - mark)
        if accepted:
            self.best = trial
        self._record(trial, accepted)
        if not self.status:
            self.idle = self.idle + 1 if accepted and gain < enough else 0
            if self.idle == 2:
                self.status = Status.SMALL_GAINS
            elif model.radius < SHORTEST_STEP:
                self.status = Status.SHORTEST_STEP

    def _settle(self, point: _Point, allowed: float, max_iterations: int) -> _Point:
        """The point trained on until what training left moves the validation loss by no more than is allowed.

        The first-order correction is good for small amounts only; one that stays large is not used.
        """
        for _ in range(2):
            if self.status or abs(point.validation - point.expected) <= allowed or self.precision <= FINEST:
                break
            self.precision = max(0.1 * self.precision, FINEST)
            point = self._train(point.rho, point.result.weights, max_iterations)
        if abs(point.validation - point.expected) > allowed:
            point.expected = point.validation
        return point

    def _tighten(self, trial: _Point, gain: float) -> None:
        """Train more precisely from now on where what training left is not small beside what is gained."""
        if abs(trial.validation - trial.expected) > 0.3 * abs(gain):
            self.precision = max(0.3 * self.precision, FINEST)

    def _out_of_time(self) -> bool:
        if self.seconds is None:
            return False
        if time.perf_counter() - self.began + 0.7 * self.longest_round > self.seconds:
            self.status = Status.OUT_OF_TIME
        return bool(self.status)

    def _record(self, point: _Point, accepted: bool) -> None:
        slopes = None
        if point.slopes.size:
            slopes = np.zeros(self.penalty.strengths.size)
            slopes[self.free] = point.slopes
        trial = Trial(
            strengths=cast(Tunable, point.objective.penalty).strengths,
            validation=point.validation,
            expected=point.expected,
            objective=point.result.value,
            slopes=slopes,
            accepted=accepted,
            iterations=point.result.n_iterations,
            products=point.products,
            n_active=int(np.count_nonzero(point.result.weights)),
            seconds=time.perf_counter() - self.began,
        )
        self.history.append(trial)
        if self.callback is not None and self.callback(trial):
            self.status = self.status or Status.STOPPED

    # ---- one trial ---------------------------------------------------------------------------------------------------
    def _train(self, rho: FloatArray, w0: FloatArray | None, max_iterations: int) -> _Point:
        strengths = self.penalty.strengths
        strengths[self.free] = np.exp(rho)
        objective = Objective(self.loss, self.penalty.with_strengths(strengths), self.n_threads)
        result = minimise(
            objective,
            choose_solver(objective, self.solver, self.solver_options)[0],
            w0,
            tolerance=self.budget.tolerance * self.precision,
            decrease_tolerance=self.budget.gain * self.precision,
            max_iterations=max_iterations,
            callback=lambda *_: self.seconds is not None and time.perf_counter() - self.began > self.seconds,
        )
        if not math.isfinite(result.value):
            raise ValueError(f"training diverged at strengths {strengths.tolist()}: begin with larger ones")
        if result.status == Status.INTERRUPTED:
            self.status = Status.INTERRUPTED
        elif result.status == Status.STOPPED:
            self.status = Status.OUT_OF_TIME
        w, pull, rest = result.weights, np.empty_like(result.weights), np.empty_like(result.weights)
        objective.value_and_smooth_gradient(w, pull)
        cast(Orthant, objective.penalty).pseudo_gradient(w, pull, rest)
        validation = self.validation_loss.value_and_gradient(w, pull)
        if not math.isfinite(validation):
            raise ValueError("the validation loss is not finite: it gives no probability to a validation example")
        expected = validation - objective.dot(self.adjoint, rest)
        return _Point(rho, objective, result, validation, expected, pull, rest)

    def _differentiate(self, point: _Point) -> None:
        """Fill in the slopes, and correct the value by what training left."""
        w, objective = point.result.weights, point.objective
        point.products, self.diagonal = solve_active(
            objective, w, point.pull, self.adjoint, tolerance=self.budget.residual, max_products=self.budget.products
        )
        tunable = cast(Tunable, objective.penalty)
        point.slopes = -tunable.strength_sums(w, self.adjoint)[self.free]
        point.expected = point.validation - objective.dot(self.adjoint, point.rest)

    def _curvature_guess(self, point: _Point) -> FloatArray:
        """B of the head of this file; where the validation loss has no Curvature, that of training to its size."""
        w = point.result.weights
        if isinstance(self.validation_loss, Curvature):
            weight = np.empty_like(w)
            self.validation_loss.hessian(w).diagonal(weight)
        else:
            ridge = np.zeros_like(w)
            cast(Metric, point.objective.penalty).add_curvature_diagonal(w, ridge)
            training_loss = point.result.value - point.objective.penalty.value(w)
            weight = (self.diagonal - ridge) * (point.validation / max(training_loss, 1e-300))
        weight /= self.diagonal**2
        tunable = cast(Tunable, point.objective.penalty)
        tunable.hold(w, weight)
        return tunable.strength_products(w, weight)[np.ix_(self.free, self.free)]


def box_minimum(slopes: FloatArray, matrix: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """argmin  slopes . p + p B p / 2  over low <= p <= high, one coordinate after the other; B is positive definite."""
    p = np.clip(np.zeros(low.size), low, high)
    gradient = slopes + matrix @ p
    for _ in range(200):
        largest = 0.0
        for k in range(p.size):
            change = min(max(p[k] - gradient[k] / matrix[k, k], low[k]), high[k]) - p[k]
            p[k] += change
            gradient += change * matrix[k]
            largest = max(largest, abs(change))
        if largest < 5e-5 * float((high - low).max()):
            break
    return p


class _Model:
    """The quadratic model of the validation loss around the best point: slopes and a BFGS matrix."""

    def __init__(self, guess: FloatArray, slopes: FloatArray) -> None:
        self.radius = math.log(2.0)
        self.slopes = slopes
        top = float(np.diag(guess).max(initial=0.0))
        if not (top > 0.0 and math.isfinite(top)):
            guess, top = np.diag(np.abs(slopes) / self.radius), float(np.abs(slopes).max())
        self.matrix = guess + 1e-3 * top * np.eye(slopes.size)
        self.pairs = 0

    def step(self, low: FloatArray, high: FloatArray) -> FloatArray:
        """argmin  slopes . p + p B p / 2  over the region and low <= p <= high."""
        low, high = np.maximum(low, -self.radius), np.minimum(high, self.radius)
        return box_minimum(self.slopes, self.matrix, low, high)

    def predicted_gain(self, step: FloatArray) -> float:
        """What the model hopes for."""
        return -float(self.slopes @ step + 0.5 * step @ self.matrix @ step)

    def learn(self, step: FloatArray, gain: float, hope: float, slopes: FloatArray | None, accepted: bool) -> None:
        """Curvature from the change of slopes, size of the region from what was hoped for and gained."""
        length = float(np.abs(step).max())
        if slopes is not None:
            self._update(step, slopes - self.slopes)
        if not accepted:
            slope = float(self.slopes @ step)  # the parabola through both values and the first slope
            bend = -gain - slope
            shorter = -0.5 * slope / bend if bend > 0 else 0.5
            self.radius = length * min(max(shorter, 0.1), 0.5)
            return
        if gain > 0.75 * hope and length > 0.9 * self.radius:
            self.radius = min(2.0 * self.radius, LONGEST_STEP)
        elif gain < 0.25 * hope:
            self.radius = 0.5 * length
        if slopes is not None:
            self.slopes = slopes

    def _update(self, s: FloatArray, y: FloatArray) -> None:
        """BFGS, damped so that the matrix stays positive definite (Powell 1978)."""
        Bs = self.matrix @ s
        sBs, sy = float(s @ Bs), float(s @ y)
        if self.pairs == 0 and sy > 0.0:  # the guess is right in shape rather than in size
            scale = min(max(sy / sBs, 0.05), 20.0)
            self.matrix, Bs, sBs = self.matrix * scale, Bs * scale, sBs * scale
        if sy < 0.2 * sBs:
            theta = 0.8 * sBs / (sBs - sy)
            y = theta * y + (1.0 - theta) * Bs
            sy = float(s @ y)
        self.matrix += np.outer(y, y) / sy - np.outer(Bs, Bs) / sBs
        self.pairs += 1
