"""From encoded trees to a trained parser: its loss, its start, and the choice of its strength."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from loglinear import penalties
from loglinear.arrays import FloatArray, fingerprint
from loglinear.data.matrix import SparseRows
from loglinear.grammar.counted import CountedGrammar
from loglinear.grammar.feature_expectations import feature_expectations, sampled_feature_expectations
from loglinear.grammar.features import Sentences, TreeFeatures
from loglinear.losses.m_estimation import MEstimationLoss
from loglinear.losses.tree import TreeLoss
from loglinear.optimise.checkpoint import Checkpoint
from loglinear.optimise.objective import Objective
from loglinear.optimise.training import Settings, Solution, train


class SumOfLosses:
    """The sum of two losses of the same weights: whole trees, and trees that are known in part."""

    floor = 0.0

    def __init__(self, first: Any, second: Any) -> None:
        self.first, self.second = first, second
        self.n_weights = first.n_weights
        self._work = np.empty(self.n_weights)

    def value_and_gradient(self, w: FloatArray, out: FloatArray) -> float:
        """Return the sum and write its gradient to ``out``."""
        value = self.first.value_and_gradient(w, out) + self.second.value_and_gradient(w, self._work)
        out += self._work
        return float(value)

    def curvature_estimate(self, out: FloatArray) -> None:
        """Write the estimate of the first loss to ``out``."""
        self.first.curvature_estimate(out)


@dataclass
class ParserProblem:
    """A parsing problem made ready for the solvers; it can be solved at one strength after another."""

    estimator: str
    grammar: CountedGrammar
    features: TreeFeatures
    sentences: Sentences
    counts: SparseRows
    settings: Settings
    masks: Any = None
    partial: tuple[Sentences, Any, Any] | None = None  # sentences, their masks and constraints
    expectation: str = "exact"
    n_samples: int = 10_000

    def __post_init__(self) -> None:
        n_threads = self.settings.n_threads
        self.loss: Any
        if self.estimator == "m-estimation":
            self.loss = MEstimationLoss(self.counts, self._expectations(), n_threads=n_threads)
            return
        self.loss = TreeLoss(
            self.features, self.grammar, self.sentences, self.counts, masks=self.masks, n_threads=n_threads
        )
        if self.partial is not None:
            sentences, masks, constraints = self.partial
            second = TreeLoss(
                self.features, self.grammar, sentences, None, masks=masks, constraints=constraints, n_threads=n_threads
            )
            self.loss = SumOfLosses(self.loss, second)

    def _expectations(self) -> FloatArray:
        if self.expectation == "exact":
            return feature_expectations(self.features, self.grammar)
        mean = np.bincount(self.counts.indices, weights=self.counts.values, minlength=self.counts.n_columns)
        return sampled_feature_expectations(
            self.features, self.grammar, self.n_samples, np.random.default_rng(self.settings.random_state),
            smoothing=1.0, prior=mean / self.counts.n_rows, n_threads=self.settings.n_threads,
        )  # fmt: skip

    def fingerprint(self) -> str:
        """Return a short hash of the content, by which a checkpoint knows it."""
        return fingerprint(self.sentences.ptr, self.sentences.words, self.counts.indices, self.counts.values)

    def solve(
        self, strength: float, *, start: FloatArray | None = None, checkpoint: Checkpoint | None = None,
        score: Callable[[FloatArray], float] | None = None,
    ) -> Solution:
        """Train at one strength, from ``start`` or zero. ``score`` is as in ``train``."""
        s = self.settings
        penalty = penalties.make(s.penalty, strength, l1_ratio=s.l1_ratio, n_threads=s.n_threads)
        return train(Objective(self.loss, penalty, s.n_threads), s, start, checkpoint=checkpoint, score=score)
