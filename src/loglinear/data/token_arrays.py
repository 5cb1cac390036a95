"""TokenArrays: numbers for every token, such as embeddings, beside attributes or alone; and given scores of labels.

They are kept as float32, one array per sequence, and never copied where they come so: a large array with the lengths of
its sequences is cut into views.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loglinear.features.attributes import AttributeSequences
from loglinear.features.sequences import EncodedSequences, TokenRows
from loglinear.features.vocabulary import Vocabulary

Arrays = list[NDArray[np.float32]]  # one [n_tokens, width] per sequence


class TokenArrays(EncodedSequences["TokenArrays"]):
    """Sequences for a tagger, with numbers.

    numbers : a list of arrays [n_tokens, width], one per sequence, or one array of all tokens with ``lengths``; also
        SciPy's sparse matrices, whose columns become attributes named by their number
    attributes : what ``Tagger.fit`` takes without numbers: sequences of dicts, of lists of strings, or of columns
    emissions : scores of labels [n_tokens, n_labels] that are given, as ``numbers`` are; they are added to those of
        the model, which does not change them
    labels : the label of each column of ``emissions``; required to train
    lengths : the number of tokens of every sequence, where an array has all of them
    """

    def __init__(
        self, numbers: Any = None, *, attributes: Any = None, emissions: Any = None,
        labels: Sequence[Any] | None = None, lengths: Any = None,
    ) -> None:
        if numbers is None and emissions is None:
            raise ValueError("TokenArrays needs numbers or emissions: arrays [n_tokens, width]")
        parts = None if lengths is None else np.asarray(lengths, dtype=np.int64)
        if _is_sparse(numbers) or (isinstance(numbers, (list, tuple)) and any(map(_is_sparse, numbers))):
            if attributes is not None:
                raise ValueError("a sparse matrix gives the attributes of tokens: leave attributes out")
            attributes, numbers = _sparse_rows(numbers, parts), None
        self.numbers = None if numbers is None else _arrays(numbers, parts, "numbers")
        self.emissions = None if emissions is None else _arrays(emissions, parts, "emissions")
        self.labels = None if labels is None else list(labels)
        self.attributes = attributes if attributes is None or hasattr(attributes, "__len__") else list(attributes)
        sizes = [[a.shape[0] for a in arrays] for arrays in (self.numbers, self.emissions) if arrays is not None]
        if isinstance(self.attributes, EncodedSequences):
            sizes.append(np.diff(self.attributes.sequence_ptr).tolist())
        elif self.attributes is not None:
            sizes.append([len(sequence) for sequence in self.attributes])
        for other in sizes[1:]:
            _check_same(sizes[0], other)
        if self.emissions and self.labels is not None and len(self.labels) != self.emissions[0].shape[1]:
            raise ValueError(f"{len(self.labels)} labels for emissions of {self.emissions[0].shape[1]} columns")
        self.sequence_ptr = np.concatenate([[0], np.cumsum(sizes[0])]).astype(np.int64)

    @property
    def width(self) -> int:
        """Number of columns of the numbers."""
        return self.numbers[0].shape[1] if self.numbers else 0

    def take(self, rows: NDArray[Any] | Sequence[int]) -> TokenArrays:
        """Return the sequences with these numbers, in this order; arrays are shared."""
        chosen = np.asarray(rows, dtype=np.int64).tolist()
        taken = TokenArrays.__new__(TokenArrays)
        taken.numbers = None if self.numbers is None else [self.numbers[i] for i in chosen]
        taken.emissions = None if self.emissions is None else [self.emissions[i] for i in chosen]
        taken.labels, inner = self.labels, self.attributes
        taken.attributes = inner.take(chosen) if isinstance(inner, EncodedSequences) else (
            None if inner is None else [inner[i] for i in chosen]
        )
        lengths = np.diff(self.sequence_ptr)[chosen] if chosen else np.zeros(0, dtype=np.int64)
        taken.sequence_ptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        return taken

    def _sequence(self, i: int) -> TokenArrays:
        return self.take([i])

    def __repr__(self) -> str:
        return f"TokenArrays({len(self)} sequences, {self.n_tokens} tokens, {self.width} numbers each)"


def as_token_arrays(X: Any) -> TokenArrays | None:
    """Return X where it is, or can only be, arrays of numbers: also a list of 2-D arrays; else None."""
    if isinstance(X, TokenArrays):
        return X
    if isinstance(X, (list, tuple)) and X:
        if isinstance(X[0], TokenArrays) and len(X) == 1:
            return X[0]
        if _is_sparse(X[0]) or (isinstance(X[0], np.ndarray) and X[0].ndim == 2 and X[0].dtype.kind in "fiu"):
            return TokenArrays(list(X))
    return None


def _is_sparse(value: Any) -> bool:
    return hasattr(value, "tocsr")


def _arrays(given: Any, lengths: NDArray[np.int64] | None, what: str) -> Arrays:
    """Return one float32 array per sequence, views where they can be."""
    if isinstance(given, np.ndarray) and given.ndim == 2:
        if lengths is None:
            raise ValueError(f"{what} of all tokens in one array need lengths, the number of tokens of every sequence")
        if lengths.ndim != 1 or np.any(lengths < 0) or lengths.sum() != given.shape[0]:
            raise ValueError(f"the lengths add up to {lengths.sum()}, but {what} have {given.shape[0]} rows")
        ends = np.cumsum(lengths)
        whole = _as_float32(given, what)
        return [whole[b - n : b] for b, n in zip(ends.tolist(), lengths.tolist())]
    found = [_as_float32(one, f"{what} of sequence {i}") for i, one in enumerate(given)]
    for i, one in enumerate(found):
        if one.shape[1] != found[0].shape[1]:
            raise ValueError(f"{what} of sequence {i} have {one.shape[1]} columns, those before {found[0].shape[1]}")
    return found


def _as_float32(given: Any, what: str) -> NDArray[np.float32]:
    array = np.asarray(given)
    if array.ndim != 2 or array.dtype.kind not in "fiub":
        raise TypeError(f"{what} must be a 2-D array of numbers [n_tokens, width], not {array.dtype} of {array.shape}")
    return np.ascontiguousarray(array, dtype=np.float32)


def _check_same(first: Sequence[int], second: Sequence[int]) -> None:
    if len(first) != len(second):
        raise ValueError(f"{len(first)} sequences of numbers, but {len(second)} beside them")
    for i, (a, b) in enumerate(zip(first, second)):
        if a != b:
            raise ValueError(f"sequence {i} has {a} tokens in one array and {b} beside it")


def _sparse_rows(given: Any, lengths: NDArray[np.int64] | None) -> AttributeSequences:
    """Return the rows of sparse matrices as attributes; a column is named by its number."""
    from scipy import sparse

    if _is_sparse(given):
        if lengths is None:
            raise ValueError("a matrix of all tokens needs lengths, the number of tokens of every sequence")
        matrix = given.tocsr()
    else:
        lengths = np.array([one.shape[0] for one in given], dtype=np.int64)
        matrix = sparse.vstack(list(given), format="csr")
    if lengths.sum() != matrix.shape[0]:
        raise ValueError(f"the lengths add up to {lengths.sum()}, but the matrix has {matrix.shape[0]} rows")
    values = np.ascontiguousarray(matrix.data, dtype=np.float64)
    rows = TokenRows(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32, copy=False), values)
    if not np.all(np.isfinite(values)):
        raise ValueError("a number of the matrix is not finite")
    ptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return AttributeSequences(ptr, rows, Vocabulary.from_strings(str(k) for k in range(matrix.shape[1])))


def squared_sums(numbers: Iterable[NDArray[np.float32]], width: int) -> NDArray[np.float64]:
    """Return the sum of squares of each column [width], sequence by sequence."""
    total = np.zeros(width)
    for one in numbers:
        total += np.einsum("tk,tk->k", one, one, dtype=np.float64)
    return total


def total_by_sequence(numbers: Iterable[NDArray[np.float32]], by_column: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sum over a sequence's tokens of |number| times a figure of its column: [n_sequences]."""
    return np.fromiter((float(np.abs(one).sum(axis=0, dtype=np.float64) @ by_column) for one in numbers), np.float64)


def number_row(numbers: Arrays, sequence_ptr: NDArray[np.int64], token: int) -> NDArray[np.float32]:
    """Return the numbers of one token, counted over all sequences."""
    i = int(np.searchsorted(sequence_ptr, token, side="right")) - 1
    return numbers[i][token - int(sequence_ptr[i])]
