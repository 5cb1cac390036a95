"""Sequences of tokens with columns of strings, each column numbered by itself."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loglinear import _core
from loglinear.features.sequences import EncodedSequences, check_sequence_ptr, take_ranges
from loglinear.features.vocabulary import Vocabulary
from loglinear.formats.conll import CodedColumn, ConllData

Token = tuple[str, ...]


class Columns(EncodedSequences[list[Token]]):
    """Columns of strings: token t of column c has the value ``vocabularies[c][ids[c][t]]``.

    Its items, the sequences, are lists of tuples of strings.
    """

    def __init__(
        self, sequence_ptr: NDArray[np.int64], ids: Sequence[NDArray[np.int32]], vocabularies: Sequence[Vocabulary]
    ) -> None:
        self.sequence_ptr = np.ascontiguousarray(sequence_ptr, dtype=np.int64)  # [n_sequences + 1]
        self.ids = [np.ascontiguousarray(column, dtype=np.int32) for column in ids]  # [n_columns][n_tokens]
        self.vocabularies = list(vocabularies)  # [n_columns]
        self._check()

    def _check(self) -> None:
        ptr = self.sequence_ptr
        check_sequence_ptr(ptr)
        if len(self.ids) != len(self.vocabularies):
            raise ValueError(f"{len(self.ids)} columns, but {len(self.vocabularies)} vocabularies")
        for number, (ids, vocabulary) in enumerate(zip(self.ids, self.vocabularies)):
            if ids.shape != (ptr[-1],):
                raise ValueError(f"column {number} has {ids.size} values for {ptr[-1]} tokens")
            if ids.size and (ids.min() < 0 or ids.max() >= len(vocabulary)):
                raise ValueError(f"column {number} has numbers outside its vocabulary of {len(vocabulary)}")

    @classmethod
    def from_conll(cls, data: ConllData) -> Columns:
        """Return the columns that a reader found, without a copy."""
        return cls.from_coded(data.sequence_ptr, data.columns)

    @classmethod
    def from_coded(cls, sequence_ptr: NDArray[np.int64], columns: Sequence[CodedColumn]) -> Columns:
        """Make columns of (numbers, bytes of the values, offsets of the values)."""
        return cls(sequence_ptr, [ids for ids, _, _ in columns], [Vocabulary(b, o) for _, b, o in columns])

    @classmethod
    def from_lists(cls, X: Iterable[Sequence[Sequence[str] | str]]) -> Columns:
        """Make columns of sequences of tokens, each a tuple or list of strings, or one string for a single column.

        Read once, so X may be a generator. TypeError or ValueError names the sequence and the token at fault.
        """
        if isinstance(X, Columns):
            return X
        if isinstance(X, (str, bytes)):
            raise TypeError("sequences must be lists of tokens, not one string")
        lengths: list[int] = []
        numbers: list[dict[str, int]] = []
        ids: list[list[int]] = []
        for i, sequence in enumerate(X):
            if isinstance(sequence, (str, bytes)) or not isinstance(sequence, Sequence):
                raise TypeError(f"sequence {i} is {type(sequence).__name__}, not a list of tokens")
            lengths.append(len(sequence))
            for t, token in enumerate(sequence):
                values = (token,) if isinstance(token, str) else token
                if not numbers and isinstance(values, (tuple, list)):
                    numbers, ids = [{} for _ in values], [[] for _ in values]
                _check_values(values, len(numbers), i, t)
                for known, column, value in zip(numbers, ids, values):
                    column.append(known.setdefault(value, len(known)))
        ptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        return cls(ptr, [np.array(c, dtype=np.int32) for c in ids], [Vocabulary.from_strings(n) for n in numbers])

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.ids)

    def _sequence(self, i: int) -> list[Token]:
        begin, end = self.sequence_ptr[i], self.sequence_ptr[i + 1]
        return list(zip(*([v[n] for n in ids[begin:end].tolist()] for ids, v in zip(self.ids, self.vocabularies))))

    def __iter__(self) -> Iterator[list[Token]]:
        names = [list(vocabulary) for vocabulary in self.vocabularies]
        for begin, end in zip(self.sequence_ptr[:-1].tolist(), self.sequence_ptr[1:].tolist()):
            yield list(zip(*([v[n] for n in ids[begin:end].tolist()] for ids, v in zip(self.ids, names))))

    def take(self, rows: NDArray[Any] | Sequence[int]) -> Columns:
        """Return the sequences with these numbers, in this order; the vocabularies are shared."""
        ptr, tokens = take_ranges(self.sequence_ptr, np.asarray(rows, dtype=np.int64))
        return Columns(ptr, [ids[tokens] for ids in self.ids], self.vocabularies)

    def followed_by(self, other: Columns) -> Columns:
        """Return the sequences of both; values of ``other`` that are new are numbered after these."""
        if other.n_columns != self.n_columns:
            raise ValueError(f"{other.n_columns} columns after {self.n_columns}")
        ids, vocabularies = [], []
        for own, vocabulary, more, others in zip(self.ids, self.vocabularies, other.ids, other.vocabularies):
            known = (vocabulary.blob, vocabulary.offsets)
            numbers, blob, offsets = _core.intern_strings(*known, others.blob, others.offsets)
            ids.append(np.concatenate([own, numbers[more]]))
            vocabularies.append(Vocabulary(blob, offsets))
        ptr = np.concatenate([self.sequence_ptr, self.sequence_ptr[-1] + other.sequence_ptr[1:]])
        return Columns(ptr, ids, vocabularies)

    def without(self, column: int) -> Columns:
        """Return all columns but one; negative numbers count from the last."""
        left_out = range(self.n_columns)[column]
        kept = [c for c in range(self.n_columns) if c != left_out]
        return Columns(self.sequence_ptr, [self.ids[c] for c in kept], [self.vocabularies[c] for c in kept])

    def column(self, column: int) -> list[list[str]]:
        """Return the values of one column, sequence by sequence."""
        ids, names = self.ids[column].tolist(), list(self.vocabularies[column])
        bounds = self.sequence_ptr.tolist()
        return [[names[n] for n in ids[begin:end]] for begin, end in itertools.pairwise(bounds)]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Columns):
            return NotImplemented
        same_shape = self.n_columns == other.n_columns and len(self) == len(other)
        return same_shape and all(a == b for a, b in zip(self, other))

    def __repr__(self) -> str:
        return f"Columns({len(self)} sequences, {self.n_tokens} tokens, {self.n_columns} columns)"


def _check_values(values: object, n_columns: int, sequence: int, token: int) -> None:
    where = f"sequence {sequence}, token {token}"
    if not isinstance(values, (tuple, list)):
        raise TypeError(f"{where} is {type(values).__name__}, not a string or a tuple of strings")
    if len(values) != n_columns or not values:
        raise ValueError(f"{where} has {len(values)} columns where the first token has {n_columns}")
    for value in values:
        if not isinstance(value, str):
            raise TypeError(f"{where} holds {type(value).__name__}, not a string")
