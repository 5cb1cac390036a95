"""The loss of a maximum-entropy n-gram model, exact, by two sweeps over the distinct n-grams.

    loss(theta) = - sum over tokens of log p(w | h)
    p(w | h) = exp(sum of theta over the entries of w in h and its suffixes) / Z(h)

with one weight per entry e = (h, w) of the trie. Hierarchical normalisation (Wu and Khudanpur 2000; Wu 2002, chapter 3)
computes all Z on the way down the trie and all expectations E on the way up; S(e) is exp(sum of theta along the chain
of e and its parents):

    S(e) = S(parent e) exp(theta_e)
    Z(h) = Z(parent h) + sum over entries e of h of (S(e) - S(parent e)),      Z(root) = sum over words of S(w)
    A(h) = sum over histories x that end in h of count(x) / Z(x)
    E(e) = S(e) (A(h) - sum over children e' of e of A(h(e'))) + sum over children e' of E(e')

gradient = E - counts. The sweeps are in native/ngram/hierarchical_normalisation.hh.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from loglinear import _core
from loglinear.arrays import FloatArray, new, new_copy
from loglinear.data.ngram import NgramTrie
from loglinear.data.sentences import Sentences
from loglinear.threads import pool


class NgramMaxentLoss:
    """Powers: Curvature, Scaled, Spread, StepsInSweep, SplitExpectations.

    ``offset``, the weights of a base model, is added to the weights, so that only the difference is learnt.
    """

    floor = 0.0  # minus the logarithm of a probability

    def __init__(self, trie: NgramTrie, *, offset: FloatArray | None = None, n_threads: int | None = None) -> None:
        self.trie, self.n_threads = trie, n_threads
        self.n_weights = trie.n_entries
        if offset is not None and offset.shape != (trie.n_entries,):
            raise ValueError(f"{offset.size} offsets for {trie.n_entries} n-grams")
        self.offset = offset
        self._native = native_maxent(trie)

    def total_weights(self, w: FloatArray) -> FloatArray:
        """Return the weights with those of the base model added."""
        return w if self.offset is None else w + self.offset

    # Loss
    def value_and_gradient(self, w: FloatArray, out: FloatArray) -> float:
        """Sweep down the trie for Z and up for E; return the loss and write its gradient, E - counts."""
        return self._native.value_and_gradient(pool(self.n_threads), self.total_weights(w), out)

    # StepsInSweep
    def value_and_step(
        self, path: Any, penalty: Any, momentum: float, next_momentum: float, lipschitz: float, largest: float
    ) -> tuple[float, tuple[float, ...]]:
        """Return the loss at ``path.x`` and the sums of a step; a unit's weights take it as soon as it is swept up."""
        step = (momentum, next_momentum, lipschitz, largest)
        return self._native.value_and_step(pool(self.n_threads), path, self.offset, penalty, *step)

    # Curvature
    def hessian(self, w: FloatArray) -> NgramHessian:
        """Return the second derivatives at ``w``."""
        return NgramHessian(self._native, new_copy(self.total_weights(w)), self.n_threads)

    # Scaled
    def curvature_estimate(self, out: FloatArray) -> None:
        """Write the observed counts: the expected ones at the optimum, since p (1 - p) is about p for most words."""
        np.maximum(self.trie.entry_count, 0.5, out=out)

    # Spread
    def spread(self, step: FloatArray) -> float:
        """Bound the differences by the range of each order's weights: a word has at most one entry of each."""
        parts = np.split(step, self.trie.entry_start[1:-1])
        return sum(float(part.max(initial=0.0) - part.min(initial=0.0)) for part in parts)

    # the distribution
    def log_probabilities(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return (log p(w | h) of each entry, log Z(h) / Z(parent h) of each context)."""
        log_p, log_r = new(self.trie.n_entries), new(self.trie.n_contexts)
        self._native.log_probabilities(pool(self.n_threads), self.total_weights(w), log_p, log_r)
        return log_p, log_r

    def on(self, sentences: Sentences) -> NgramMaxentLoss:
        """Return the loss of other text, such as a validation text, as a function of the same weights."""
        context_count = np.empty(self.trie.n_contexts, np.uint32)
        entry_count = np.empty(self.trie.n_entries, np.uint32)
        self._native.recount(sentences.words, sentences.sentence_ptr, context_count, entry_count)
        trie = replace(self.trie, context_count=context_count, entry_count=entry_count)
        return NgramMaxentLoss(trie, offset=self.offset, n_threads=self.n_threads)

    # Expectations
    @property
    def features_per_event(self) -> int:
        """Return the order: an event has one entry of each length up to its longest."""
        return self.trie.order

    def empirical(self, out: FloatArray) -> None:
        """Write the counts of the entries."""
        out[:] = self.trie.entry_count

    def expectations(self, w: FloatArray, out: FloatArray) -> float:
        """Return the loss and write the expected counts."""
        value = self.value_and_gradient(w, out)
        out += self.trie.entry_count
        return value

    # SplitExpectations
    def expectations_by_total(self, w: FloatArray, out: FloatArray) -> float:
        """Write the expected counts by the order of the longest entry of the event."""
        w, threads = self.total_weights(w), pool(self.n_threads)
        log_p, log_r = np.empty(self.trie.n_entries), np.empty(self.trie.n_contexts)
        self._native.log_probabilities(threads, w, log_p, log_r)
        self._histories.expectations_by_total(threads, log_p, log_r, out)
        return float(self.trie.context_count @ log_r - self.trie.entry_count @ w)

    @cached_property
    def _histories(self) -> _core.NgramHistories:
        return native_histories(self.trie)


class NgramHessian:
    """Second derivatives. A product costs about two gradients; only the weights are stored."""

    def __init__(self, native: _core.NgramMaxent, w: FloatArray, n_threads: int | None) -> None:
        self._native, self._w, self.n_threads = native, w, n_threads

    def diagonal(self, out: FloatArray) -> None:
        """Write sum over histories of tokens times p (1 - p)."""
        self._native.curvature_diagonal(pool(self.n_threads), self._w, out)

    def product(self, v: FloatArray, out: FloatArray) -> None:
        """Write the derivative of the expectations along ``v``."""
        self._native.hessian_vector(pool(self.n_threads), self._w, v, out)


def native_maxent(trie: NgramTrie, unit: int = 8192) -> _core.NgramMaxent:
    """Return the native form of a trie, which keeps the arrays alive."""
    return _core.NgramMaxent(trie.n_words, trie.context_start, trie.entry_start, trie.arrays, unit)


def n_continued(trie: NgramTrie, w: FloatArray) -> int:
    """Count the n-grams with the weight of the one that they alone extend, up to a millionth, and not zero."""
    return native_maxent(trie).continued_paths(w)


def native_histories(trie: NgramTrie) -> _core.NgramHistories:
    """Return the histories of a trie in native form, which keeps the arrays alive."""
    return _core.NgramHistories(trie.n_words, trie.context_start, trie.entry_start, trie.arrays)
