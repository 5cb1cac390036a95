"""Classes of n-grams that share a strength of penalty.

Unigrams are class 0. By ``"order"``, each order above is one class. By ``"fine"``, each order is divided by

    count of the n-gram        1, 2, or 3 and more
    count of its parent        equal (the shorter n-gram occurs after this one word only), or larger
    frequency of its last word among the words that make up half of all tokens, the next third, or the rest

since the reliability of a count depends on all three: the absolute discounts of Kneser-Ney differ by count, and an
n-gram with the count of its parent adds no information.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from loglinear.data.ngram import NgramTrie

SCHEMES = ("order", "fine")
_COUNTS = ("once", "twice", "3+")
_PARENTS = ("larger", "equal")
_BANDS = ("common", "middle", "rare")
_MASS = (1 / 2, 5 / 6)  # shares of all tokens that the common, and the common and middle words make up
_PER_ORDER = len(_COUNTS) * len(_PARENTS) * len(_BANDS)


@dataclass(frozen=True)
class NgramClasses:
    """``numbers[e]`` is the class of entry e; ``orders`` and ``names`` describe the classes."""

    numbers: NDArray[np.unsignedinteger]
    orders: tuple[int, ...]
    names: tuple[str, ...]


def ngram_classes(trie: NgramTrie, scheme: str = "order") -> NgramClasses:
    """Return the classes of a trie's entries."""
    if scheme not in SCHEMES:
        raise ValueError(f"unknown classes of n-grams {scheme!r}; known: {', '.join(SCHEMES)}")
    if scheme == "order":
        names = tuple(f"{n}-grams" for n in range(1, trie.order + 1))
        return NgramClasses(trie.order_of_entries() - 1, tuple(range(1, trie.order + 1)), names)
    n_classes = 1 + _PER_ORDER * (trie.order - 1)
    numbers = np.zeros(trie.n_entries, np.uint8 if n_classes <= 256 else np.uint16)
    band = _word_bands(trie)
    for n in range(2, trie.order + 1):
        entries = slice(trie.entry_start[n - 1], trie.entry_start[n])
        count = trie.entry_count[entries]
        kind = np.minimum(np.maximum(count, 1) - 1, 2).astype(numbers.dtype)
        kind = kind * 2 + (count == trie.entry_count[trie.entry_parent[entries]])
        kind = kind * 3 + band[trie.entry_word[entries]]
        numbers[entries] = kind + numbers.dtype.type(1 + _PER_ORDER * (n - 2))
    orders, names_ = [1], ["1-grams"]
    for n in range(2, trie.order + 1):
        for count_ in _COUNTS:
            for parent in _PARENTS:
                for band_ in _BANDS:
                    orders.append(n)
                    names_.append(f"{n}-grams, {count_}, parent {parent}, {band_} word")
    return NgramClasses(numbers, tuple(orders), tuple(names_))


def _word_bands(trie: NgramTrie) -> NDArray[np.uint8]:
    """Return 0, 1 or 2 for each word: common, middle, rare."""
    count = trie.entry_count[: trie.n_words].astype(np.float64)
    by_frequency = np.argsort(-count, kind="stable")
    before = np.cumsum(count[by_frequency]) - count[by_frequency]  # tokens of more frequent words
    band = np.empty(trie.n_words, np.uint8)
    band[by_frequency] = np.searchsorted(np.array(_MASS) * max(count.sum(), 1.0), before, side="right")
    return band
