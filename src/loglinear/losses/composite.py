"""The loss of a composite maximum-entropy model: n-grams together with other information sources, exactly normalised.

    loss(theta) = - sum over tokens of log p(w | x)
    p(w | x) = exp(theta_w + sum over sources, over the contexts c of x in the source, of g(c, w) theta(c, w)) / Z(x)

The normalisers and expectations are those of a method of ``sources/normalisers.py``; all give the same numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from loglinear.arrays import FloatArray
from loglinear.sources.normalisers import Normaliser
from loglinear.sources.problem import CompositeProblem


class CompositeLoss:
    """Powers: Curvature, Scaled, Spread, Expectations (of features that are 0 or 1)."""

    floor = 0.0  # minus the logarithm of a probability

    def __init__(self, problem: CompositeProblem, normaliser: Normaliser) -> None:
        self.problem, self.normaliser = problem, normaliser
        self.n_weights = problem.n_weights

    # Loss
    def value_and_gradient(self, w: FloatArray, out: FloatArray) -> float:
        """Return the loss; write its gradient, expected minus observed totals of the features."""
        return self.normaliser.value_and_gradient(w, out)

    # Curvature
    def hessian(self, w: FloatArray) -> CompositeHessian:
        """Return the second derivatives at ``w``."""
        return CompositeHessian(self, np.array(w))

    # Scaled
    def curvature_estimate(self, out: FloatArray) -> None:
        """Write the observed totals: the expected ones at the optimum, since p (1 - p) is about p for most words."""
        np.maximum(np.abs(self.problem.observed), 0.5, out=out)

    # Spread
    def spread(self, step: FloatArray) -> float:
        """Bound the differences by the range of each pattern's weights: a word has at most one feature of each."""
        total = float(step[: self.problem.n_words].max() - step[: self.problem.n_words].min())
        for (i, d), offset in zip(self.problem.patterns, self._offsets()):
            table = self.problem.tables[i]
            part = table.entries_of_depth(d)
            change = step[offset + part.start : offset + part.stop]
            if table.entry_value is not None:
                change = change * table.entry_value[part]
            total += float(change.max(initial=0.0) - change.min(initial=0.0))
        return total

    def _offsets(self) -> list[int]:
        return [self.problem.offsets[i] for i, _ in self.problem.patterns]

    # Expectations
    @property
    def features_per_event(self) -> int:
        """Return one unigram and one feature of every pattern."""
        return 1 + len(self.problem.patterns)

    def empirical(self, out: FloatArray) -> None:
        """Write the observed totals."""
        out[:] = self.problem.observed

    def expectations(self, w: FloatArray, out: FloatArray) -> float:
        """Return the loss and write the expected totals."""
        value = self.value_and_gradient(w, out)
        out += self.problem.observed
        return value


class CompositeHessian:
    """Second derivatives. A product costs about two gradients; only the weights are stored."""

    def __init__(self, loss: Any, w: FloatArray) -> None:
        self._loss, self._w = loss, w

    def diagonal(self, out: FloatArray) -> None:
        """Write an estimate of the diagonal: expected totals, of which p (1 - p) is a little less."""
        self._loss.value_and_gradient(self._w, out)
        out += self._loss.problem.observed
        np.maximum(out, 1e-3, out=out)

    def product(self, v: FloatArray, out: FloatArray) -> None:
        """Write the derivative of the expectations along ``v``."""
        self._loss.normaliser.hessian_vector(self._w, v, out)
