"""The loss of a maximum-entropy n-gram model whose weights are equal along the paths of a suffix tree.

    loss(x) = - sum over tokens of log p(w | h)
    log p(w | h) = sum over n-grams (suffix of h, w) of theta - log Z(h)

where theta is x of the class that the suffix is of. The n-grams of a class are active together: an entry adds m x where
it stands for m of them, so with theta' = m x this is the loss of the trie of classes, one sweep over |T| entries
whatever the order:

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
    """Powers: Curvature, Scaled."""

    def __init__(self, tree: SuffixTree, *, n_threads: int | None = None) -> None:
        self.tree, self.n_threads = tree, n_threads
        self.n_weights = tree.n_entries
        self.multiplicity = tree.entry_multiplicity.astype(np.float64)
        self._on_classes = NgramMaxentLoss(tree.trie, n_threads=n_threads)

    # Loss
    def value_and_gradient(self, w: FloatArray, out: FloatArray) -> float:
        """The sweeps of the trie of classes."""
        value = self._on_classes.value_and_gradient(self.multiplicity * w, out)
        out *= self.multiplicity
        return value

    # Curvature
    def hessian(self, w: FloatArray) -> CollapsedHessian:
        """Second derivatives at ``w``."""
        return CollapsedHessian(self._on_classes.hessian(self.multiplicity * w), self.multiplicity)

    # Scaled
    def curvature_estimate(self, out: FloatArray) -> None:
        """Of one entry, m^2 times the count: what m p (1 - p) m is for all but a few words at the optimum."""
        self._on_classes.curvature_estimate(out)
        out *= self.multiplicity
        out *= self.multiplicity

    # the distribution
    def log_probabilities(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(log p(w | longest context of the class) of each entry, log Z / Z of the parent class of each class)."""
        return self._on_classes.log_probabilities(self.multiplicity * w)

    def score(self, w: FloatArray, sentences: Sentences) -> tuple[FloatArray, NDArray[np.uint32]]:
        """(log p, longest n-gram matched) of each token of any text, each sentence followed by its ``</s>``: exact.

        Histories may match some contexts of a class and not others: native/kernels/suffix_score.hh.
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
            np.ascontiguousarray(sentences.words, dtype=np.uint32),
            np.ascontiguousarray(sentences.sentence_ptr, dtype=np.int64),
            scores,
            lengths,
        )
        return scores, lengths

    def value_on(self, w: FloatArray, sentences: Sentences) -> float:
        """The loss of other text: validation."""
        return -float(self.score(w, sentences)[0].sum())


class CollapsedHessian:
    """m H_T m."""

    def __init__(self, on_classes: NgramHessian, multiplicity: FloatArray) -> None:
        self._on_classes, self._multiplicity = on_classes, multiplicity

    def diagonal(self, out: FloatArray) -> None:
        """m^2 times that of the trie of classes."""
        self._on_classes.diagonal(out)
        out *= self._multiplicity
        out *= self._multiplicity

    def product(self, v: FloatArray, out: FloatArray) -> None:
        """The derivative of the gradient along ``v``."""
        self._on_classes.product(self._multiplicity * v, out)
        out *= self._multiplicity
