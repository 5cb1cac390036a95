"""The loss of a maximum-entropy n-gram model whose weights are equal along the paths of a suffix tree.

    loss(x) = - sum over tokens of log p(w | h)
    log p(w | h) = sum over n-grams (suffix of h, w) of theta - log Z(h)

where theta is the weight x of the class to which the suffix belongs. The n-grams of a class are active together: an
entry that stands for m of them adds m x, so with theta' = m x this is the loss of the trie of classes T. One pass of
both sweeps (losses/ngram_maxent.py) visits |T| entries, whatever the order:

    loss(x) = loss_T(m x),     gradient = m grad loss_T,     Hessian = m H_T m
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from loglinear.arrays import FloatArray
from loglinear.data.sentences import Sentences
from loglinear.data.suffix_tree import SuffixTree
from loglinear.losses.ngram_maxent import NgramHessian, NgramMaxentLoss
from loglinear.threads import pool


class CollapsedNgramLoss:
    """Powers: Curvature, Scaled, Spread."""

    floor = 0.0  # minus the logarithm of a probability

    def __init__(self, tree: SuffixTree, *, n_threads: int | None = None) -> None:
        self.tree, self.n_threads = tree, n_threads
        self.n_weights = tree.n_entries
        self.multiplicity = tree.entry_multiplicity.astype(np.float64)
        self._on_classes = NgramMaxentLoss(tree.trie, n_threads=n_threads)

    # Loss
    def value_and_gradient(self, w: FloatArray, out: FloatArray) -> float:
        """Return the loss and write its gradient, by the sweeps over the trie of classes."""
        value = self._on_classes.value_and_gradient(self.multiplicity * w, out)
        out *= self.multiplicity
        return value

    # Curvature
    def hessian(self, w: FloatArray) -> CollapsedHessian:
        """Return the second derivatives at ``w``."""
        return CollapsedHessian(self._on_classes.hessian(self.multiplicity * w), self.multiplicity)

    # Scaled
    def curvature_estimate(self, out: FloatArray) -> None:
        """Write m^2 times the count of each entry: about m p (1 - p) m at the optimum, for most words."""
        self._on_classes.curvature_estimate(out)
        out *= self.multiplicity
        out *= self.multiplicity

    # Spread
    def spread(self, step: FloatArray) -> float:
        """Bound the differences as in the trie of classes."""
        return self._on_classes.spread(self.multiplicity * step)

    # the distribution
    def log_probabilities(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return (log p(w | longest context of the class) of entries, log Z / Z of the parent class of classes)."""
        return self._on_classes.log_probabilities(self.multiplicity * w)

    def score(self, w: FloatArray, sentences: Sentences) -> tuple[FloatArray, NDArray[np.uint32]]:
        """Return (log p, longest n-gram matched) of each token of any text, exactly; ``</s>`` follows each sentence.

        Histories may match some contexts of a class and not others: see native/suffix/score.hh.
        """
        w = np.ascontiguousarray(w, dtype=np.float64)
        log_p, log_r = self.log_probabilities(w)
        n = sentences.n_tokens + sentences.n_sentences
        scores, lengths = np.empty(n), np.empty(n, np.uint32)
        self.tree.native.score(
            pool(self.n_threads),
            w,
            log_p,
            log_r,
            sentences.n_words,
            *sentences.contiguous(),
            scores,
            lengths,
        )
        return scores, lengths

    def value_on(self, w: FloatArray, sentences: Sentences) -> float:
        """Return the loss of other text, such as a validation text."""
        return -float(self.score(w, sentences)[0].sum())


class CollapsedHessian:
    """The Hessian m H_T m."""

    def __init__(self, on_classes: NgramHessian, multiplicity: FloatArray) -> None:
        self._on_classes, self._multiplicity = on_classes, multiplicity

    def diagonal(self, out: FloatArray) -> None:
        """Write m^2 times the diagonal of the trie of classes."""
        self._on_classes.diagonal(out)
        out *= self._multiplicity
        out *= self._multiplicity

    def product(self, v: FloatArray, out: FloatArray) -> None:
        """Write the derivative of the gradient along ``v``."""
        self._on_classes.product(self._multiplicity * v, out)
        out *= self._multiplicity
