"""What every featuriser of sequences has: attributes of tokens, numbered, and a way into a model file and back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from loglinear.errors import ModelFileError
from loglinear.features.sequences import TokenRows

Self = TypeVar("Self", bound="TokenFeaturiser")


class TokenFeaturiser(ABC):
    """Sequences of tokens to rows of attributes, one row per token."""

    kind: ClassVar[str]
    min_count: int
    hash_bits: int | None

    @abstractmethod
    def fit_transform(self, sequences: Any, n_threads: int = 1) -> TokenRows:
        """Learn the attributes of the tokens, and give those of each."""

    @abstractmethod
    def transform(self, sequences: Any, n_threads: int = 1) -> TokenRows:
        """The known attributes of each token; others are left out."""

    @abstractmethod
    def extend(self, sequences: Any, n_threads: int = 1) -> TokenRows:
        """Like fit_transform, but known attributes keep their numbers and new ones come after them."""

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
        """The name of each attribute; ``#number`` where they are hashed."""

    @abstractmethod
    def take(self: Self, indices: NDArray[Any] | Sequence[int]) -> Self:
        """A featuriser that knows only the chosen attributes, renumbered in the order given."""

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """What the constructor was given, as JSON values."""

    @abstractmethod
    def to_arrays(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Settings (JSON values) and arrays, for a model file."""

    @classmethod
    @abstractmethod
    def from_arrays(cls: type[Self], settings: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        """What ``to_arrays`` gave, checked."""

    @classmethod
    def _from_settings(cls: type[Self], settings: dict[str, Any]) -> Self:
        try:
            return cls(**settings)
        except (TypeError, ValueError) as error:
            raise ModelFileError(f"featuriser {cls.kind!r}: bad settings: {error}") from None

    @classmethod
    def _array(cls, arrays: dict[str, NDArray[Any]], name: str, dtype: type, ndim: int = 1) -> NDArray[Any]:
        """An array of a model file, refused unless it is as expected."""
        array = arrays.get(name)
        if array is None:
            raise ModelFileError(f"featuriser {cls.kind!r}: array {name!r} is missing")
        if not isinstance(array, np.ndarray) or array.dtype != dtype or array.ndim != ndim:
            what = f"{ndim}-dimensional array of {np.dtype(dtype).name}"
            raise ModelFileError(f"featuriser {cls.kind!r}: {name!r} must be a {what}")
        return np.ascontiguousarray(array)


def check_counts(min_count: int, hash_bits: int | None) -> None:
    """Refuse settings that mean nothing."""
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
        """The bucket of each attribute."""
        return np.arange(1 << self.bits, dtype=np.int32) if self.kept is None else self.kept

    def take(self, indices: NDArray[Any] | Sequence[int]) -> Buckets:
        """The chosen attributes alone."""
        chosen = check_indices(indices, len(self))
        return Buckets(self.bits, chosen.astype(np.int32) if self.kept is None else self.kept[chosen])

    def rows(self, rows: TokenRows) -> TokenRows:
        """Rows of buckets as rows of attributes."""
        if self.kept is None:
            return rows
        return TokenRows(rows.indptr, self._numbers(self.kept, rows.indices), rows.values).keep_known()

    def _numbers(self, kept: NDArray[np.int32], buckets: NDArray[np.int32]) -> NDArray[np.int32]:
        """The attribute of each bucket, -1 where there is none."""
        if kept.size and 16 * (kept.size + buckets.size) < 1 << self.bits:  # too few for a table of all buckets
            order = np.argsort(kept).astype(np.int32)
            found = order[np.minimum(np.searchsorted(kept, buckets, sorter=order), kept.size - 1)]
            return np.where(kept[found] == buckets, found, np.int32(-1))
        number = np.full(1 << self.bits if kept.size else 1, -1, dtype=np.int32)
        number[kept] = np.arange(kept.size, dtype=np.int32)
        return number[buckets if kept.size else np.zeros_like(buckets)]

    @classmethod
    def from_array(cls, bits: int, kept: NDArray[np.int32], kind: str) -> Buckets:
        """The chosen buckets as they were saved, checked."""
        if kept.size and (kept.min() < 0 or kept.max() >= 1 << bits or np.unique(kept).size != kept.size):
            raise ModelFileError(f"featuriser {kind!r}: 'kept' must be distinct numbers below {1 << bits}")
        return cls(bits, kept)


def check_indices(indices: NDArray[Any] | Sequence[int], n: int) -> NDArray[np.int64]:
    """Numbers of attributes, refused where they are repeated or out of range."""
    chosen = np.asarray(indices, dtype=np.int64).reshape(-1)
    if chosen.size and (chosen.min() < 0 or chosen.max() >= n):
        raise IndexError(f"attribute numbers must be in [0, {n})")
    if np.unique(chosen).size != chosen.size:
        raise ValueError("an attribute is chosen twice")
    return chosen
