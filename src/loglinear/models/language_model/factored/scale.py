"""Tuning the strengths of a level by one number: all of them are multiplied by it.

From one, the factor goes up or down in steps while the validation loss falls. Trials are trained loosely, each from the
best weights so far, and the best is then trained on to the tolerance. A level with millions of overlapping features
cannot afford the Hessian products that tuning every strength by itself takes.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from loglinear.arrays import FloatArray
from loglinear.optimise.training import Solution
from loglinear.status import Status

TrainAt = Callable[[float, FloatArray | None, bool], Solution]  # (factor, weights to begin from, loosely)
LOOSE = 10.0  # tolerance of trials, times that of the model
STEP = 1.4
MAX_STEPS = 6  # in each direction


@dataclass(frozen=True)
class ScaleTrial:
    """One training with all strengths multiplied by ``scale``."""

    level: str
    scale: float
    validation: float
    n_active: int
    accepted: bool
    seconds: float  # since tuning began

    def row(self, perplexity: float, chosen: bool) -> dict[str, Any]:
        """Return the trial as reports show it."""
        return {
            "level": self.level, "strengths": [self.scale], "perplexity": perplexity,
            "nonzero_weights": self.n_active, "accepted": self.accepted, "seconds": self.seconds, "chosen": chosen,
        }  # fmt: skip


def tune_scale(
    level: str, train_at: TrainAt, validate: Callable[[FloatArray], float]
) -> tuple[float, Solution, list[ScaleTrial]]:
    """Return the best factor, the weights trained with it, and all trials. Ctrl-C ends it with the best so far."""
    began = time.perf_counter()
    best_scale, best = 1.0, train_at(1.0, None, True)
    least, trials = validate(best.weights), []

    def note(scale: float, value: float, solution: Solution, accepted: bool) -> None:
        active = int(np.count_nonzero(solution.weights))
        trials.append(ScaleTrial(level, scale, value, active, accepted, time.perf_counter() - began))

    note(1.0, least, best, True)
    for factor in (STEP, 1 / STEP):
        for _ in range(MAX_STEPS):
            if best.result.status == Status.INTERRUPTED:
                return best_scale, best, trials
            scale = best_scale * factor
            found = train_at(scale, best.weights, True)
            value = validate(found.weights)
            better = value < least and found.result.status != Status.INTERRUPTED
            note(scale, value, found, better)
            if not better:
                break
            best_scale, best, least = scale, found, value
        if best_scale != 1.0:
            break
    final = train_at(best_scale, best.weights, False)
    note(best_scale, validate(final.weights), final, True)
    return best_scale, final, trials
