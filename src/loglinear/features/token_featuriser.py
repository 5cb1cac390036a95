"""TokenFeaturiser: the base of featurisers of tokens, which number attributes and go into model files."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from loglinear.errors import LoglinearError, ModelFileError
from loglinear.features.sequences import TokenRows
from loglinear.features.vocabulary import Vocabulary, join_vocabularies

Self = TypeVar("Self", bound="TokenFeaturiser")


class TokenFeaturiser(ABC):
    """Sequences of tokens to rows of attributes, one row per token."""

    kind: ClassVar[str]
    min_count: int
    hash_bits: int | None
    _buckets: Buckets | None = None  # of a fitted featuriser with hash_bits

    @abstractmethod
    def fit_transform(self, sequences: Any, n_threads: int = 1) -> TokenRows:
        """Learn the attributes of the tokens, and return those of each."""

    @abstractmethod
    def transform(self, sequences: Any, n_threads: int = 1) -> TokenRows:
        """Return the known attributes of each token; others are left out."""

    @abstractmethod
    def extend(self, sequences: Any, n_threads: int = 1) -> TokenRows:
        """Like fit_transform, but known attributes keep their numbers and new ones come after them."""

    def join(self: Self, parts: Sequence[Self], counts: Sequence[NDArray[np.int64]]) -> list[NDArray[np.int32]]:
        """Learn the attributes of parts of the data, in their order, as ``fit_transform`` would from all of it.

        parts : featurisers of the same settings, but for ``min_count``, which were fitted to the parts
        counts : how often each attribute occurs in its part

        Return the number here of each part's attributes, -1 for one that is too rare or does not occur.
        """
        if self.hash_bits is not None:
            self._buckets = Buckets(self.hash_bits)
            return [np.where(own > 0, np.arange(own.size), -1).astype(np.int32) for own in counts]
        joined, numbers = join_vocabularies(self._shared_names(parts))
        totals = np.zeros(len(joined), dtype=np.int64)
        for own, count in zip(numbers, counts):
            totals[own] += count
        kept = np.flatnonzero(totals >= self.min_count)
        if kept.size >= 2**31:
            raise LoglinearError("more than 2147483647 attributes; use hash_bits")
        self._learn_names(joined.take(kept))
        renumber = np.full(len(joined), -1, dtype=np.int32)
        renumber[kept] = np.arange(kept.size, dtype=np.int32)
        return [renumber[own] for own in numbers]

    @abstractmethod
    def _shared_names(self: Self, parts: Sequence[Self]) -> list[Vocabulary]:
        """Return the attributes of each part as strings of bytes that mean the same in all parts."""

    @abstractmethod
    def _learn_names(self, names: Vocabulary) -> None:
        """Take such strings as the attributes, in their order."""

    @property
    @abstractmethod
    def n_attributes(self) -> int:
        """Number of attributes."""

    @property
    @abstractmethod
    def scopes(self) -> NDArray[np.uint8]:
        """What each attribute goes with: 1 the label, 2 the pair of labels, 3 both: [n_attributes]."""

    @property
    @abstractmethod
    def has_transitions(self) -> bool:
        """Whether plain pairs of labels are features too."""

    @abstractmethod
    def names(self) -> list[str]:
        """Return the name of each attribute; ``#number`` where they are hashed."""

    @abstractmethod
    def name(self, number: int) -> str:
        """Return the name of one attribute."""

    @abstractmethod
    def take(self: Self, indices: NDArray[Any] | Sequence[int]) -> Self:
        """Return a featuriser that knows only the chosen attributes, renumbered in the order given."""

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """Return the parameters of the constructor, as JSON values."""

    def to_arrays(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return settings (JSON values) and arrays, for a model file."""
        return self.settings(), self._arrays() if self.hash_bits is None else self._hashed_arrays()

    @classmethod
    def from_arrays(cls: type[Self], settings: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        """Return the featuriser that ``to_arrays`` described, checked."""
        try:
            featuriser = cls(**settings)
        except (TypeError, ValueError) as error:
            raise ModelFileError(f"featuriser {cls.kind!r}: bad settings: {error}") from None
        if featuriser.hash_bits is not None:
            featuriser._restore_buckets(featuriser.hash_bits, arrays)
            return featuriser
        try:
            featuriser._restore(arrays)
        except ModelFileError:
            raise
        except ValueError as error:
            raise ModelFileError(f"featuriser {cls.kind!r}: {error}") from None
        return featuriser

    @abstractmethod
    def _arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of a featuriser that is not hashed."""

    @abstractmethod
    def _restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Take the arrays of ``_arrays``; raise ValueError if they do not fit each other."""

    @classmethod
    def _array(cls, arrays: dict[str, NDArray[Any]], name: str, dtype: type, ndim: int = 1) -> NDArray[Any]:
        """Return an array of a model file; ModelFileError unless it has the type and number of dimensions."""
        array = arrays.get(name)
        if array is None:
            raise ModelFileError(f"featuriser {cls.kind!r}: array {name!r} is missing")
        if not isinstance(array, np.ndarray) or array.dtype != dtype or array.ndim != ndim:
            what = f"{ndim}-dimensional array of {np.dtype(dtype).name}"
            raise ModelFileError(f"featuriser {cls.kind!r}: {name!r} must be a {what}")
        return np.ascontiguousarray(array)


    def _hashed(self) -> Buckets:
        if self._buckets is None:
            raise LoglinearError(f"{type(self).__name__} has no attributes yet; call fit_transform first")
        return self._buckets

    def _hashed_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of a hashed featuriser, for a model file."""
        kept = self._hashed().kept
        return {} if kept is None else {"kept": kept}

    def _restore_buckets(self, bits: int, arrays: dict[str, NDArray[Any]]) -> None:
        """Take the arrays of ``_hashed_arrays``, checked."""
        kept = self._array(arrays, "kept", np.int32) if "kept" in arrays else None
        if kept is not None and kept.size and (
            kept.min() < 0 or kept.max() >= 1 << bits or np.unique(kept).size != kept.size
        ):
            raise ModelFileError(f"featuriser {self.kind!r}: 'kept' must be distinct numbers below {1 << bits}")
        self._buckets = Buckets(bits, kept)


def check_counts(min_count: int, hash_bits: int | None) -> None:
    """Raise ValueError for settings that have no meaning."""
    if type(min_count) is not int or not 1 <= min_count < 2**31:
        raise ValueError(f"min_count must be a whole number of at least 1, not {min_count!r}")
    if hash_bits is None:
        return
    if type(hash_bits) is not int or not 2 <= hash_bits <= 30:
        raise ValueError(f"hash_bits must be a whole number between 2 and 30, not {hash_bits!r}")
    if min_count > 1:
        raise ValueError("min_count and hash_bits exclude each other: hashed attributes are not counted")


class Buckets:
    """Hashed attributes: all 2^bits, or those that were chosen, in the order given."""

    def __init__(self, bits: int, kept: NDArray[np.int32] | None = None) -> None:
        self.bits, self.kept = bits, kept

    def __len__(self) -> int:
        return 1 << self.bits if self.kept is None else self.kept.size

    def numbers(self) -> NDArray[np.int32]:
        """Return the bucket of each attribute."""
        return np.arange(1 << self.bits, dtype=np.int32) if self.kept is None else self.kept

    def take(self, indices: NDArray[Any] | Sequence[int]) -> Buckets:
        """Return the chosen attributes alone."""
        chosen = check_indices(indices, len(self))
        return Buckets(self.bits, chosen.astype(np.int32) if self.kept is None else self.kept[chosen])

    def rows(self, rows: TokenRows) -> TokenRows:
        """Return rows of buckets as rows of attributes."""
        if self.kept is None:
            return rows
        return TokenRows(rows.indptr, self._numbers(self.kept, rows.indices), rows.values).keep_known()

    def _numbers(self, kept: NDArray[np.int32], buckets: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the attribute of each bucket, -1 where there is none."""
        if kept.size and 16 * (kept.size + buckets.size) < 1 << self.bits:  # too few for a table of all buckets
            order = np.argsort(kept).astype(np.int32)
            found = order[np.minimum(np.searchsorted(kept, buckets, sorter=order), kept.size - 1)]
            return np.where(kept[found] == buckets, found, np.int32(-1))
        number = np.full(1 << self.bits if kept.size else 1, -1, dtype=np.int32)
        number[kept] = np.arange(kept.size, dtype=np.int32)
        return number[buckets if kept.size else np.zeros_like(buckets)]


def check_indices(indices: NDArray[Any] | Sequence[int], n: int) -> NDArray[np.int64]:
    """Return numbers of attributes; raise where they are repeated or out of range."""
    chosen = np.asarray(indices, dtype=np.int64).reshape(-1)
    if chosen.size and (chosen.min() < 0 or chosen.max() >= n):
        raise IndexError(f"attribute numbers must be in [0, {n})")
    if np.unique(chosen).size != chosen.size:
        raise ValueError("an attribute is chosen twice")
    return chosen
