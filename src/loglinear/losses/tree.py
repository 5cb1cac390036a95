"""The conditional likelihood of trees: a random field over all trees of a sentence, summed by inside and outside.

    sum_s  log Z(x_s) - score(x_s, y_s),         Z(x) = sum over the trees of x of exp(score)

score(x, y) = w . f(x, y) + log q0, where q0 may be a grammar or nothing. Trees may be known in part: then the second
term is log Z over the trees with the given brackets and tags. A mask (models/parser/pruning.py) leaves out spans and
symbols that a coarse grammar finds unlikely.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from loglinear import _core
from loglinear.arrays import FloatArray
from loglinear.data.matrix import SparseRows
from loglinear.grammar.counted import CountedGrammar
from loglinear.grammar.features import Sentences, TreeFeatures
from loglinear.threads import pool


class TreeLoss:
    """Conditional likelihood of trees; power: Scaled.

    ``counts`` are the features of whole gold trees. Without them the trees are known in part, by ``constraints``.
    """

    floor = 0.0  # minus the logarithm of a probability

    def __init__(
        self, features: TreeFeatures, grammar: CountedGrammar, sentences: Sentences, counts: SparseRows | None, *,
        base_scores: FloatArray | None = None, masks: Any = None, constraints: Any = None,
        n_threads: int | None = None,
    ) -> None:
        if (counts is None) == (constraints is None):
            raise ValueError("a tree loss needs either whole trees or constraints")
        self.features, self.grammar, self.sentences = features, grammar, sentences
        self.masks, self.constraints, self.n_threads = masks, constraints, n_threads
        self.has_base = base_scores is not None
        self.n_weights = features.n_weights
        self.counts = counts
        if counts is not None:
            gold = np.bincount(counts.indices, weights=counts.values, minlength=counts.n_columns)
            self._gold = gold.astype(np.float64)
            self._base = 0.0 if base_scores is None else float(base_scores.sum())

    def model(self, w: FloatArray) -> Any:
        """Return the native model of these weights."""
        g = self.grammar
        base = (g.log_probability, g.word_log_probability) if self.has_base else (None, None)
        return _core.TreeModel(self.features.native, w, base[0], g.word_ptr, g.word_tag, base[1])

    # Loss
    def value_and_gradient(self, w: FloatArray, out: FloatArray) -> float:
        """Return the loss and write its gradient to ``out``: expected less observed counts."""
        threads = pool(self.n_threads)
        value = _core.tree_loss(threads, self.model(w), self.sentences.native, self.masks, self.constraints, out)
        if self.counts is None:
            return float(value)
        _core.combine(threads, 1.0, out, -1.0, self._gold, out)
        return float(value) - _core.dot(threads, w, self._gold) - self._base

    # Scaled
    def curvature_estimate(self, out: FloatArray) -> None:
        """Write a quarter of the gold counts to ``out``: the bound of p (1 - p), were parts independent."""
        gold = self._gold if self.counts is not None else np.zeros(self.n_weights)
        np.maximum(gold, 1.0, out=out)
        out /= 4
