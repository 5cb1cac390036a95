"""Additive smoothing, each order towards the one below.

    p(w | h) = (c(hw) + k V p(w | h without its oldest word)) / (c(h) + k V)

On average k is added to the count of each of the V words, distributed as the lower order predicts. For unigrams the
lower order is uniform: (c(w) + k) / (n + k V), which for k = 1 is Laplace's rule. (Adding the same k to every word at
every order would ignore the lower orders, and is not a back-off model.) With thousands of words the higher orders need
a much smaller k than the unigrams; it may be given per order. MacKay and Peto, "A hierarchical Dirichlet language
model" (1995), has the same form.
"""

from __future__ import annotations

from collections.abc import Sequence

from loglinear.backoff.model import BackoffModel
from loglinear.backoff.smoothing import Smoothing, per_order, smoothed
from loglinear.data.ngram import NgramTrie
from loglinear.features.word_vocabulary import WordVocabulary


def add_k(
    trie: NgramTrie, vocabulary: WordVocabulary, k: float | Sequence[float] = 1.0, *, n_threads: int | None = None
) -> BackoffModel:
    """Return the additive model of counted n-grams; ``k`` is one number or one per order."""
    return smoothed(trie, vocabulary, additive(k, trie.order, trie.n_words), n_threads=n_threads)


def additive(k: float | Sequence[float], order: int, n_words: int) -> Smoothing:
    """Return the settings of the sweep."""
    return Smoothing.of(order, constant=[value * n_words for value in per_order(k, order, "k")])
