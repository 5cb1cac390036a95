"""Training as all models do it: settings and an objective in, a solution out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from loglinear.arrays import FloatArray
from loglinear.optimise.checkpoint import Checkpoint
from loglinear.optimise.minimise import Callback, Result, minimise
from loglinear.optimise.objective import Objective
from loglinear.optimise.progress import TrainingProgress, both
from loglinear.optimise.room import tell_room


@dataclass(frozen=True)
class Settings:
    """The settings that all models share."""

    penalty: str | None = "l2"
    strength: float = 1.0
    l1_ratio: float = 0.5
    nonnegative: bool = False
    solver: str = "auto"
    solver_options: dict[str, Any] = field(default_factory=dict)
    tolerance: float = 1e-4
    max_iterations: int = 1000
    n_threads: int | None = None
    random_state: int | None = None
    verbose: str | int = "auto"


@dataclass(frozen=True)
class Solution:
    """Weights [feature][class] (+ intercepts), how they were found, and where to start the next solve from."""

    weights: FloatArray
    result: Result
    solver: str
    reason: str
    coordinates: FloatArray  # the solver's own vector


def train(
    objective: Objective,
    settings: Settings,
    w0: FloatArray | None = None,
    *,
    callback: Callback | None = None,
    checkpoint: Checkpoint | None = None,
    go_on: Result | None = None,
    score: Callable[[FloatArray], float] | None = None,
) -> Solution:
    """Minimise an objective under the settings, with a progress bar on a terminal; ``go_on`` as in ``minimise``.

    score : function from the solver's weights to the score on held-out data, which progress and logs show
    """
    from loglinear.optimise.solver_choice import choose_solver  # which knows all losses: opening a model needs none

    tell_room(objective.n_weights)
    solver, reason = choose_solver(
        objective, settings.solver, settings.solver_options, random_state=settings.random_state
    )
    with TrainingProgress(
        settings.verbose, settings.max_iterations, tolerance=settings.tolerance, score=score
    ) as progress:
        result = minimise(
            objective, solver, w0, tolerance=settings.tolerance, max_iterations=settings.max_iterations,
            callback=both(progress, callback), checkpoint=checkpoint, go_on=go_on,
        )
    return Solution(result.weights, result, solver.name, reason, result.weights)
