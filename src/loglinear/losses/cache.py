"""The loss of a log-linear cache: how well its weights predict held-out documents from what was said before.

    loss(Lambda) = - sum over events of log p(w | h),      p(w | h) = P(w | h) exp(s(w)) / Z
    s(w) = sum over features j of  lambda_j(w) f_j(w),     Z = 1 + sum over words v in memory of P(v | h) (exp s(v) - 1)
    lambda_j(w) = sum over the groups g of w of Lambda_jg

P is fixed, f are the features of native/cache/loglinear.hh: logarithms of decayed counts of words, and of their uses
after the same one or two words. Words share their weights with all words, with those of their class and with those of
about their frequency. The loss is convex in Lambda.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from loglinear import _core
from loglinear.arrays import FloatArray
from loglinear.threads import pool


class CacheLoss:
    """Weights are [n_features][n_groups]. Powers: Scaled.

    cache : the memory of every event of the held-out text
    pairs : P of the words in memory, event by event
    groups : the groups of every word: [n_kinds, n_words]
    constant : minus the sum of log P over all events
    """

    def __init__(
        self, cache: _core.LoglinearCache, pairs: NDArray[np.float32], groups: Sequence[NDArray[np.intp]],
        n_features: int, constant: float = 0.0, *, n_threads: int | None = None,
    ) -> None:  # fmt: skip
        self._cache, self._pairs, self._groups = cache, pairs, groups
        self.n_features, self.n_groups = n_features, 1 + max(int(group.max()) for group in groups)
        self.n_weights, self.constant, self.n_threads = n_features * self.n_groups, constant, n_threads

    def by_word(self, w: FloatArray) -> FloatArray:
        """Return lambda: [n_words, n_features]."""
        by_group = w.reshape(self.n_features, self.n_groups)
        return np.ascontiguousarray(np.sum([by_group[:, group] for group in self._groups], axis=0).T)

    def value_and_gradient(self, w: FloatArray, out: FloatArray) -> float:
        """Return the loss; write its gradient."""
        weights = self.by_word(w)
        gradient = np.empty_like(weights)
        value = self._cache.value_and_gradient(pool(self.n_threads), self._pairs, weights, gradient)
        self._add_up(gradient, out)
        return self.constant + value

    # Scaled
    def curvature_estimate(self, out: FloatArray) -> None:
        """Write the sums of P times squared features, by group: about the second derivatives at zero."""
        by_word = np.empty((self._groups[0].size, self.n_features))
        self._cache.curvature(pool(self.n_threads), self._pairs, by_word)
        self._add_up(by_word, out)
        np.maximum(out, 1e-3, out=out)

    def _add_up(self, by_word: FloatArray, out: FloatArray) -> None:
        """Write the sums of words by group."""
        by_group = out.reshape(self.n_features, self.n_groups)
        by_group[:] = 0.0
        for group in self._groups:
            for j in range(self.n_features):
                by_group[j] += np.bincount(group, by_word[:, j], minlength=self.n_groups)
