"""Training methods of rerankers: functions from encoded lists to a path.

    none                                  the base scores alone
    blasso, f-boosting, fslr, boosting    one feature at a time, on the exponential loss; a point for each step
    perceptron                            averaged perceptron; a point for each pass
    maxent, exponential, expected-error   a loss of lists + strength * penalty, minimised; a point for each strength

Base scores carry no penalty. A new method is one function and one line in METHODS.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from loglinear import penalties
from loglinear.arrays import FloatArray
from loglinear.data.candidates import CandidateLists
from loglinear.losses.candidate_lists import ExpectedErrorLoss, ExponentialMarginLoss, ListLogLoss, ListLoss
from loglinear.models.reranker.path import ListedWeights, RerankerPath, best_point
from loglinear.optimise.minimise import minimise
from loglinear.optimise.objective import Objective
from loglinear.optimise.progress import Counting
from loglinear.optimise.solver_choice import choose_solver
from loglinear.optimise.training import Settings, Solution, train
from loglinear.optimise.training_log import log_step
from loglinear.registry import Registry
from loglinear.stagewise import AveragedPerceptron, Stagewise, StagewisePath, fit_base_weights
from loglinear.status import Status

BATCH = ("maxent", "exponential", "expected-error")  # the methods that have a penalty
_TRIED = np.geomspace(10.0, 0.01, 7)  # strengths that tune="validation" tries, strong to weak
_SMALL = 1e-3  # contribution of a useless base score to the margin of an average pair: it only breaks ties


@dataclass(frozen=True)
class Task:
    """The input of a method: lists, the settings of the reranker, and the path of its last fit to the same lists."""

    data: Any  # CandidateLists, or what stands for those of a cluster
    dev: CandidateLists | None
    settings: Any
    before: RerankerPath | None = None

    @property
    def score(self) -> Callable[[FloatArray], float] | None:
        """The function from weights to 1 - error rate on the held-out lists; None without them."""
        dev = self.dev
        return None if dev is None else lambda w: self.score_of(float(dev.chosen_errors(w).sum()))

    def score_of(self, errors: float) -> float:
        """Return the score of so many errors in the held-out lists; not a number without them."""
        length = 0.0 if self.dev is None else float(self.dev.length.sum())
        return 1.0 - errors / length if length else math.nan

    def loss(self, kind: type[ListLoss], by_errors: bool = False) -> Any:
        """Return a loss of the lists."""
        return kind(self.data, by_errors=by_errors, n_threads=self.settings.n_threads)


# ---- the base scores alone ------------------------------------------------------------------------------------------
def fit_base(data: Any, loss: Any) -> FloatArray:
    """Return the weights of the base scores that minimise the loss without any feature: [n_base]."""
    n_base, n_features = data.n_base, data.n_features
    if n_base == 0 or data.n_pairs == 0:
        return np.eye(1, n_base).reshape(-1)  # nothing to learn from: the first base score decides
    if isinstance(loss, ExponentialMarginLoss):
        found = fit_base_weights(data, by_errors=loss.by_errors, n_threads=loss.n_threads)
    else:
        alone, _ = loss.restrict(np.zeros(n_base + n_features, dtype=bool))
        objective = Objective(alone, penalties.make("none", n_threads=loss.n_threads), loss.n_threads)
        found = minimise(objective, choose_solver(objective)[0], violation_tolerance=1e-6).weights
    if n_base == 1 and found[0] <= 0:
        warnings.warn(
            f"the base score {data.base_names[0]!r} is of no use: higher scores do not go with fewer errors. It "
            "keeps a small weight, so that no change keeps its order. If it is a cost, give minus the cost",
            UserWarning,
            stacklevel=2,
        )
        found[0] = _SMALL / (data.mean_base() or 1.0)
    return found


def follow_none(task: Task) -> RerankerPath:
    """The base scores alone; several are weighted by minimising the log-loss."""
    data = task.data
    loss = task.loss(ListLogLoss)
    base = np.ones(1) if data.n_base == 1 else fit_base(data, loss)
    weights = np.concatenate([base, np.zeros(data.n_features)])
    return _path(task, loss, [weights], np.full(1, np.inf), Status.NO_CHANGE)


# ---- batch ----------------------------------------------------------------------------------------------------------
def follow_maxent(task: Task) -> RerankerPath:
    """Conditional log-loss over the lists, with any penalty."""
    return _strengths(task, [task.loss(ListLogLoss, task.settings.by_errors)])


def follow_exponential(task: Task) -> RerankerPath:
    """The exponential loss of boosting, minimised over all features, with any penalty."""
    return _strengths(task, [task.loss(ExponentialMarginLoss, task.settings.by_errors)])


def follow_expected_error(task: Task) -> RerankerPath:
    """Expected number of errors, started from the weights of maxent; not convex."""
    return _strengths(task, [task.loss(ListLogLoss), task.loss(ExpectedErrorLoss, by_errors=True)])


def strengths_of(given: Any, name: str = "strength") -> FloatArray:
    """Return one strength or several as an array, the strongest first; ``name`` is that of the setting."""
    try:
        found = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        found = np.full(1, np.nan)
    if isinstance(given, bool) or found.ndim > 1 or found.size == 0 or not np.all(np.isfinite(found) & (found >= 0)):
        raise ValueError(f"{name} must be a number, not negative, or a list of such numbers, but is {given!r}")
    return np.unique(found)[::-1]


def _strengths(task: Task, losses: Sequence[Any]) -> RerankerPath:
    """Follow a path of strengths, each started from the last; the losses are minimised one after another."""
    s, data = task.settings, task.data
    strengths = _TRIED if isinstance(s.tune, str) else strengths_of(s.strength if s.tune is None else s.tune)
    points = [np.concatenate([fit_base(data, losses[0]), np.zeros(data.n_features)])]
    start = points[0] if task.before is None else task.before.weights()
    solutions: list[Solution] = []
    for strength in strengths.tolist():
        found = [_solve(task, losses[0], strength, start)]
        start = found[0].weights
        for loss in losses[1:]:
            found.append(_solve(task, loss, strength, found[-1].weights))
        solutions.append(found[-1])
        if Status.INTERRUPTED in (solution.result.status for solution in found):
            break
    points += [solution.weights for solution in solutions]
    tried = np.concatenate([[np.inf], strengths[: len(solutions)]])
    return _path(task, losses[-1], points, tried, solutions[-1].result.status, solutions)


def _solve(task: Task, loss: Any, strength: float, start: FloatArray) -> Solution:
    data, settings = task.data, task.settings
    classes = np.ones(loss.n_weights, dtype=np.uint8)
    classes[: data.n_base] = 0
    penalty = penalties.make(
        settings.penalty, [0.0, strength], l1_ratio=settings.l1_ratio, classes=classes, n_threads=settings.n_threads
    )
    options: dict[str, Any] = {} if settings.max_iterations is None else {"max_iterations": settings.max_iterations}
    asked = Settings(
        solver=settings.solver, tolerance=settings.tolerance, n_threads=settings.n_threads,
        random_state=settings.random_state, verbose=settings.verbose, **options,
    )  # fmt: skip
    return train(Objective(loss, penalty, settings.n_threads), asked, start, score=task.score)


def _path(
    task: Task, loss: Any, points: list[FloatArray], strength: FloatArray | None, stopped: Status,
    solutions: Sequence[Solution] = (),
) -> RerankerPath:  # fmt: skip
    dev, n_base = task.dev, task.data.n_base
    gradient = np.empty(loss.n_weights)
    errors = None if dev is None else np.asarray([float(dev.chosen_errors(w).sum()) for w in points])
    return RerankerPath(
        point=np.arange(len(points)),
        loss=np.asarray([loss.value_and_gradient(w, gradient) for w in points]),
        l1=np.asarray([float(np.abs(w[n_base:]).sum()) for w in points]),
        n_nonzeros=np.asarray([np.count_nonzero(w[n_base:]) for w in points], dtype=np.int64),
        chosen=best_point(errors, len(points)),
        stopped=stopped,
        validation_errors=errors,
        train_errors=np.asarray([float(task.data.chosen_errors(w).sum()) for w in points]),
        strength=strength,
        source=ListedWeights(points),
        solutions=tuple(solutions),
    )


# ---- one feature or one list at a time ------------------------------------------------------------------------------
def follow_blasso(task: Task) -> RerankerPath:
    """BLasso: forward steps that lower the loss and backward steps that lower the l1 norm; approximates the lasso."""
    return _stagewise("blasso", task)


def follow_f_boosting(task: Task) -> RerankerPath:
    """Boosting with forward steps of a fixed length."""
    return _stagewise("f-boosting", task)


def follow_fslr(task: Task) -> RerankerPath:
    """Forward stagewise linear regression: fixed steps for the feature that could lower the loss most."""
    return _stagewise("fslr", task)


def follow_boosting(task: Task) -> RerankerPath:
    """Boosting with smoothed steps to the optimum of the best feature."""
    return _stagewise("boosting", task)


def _stagewise(method: str, task: Task) -> RerankerPath:
    s, data = task.settings, task.data
    solver = Stagewise(
        method, s.step, s.threshold, s.smoothing, s.shrinkage, **_limits(s), by_errors=s.by_errors,
        n_threads=s.n_threads,
    )  # fmt: skip
    before = task.before.source if task.before is not None else None
    with _progress("steps", s, solver.max_iterations) as shown:

        def report(n_steps: int, loss: float, dev_errors: float) -> None:
            shown(n_steps)
            log_step(method, n_steps, objective=loss, held_out=task.score_of(dev_errors))

        if isinstance(before, StagewisePath):
            path = solver.follow(data, task.dev, path=before, report=report)
        else:
            base = fit_base(data, task.loss(ExponentialMarginLoss, s.by_errors))
            path = solver.follow(data, task.dev, base=base, report=report)
    return RerankerPath(
        point=np.arange(path.n_steps + 1), loss=path.loss, l1=path.l1, n_nonzeros=path.n_nonzeros, chosen=path.best,
        stopped=path.stopped, validation_errors=path.dev_errors, alpha=path.alpha if method == "blasso" else None,
        backward=np.concatenate([[False], path.backward]) if method == "blasso" else None, source=path,
    )


def follow_perceptron(task: Task) -> RerankerPath:
    """Averaged perceptron: adds the feature differences of wrongly chosen candidates, pass after pass."""
    s, data = task.settings, task.data
    loss = task.loss(ExponentialMarginLoss)
    seed = 0 if s.random_state is None else s.random_state
    solver = AveragedPerceptron(**_limits(s), random_state=seed, n_threads=s.n_threads)
    with _progress("passes", s, solver.max_iterations) as shown:

        def report(n_passes: int, dev_errors: float) -> None:
            shown(n_passes)
            log_step("perceptron", n_passes, passes=n_passes, held_out=task.score_of(dev_errors))

        path = solver.follow(data, task.dev, base=fit_base(data, loss), report=report)
    points = [path.weights(at) for at in range(path.n_steps + 1)]
    return _path(task, loss, points, None, path.stopped)


def _limits(settings: Any) -> dict[str, Any]:
    """Return the limits that the user set; the others are the method's own."""
    limits = {"patience": settings.patience, "max_iterations": settings.max_iterations}
    return {name: value for name, value in limits.items() if value is not None}


def _progress(what: str, settings: Any, total: int) -> Counting:
    return Counting(what, total, verbose=settings.verbose, results_follow=True)


METHODS: Registry[Callable[..., RerankerPath]] = Registry(
    "method",
    {
        "blasso": follow_blasso,
        "f-boosting": follow_f_boosting,
        "fslr": follow_fslr,
        "boosting": follow_boosting,
        "perceptron": follow_perceptron,
        "maxent": follow_maxent,
        "exponential": follow_exponential,
        "expected-error": follow_expected_error,
        "none": follow_none,
    },
)
