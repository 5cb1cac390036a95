"""The choice of a classifier's strength along a path of strengths: on held-out examples or by cross-validation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from loglinear.arrays import FloatArray
from loglinear.data.multiclass import MulticlassData
from loglinear.models.classifier import path
from loglinear.models.classifier.training import LinearProblem
from loglinear.optimise.training import Settings, Solution
from loglinear.status import Status

PATIENCE = 4  # strengths of worse held-out loss after which the path ends
N_FOLDS = 5
AROUND = 2  # strengths on either side of the first fold's best that the other folds try
FOLD_TOLERANCE = 1e-3  # gaps of models of folds, which differ by more from one strength to the next
LONGER = 10  # strengths past the weakest of a path by default: rows of length one may need them


class Tuned(NamedTuple):
    """The strength with the least held-out loss, and what was found at each strength.

    A row of the table has "strength", "dev_loss", "dev_accuracy", "nonzero_weights" and, for one of them, "chosen".
    """

    strength: float
    table: list[dict[str, Any]]
    solution: Solution | None = None  # the one that the chosen row tells of; None where none is on all the examples


def check_tune(model: Any, held_out: Any) -> None:
    """Raise ValueError for a way of tuning that there is not, or that lacks its data or a penalty."""
    if model.tune is None:
        return
    if isinstance(model.tune, str) and model.tune not in ("validation", "cv"):
        raise ValueError(f"tune must be None, 'validation', 'cv' or a list of strengths, not {model.tune!r}")
    if model.penalty in (None, "none"):
        raise ValueError("tune chooses the strength of a penalty, but there is none: give a penalty, or no tune")
    if model.tune != "cv" and held_out is None:
        raise ValueError("tune chooses the strength on held-out examples: give fit(..., validation=(X, y))")


def tune_on(held_out: MulticlassData, problem: path.Problem, strengths: Sequence[float] | None = None) -> Tuned:
    """Choose the strength on held-out examples, from those given or along a path of default strengths."""
    tried = long_path(problem).tolist() if strengths is None else strengths
    points = path.regularization_path(problem, tried, held_out=held_out, patience=PATIENCE)
    table, chosen = _table([(p.strength, *p.held_out(), _n_kept(p, held_out)) for p in points])
    solution = points[chosen].solution
    if points[-1].result.status == Status.INTERRUPTED:
        solution = replace(solution, result=replace(solution.result, status=Status.INTERRUPTED))
    return Tuned(points[chosen].strength, table, solution)


def cross_validate(data: MulticlassData, settings: Settings, *, intercept: bool) -> Tuned:
    """Choose the strength by cross-validation, stratified where every class has at least two examples.

    The first fold follows the path of strengths until its loss rises; the others try those around its best, and all
    of them go on to where the mean loss rises on either side of the least.
    """
    folds = _folds(data, 0 if settings.random_state is None else settings.random_state)
    settings = replace(settings, tolerance=max(settings.tolerance, FOLD_TOLERANCE))
    strengths = long_path(LinearProblem(data, settings, intercept=intercept))
    figures = np.full((int(folds.max()) + 1, strengths.size, 3), np.nan)  # loss, accuracy, weights kept

    def train(fold: int, first: int, end: int, patience: int | None = None) -> int:
        """Fill in the figures of a fold at some strengths; return how many were tried."""
        problem = LinearProblem(data.take(np.flatnonzero(folds != fold)), settings, intercept=intercept)
        test = data.take(np.flatnonzero(folds == fold))
        points = path.regularization_path(problem, strengths[first:end].tolist(), held_out=test, patience=patience)
        if points[-1].result.status == Status.INTERRUPTED:  # Ctrl-C in a fold: there is no table to choose from
            raise KeyboardInterrupt
        figures[fold, first : first + len(points)] = [(*p.held_out(), _n_kept(p, data)) for p in points]
        return len(points)

    tried = train(0, 0, strengths.size, AROUND)
    first, end = max(0, int(figures[0, :tried, 0].argmin()) - AROUND), tried
    new = (first, end)
    while new[0] < new[1]:
        for fold in range(len(figures)):
            if np.isnan(figures[fold, slice(*new)]).any():
                train(fold, *new)
        first, end = min(first, new[0]), max(end, new[1])
        best = first + int(figures[:, first:end, 0].mean(axis=0).argmin())
        at_end = (end, min(strengths.size, end + AROUND)) if best == end - 1 else (end, end)
        new = (max(0, first - AROUND), first) if best == first else at_end
    means = figures[:, first:end].mean(axis=0).tolist()
    rows = [(s, loss, right, round(n)) for s, (loss, right, n) in zip(strengths[first:end].tolist(), means)]
    table, chosen = _table(rows)
    return Tuned(table[chosen]["strength"], table)


def _folds(data: MulticlassData, seed: int) -> NDArray[np.int64]:
    """Return the fold of each example, drawn by lot; of every class, folds have as many to within one."""
    smallest = int(np.bincount(data.labels, minlength=data.n_classes).min())
    n_folds = min(N_FOLDS, smallest if smallest >= 2 else data.n_examples)
    order = np.random.default_rng(seed).permutation(data.n_examples)
    if smallest >= 2:
        order = order[np.argsort(data.labels[order], kind="stable")]
    folds = np.empty(data.n_examples, dtype=np.int64)
    folds[order] = np.arange(data.n_examples) % n_folds
    return folds


def long_path(problem: path.Problem) -> FloatArray:
    """Return the falling strengths of a path by default, under smooth penalties with some that are weaker yet."""
    strengths = path.default_strengths(problem, 20)
    if problem.settings.penalty != "l2":
        return strengths
    ratio = strengths[1] / strengths[0]
    return np.concatenate([strengths, strengths[-1] * ratio ** np.arange(1, LONGER + 1)])


def _n_kept(point: path.PathPoint, data: MulticlassData) -> int:
    """Return the number of weights that are not zero, without intercepts."""
    return int(np.count_nonzero(point.weights[: data.n_features * (1 if data.n_classes <= 2 else data.n_classes)]))


def _table(rows: list[tuple[float, float, float, int]]) -> tuple[list[dict[str, Any]], int]:
    """Return the table and the place of the row with the least loss, the first among equals."""
    chosen = min(range(len(rows)), key=lambda i: rows[i][1])
    names = ("strength", "dev_loss", "dev_accuracy", "nonzero_weights")
    return [{**dict(zip(names, row)), "chosen": i == chosen} for i, row in enumerate(rows)], chosen
