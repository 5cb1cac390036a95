"""Choose the strengths of a penalty by a validation loss V, all at once, along its gradient (the hypergradient).

    minimise over rho   V(w(rho)),     w(rho) = argmin  loss(w) + penalty of strengths exp(rho)

At an optimum the smooth gradient g and the penalty's derivatives d_k, one per strength and each proportional to it,
balance: g(w) + sum_k d_k(w) = 0 on the active set (weights that do not rest in a corner). Differentiating by rho_k,

    H dw/drho_k = -d_k,       so       dV/drho_k = -a . d_k     with   H a = grad V

where H is the Hessian on the active set: one linear system, solved by conjugate residuals, gives the derivative by
every strength (Bengio 2000; Pedregosa 2016; with corners, Bertrand et al. 2022).

The same a tells how much stopping the training early has cost: to first order V(w*) = V(w) - a . (gradient at w).
Trials are compared by that value, which corrects for loose training; training is tightened where the correction
outweighs the gains.

Steps are those of BFGS in rho within a box (a trust region, and bounds on the strengths; quadratic_model.py), from a
Gauss-Newton guess of the curvature:  B_kl = sum_j v_j d_kj d_lj / H_jj^2,  v the diagonal of the Hessian of V.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from loglinear.arrays import FloatArray
from loglinear.errors import IncompatibleError
from loglinear.optimise.minimise import History, Result, minimise
from loglinear.optimise.objective import Objective
from loglinear.optimise.quadratic_model import TrustRegion
from loglinear.optimise.solver_choice import choose_solver
from loglinear.optimise.training_log import log_trial
from loglinear.protocols import Curvature, Loss, Metric, Orthant, Penalty, Tunable
from loglinear.solvers.conjugate_residuals import solve_active
from loglinear.solvers.memory import MANY_WEIGHTS
from loglinear.solvers.solver import Solver, State
from loglinear.status import Status

FINEST = 1e-4  # training is tightened by this factor at most
SHORTEST_STEP = 0.01  # a change of strengths by one percent: shorter steps gain nothing


@dataclass(frozen=True)
class Trial:
    """One training at given strengths."""

    strengths: FloatArray
    validation: float  # the validation loss at the weights found
    expected: float  # its value at the exact optimum, to first order: trials are compared by it
    objective: float  # training loss + penalty
    slopes: FloatArray | None  # derivative of the validation loss by every log-strength; None for a refused trial
    accepted: bool
    iterations: int  # passes over the data of the training
    products: int  # with the Hessian
    n_active: int  # weights that are not zero
    seconds: float  # since the start


@dataclass(frozen=True)
class LeastTrial:
    """The trial with the least validation loss."""

    number: int  # in the history
    validation: float
    objective: Objective
    result: Result


@dataclass(frozen=True)
class Tuned:
    """The best strengths found, as a penalty, the weights trained with them, and all trials.

    ``least`` may be another trial than the best: that one is chosen by the validation loss expected at its exact
    optimum, or was trained more precisely.
    """

    penalty: Any
    weights: FloatArray
    history: list[Trial]
    status: Status
    result: Result  # of the training that gave the weights; with the solver's state where weights are not too many
    least: LeastTrial
    objective: Objective  # of that training

    def without_state(self) -> Tuned:
        """Return the same without the solver's state, which is several vectors of weights."""
        return replace(self, result=replace(self.result, state=None))

    @property
    def best(self) -> Trial:
        """Return the trial that won."""
        return self.history[self.best_number]

    @property
    def best_number(self) -> int:
        """Return the number of that trial in the history."""
        return max(number for number, trial in enumerate(self.history) if trial.accepted)


@dataclass(frozen=True)
class Budget:
    """What one round may cost."""

    gain: float = 1e-6  # of the last five steps of training, relative; it is tightened where it blurs the gains
    passes: int = 120  # over the data, of training in a round
    first_passes: int = 600  # of the first training, which starts far away
    residual: float = 3e-3  # relative, of the linear system
    products: int = 40  # with the Hessian in a round


