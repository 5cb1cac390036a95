"""Kneser-Ney smoothing: interpolated or backing off, with one discount per order or three ("modified").

    p(w | h) = max(a(hw) - D(a(hw)), 0) / A(h) + gamma(h) p(w | h without its oldest word)

a(hw) is the number of tokens at the highest order and where h begins with ``<s>``, and otherwise the number of
different words seen before hw; A(h) sums it over w; gamma(h) is what the discounts took, over A(h). Unigrams are
interpolated with the uniform distribution over the V words. Discounts follow from t_k, the number of n-grams of an
order with a = k:

    Y = t_1 / (t_1 + 2 t_2),    D_k = k - (k + 1) Y t_(k+1) / t_k,    k = 1, 2, 3 (and more)

(Kneser and Ney, 1995; Ney, Essen and Kneser, 1994; Chen and Goodman, 1998, equation 26): ``choose_discounts``. If they
cannot be computed or are out of range, an order falls back from three discounts to one, Y, and if no n-gram occurs
once, or none twice (as among characters), to 0.5, 1 and 1.5. ``KneserNey.discounts`` tells which were used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from loglinear import _core
from loglinear.arrays import new
from loglinear.backoff.model import BackoffModel
from loglinear.backoff.pruning import entries_above, without_entries
from loglinear.backoff.smoothing import Smoothing, check_cut, native_trie, smoothed
from loglinear.data.ngram import NgramTrie
from loglinear.features.word_vocabulary import WordVocabulary
from loglinear.threads import pool

DEFAULT = (0.5, 1.0, 1.5)  # half of what each count could lose
SINGLE_RANGE = (0.05, 0.95)  # an absolute discount nearer to 0 or 1 comes from too few n-grams to be reliable


@dataclass(frozen=True)
class Discounts:
    """What is subtracted from counts of 1, 2, and 3 or more, and how it was chosen."""

    values: tuple[float, float, float]
    source: str  # "modified" | "single" | "default" | "given"

    def __str__(self) -> str:
        return " ".join(f"{d:.4g}" for d in self.values) + f" ({self.source})"


@dataclass(frozen=True)
class KneserNey(BackoffModel):
    """A back-off model with its discounts, one item per order."""

    discounts: tuple[Discounts, ...]


def kneser_ney(
    trie: NgramTrie,
    vocabulary: WordVocabulary,
    *,
    modified: bool = True,
    discounts: Sequence[float | Sequence[float]] | None = None,
    interpolate: bool = True,
    prune: Sequence[int] | None = None,
    collapsed: bool = False,
    n_threads: int | None = None,
) -> KneserNey:
    """Return the Kneser-Ney model of counted n-grams.

    Parameters
    ----------
    trie : all n-grams of the text; n-grams cut off before would be missing from the numbers of preceding words
    vocabulary : the words of the trie
    modified : three discounts per order instead of one
    discounts : one number or three per order; None: chosen by ``choose_discounts``
    interpolate : add the lower order to every n-gram's probability; False: use it only to back off
    prune : per order, n-grams with at most this token count are left out; their probability goes to the lower order;
        the discounts are those of all n-grams
    collapsed : the trie is that of a suffix tree, with levels instead of orders; contexts that no longer one extends
        count tokens
    n_threads : native threads; None: all cores
    """
    threads = pool(n_threads)
    native = native_trie(trie, vocabulary, threads)
    cut = check_cut(prune, trie.order) if prune is not None else [0] * trie.order
    adjusted = new(int(trie.entry_start[trie.order - 1]), np.uint32)
    _core.adjusted_counts(threads, native, collapsed, adjusted)
    if discounts is not None:
        used = given_discounts(discounts, trie.order, interpolate)
    else:
        used = discounts_of(_core.counts_of_counts(threads, native, adjusted), modified, interpolate)
    smoothing = Smoothing.of(trie.order, [list(d.values) for d in used], cut=cut)
    model = smoothed(
        trie, vocabulary, smoothing, adjusted=adjusted, interpolate=interpolate, native=native, n_threads=n_threads,
    )
    model = KneserNey(**vars(model), discounts=used)
    if any(cut):  # entries that keep nothing of their counts have exactly the probability of backing off
        model = without_entries(model, entries_above(trie, cut), n_threads=n_threads)
    return model


def discounts_of(
    counts: Sequence[Sequence[int]], modified: bool = True, interpolate: bool = True
) -> tuple[Discounts, ...]:
    """Choose the discounts of every order from its t_1 .. t_4."""
    return tuple(choose_discounts(t, modified=modified, interpolate=interpolate) for t in counts)


def adjusted_counts(
    trie: NgramTrie, vocabulary: WordVocabulary, unigrams: NDArray[np.uint32], *, n_threads: int | None = None
) -> tuple[NDArray[np.uint32], list[list[int]]]:
    """Return a(hw) of the entries below the highest order, and t_1 .. t_4 of every order, of a part of a trie.

    ``unigrams`` are the counts of the whole; those of the part would miss the contexts of other parts.
    """
    threads = pool(n_threads)
    native = native_trie(trie, vocabulary, threads)
    adjusted = np.empty(int(trie.entry_start[trie.order - 1]), np.uint32)
    _core.adjusted_counts(threads, native, False, adjusted)
    adjusted[: trie.n_words] = unigrams
    return adjusted, [list(row) for row in _core.counts_of_counts(threads, native, adjusted)]


def choose_discounts(counts: Sequence[int], *, modified: bool = True, interpolate: bool = True) -> Discounts:
    """Choose discounts from t_1 .. t_4, with the fallbacks that the module's header describes.

    Without interpolation a discount must be less than its count, or a seen n-gram would have no probability.
    """
    t1, t2, t3, t4 = counts
    if t1 > 0 and t2 > 0:
        y = t1 / (t1 + 2 * t2)
        if modified and t3 > 0:
            d = (1 - 2 * y * t2 / t1, 2 - 3 * y * t3 / t2, 3 - 4 * y * t4 / t3)
            if all(0 < d_k < k or (d_k == k and interpolate) for k, d_k in enumerate(d, 1)):
                return Discounts(d, "modified")
        y = min(max(y, SINGLE_RANGE[0]), SINGLE_RANGE[1])
        return Discounts((y, y, y), "single")
    return Discounts(DEFAULT, "default")


def given_discounts(
    discounts: Sequence[float | Sequence[float]], order: int, interpolate: bool = True
) -> tuple[Discounts, ...]:
    """Return the caller's discounts, after a check."""
    if len(discounts) != order:
        raise ValueError(f"discounts of {len(discounts)} orders for an order of {order}: give one or three per order")
    used = []
    for n, item in enumerate(discounts, 1):
        d = [float(x) for x in np.atleast_1d(np.asarray(item, dtype=np.float64))]
        if len(d) not in (1, 3):
            raise ValueError(f"discounts of order {n}: one number or three, not {len(d)}")
        d = d * 3 if len(d) == 1 else d
        if not all(0 < x < k or (x == k and interpolate) for k, x in enumerate(d, 1)):
            limit = "at most" if interpolate else "below"
            raise ValueError(f"discounts of order {n} must be positive and {limit} 1, 2 and 3, not {item!r}")
        used.append(Discounts((d[0], d[1], d[2]), "given"))
    return tuple(used)
