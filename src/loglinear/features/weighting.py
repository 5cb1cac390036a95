"""Weightings: counts of features made into values.

    count      c                                         how often the feature occurs
    binary     1                                         whether it occurs
    log        1 + ln c
    tfidf      c idf, rows of length one                 idf = ln((1 + n) / (1 + d)) + 1
    log_tfidf  (1 + ln c) idf, rows of length one        d of the n training examples have the feature

The last two are scikit-learn's ``TfidfVectorizer()`` and ``TfidfVectorizer(sublinear_tf=True)``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from loglinear import _core
from loglinear.arrays import FloatArray


class Weighting(NamedTuple):
    """How counts become values."""

    growth: str  # with the count: count, binary or log
    by_rarity: bool  # whether values are multiplied by inverse document frequencies, and rows then have length one
    about: str


WEIGHTINGS = {
    "count": Weighting("count", False, "How often the feature occurs."),
    "binary": Weighting("binary", False, "Whether the feature occurs."),
    "log": Weighting("log", False, "1 + the logarithm of the count."),
    "tfidf": Weighting("count", True, "Counts times inverse document frequencies, examples of length one."),
    "log_tfidf": Weighting("log", True, "The same of 1 + the logarithm of the count; the best for most texts."),
}
COUNT = "count"


def check_weighting(name: Any) -> str:
    """Return the name of a weighting; raise ValueError if there is none by this name."""
    if not isinstance(name, str) or name not in WEIGHTINGS:
        raise ValueError(f"weighting must be one of {', '.join(WEIGHTINGS)}, not {name!r}")
    return name


def document_counts(indices: np.ndarray, n_features: int) -> np.ndarray:
    """Return how many rows have each feature, given the features of all rows: [n_features] int64."""
    return np.bincount(indices, minlength=n_features)


def inverse_document_frequencies(counts: np.ndarray, n_rows: int) -> FloatArray:
    """Return ln((1 + n) / (1 + d)) + 1 of every feature: [n_features]."""
    return np.asarray(np.log((1.0 + n_rows) / (1.0 + counts)) + 1.0, dtype=np.float64)


def weigh(name: str, rows: Any, idf: FloatArray | None, n_threads: int) -> None:
    """Make the counts of rows (indptr, indices, values) into values, in place."""
    weighting = WEIGHTINGS[name]
    if name == COUNT:
        return
    if weighting.by_rarity and idf is None:
        raise ValueError(f"the weighting {name!r} needs inverse document frequencies")
    scale = idf if weighting.by_rarity else None
    indptr, indices, values = rows
    pool = _core.ThreadPool(n_threads)
    _core.weigh_rows(pool, indptr, indices, weighting.growth, scale, weighting.by_rarity, values)
