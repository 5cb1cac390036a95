"""Sequences of tokens with attributes and labels, as flat arrays."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loglinear import _core
from loglinear.features.token_rows import TokenRows


@dataclass(frozen=True, eq=False)
class SequenceData:
    """Sequence i is the tokens [sequence_ptr[i], sequence_ptr[i + 1]).

    A label of -1 is unknown; ``allowed`` (partial labels) then says which labels a token may have.
    """

    sequence_ptr: NDArray[np.int64]  # [n_sequences + 1]
    rows: TokenRows
    n_attributes: int
    labels: NDArray[np.int32]  # [n_tokens], -1: unknown
    n_labels: int
    allowed: NDArray[np.uint8] | None = None  # [n_tokens, n_labels], 0 or 1

    def __post_init__(self) -> None:
        ptr, labels, rows = self.sequence_ptr, self.labels, self.rows
        if ptr.dtype != np.int64 or ptr.ndim != 1 or ptr.size < 1 or ptr[0] != 0 or np.any(np.diff(ptr) < 0):
            raise ValueError("sequence_ptr must be int64, begin at 0 and never decrease")
        if ptr[-1] != rows.n_tokens:
            raise ValueError(f"sequences of {ptr[-1]} tokens, but attributes of {rows.n_tokens}")
        if labels.dtype != np.int32 or labels.shape != (rows.n_tokens,):
            raise ValueError(f"{labels.size} labels for {rows.n_tokens} tokens")
        if labels.size and (labels.min() < -1 or labels.max() >= self.n_labels):
            raise ValueError(f"labels must be numbers below {self.n_labels}, or -1 where unknown")
        if self.allowed is not None and self.allowed.shape != (rows.n_tokens, self.n_labels):
            raise ValueError("allowed must have one row per token and one column per label")

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "native"}

    @cached_property
    def native(self) -> _core.Sequences:
        """The tokens and attributes, checked once."""
        return _core.Sequences(self.sequence_ptr, *self.rows, self.n_attributes)

    @property
    def n_examples(self) -> int:
        """Number of sequences."""
        return self.sequence_ptr.size - 1

    @property
    def n_tokens(self) -> int:
        """Number of tokens."""
        return self.rows.n_tokens

    def fingerprint(self) -> str:
        """A short hash of everything."""
        digest = hashlib.blake2b(digest_size=8)
        for array in (self.sequence_ptr, *self.rows, self.labels, self.allowed):
            if array is not None:
                digest.update(f"{array.dtype.str}{array.shape}".encode())
                digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
        return digest.hexdigest()

    def take(self, rows: NDArray[np.intp]) -> SequenceData:
        """The sequences with these numbers, in this order."""
        ptr, tokens = take_ranges(self.sequence_ptr, rows)
        indptr, places = take_ranges(self.rows.indptr, tokens)
        values = None if self.rows.values is None else self.rows.values[places]
        allowed = None if self.allowed is None else self.allowed[tokens]
        kept = TokenRows(indptr, self.rows.indices[places], values)
        return SequenceData(ptr, kept, self.n_attributes, self.labels[tokens], self.n_labels, allowed)

    def shard(self, rank: int, size: int) -> SequenceData:
        """Part ``rank`` of ``size`` contiguous parts."""
        n = self.n_examples
        return self.take(np.arange(n * rank // size, n * (rank + 1) // size))

    def batches(self, size: int, rng: np.random.Generator) -> Iterator[NDArray[np.intp]]:
        """Shuffled sequence numbers in pieces of ``size``."""
        order = rng.permutation(self.n_examples)
        for start in range(0, order.size, size):
            yield order[start : start + size]


def take_ranges(ptr: NDArray[np.int64], rows: NDArray[np.intp]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pointers of the chosen rows laid one after another, and the numbers of the items in them."""
    lengths = np.diff(ptr)[rows]
    new = np.zeros(lengths.size + 1, dtype=np.int64)
    np.cumsum(lengths, out=new[1:])
    items = np.arange(new[-1]) + np.repeat(ptr[:-1][rows] - new[:-1], lengths)
    return new, items
