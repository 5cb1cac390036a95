"""Sequences of tokens as flat arrays: the base of all encoded sequences, attributes of tokens, labels of tokens."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

Item = TypeVar("Item")
Self = TypeVar("Self", bound="EncodedSequences[Any]")


class EncodedSequences(Sequence[Item]):
    """Sequence i is the tokens [sequence_ptr[i], sequence_ptr[i + 1]) of flat arrays.

    Items are lists of tokens, made when they are asked for. Slices and arrays of numbers give encoded sequences that
    share their vocabularies, as the splitters of scikit-learn expect.
    """

    sequence_ptr: NDArray[np.int64]  # [n_sequences + 1]
    __hash__ = None  # type: ignore[assignment]

    @abstractmethod
    def take(self: Self, rows: NDArray[Any] | Sequence[int]) -> Self:
        """Return the sequences with these numbers, in this order; vocabularies are shared."""

    @abstractmethod
    def _sequence(self, i: int) -> Item:
        """Return sequence i as Python objects."""

    @property
    def n_tokens(self) -> int:
        """Number of tokens."""
        return int(self.sequence_ptr[-1])

    @property
    def shape(self) -> tuple[int]:
        """Return the number of sequences, where scikit-learn looks for it."""
        return (len(self),)

    def __len__(self) -> int:
        return self.sequence_ptr.size - 1

    @overload
    def __getitem__(self, key: int) -> Item: ...
    @overload
    def __getitem__(self: Self, key: slice | NDArray[Any] | list[int] | tuple[Any, ...]) -> Self: ...

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, tuple) and len(key) == 2 and key[1] is Ellipsis:  # how scikit-learn takes rows of arrays
            key = key[0]
        if isinstance(key, (int, np.integer)):
            return self._sequence(range(len(self))[key])
        if isinstance(key, slice):
            return self.take(np.arange(*key.indices(len(self))))
        rows = np.asarray(key)
        if rows.size == 0:
            rows = rows.astype(np.int64)
        if rows.ndim != 1 or rows.dtype.kind not in "iub" or (rows.dtype.kind == "b" and rows.size != len(self)):
            raise TypeError("sequences are chosen by a number, a slice, numbers, or one boolean each")
        rows = np.flatnonzero(rows) if rows.dtype.kind == "b" else rows.astype(np.int64)
        if rows.size and (rows.min() < -len(self) or rows.max() >= len(self)):
            raise IndexError(f"sequence numbers must be below {len(self)}")
        return self.take(np.where(rows < 0, rows + len(self), rows))


def check_sequence_ptr(ptr: NDArray[np.int64]) -> None:
    """Raise ValueError unless the pointers describe consecutive sequences from token 0 on."""
    if ptr.dtype != np.int64 or ptr.ndim != 1 or not ptr.size or ptr[0] != 0 or np.any(np.diff(ptr) < 0):
        raise ValueError("sequence_ptr must be int64, begin at 0 and never decrease")


def take_ranges(ptr: NDArray[np.int64], rows: NDArray[np.intp]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the pointers of the chosen rows laid one after another, and the numbers of the items in them."""
    lengths = np.diff(ptr)[rows]
    new = np.zeros(lengths.size + 1, dtype=np.int64)
    np.cumsum(lengths, out=new[1:])
    items = np.arange(new[-1]) + np.repeat(ptr[:-1][rows] - new[:-1], lengths)
    return new, items


