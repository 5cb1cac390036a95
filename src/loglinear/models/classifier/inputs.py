"""Examples of all kinds that a classifier accepts, turned into feature matrices.

Arrays, scipy sparse matrices and data frames are taken as they are. A list of dicts, of token lists or of texts is
turned into named features by a featuriser, which the model keeps.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from loglinear.data.matrix import DenseRows, Rows, SparseRows
from loglinear.errors import FormatError
from loglinear.features.dicts import DictFeatures
from loglinear.features.featuriser import Featuriser
from loglinear.features.text.settings import TextSettings
from loglinear.features.tokens import TokenFeatures
from loglinear.formats.streams.columns import LABEL, is_frame, text_of
from loglinear.threads import pool

RECORDS = "<records>"  # the source of records in messages; the line is then the number of the record


def featuriser_for(X: Any, settings: TextSettings) -> Featuriser | None:
    """Return the featuriser for this kind of examples; None for matrices."""
    first = X[0] if isinstance(X, (list, tuple)) and X else None
    if isinstance(first, str):
        return settings.featuriser()
    if isinstance(first, dict):
        settings.refuse("named features")
        return DictFeatures()
    if isinstance(first, (list, tuple)) and (not first or isinstance(first[0], str)):
        strings = next((row for row in X if isinstance(row, (list, tuple)) and row), None)
        if strings is None or isinstance(strings[0], str):
            settings.refuse("lists of tokens", weighted=True)
            return TokenFeatures(settings.weighting)
    settings.refuse("numbers")
    return None


def texts_and_labels(X: Any, y: Any, text_column: str, label_column: str | None) -> tuple[Any, Any]:
    """Return the texts of records or of a data frame, and their labels if ``y`` is None; X that has none as it is."""
    label_column = label_column or LABEL
    if isinstance(X, (SparseRows, DenseRows, np.ndarray, str)) or hasattr(X, "tocsr"):
        return X, y
    if is_frame(X):
        X = [dict(zip(X.columns, row)) for row in zip(*(X[column] for column in X.columns))]
    texts: list[str] = []
    labels: list[Any] = []
    for number, record in enumerate(X, start=1):
        if isinstance(record, str):
            texts.append(record)
            continue
        if not isinstance(record, Mapping):
            raise TypeError(f"record {number} must be a dict with a text, not {type(record).__name__}")
        texts.append(text_of(record, text_column, RECORDS, number))
        if y is None:
            if record.get(label_column) is None:
                message = f"the record has no label {label_column!r}; name the key with label_column, or give labels"
                raise FormatError(message, RECORDS, number)
            labels.append(record[label_column])
    if y is None and len(labels) < len(texts):
        raise ValueError("texts have no labels of their own: give y")
    return texts, labels if y is None else y


def matrix_rows(X: Any) -> Rows:
    """Return the rows of an array or a scipy sparse matrix."""
    return SparseRows.from_scipy(X) if hasattr(X, "tocsr") else DenseRows(X)


def featurise(featuriser: Featuriser, X: Any, n_threads: int | None, *, fit: bool) -> SparseRows:
    """Return the rows of raw examples."""
    n = pool(n_threads).size
    indptr, indices, values = featuriser.fit_transform(X, n) if fit else featuriser.transform(X, n)
    return SparseRows(indptr, indices, np.asarray(values, dtype=np.float64), featuriser.n_features)
