"""The choice of a classifier's strength along a path of strengths: on held-out examples or by cross-validation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias

import numpy as np

from loglinear.data.multiclass import MulticlassData
from loglinear.models.classifier import path
from loglinear.models.classifier.training import LinearProblem
from loglinear.optimise.training import Settings, Solution
from loglinear.status import Status

Row: TypeAlias = tuple[float, float, float]  # strength, held-out loss, held-out accuracy

PATIENCE = 4  # strengths without a better held-out loss after which the path ends
N_FOLDS = 5


class Tuned(NamedTuple):
    """The strength with the least held-out loss, and what was found at each strength."""

    strength: float
    table: list[Row]
    interrupted: Solution | None = None  # on Ctrl-C, the solution at the best strength so far, to end with


def tune_on(
    held_out: MulticlassData, data: MulticlassData, settings: Settings, strengths: Sequence[float] | None = None, *,
    intercept: bool,
) -> Tuned:  # fmt: skip
    """Choose the strength on held-out examples, from those given or along a path of default strengths."""
    points = path.regularization_path(
        data, settings, strengths, held_out=held_out, intercept=intercept, patience=PATIENCE
    )
    best = min(points, key=lambda p: p.held_out()[0])
    solution = None
    if points[-1].result.status == Status.INTERRUPTED:
        solution = replace(best.solution, result=replace(best.result, status=Status.INTERRUPTED))
    return Tuned(best.strength, [(p.strength, *p.held_out()) for p in points], solution)


def cross_validate(data: MulticlassData, settings: Settings, *, intercept: bool) -> Tuned:
    """Choose the strength by cross-validation, stratified where every class has at least two examples."""
    from sklearn.model_selection import KFold, StratifiedKFold

    smallest = int(np.bincount(data.labels, minlength=data.n_classes).min())
    seed = 0 if settings.random_state is None else settings.random_state
    stratified = smallest >= 2
    n_folds = min(N_FOLDS, smallest if stratified else data.n_examples)
    folds = (StratifiedKFold if stratified else KFold)(n_folds, shuffle=True, random_state=seed)
    strengths = path.default_strengths(LinearProblem(data, settings, intercept=intercept), 20)
    table = np.zeros((strengths.size, 2))
    for train, test in folds.split(np.zeros(data.n_examples), data.labels):
        points = path.regularization_path(
            data.take(train), settings, list(strengths), intercept=intercept, held_out=data.take(test)
        )
        if len(points) < strengths.size:  # Ctrl-C in a fold: there is no table to choose from
            raise KeyboardInterrupt
        table += [p.held_out() for p in points]
    table /= n_folds
    rows = [(float(s), float(row[0]), float(row[1])) for s, row in zip(strengths, table)]
    return Tuned(min(rows, key=lambda row: row[1])[0], rows)
