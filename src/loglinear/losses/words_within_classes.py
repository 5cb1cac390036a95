"""The loss of words within their classes: one maximum-entropy n-gram model per class, over its words alone.

    loss(theta) = - sum over tokens of log p(w | class of w, h)
    p(w | c, h) = exp(sum of theta over the entries of w in h and its suffixes) / sum of the same over the words of c

It is the word level of a class-factored model, p(w | h) = p(c | h) p(w | c, h) (Goodman 2001; Chen 2009, "Model M").
The words of a class must be numbered one after the other. The sweeps are in native/ngram/forest.hh.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from loglinear import _core
from loglinear.arrays import FloatArray
from loglinear.data.ngram import NgramTrie
from loglinear.data.sentences import Sentences
from loglinear.threads import pool


class WordsWithinClassesLoss:
    """Powers: Curvature, Scaled, Spread.

    class_start : [n_classes + 1] the first word of each class
    min_counts : entries of order n get a weight from min_counts[n - 1] tokens on; the last holds for higher orders
    """

    floor = 0.0  # minus the logarithm of a probability

    def __init__(
        self, trie: NgramTrie, class_start: NDArray[np.uint32], *, min_counts: Sequence[int] = (1,),
        n_threads: int | None = None,
    ) -> None:  # fmt: skip
        limits = [*min_counts, *[min_counts[-1]] * trie.order][: trie.order]
        native = _core.NgramForest(
            pool(n_threads), trie.n_words, trie.context_start, trie.entry_start, trie.arrays, class_start,
            np.array(limits, np.uint32),
        )
        self._take(native, trie.order_of_entries()[native.entry], n_threads)

    def _take(self, native: _core.NgramForest, order: NDArray[np.uint8], n_threads: int | None) -> None:
        self._native, self.order, self.n_threads = native, order, n_threads  # order: [n_weights]
        self.entry, self.count, self.n_weights = native.entry, native.count, native.n_weights

    def on(self, sentences: Sentences) -> WordsWithinClassesLoss:
        """Return the loss of other text, such as a validation text, as a function of the same weights."""
        words, sentence_ptr = sentences.contiguous()
        other = object.__new__(WordsWithinClassesLoss)
        other._take(self._native.on(pool(self.n_threads), words, sentence_ptr), self.order, self.n_threads)
        return other

    # Loss
    def value_and_gradient(self, w: FloatArray, out: FloatArray) -> float:
        """Return the loss; write its gradient, expected minus observed counts."""
        return self._native.value_and_gradient(pool(self.n_threads), w, out)

    # Curvature
    def hessian(self, w: FloatArray) -> WordsWithinClassesHessian:
        """Return the second derivatives at ``w``."""
        return WordsWithinClassesHessian(self._native, np.array(w), self.n_threads)

    # Scaled
    def curvature_estimate(self, out: FloatArray) -> None:
        """Write the observed counts: the expected ones at the optimum, since p (1 - p) is about p for most words."""
        np.maximum(self.count, 0.5, out=out)

    # Spread
    def spread(self, step: FloatArray) -> float:
        """Bound the differences by the range of each order's weights: a word has at most one entry of each."""
        parts = (step[self.order == n] for n in range(1, int(self.order.max()) + 1))
        return sum(float(part.max(initial=0.0) - part.min(initial=0.0)) for part in parts)


class WordsWithinClassesHessian:
    """Second derivatives. A product costs about two gradients; only the weights are stored."""

    def __init__(self, native: _core.NgramForest, w: FloatArray, n_threads: int | None) -> None:
        self._native, self._w, self._n_threads = native, w, n_threads

    def diagonal(self, out: FloatArray) -> None:
        """Write the diagonal: sum over histories of count * p (1 - p)."""
        self._native.curvature_diagonal(pool(self._n_threads), self._w, out)

    def product(self, v: FloatArray, out: FloatArray) -> None:
        """Write the derivative of the expectations along ``v``."""
        self._native.hessian_vector(pool(self._n_threads), self._w, v, out)
