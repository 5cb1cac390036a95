"""The methods. Each learns the weights of one problem and chooses among them by the errors on its dev lists.

A path is also judged along its way: at some of its points the errors on the test lists are recorded, beside the loss,
the L1 norm and the errors on the dev lists. No choice depends on the test lists.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from experiments.approximation_lasso.lists import Problem
from experiments.record import Json
from loglinear import penalties, solvers
from loglinear.arrays import FloatArray
from loglinear.losses.candidate_lists import LIST_LOSSES
from loglinear.optimise.minimise import minimise
from loglinear.optimise.objective import Objective
from loglinear.stagewise import AveragedPerceptron, Stagewise, StagewisePath, errors_along

POINTS = 150  # of a path where test errors are recorded
ITERATIONS = 300  # maximum for a batch method at one strength
STRENGTHS = {  # strong to weak: each starts where the one before ended
    "exponential/l1": tuple(2.0**k for k in range(7, -1, -1)),
    "exponential/l2": tuple(2.0**k for k in range(9, -1, -1)),
    "log/l1": tuple(2.0**k for k in range(4, -4, -1)),
    "log/l2": tuple(2.0**k for k in range(6, -3, -1)),
}
SMOOTHINGS = (1e-5, 1e-4, 3e-4, 1e-3)  # epsilon of eq. 16
SHRINKAGES = (0.1, 0.3)  # nu of eq. 9
STEPS = (0.05, 0.1, 0.2, 0.5, 0.8, 1.0)
STEP = 0.5  # the paper's
TRIED_STEPS = (0.1, 0.2, 0.5)  # chosen among on the dev lists


@dataclass(frozen=True)
class Method:
    """A title, a training function, and the settings to choose among on the dev lists."""

    title: str
    train: Callable[[Problem, Json], Json]
    settings: tuple[Json, ...] = field(default_factory=lambda: ({},))


def stagewise(problem: Problem, settings: Json) -> Json:
    """Follow a path of BLasso, F-Boosting, FSLR or boosting."""
    began = time.perf_counter()
    path = Stagewise(**settings).follow(problem.train, problem.dev)
    seconds = time.perf_counter() - began
    found = judged(problem, path.weights(), seconds)
    return {
        **found,
        "at": path.best,
        "n_steps": path.n_steps,
        "n_backward": int(path.backward.sum()),
        "first_backward": int(np.argmax(path.backward)) if path.backward.any() else None,
        "stopped": path.stopped,
        "base": path.base.tolist(),
        "curve": curve(problem, path),
    }


def curve(problem: Problem, path: StagewisePath) -> Json:
    """Return some points of a path: dense early on, then evenly spaced, with the last and the chosen point."""
    n = path.n_steps
    early = np.geomspace(1, max(n, 1), POINTS // 3)
    points = np.unique(np.r_[0, early, np.linspace(0, n, POINTS), path.best, n].astype(int).clip(0, n))
    assert path.dev_errors is not None
    rows = {"loss": path.loss, "l1": path.l1, "nonzeros": path.n_nonzeros, "dev": path.dev_errors}
    rows["test"] = errors_along(path, problem.test)
    backward = np.r_[0, np.cumsum(path.backward)]
    return {"step": points} | {name: values[points] for name, values in {**rows, "backward": backward}.items()}


def perceptron(problem: Problem, settings: Json) -> Json:
    began = time.perf_counter()
    path = AveragedPerceptron(random_state=0, **settings).follow(problem.train, problem.dev)
    return {**judged(problem, path.weights(), time.perf_counter() - began), "at": int(path.best)}


def batch(problem: Problem, settings: Json) -> Json:
    """Minimise a loss with a penalty, at the strength with the fewest errors on the dev lists.

    The weight of the base score is not penalised. The time is that of all strengths together.
    """
    loss, penalty, n_threads = settings["loss"], settings["penalty"], settings.get("n_threads")
    classes = np.ones(problem.train.n_weights, dtype=np.uint8)
    classes[: problem.train.n_base] = 0
    of_lists = LIST_LOSSES[loss](problem.train, n_threads=n_threads)
    began, trials, weights = time.perf_counter(), [], None
    for strength in settings["strengths"]:
        cost = penalties.make(penalty, [0.0, strength], classes=classes, n_threads=n_threads)
        # Counts span orders of magnitude: measured by the curvature, l1 takes an eighth of the steps.
        solver: Any = (solvers.Owlqn if penalty == "l1" else solvers.Lbfgs)(metric="curvature")
        objective = Objective(of_lists, cost, n_threads)
        result = minimise(objective, solver, weights, violation_tolerance=1e-5, max_iterations=ITERATIONS)
        weights = result.weights.copy()
        trials.append((float(problem.dev.chosen_errors(weights).sum()), strength, weights))
    best = min(trials, key=lambda trial: trial[0])
    found = judged(problem, best[2], time.perf_counter() - began)
    return {**found, "at": best[1], "trials": [{"strength": s, "dev": e} for e, s, _ in trials]}


def judged(problem: Problem, weights: FloatArray, seconds: float) -> Json:
    """Return the errors on dev and test lists, and the size of the model."""
    features = weights[problem.train.n_base :]
    errors = problem.test.chosen_errors(weights)
    return {
        "dev": float(problem.dev.chosen_errors(weights).sum()),
        "n_errors": float(errors.sum()),
        "errors": errors,
        "n_nonzero": int(np.count_nonzero(features)),
        "l1": float(np.abs(features).sum()),
        "seconds": seconds,
    }


def stagewise_settings(method: str, **options: Iterable[float]) -> tuple[Json, ...]:
    """Return one setting for each value of the option that is varied."""
    ((name, values),) = options.items()
    return tuple({"method": method, name: value} for value in values)


METHODS = {
    "boosting": Method("Boosting", stagewise, stagewise_settings("boosting", smoothing=SMOOTHINGS)),
    "shrinkage": Method(
        "Boosting, shrinkage",
        stagewise,
        tuple({"smoothing": 1e-5, **s} for s in stagewise_settings("boosting", shrinkage=SHRINKAGES)),
    ),
    "fslr": Method("FSLR", stagewise, ({"method": "fslr", "step": STEP},)),
    "f-boosting": Method("F-Boosting", stagewise, ({"method": "f-boosting", "step": STEP},)),
    "blasso": Method("BLasso", stagewise, ({"method": "blasso", "step": STEP},)),
    "blasso-step": Method("BLasso, step chosen", stagewise, stagewise_settings("blasso", step=TRIED_STEPS)),
    "boosting-errors": Method(
        "Boosting, pairs weighted by errors",
        stagewise,
        tuple({**s, "by_errors": True} for s in stagewise_settings("boosting", smoothing=SMOOTHINGS)),
    ),
    "blasso-errors": Method(
        "BLasso, pairs weighted by errors, step chosen",
        stagewise,
        tuple({**s, "by_errors": True} for s in stagewise_settings("blasso", step=TRIED_STEPS)),
    ),
    "perceptron": Method("Averaged perceptron", perceptron),
    **{
        f"{loss}/{penalty}": Method(
            f"{title} + {mark}",
            batch,
            ({"loss": loss, "penalty": penalty, "strengths": STRENGTHS[f"{loss}/{penalty}"]},),
        )
        for loss, title in (("exponential", "Exponential loss"), ("log", "Log-loss"))
        for penalty, mark in (("l1", "ℓ1"), ("l2", "ℓ2²"))
    },
}