class TokenRows(NamedTuple):
    """Attributes of tokens as compressed rows: row t holds those of token t, in any order."""

    indptr: NDArray[np.int64]  # [n_tokens + 1]
    indices: NDArray[np.int32]  # [n_occurrences], numbers of attributes
    values: NDArray[np.float64] | None  # [n_occurrences]; None: all are 1

    @property
    def n_tokens(self) -> int:
        """Number of tokens."""
        return self.indptr.size - 1

    def take(self, tokens: NDArray[np.int64]) -> TokenRows:
        """Return the rows of these tokens, in this order."""
        indptr, places = take_ranges(self.indptr, tokens)
        return TokenRows(indptr, self.indices[places], None if self.values is None else self.values[places])

    def without_zeros(self) -> TokenRows:
        """Return the rows without values of zero, which add to no score; values are None where all others are 1."""
        if self.values is None:
            return self
        kept = self.values != 0
        totals = np.zeros(kept.size + 1, dtype=np.int64)
        np.cumsum(kept, out=totals[1:])
        values = self.values[kept]
        return TokenRows(totals[self.indptr], self.indices[kept], None if np.all(values == 1) else values)

    def keep_known(self) -> TokenRows:
        """Return the rows without the entries whose attribute number is negative."""
        known = self.indices >= 0
        if known.all():
            return self
        totals = np.zeros(known.size + 1, dtype=np.int64)
        np.cumsum(known, out=totals[1:])
        values = None if self.values is None else self.values[known]
        return TokenRows(totals[self.indptr], self.indices[known], values)


def as_label(label: Any) -> Any:
    """Return a label as a plain str, int or bool; raise TypeError for anything else."""
    if isinstance(label, (str, bool, int)):
        return str(label) if isinstance(label, str) else label
    if isinstance(label, (np.integer, np.bool_)):
        return label.item()
    raise TypeError(f"label {label!r} is {type(label).__name__}, not text or a whole number")


def check_labels(labels: Iterable[Any]) -> None:
    """Raise TypeError unless all labels are of one type."""
    kinds = sorted({type(label).__name__ for label in labels})
    if len(kinds) > 1:
        raise TypeError(f"labels must be of one type, all text or all whole numbers; found {' and '.join(kinds)}")


class FlatLabels(EncodedSequences[list[Any]]):
    """One label per token, as numbers: token t has the label ``names[numbers[t]]``, text or a whole number."""

    def __init__(self, numbers: NDArray[np.int32], sequence_ptr: NDArray[np.int64], names: Sequence[Any]) -> None:
        self.numbers = numbers  # [n_tokens]
        self.sequence_ptr = sequence_ptr  # [n_sequences + 1]
        self.names = list(names)  # [n_labels]; labels that do not occur may be among them

    def place(self, token: int) -> tuple[int, int]:
        """Return the number of the sequence that a token is in, and its number there."""
        sequence = int(np.searchsorted(self.sequence_ptr, token, side="right")) - 1
        return sequence, token - int(self.sequence_ptr[sequence])

    def as_text(self) -> FlatLabels:
        """Return the same labels with names that are text."""
        return FlatLabels(self.numbers, self.sequence_ptr, [str(name) for name in self.names])

    def counts(self) -> dict[Any, int]:
        """Return how often each label occurs, by name in sorted order; labels that do not occur are left out."""
        found = np.bincount(self.numbers, minlength=len(self.names)).tolist()
        return {name: n for name, n in sorted(zip(self.names, found)) if n}

    def renumbered(self, names: Sequence[Any]) -> FlatLabels:
        """Return the same labels as numbers in ``names``, which must hold every label that occurs."""
        number = {name: k for k, name in enumerate(names)}
        table = np.array([number.get(name, -1) for name in self.names], dtype=np.int32)
        return FlatLabels(table[self.numbers], self.sequence_ptr, names)

    def take(self, rows: NDArray[Any] | Sequence[int]) -> FlatLabels:
        """Return the sequences with these numbers, in this order; the names are shared."""
        ptr, tokens = take_ranges(self.sequence_ptr, np.asarray(rows, dtype=np.int64))
        return FlatLabels(self.numbers[tokens], ptr, self.names)

    def _sequence(self, i: int) -> list[Any]:
        a, b = self.sequence_ptr[i : i + 2].tolist()
        return [self.names[k] for k in self.numbers[a:b].tolist()]

    def __iter__(self) -> Iterator[list[Any]]:
        names = np.empty(len(self.names), dtype=object)
        names[:] = self.names
        flat = names[self.numbers].tolist()
        return (flat[a:b] for a, b in pairwise(self.sequence_ptr.tolist()))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (FlatLabels, list, tuple)):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other))

    def __repr__(self) -> str:
        return f"FlatLabels({len(self)} sequences, {self.n_tokens} tokens, {len(self.names)} labels)"
