"""The sweep over a trie that all smoothed n-gram models share; it fills a back-off model.

    p(w | h) = (keep(hw) + B(h) p(w | h without its oldest word)) / (A(h) + E(h))

(native/backoff/smoothing.hh). The estimators differ in the counts, in how much of them is kept and in what is added.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from loglinear import _core
from loglinear.arrays import new
from loglinear.backoff.model import BackoffModel
from loglinear.backoff.native import backoff_model, shape_arrays
from loglinear.data.ngram import NgramTrie
from loglinear.errors import IncompatibleError
from loglinear.features.word_vocabulary import WordVocabulary
from loglinear.threads import pool


@dataclass(frozen=True)
class Smoothing:
    """Settings of the sweep, one item per order."""

    discounts: list[list[float]]  # subtracted from counts of 1, 2, and 3 or more
    per_type: list[float]  # added for every word seen after a context
    constant: list[float]  # added for every context
    cut: list[int]  # n-grams with at most this token count keep nothing of it

    @classmethod
    def of(
        cls,
        order: int,
        discounts: list[list[float]] | None = None,
        per_type: float = 0.0,
        constant: list[float] | None = None,
        cut: list[int] | None = None,
    ) -> Smoothing:
        """Return settings; those that are not given have no effect."""
        return cls(
            discounts or [[0.0] * 3] * order, [per_type] * order, constant or [0.0] * order, cut or [0] * order
        )


def native_trie(trie: NgramTrie, vocabulary: WordVocabulary, threads: _core.ThreadPool) -> _core.SmoothingTrie:
    """Return the trie as the kernels take it, after a check."""
    if trie.n_words != vocabulary.n_words:
        raise IncompatibleError(
            f"the n-grams are of {trie.n_words} words, the vocabulary has {vocabulary.n_words}: "
            "count n-grams with the vocabulary of the model"
        )
    starts = (trie.context_start, trie.entry_start)
    return _core.SmoothingTrie(threads, trie.order, trie.n_words, *starts, *trie.arrays)


def smoothed(
    trie: NgramTrie,
    vocabulary: WordVocabulary,
    smoothing: Smoothing,
    *,
    adjusted: NDArray[np.uint32] | None = None,
    interpolate: bool = True,
    native: _core.SmoothingTrie | None = None,
    n_threads: int | None = None,
) -> BackoffModel:
    """Return the model with an entry for every n-gram of the trie; it shares the trie's arrays."""
    threads = pool(n_threads)
    log_probability, log_backoff = new(trie.n_entries), new(trie.n_contexts)
    native = native or native_trie(trie, vocabulary, threads)
    settings = (smoothing.discounts, smoothing.per_type, smoothing.constant, smoothing.cut, interpolate)
    _core.smooth(threads, native, adjusted, *settings, log_probability, log_backoff)
    return backoff_model(vocabulary, shape_arrays(trie), log_backoff, log_probability)


def per_order(values: float | Sequence[float], order: int, name: str) -> list[float]:
    """Return one positive number per order; a single number stands for all."""
    listed = [float(values)] * order if np.isscalar(values) else [float(v) for v in values]  # type: ignore[union-attr, arg-type]
    if len(listed) != order:
        raise ValueError(f"{name}: {len(listed)} numbers for an order of {order}; give one, or one per order")
    if not all(np.isfinite(v) and v > 0 for v in listed):
        raise ValueError(f"{name} must be positive, not {values!r}")
    return listed


def check_cut(thresholds: Sequence[int], order: int) -> list[int]:
    """Check the largest counts to leave out, per order: 0 for unigrams, never decreasing, the last repeated."""
    listed = [int(t) for t in thresholds]
    if any(t != given for t, given in zip(listed, thresholds)) or any(t < 0 or t >= 2**32 for t in listed):
        raise ValueError(f"count thresholds must be whole numbers that are not negative, not {list(thresholds)!r}")
    if not listed or len(listed) > order:
        raise ValueError(f"{len(listed)} count thresholds for an order of {order}: give one per order, or fewer")
    listed += [listed[-1]] * (order - len(listed))
    if listed[0] != 0:
        raise ValueError("the count threshold of unigrams must be 0: leave words out of the vocabulary instead")
    if listed != sorted(listed):
        raise ValueError(
            f"count thresholds must not decrease with the order, as {list(thresholds)!r} do: an n-gram would stay "
            "whose beginning or end is left out"
        )
    return listed
