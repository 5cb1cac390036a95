"""A classification problem made ready for the solvers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from loglinear import penalties
from loglinear.arrays import FloatArray
from loglinear.data.memory import check_room
from loglinear.data.multiclass import MulticlassData
from loglinear.losses.multinomial import MultinomialLoss
from loglinear.optimise import representer
from loglinear.optimise.checkpoint import Checkpoint
from loglinear.optimise.minimise import Callback
from loglinear.optimise.objective import Objective
from loglinear.optimise.representer import RepresenterObjective
from loglinear.optimise.training import Settings, Solution, train
from loglinear.protocols import Separable
from loglinear.structure.tying import Tying

_VECTORS = 3  # of all weights, which every solver has at least


class LinearProblem:
    """A classification problem made ready for the solvers."""

    def __init__(
        self, data: MulticlassData, settings: Settings, *, intercept: bool = True,
        merged_by: LinearProblem | None = None,
    ) -> None:
        """Look for equal columns, unless ``data`` has the rows of another problem, which has merged them."""
        self.settings, self.intercept = settings, intercept
        n_threads = settings.n_threads
        K = 1 if data.n_classes <= 2 else data.n_classes
        if data.n_features * K >= 2**31:
            raise ValueError(
                f"{data.n_features} features (the largest feature number plus one) and {data.n_classes} classes need "
                f"{data.n_features * K:.3g} weights, and 2^31 - 1 is the limit: renumber or hash the features"
            )
        check_room(
            8 * K * (data.n_examples + _VECTORS * data.n_features),
            f"{data.n_classes} classes with {data.n_examples} examples and {data.n_features} features",
            "train on fewer of them, or in parts with partial_fit; with many classes, check that the labels are "
            'labels, or train each against the others (one_vs_rest=True, --one-vs-rest) under penalty="l1"',
        )
        plain_penalty = self._penalty(settings.strength, None, K)
        self.n_features = data.n_features
        self.tying: Tying | None = None if merged_by is None else merged_by.tying
        merged = None
        if isinstance(plain_penalty, Separable) and merged_by is None:
            merged = data.merge_identical_features(n_threads)
        if merged is not None:
            data, features = merged
            self.tying = features.per_class(K, intercept)
        self.loss = MultinomialLoss(data, intercept=intercept, n_threads=n_threads)
        by_examples = settings.solver in ("auto", "lbfgs") and "metric" not in settings.solver_options
        self.by_examples = by_examples and representer.applies(self.loss, plain_penalty)

    def _penalty(self, strength: float, tying: Tying | None, K: int) -> Any:
        s = self.settings
        penalty = penalties.make(
            s.penalty, strength, nonnegative=s.nonnegative, l1_ratio=s.l1_ratio, n_free=K * self.intercept,
            n_threads=s.n_threads,
        )
        return penalty if tying is None else penalty.tied(tying)

    def objective(self, strength: float, by_examples: bool = False) -> Objective:
        """Return the objective on the weights, or in example coordinates."""
        K = self.loss.n_columns
        if by_examples:
            return RepresenterObjective(self.loss, self._penalty(strength, None, K), self.settings.n_threads)
        return Objective(self.loss, self._penalty(strength, self.tying, K), self.settings.n_threads)

    def solve(
        self, strength: float | None = None, *, start: Solution | FloatArray | None = None,
        callback: Callback | None = None, checkpoint: Checkpoint | None = None,
        score: Callable[[FloatArray], float] | None = None,
    ) -> Solution:
        """Train. ``start`` is an earlier solution of this problem, or plain weights [feature][class] (+ intercepts).

        ``score`` gives the score of plain weights on held-out examples, for the display of progress.
        """
        s = self.settings
        strength = s.strength if strength is None else strength
        # Plain starting weights need not lie in the span of the examples, so they are improved as they are.
        objective = self.objective(strength, self.by_examples and not isinstance(start, np.ndarray))
        w0 = self._start(start)
        scored = None if score is None else lambda v: score(self._weights(objective, v))
        solution = train(objective, s, w0, callback=callback, checkpoint=checkpoint, score=scored)
        return replace(solution, weights=self._weights(objective, solution.coordinates))

    def _start(self, start: Solution | FloatArray | None) -> FloatArray | None:
        if start is None:
            return None
        if isinstance(start, Solution):
            return start.coordinates
        return start if self.tying is None else self.tying.down(start)

    def _weights(self, objective: Objective, v: FloatArray) -> FloatArray:
        w = objective.weights(v) if isinstance(objective, RepresenterObjective) else v
        return w if self.tying is None else self.tying.up(w)
