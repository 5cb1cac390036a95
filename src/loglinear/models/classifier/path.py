"""Regularisation paths: the same problem at falling strengths, each solved from the last solution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from loglinear.arrays import FloatArray
from loglinear.data.multiclass import MulticlassData
from loglinear.losses.multinomial import MultinomialLoss
from loglinear.models.notebook import Shown, curve_section
from loglinear.optimise.minimise import Callback, Result
from loglinear.optimise.objective import Objective
from loglinear.optimise.training import Settings, Solution
from loglinear.status import Status

if TYPE_CHECKING:
    from loglinear.display.page import Section


@dataclass(frozen=True)
class PathPoint:
    """One strength, its solution and, where there are held-out examples, its scores on them."""

    strength: float
    solution: Solution
    held_out_loss: float | None = None  # mean log-loss per example
    held_out_accuracy: float | None = None

    @property
    def weights(self) -> FloatArray:
        """Weights [feature][class] (+ intercepts)."""
        return self.solution.weights

    @property
    def result(self) -> Result:
        """Return how the weights were found."""
        return self.solution.result

    def held_out(self) -> tuple[float, float]:
        """Return (loss, accuracy) on the held-out examples; raise ValueError if the path had none."""
        if self.held_out_loss is None or self.held_out_accuracy is None:
            raise ValueError("the path was made without held-out data")
        return self.held_out_loss, self.held_out_accuracy

    @property
    def n_nonzero(self) -> int:
        """Number of weights that are not zero."""
        return int(np.count_nonzero(self.weights))


class Path(Shown, list[PathPoint]):
    """Points of falling strength."""

    def sections(self) -> list[Section]:
        """Return the loss on held-out examples by strength, or without any, the number of weights that are kept."""
        strengths = [point.strength for point in self]
        if self and self[0].held_out_loss is not None:
            curves = {"log-loss": [point.held_out()[0] for point in self]}
            return [curve_section("Log-loss on held-out examples", "strength", strengths, curves, log_x=True)]
        kept = {"weights": [float(point.n_nonzero) for point in self]}
        return [curve_section("Weights that are not zero", "strength", strengths, kept, log_x=True)]


class Problem(Protocol):
    """A classification problem that can be solved at one strength after another, as ``LinearProblem`` is."""

    settings: Settings
    loss: Any

    @property
    def intercept(self) -> bool:
        """Whether there are weights without penalty."""

    def objective(self, strength: float) -> Objective:
        """Return the objective on the weights."""

    def solve(
        self, strength: float | None = None, *, start: Solution | None = None, callback: Callback | None = None
    ) -> Solution:
        """Train, from an earlier solution or zero."""


def default_strengths(problem: Problem, n: int) -> FloatArray:
    """Return n falling strengths: under l1 four decades from where the first weight leaves zero, else 1000 to 0.001."""
    objective = problem.objective(1.0)
    zero = np.zeros(problem.loss.n_weights)
    gradient = np.empty_like(zero)
    problem.loss.value_and_gradient(zero, gradient)
    top = objective.penalty.max_strength(gradient)
    if np.isfinite(top) and top > 0:
        return np.geomspace(top, top * 1e-4, n)
    return np.geomspace(1e3, 1e-3, n)


def regularization_path(
    problem: Problem, strengths: Sequence[float] | None = None, *, n_strengths: int = 20,
    held_out: MulticlassData | None = None, patience: int | None = None, callback: Callback | None = None,
) -> list[PathPoint]:
    """Solve at each strength, from the strongest penalty to the weakest.

    With ``held_out`` examples every point is scored on them, and after ``patience`` points with a worse held-out loss
    than the best so far the path ends early. (Points whose loss is the same do not count: under strong penalties a
    solution may do for the next strength as well.)
    """
    grid = default_strengths(problem, n_strengths) if strengths is None else np.sort(np.asarray(strengths, float))[::-1]
    if grid.size == 0 or not np.all(np.isfinite(grid)) or np.any(grid < 0):
        raise ValueError("strengths must be finite numbers, not negative, at least one")
    scorer = None if held_out is None else HeldOut(held_out, problem.intercept, problem.settings.n_threads)
    points: list[PathPoint] = []
    solution, best, waited = None, np.inf, 0
    for strength in grid:
        solution = problem.solve(float(strength), start=solution, callback=callback)
        loss = accuracy = None
        if scorer is not None:
            loss, accuracy = scorer.score(solution.weights)
        points.append(PathPoint(float(strength), solution, loss, accuracy))
        if solution.result.status == Status.INTERRUPTED:
            break
        if loss is not None and patience is not None:
            waited = 0 if loss < best else waited + (loss > best)
            best = min(best, loss)
            if waited >= patience:
                break
    return points


class HeldOut:
    """Examples made ready once to score weights on."""

    def __init__(self, data: MulticlassData, intercept: bool, n_threads: int | None) -> None:
        self.data = data
        self.loss = MultinomialLoss(data, intercept=intercept, n_threads=n_threads)

    def score(self, weights: FloatArray) -> tuple[float, float]:
        """Return (mean log-loss, accuracy) of weights."""
        data, loss = self.data, self.loss
        margins = np.empty(data.n_examples * loss.n_columns)
        loss.margins(weights, margins)
        table = margins.reshape(data.n_examples, loss.n_columns)
        predicted = (table[:, 0] > 0).astype(np.int32) if loss.n_columns == 1 else table.argmax(axis=1)
        total = float(data.sample_weight.sum()) if data.sample_weight is not None else float(data.n_examples)
        right = np.average(predicted == data.labels, weights=data.sample_weight)
        return loss._loss(margins) / total, float(right)
