"""Word and character n-grams hashed to a given number of features: no vocabulary is learnt, saved or looked up.

The bucket of an n-gram is a fixed function of its name (native/text/text_ngrams.hh), so that texts which come later
may have n-grams that no earlier text had. N-grams that share a bucket share a weight. Features are named ``#bucket``.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loglinear import _core
from loglinear.errors import LoglinearError, ModelFileError
from loglinear.features.featuriser import Rows
from loglinear.features.text.words import WordNgrams
from loglinear.features.vocabulary import Vocabulary, pack_strings

MAX_BUCKETS = 2**31 - 1


class HashedNgrams(WordNgrams):
    """N-grams of texts, each in one of ``hash_size`` buckets; other settings are those of ``WordNgrams``."""

    kind = "hashed"
    _buckets: NDArray[np.int32] | None = None  # of the features, ascending; None: every bucket is a feature

    def __init__(self, hash_size: int, **settings: Any) -> None:
        super().__init__(**settings)
        if type(hash_size) is not int or not 2 <= hash_size <= MAX_BUCKETS:
            raise ValueError(f"hash_size must be a whole number between 2 and {MAX_BUCKETS}, not {hash_size!r}")
        if self.min_count > 1:
            raise ValueError("hashed n-grams are not counted one by one: leave min_count or hash_size out")
        if self.classes is not None:
            raise ValueError("hashed n-grams are those of words and characters: leave classes or hash_size out")
        self.hash_size = hash_size

    @property
    def vocabulary(self) -> Vocabulary:
        """Raise LoglinearError: there is none."""
        raise LoglinearError("hashed n-grams have no vocabulary")

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.hash_size if self._buckets is None else self._buckets.size

    def name(self, j: int) -> str:
        """Return the name of a feature: # and its bucket."""
        return f"#{j if self._buckets is None else self._buckets[j]}"

    def names(self) -> list[str]:
        """Return the name of each feature, by number."""
        return [self.name(j) for j in range(self.n_features)]

    def take(self, indices: np.ndarray | Sequence[int]) -> HashedNgrams:
        """Return a featuriser that knows only the chosen features; their numbers must ascend."""
        chosen = np.asarray(indices, dtype=np.int64)
        smaller = copy.copy(self)
        smaller._buckets = (chosen if self._buckets is None else self._buckets[chosen]).astype(np.int32)
        smaller._take_rarities(chosen)
        return smaller

    def _fit_counts(self, texts: Sequence[str], n_threads: int) -> Rows:
        self._buckets = None
        return self._counts(texts, n_threads)

    def _counts(self, texts: Sequence[str], n_threads: int) -> Rows:
        packed, numbers = pack_strings(self._prepare(texts)), None
        if self._buckets is not None:
            numbers = np.full(self.hash_size, -1, dtype=np.int32)
            numbers[self._buckets] = np.arange(self._buckets.size, dtype=np.int32)
        return _core.hash_text_ngrams(_core.ThreadPool(n_threads), *packed, self._kinds(), self.hash_size, numbers)

    def settings(self) -> dict[str, Any]:
        """Return the arguments of the constructor, as JSON values."""
        return super().settings() | {"hash_size": self.hash_size}

    def _name_arrays(self) -> dict[str, np.ndarray]:
        return {} if self._buckets is None else {"buckets": self._buckets}

    def _restore_names(self, arrays: dict[str, np.ndarray]) -> None:
        buckets = arrays.get("buckets")
        if buckets is None:
            return
        bad = buckets.dtype != np.int32 or buckets.ndim != 1
        if bad or np.any(np.diff(buckets) <= 0) or np.any((buckets < 0) | (buckets >= self.hash_size)):
            raise ModelFileError(f"featuriser {self.kind!r}: array 'buckets' is damaged")
        self._buckets = np.ascontiguousarray(buckets)
