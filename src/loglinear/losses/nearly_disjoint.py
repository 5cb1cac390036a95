"""The loss of a composite model where sets of sources are taken for disjoint: no word has features of all of them.

With d_i = exp(score of source i) - 1, a word's factor is the product of (1 + d_i) over the sources, that is, the sum
over all sets S of sources of the products of their d_i. Taking sources for disjoint leaves out the sets that contain
them,

    factor(w) = sum over sets S that contain no such set, of  prod_{i in S} d_i(w),

in the normalisers, where it saves the sums over what the sources share, and here for the words that were observed. So
the loss is that of a distribution; but it is an approximation, and not convex.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from loglinear.arrays import FloatArray
from loglinear.losses.composite import CompositeHessian
from loglinear.sources.normalisers import Normaliser
from loglinear.sources.problem import CompositeProblem
from loglinear.sources.table import FeatureTable, Index

_LEAST = 1e-12  # of a factor: two negative weights can make it negative


class NearlyDisjointLoss:
    """Powers: Curvature (that of the exact model, nearly), Scaled."""

    def __init__(
        self, problem: CompositeProblem, normaliser: Normaliser, apart: Sequence[tuple[int, ...]],
        leaves: Sequence[Index], words: Index,
    ) -> None:  # fmt: skip
        """Take the loss of events, whose contexts in each table are ``leaves`` and whose words are ``words``."""
        self.problem, self.normaliser, self.n_weights = problem, normaliser, problem.n_weights
        found = [_entries(table, leaf, words) for table, leaf in zip(problem.tables, leaves)]
        active = [np.any(entries >= 0, axis=1) for entries in found]
        together = np.flatnonzero(np.logical_or.reduce([np.logical_and.reduce([active[i] for i in s]) for s in apart]))
        self.share = together.size / max(words.size, 1)  # of the tokens, where sources were active together
        rows = np.concatenate([entries[together] for entries in found], axis=1)
        rows, self._count = np.unique(rows, axis=0, return_counts=True)
        splits = np.cumsum([entries.shape[1] for entries in found])[:-1]
        self._entries = np.split(rows, splits, axis=1)  # by source: [n_rows, depth], -1 where there is none
        sources = range(len(found))
        sets = [set(s) for size in range(1, len(found) + 1) for s in combinations(sources, size)]
        self._sets = [s for s in sets if not any(set(one) <= s for one in apart)]

    # Loss
    def value_and_gradient(self, w: FloatArray, out: FloatArray) -> float:
        """Return the loss; write its gradient."""
        value = self.normaliser.value_and_gradient(w, out)
        scores, places, values = [], [], []
        for entries, table, offset in zip(self._entries, self.problem.tables, self.problem.offsets):
            own = np.where(entries >= 0, 1.0 if table.entry_value is None else table.entry_value[entries], 0.0)
            scores.append((own * w[entries + offset]).sum(axis=1))
            places.append(entries + offset)
            values.append(own)
        d = [np.expm1(score) for score in scores]
        factor = np.maximum(1.0 + sum(np.prod([d[i] for i in s], axis=0) for s in self._sets), _LEAST)
        for i, (place, own) in enumerate(zip(places, values)):
            inner = sum(np.prod([d[j] for j in s - {i}], axis=0) for s in self._sets if i in s)
            slope = self._count * (1.0 - (1.0 + d[i]) * inner / factor)
            out += np.bincount(place.ravel(), (slope[:, None] * own).ravel(), minlength=out.size)[: out.size]
        return value + float(self._count @ (sum(scores) - np.log(factor)))

    # Curvature
    def hessian(self, w: FloatArray) -> CompositeHessian:
        """Return the second derivatives without those of the observed factors."""
        return CompositeHessian(self, np.array(w))

    # Scaled
    def curvature_estimate(self, out: FloatArray) -> None:
        """Write the observed totals."""
        np.maximum(np.abs(self.problem.observed), 0.5, out=out)


def _entries(table: FeatureTable, leaf: Index, words: Index) -> NDArray[np.int64]:
    """Return the entries of every event, one per depth, -1 where there is none: [n_events, depth]."""
    out = np.full((words.size, table.depth), -1, np.int64)
    keys = (table.entry_context().astype(np.uint64) << np.uint64(32)) | table.entry_word
    if not keys.size:
        return out
    for d in range(1, table.depth + 1):
        context = table.ancestors(leaf, d)
        wanted = (context.astype(np.uint64) << np.uint64(32)) | words
        at = np.minimum(np.searchsorted(keys, wanted), keys.size - 1)
        found = (context > 0) & (keys[at] == wanted)
        out[found, d - 1] = at[found]
    return out