def tune_strengths(
    loss: Loss,
    penalty: Penalty,
    validation_loss: Loss,
    w0: FloatArray | None = None,
    *,
    solver: str | Solver = "auto",
    solver_options: Mapping[str, Any] | None = None,
    max_rounds: int = 20,
    tolerance: float = 1e-5,
    bounds: tuple[float, float] = (1e-6, 1e6),
    fixed: Sequence[int] = (),
    budget: Budget | None = None,
    n_threads: int | None = None,
    callback: Callable[[Trial], bool | None] | None = None,
) -> Tuned:
    """Minimise ``validation_loss`` over the strengths of ``penalty`` that are not zero, from those it has.

    Ctrl-C stops with the best strengths so far.

    w0 : weights that the first training starts from; None: zeros
    solver, solver_options : as in ``choose_solver``
    max_rounds : maximum number of trials after the first
    tolerance : stop when two rounds gain, or one can hope to gain, less than this fraction of the validation loss
    bounds : least and greatest strength
    fixed : numbers of strengths that stay as they are
    budget : what one round may cost
    callback : called with every trial; it may return True to stop
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
        tolerance, max_rounds, callback,
    )  # fmt: skip
    return tuner.run(w0)


@dataclass
class _Point:
    """A trained model and what is known of the validation loss there."""

    rho: FloatArray  # logarithms of the free strengths
    objective: Objective
    result: Result
    validation: float
    expected: float
    validation_gradient: FloatArray  # by the weights
    remaining_gradient: FloatArray  # least subgradient of the objective: zero after exact training
    slopes: FloatArray = field(default_factory=lambda: np.empty(0))
    products: int = 0


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
        max_rounds: int,
        callback: Callable[[Trial], bool | None] | None,
    ) -> None:
        self.loss, self.penalty, self.validation_loss, self.n_threads = loss, penalty, validation_loss, n_threads
        self.solver, self.solver_options, self.budget = solver, solver_options, budget
        self.tolerance, self.max_rounds, self.callback = tolerance, max_rounds, callback
        self.free = np.flatnonzero(free)
        start = np.log(penalty.strengths[self.free])
        self.start = start
        self.low, self.high = np.minimum(start, math.log(bounds[0])), np.maximum(start, math.log(bounds[1]))
        self.precision = 1.0  # factor of the budget's gain
        self.adjoint = np.zeros(loss.n_weights)  # a of the head of this file
        self.history: list[Trial] = []
        self.status: Status | None = None
        self.began = time.perf_counter()
        self.idle = 0  # rounds in a row that gained next to nothing
        self.best: _Point
        self.least: LeastTrial
        self.model: TrustRegion

    # ---- the outer loop: begin, one round after another, reason to stop ----------------------------------------------
    def run(self, w0: FloatArray | None) -> Tuned:
        """Make trials until there is a reason to stop."""
        self.best = self._train(self.start, w0, self.budget.first_passes)
        try:
            self._begin()
            while (reason := self._reason_to_stop()) is None:
                self._round()
        except KeyboardInterrupt:
            reason = Status.INTERRUPTED
            if not self.history:
                self.callback = None
                self._record(self.best, True)
        best = self.best
        penalty, result = best.objective.penalty, best.result
        return Tuned(penalty, result.weights, self.history, reason, result, self.least, best.objective)

    def _begin(self) -> None:
        """Differentiate the first trial and make the first model."""
        if self.status is None:
            self._differentiate(self.best)
            self.best = self._settle(self.best, 1e-3 * abs(self.best.validation), self.budget.first_passes)
        if self.status is None and not self.best.slopes.size:
            self._differentiate(self.best)
        self._record(self.best, True)
        if self.status is None and not np.any(self.best.slopes):
            self.status = Status.NO_SLOPE
        if self.status is None:
            self.model = TrustRegion(self._curvature_guess(self.best), self.best.slopes)

    def _round(self) -> None:
        """Make one more trial, and take it for the best if it is."""
        best = self.best
        step, hope = self._proposal()
        trial = self._train(best.rho + step, best.result.weights, self.budget.passes, best)
        trial = self._settle(trial, max(0.5 * hope, self._enough()), self.budget.passes)
        gain = best.expected - trial.expected
        accepted = gain > 0
        if accepted and self.status is None:
            self._differentiate(trial)
            gain = best.expected - trial.expected
            accepted = gain > 0
        self._tighten(trial, gain)
        self.model.learn(step, gain, hope, trial.slopes if trial.slopes.size else None, accepted)
        self.idle = self.idle + 1 if accepted and gain < self._enough() else 0
        if accepted:
            self.best = trial
        self._record(trial, accepted)

    def _reason_to_stop(self) -> Status | None:
        """Return why there is no further round; None where there is."""
        if self.status is not None:
            return self.status
        if self.idle == 2:
            return Status.SMALL_GAINS
        if self.model.radius < SHORTEST_STEP:
            return Status.SHORTEST_STEP
        if len(self.history) > self.max_rounds:
            return Status.MAX_ROUNDS
        if self._proposal()[1] <= self._enough():
            return Status.NO_EXPECTED_GAIN
        return None

    def _proposal(self) -> tuple[FloatArray, float]:
        """Return the next step and the gain that the model predicts."""
        step = self.model.step(self.low - self.best.rho, self.high - self.best.rho)
        return step, self.model.predicted_gain(step)

    def _enough(self) -> float:
        """Return the least gain that is worth a round."""
        return self.tolerance * abs(self.best.expected)

    def _record(self, point: _Point, accepted: bool) -> None:
        slopes = None
        if point.slopes.size:
            slopes = np.zeros(self.penalty.strengths.size)
            slopes[self.free] = point.slopes
        trial = Trial(
            strengths=cast(Tunable, point.objective.penalty).strengths, validation=point.validation,
            expected=point.expected, objective=point.result.value, slopes=slopes, accepted=accepted,
            iterations=point.result.n_iterations, products=point.products,
            n_active=int(np.count_nonzero(point.result.weights)), seconds=time.perf_counter() - self.began,
        )
        if not self.history or point.validation < self.least.validation:
            self.least = LeastTrial(
                len(self.history), point.validation, point.objective, replace(point.result, state=None)
            )
        self.history.append(trial)
        log_trial(len(self.history), trial)
        if self.callback is not None and self.callback(trial):
            self.status = self.status or Status.STOPPED

    # ---- one trial ---------------------------------------------------------------------------------------------------
    def _train(
        self, rho: FloatArray, w0: FloatArray | None, max_iterations: int, before: _Point | None = None
    ) -> _Point:
        """Train at these strengths from weights, those of a point perhaps: then the solver goes on as it was there."""
        objective, go_on = self._objective(rho), None
        if before is not None and before.result.state is not None:
            go_on = before.result
            if before.rho is rho:
                objective = before.objective
            elif (go_on := _moved(before, objective)) is not None:
                before.result = replace(before.result, state=None)  # it is this trial's now
        result = minimise(
            objective, choose_solver(objective, self.solver, self.solver_options)[0], w0,
            tolerance=None, decrease_tolerance=self.budget.gain * self.precision, max_iterations=max_iterations,
            go_on=go_on, keep_state=self.loss.n_weights < MANY_WEIGHTS,
        )
        if not math.isfinite(result.value):
            raise ValueError(f"training diverged at strengths {np.exp(rho).tolist()}: begin with larger ones")
        if result.status is Status.INTERRUPTED:
            self.status = Status.INTERRUPTED
        w, gradient, remaining = result.weights, np.empty_like(result.weights), np.empty_like(result.weights)
        objective.value_and_smooth_gradient(w, gradient)
        cast(Orthant, objective.penalty).pseudo_gradient(w, gradient, remaining)
        validation = self.validation_loss.value_and_gradient(w, gradient)
        if not math.isfinite(validation):
            raise ValueError("the validation loss is not finite: it gives no probability to a validation example")
        expected = validation - objective.dot(self.adjoint, remaining)
        return _Point(rho, objective, result, validation, expected, gradient, remaining)

    def _objective(self, rho: FloatArray) -> Objective:
        """Return the objective of these strengths."""
        strengths = self.penalty.strengths
        strengths[self.free] = np.exp(rho)
        return Objective(self.loss, self.penalty.with_strengths(strengths), self.n_threads)

    def _settle(self, point: _Point, allowed: float, max_iterations: int) -> _Point:
        """Train a point on until the first-order correction of its validation loss is no larger than allowed.

        The correction is good for small amounts only; one that stays large is not used.
        """
        for _ in range(2):
            correction = abs(point.validation - point.expected)
            if self.status is not None or correction <= allowed or self.precision <= FINEST:
                break
            self.precision = max(0.1 * self.precision, FINEST)
            point = self._train(point.rho, point.result.weights, max_iterations, point)
        if abs(point.validation - point.expected) > allowed:
            point.expected = point.validation
        return point

    def _tighten(self, trial: _Point, gain: float) -> None:
        """Train more precisely from now on where the correction is not small beside the gain."""
        if abs(trial.validation - trial.expected) > 0.3 * abs(gain):
            self.precision = max(0.3 * self.precision, FINEST)

    def _differentiate(self, point: _Point) -> None:
        """Fill in the slopes, and correct the validation loss for training that stopped early."""
        objective, w = point.objective, point.result.weights
        slopes, point.products, self.diagonal = hypergradient(
            objective, w, point.validation_gradient, self.adjoint, self.budget
        )
        point.slopes = slopes[self.free]
        point.expected = point.validation - objective.dot(self.adjoint, point.remaining_gradient)

    def _curvature_guess(self, point: _Point) -> FloatArray:
        """Return B of the head of this file; without Curvature of V, that of the training loss scaled to its size."""
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


def _moved(before: _Point, objective: Objective) -> Result | None:
    """Return the result at a point as if training had begun there under another objective, to go on from; or None."""
    state = cast(State, before.result.state)
    if not state.under(before.objective, objective):
        return None
    history = History()
    history.record(0.0, state)
    return replace(before.result, history=history)


def hypergradient(
    objective: Objective, w: FloatArray, validation_gradient: FloatArray, adjoint: FloatArray, budget: Budget
) -> tuple[FloatArray, int, FloatArray]:
    """Return (dV/drho_k of every strength k, number of products with the Hessian, diagonal of the Hessian).

    dV/drho_k = -a . d_k,   H a = grad V on the active set.   ``adjoint`` is a: the start of the solution, overwritten.
    """
    products, diagonal = solve_active(
        objective, w, validation_gradient, adjoint, tolerance=budget.residual, max_products=budget.products
    )
    return -cast(Tunable, objective.penalty).strength_sums(w, adjoint), products, diagonal
