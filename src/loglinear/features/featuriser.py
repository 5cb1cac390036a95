"""The base of all featurisers: a vocabulary, arrays for model files, and restriction to fewer features."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, ClassVar, TypeAlias, TypeVar

import numpy as np

from loglinear import _core
from loglinear.arrays import FloatArray
from loglinear.errors import LoglinearError, ModelFileError
from loglinear.features.vocabulary import Vocabulary
from loglinear.features.weighting import COUNT, WEIGHTINGS, document_counts, inverse_document_frequencies, weigh
from loglinear.features.word_classes import CLASS_ARRAY, WordClassLexicon
from loglinear.threads import pool

# indptr [n + 1] int64, indices [n_nonzeros] int32 ascending in a row, values [n_nonzeros] float64
Rows: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray]
Self = TypeVar("Self", bound="Featuriser")


class Featuriser:
    """Turns examples into sparse rows.

    Subclasses define ``_fit_counts`` and ``_counts``, or ``fit_transform`` and ``transform`` if nothing is weighted.
    """

    kind: ClassVar[str]
    weighting: str = COUNT  # how counts become values
    classes: WordClassLexicon | None = None  # word classes, of those that see them
    _vocabulary: Vocabulary | None = None
    _idf: FloatArray | None = None  # [n_features], of weightings by rarity

    @property
    def vocabulary(self) -> Vocabulary:
        """Return the numbered features; raise LoglinearError before ``fit_transform``."""
        if self._vocabulary is None:
            raise LoglinearError(f"{type(self).__name__} has no vocabulary yet; call fit_transform first")
        return self._vocabulary

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.vocabulary)

    @property
    def by_rarity(self) -> bool:
        """Whether values depend on all the features of a row, which has length one: none may then be left out."""
        return WEIGHTINGS[self.weighting].by_rarity

    def fit_transform(self, examples: Sequence[Any], n_threads: int = 1) -> Rows:
        """Learn the features of the examples and return their values in each."""
        rows = self._fit_counts(examples, n_threads)
        self.set_document_counts(document_counts(rows[1], self.n_features), rows[0].size - 1)
        weigh(self.weighting, rows, self._idf, n_threads)
        return rows

    def transform(self, examples: Sequence[Any], n_threads: int = 1) -> Rows:
        """Return the values of the known features in each example; others are ignored."""
        rows = self._counts(examples, n_threads)
        weigh(self.weighting, rows, self._idf, n_threads)
        return rows

    def set_document_counts(self, counts: np.ndarray, n_examples: int) -> None:
        """Learn how rare features are: ``counts`` of the ``n_examples`` have each of them."""
        self._idf = inverse_document_frequencies(counts, n_examples) if self.by_rarity else None

    def _fit_counts(self, examples: Sequence[Any], n_threads: int) -> Rows:
        """Learn the features of the examples and count them in each."""
        raise NotImplementedError

    def _counts(self, examples: Sequence[Any], n_threads: int) -> Rows:
        """Count the known features in each example; others are ignored."""
        raise NotImplementedError

    def name(self, j: int) -> str:
        """Return the name of one feature."""
        return self.vocabulary[j]

    def names(self) -> list[str]:
        """Return the name of each feature, by number."""
        return list(self.vocabulary)

    def take(self: Self, indices: np.ndarray | Sequence[int]) -> Self:
        """Return a featuriser that knows only the chosen features, renumbered in the order given."""
        smaller = copy.copy(self)
        smaller._vocabulary = self.vocabulary.take(indices)
        smaller._take_rarities(indices)
        return smaller

    def _take_rarities(self, indices: np.ndarray | Sequence[int]) -> None:
        if self._idf is not None:
            self._idf = self._idf[np.asarray(indices, dtype=np.int64)]

    def settings(self) -> dict[str, Any]:
        """Return the arguments of the constructor, as JSON values."""
        return {}

    def to_arrays(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return settings (JSON values) and arrays, for a model file."""
        arrays = self._name_arrays()
        if self._idf is not None:
            arrays["idf"] = self._idf
        if self.classes is not None:
            arrays |= {CLASS_ARRAY + name: array for name, array in self.classes.to_arrays().items()}
        return self.settings(), arrays

    def _name_arrays(self) -> dict[str, np.ndarray]:
        return {"vocabulary_blob": self.vocabulary.blob, "vocabulary_offsets": self.vocabulary.offsets}

    def _restore_names(self, arrays: dict[str, np.ndarray]) -> None:
        missing = {"vocabulary_blob", "vocabulary_offsets"} - arrays.keys()
        if missing:
            raise ModelFileError(f"featuriser {self.kind!r}: array {min(missing)!r} is missing")
        blob, offsets = arrays["vocabulary_blob"], arrays["vocabulary_offsets"]
        self._vocabulary = Vocabulary.from_arrays(blob, offsets, distinct=True)

    def _restore_rarities(self, idf: np.ndarray | None) -> None:
        if not self.by_rarity:
            return
        if idf is None or idf.dtype != np.float64 or idf.shape != (self.n_features,) or not np.all(np.isfinite(idf)):
            raise ModelFileError(f"featuriser {self.kind!r}: array 'idf' is missing or damaged")
        self._idf = np.ascontiguousarray(idf)

    @classmethod
    def from_arrays(cls: type[Self], settings: dict[str, Any], arrays: dict[str, np.ndarray]) -> Self:
        """Make the featuriser of what ``to_arrays`` returned, which is checked."""
        if "classes" in settings:  # the name of a file, which loading a model must not read
            raise ModelFileError(f"featuriser {cls.kind!r}: bad settings: classes are arrays")
        try:
            featuriser = cls(**settings)
        except (TypeError, ValueError) as error:
            raise ModelFileError(f"featuriser {cls.kind!r}: bad settings: {error}") from None
        featuriser._restore_names(arrays)
        featuriser._restore_rarities(arrays.get("idf"))
        featuriser.classes = WordClassLexicon.among(arrays)
        return featuriser


def sum_rows(lengths: Sequence[int], ids: np.ndarray, values: np.ndarray, n_features: int) -> Rows:
    """Make rows of the given lengths from ids in any order, -1 for unknown features; equal ids in a row are summed."""
    known = ids >= 0
    totals = np.zeros(len(known) + 1, dtype=np.int64)
    np.cumsum(known, out=totals[1:])
    ends = np.cumsum(np.asarray([0, *lengths], dtype=np.int64))
    rows = _core.SparseMatrix32(totals[ends], ids[known], values[known], n_features)
    each = np.arange(n_features, dtype=np.int32)  # every feature stays on its own: equal ids are all that is merged
    indptr, indices, summed = _core.tie_columns(rows, pool(1), each, np.ones(n_features))
    return indptr, indices, summed


def sort_names(numbers: dict[str, int]) -> tuple[Vocabulary, np.ndarray]:
    """Return a vocabulary in sorted order, and the map from the given numbers to the new ones."""
    names = sorted(numbers)
    order = np.fromiter((numbers[name] for name in names), dtype=np.int32, count=len(names))
    renumber = np.empty(len(names), dtype=np.int32)
    renumber[order] = np.arange(len(names), dtype=np.int32)
    return Vocabulary.from_strings(names), renumber
