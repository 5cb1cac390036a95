"""Sequences of tokens with attributes and labels, as flat arrays."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loglinear import _core
from loglinear.arrays import fingerprint
from loglinear.data.token_arrays import Arrays
from loglinear.features.sequences import TokenRows, check_sequence_ptr, take_ranges


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
    numbers: Arrays | None = None  # by sequence [n_tokens, width]: values of the last ``width`` attributes
    emissions: Arrays | None = None  # by sequence [n_tokens, n_labels]: scores that are given

    def __post_init__(self) -> None:
        ptr, labels, rows = self.sequence_ptr, self.labels, self.rows
        check_sequence_ptr(ptr)
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
        """Return the tokens and attributes for the kernels, checked once."""
        arrays = self.numbers or [], self.emissions or []
        return _core.Sequences(self.sequence_ptr, *self.rows, self.n_attributes, *arrays)

    @property
    def n_numbers(self) -> int:
        """Number of attributes that are columns of ``numbers``."""
        return self.numbers[0].shape[1] if self.numbers else 0

    @property
    def n_examples(self) -> int:
        """Number of sequences."""
        return self.sequence_ptr.size - 1

    @property
    def n_tokens(self) -> int:
        """Number of tokens."""
        return self.rows.n_tokens

    def fingerprint(self) -> str:
        """Return a short hash of the content."""
        arrays = *(self.numbers or []), *(self.emissions or [])
        return fingerprint(self.sequence_ptr, *self.rows, self.labels, self.allowed, *arrays)

    def take(self, rows: NDArray[np.intp]) -> SequenceData:
        """Return the sequences with these numbers, in this order."""
        ptr, tokens = take_ranges(self.sequence_ptr, rows)
        allowed = None if self.allowed is None else self.allowed[tokens]
        arrays = self.numbers, self.emissions
        numbers, emissions = (None if one is None else [one[i] for i in rows.tolist()] for one in arrays)
        labels = self.labels[tokens]
        return SequenceData(
            ptr, self.rows.take(tokens), self.n_attributes, labels, self.n_labels, allowed, numbers, emissions
        )
