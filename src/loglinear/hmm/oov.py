"""Fixed vocabularies with a symbol for unknown values.

The first occurrence of every value of every column in the training data is replaced by the symbol (Smith, Vail and
Lafferty, "Computationally Efficient M-Estimation of Log-Linear Structure Models", section 5). A value seen once is
thereby gone, and the symbol is seen in the places where new values appear: its probability is that of a new value.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from loglinear.errors import LoglinearError, ModelFileError
from loglinear.features.columns import Columns
from loglinear.features.vocabulary import Vocabulary

OOV = 0  # number of the symbol in every vocabulary


class OovMap:
    """Learns a vocabulary per column; the symbol is its value 0, known values follow by first occurrence."""

    def __init__(self, symbol: str = "<oov>") -> None:
        if not isinstance(symbol, str) or not symbol:
            raise ValueError(f"symbol must be a string, not {symbol!r}")
        self.symbol = symbol
        self._vocabularies: list[Vocabulary] | None = None

    @property
    def vocabularies(self) -> list[Vocabulary]:
        """Return the values of each column, the symbol first."""
        if self._vocabularies is None:
            raise LoglinearError("OovMap has no vocabularies yet; call fit_transform first")
        return self._vocabularies

    @property
    def sizes(self) -> list[int]:
        """Number of values of each column, the symbol included."""
        return [len(vocabulary) for vocabulary in self.vocabularies]

    def fit_transform(self, columns: Columns) -> Columns:
        """Replace the first occurrence of every value by the symbol; what occurs again is the vocabulary."""
        vocabularies, mapped = [], []
        for c, (ids, vocabulary) in enumerate(zip(columns.ids, columns.vocabularies)):
            if self.symbol in vocabulary:
                raise ValueError(f"column {c} has the value {self.symbol!r}: choose another symbol for unknown values")
            values, first, counts = np.unique(ids, return_index=True, return_counts=True)
            kept = values[counts > 1][np.argsort(first[counts > 1])]
            number = np.full(len(vocabulary), OOV, dtype=np.int32)
            number[kept] = np.arange(1, kept.size + 1)
            new = number[ids]
            new[first] = OOV
            vocabularies.append(_with_symbol(self.symbol, vocabulary.take(kept)))
            mapped.append(new)
        self._vocabularies = vocabularies
        return Columns(columns.sequence_ptr, mapped, vocabularies)

    def transform(self, columns: Columns) -> Columns:
        """Replace unknown values by the symbol."""
        if columns.n_columns != len(self.vocabularies):
            raise ValueError(f"{columns.n_columns} columns where there were {len(self.vocabularies)} in training")
        mapped = []
        for ids, vocabulary, known in zip(columns.ids, columns.vocabularies, self.vocabularies):
            number = np.empty(len(vocabulary), dtype=np.int32)
            known.index().find(vocabulary.blob, vocabulary.offsets, number)
            mapped.append(np.maximum(number, OOV)[ids])
        return Columns(columns.sequence_ptr, mapped, self.vocabularies)

    def to_arrays(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return settings (JSON values) and arrays, for a model file."""
        arrays: dict[str, NDArray[Any]] = {}
        for c, vocabulary in enumerate(self.vocabularies):
            arrays |= {f"column_{c}_blob": vocabulary.blob, f"column_{c}_offsets": vocabulary.offsets}
        return {"symbol": self.symbol, "n_columns": len(self.vocabularies)}, arrays

    @classmethod
    def from_arrays(cls, settings: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> OovMap:
        """Return the map that ``to_arrays`` described, checked."""
        symbol, n_columns = settings.get("symbol"), settings.get("n_columns")
        if not isinstance(symbol, str) or not symbol or type(n_columns) is not int or not 0 <= n_columns <= len(arrays):
            raise ModelFileError("map of unknown values: bad settings")
        result = cls(symbol)
        vocabularies = []
        for c in range(n_columns):
            names = (f"column_{c}_blob", f"column_{c}_offsets")
            if any(name not in arrays for name in names):
                raise ModelFileError(f"map of unknown values: the vocabulary of column {c} is missing")
            vocabulary = Vocabulary.from_arrays(*(arrays[name] for name in names), distinct=True)
            if len(vocabulary) == 0 or vocabulary[OOV] != symbol:
                raise ModelFileError(f"map of unknown values: column {c} does not begin with the symbol {symbol!r}")
            vocabularies.append(vocabulary)
        result._vocabularies = vocabularies
        return result


def _with_symbol(symbol: str, vocabulary: Vocabulary) -> Vocabulary:
    """Return the vocabulary with the symbol as its first value."""
    head = np.frombuffer(symbol.encode("utf-8", "surrogatepass"), dtype=np.uint8)
    offsets = np.concatenate([[0], vocabulary.offsets + head.size]).astype(np.int64)
    return Vocabulary(np.concatenate([head, vocabulary.blob]), offsets)
