"""Baselines of hierarchical training: the loss of a maximum-entropy n-gram model by older ways of normalising.

    naive             Z(x) = sum over all words of S(x, w)
    unigram caching   Z(x) = sum over all words of S(w) + sum over the words of x's bigram context of S(x, w) - S(w)

The weights, the value and the gradient are those of NgramMaxentLoss (hierarchical normalisation); only the number of
terms differs (Wu, "Maximum entropy language modeling with non-local dependencies", 2002, chapter 3; Wu and Khudanpur
2000). A history is a context that is the longest of the trie for some token. The loops are in
native/baselines/ngram_normalisers.hh.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from loglinear.arrays import FloatArray
from loglinear.data.ngram import NgramTrie
from loglinear.losses.ngram_maxent import native_histories
from loglinear.threads import pool


@dataclass(frozen=True)
class TermCounts:
    """Terms summed for the normalisers of all histories, in one evaluation; expectations cost as many again."""

    histories: int
    naive: int  # histories * words
    unigram_caching: int  # sum over histories of the words with an entry of order two or more
    hierarchical: int  # entries of the trie

    @property
    def nominal_speed_up(self) -> float:
        """Return the speed-up of hierarchical training over unigram caching (equation 3.53)."""
        return self.unigram_caching / max(self.hierarchical, 1)


def count_terms(trie: NgramTrie) -> TermCounts:
    """Count the terms that each way would sum, without summing them."""
    return TermCounts(*native_histories(trie).terms())


class SummedNgramLoss(ABC):
    """Powers: Expectations. Subclasses define how normalisers and expectations are summed."""

    def __init__(self, trie: NgramTrie, *, n_threads: int | None = None) -> None:
        self.trie, self.n_threads = trie, n_threads
        self.n_weights = trie.n_entries
        self.terms = 0  # summed for normalisers by the last evaluation
        self._native = native_histories(trie)

    def histories(self) -> NDArray[np.uint32]:
        """Return the numbers of the contexts that are histories, ascending."""
        return self._native.histories()

    @abstractmethod
    def _sum(self, w: FloatArray, log_z: FloatArray, expectations: FloatArray | None) -> int:
        """Write log Z of the histories and, unless None, the expectations; return the number of terms."""

    def log_normalisers(self, w: FloatArray) -> FloatArray:
        """Return log Z of each context that is a history, NaN for the others: [n_contexts]."""
        log_z = np.full(self.trie.n_contexts, np.nan)
        self.terms = self._sum(w, log_z, None)
        return log_z

    # Loss
    def value_and_gradient(self, w: FloatArray, out: FloatArray) -> float:
        """Return the loss and write its gradient, expected - observed counts."""
        value = self.expectations(w, out)
        out -= self.trie.entry_count
        return value

    # Expectations
    @property
    def features_per_event(self) -> int:
        """Return the order: an event has one entry of each length up to its longest."""
        return self.trie.order

    def empirical(self, out: FloatArray) -> None:
        """Write the counts of the entries."""
        out[:] = self.trie.entry_count

    def expectations(self, w: FloatArray, out: FloatArray) -> float:
        """Return the loss and write the expected counts; one pass sums both."""
        log_z = np.zeros(self.trie.n_contexts)
        self.terms = self._sum(w, log_z, out)
        return self._native.log_loss(pool(self.n_threads), w, log_z)


class NaiveNgramLoss(SummedNgramLoss):
    """Sums over every history and every word: the definition, in logarithms, correct for any finite weights."""

    def _sum(self, w: FloatArray, log_z: FloatArray, expectations: FloatArray | None) -> int:
        return self.sum_histories(w, self.histories(), log_z, expectations)

    def sum_histories(
        self, w: FloatArray, contexts: NDArray[np.uint32], log_z: FloatArray, expectations: FloatArray | None = None
    ) -> int:
        """Sum for some contexts only, so that a sample can be timed; return the number of terms."""
        if expectations is not None:
            expectations[:] = 0.0
        return self._native.naive(pool(self.n_threads), w, contexts, log_z, expectations)


class UnigramCachingLoss(SummedNgramLoss):
    """Sums over unigrams once; a history adds the words that follow its last word in training.

    Terms are products of exp(weight), computed for each history as in equation 3.8. With ``shared_products`` histories
    with the same last word share the products, computed with vector instructions, and only the sums are separate.
    """

    def __init__(self, trie: NgramTrie, *, shared_products: bool = False, n_threads: int | None = None) -> None:
        super().__init__(trie, n_threads=n_threads)
        self.shared_products = shared_products

    def _sum(self, w: FloatArray, log_z: FloatArray, expectations: FloatArray | None) -> int:
        return self._native.unigram_caching(pool(self.n_threads), w, log_z, expectations, self.shared_products)
