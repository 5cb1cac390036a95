"""Examples of all kinds that a classifier accepts, turned into feature matrices.

Arrays, scipy sparse matrices and data frames of numbers are taken as they are. A list of dicts, of token lists or of
texts is turned into named features by a featuriser, which the model keeps. Texts may as well be a Series of pandas or
polars, an Arrow or a NumPy array, or the only column of a data frame.
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


def plain_examples(X: Any) -> Any:
    """Return raw examples of a Series, an array or a data frame of one column as a list; anything else as it is."""
    if is_frame(X):
        texts = [str(name) for name in X.columns if _are_raw(X[name])]
        if not texts:
            return X
        if len(X.columns) > 1:
            several = ", ".join(repr(str(name)) for name in X.columns)
            raise ValueError(f"X has the columns {several}, and {texts[0]!r} is no column of numbers: name the column "
                             f"of the texts, text_column={texts[0]!r}")  # fmt: skip
        X = X[X.columns[0]]
    elif isinstance(X, np.ndarray) and X.ndim == 2 and X.shape[1] == 1 and _are_raw(X[:, 0]):
        X = X[:, 0]
    if not _is_column(X) or not _are_raw(X):
        return X
    examples = X.to_pylist() if hasattr(X, "to_pylist") else X.tolist() if hasattr(X, "tolist") else X.to_list()
    kind = next(type(one) for one in examples if isinstance(one, _RAW))
    for k, one in enumerate(examples):
        if not isinstance(one, kind):
            what = "text" if kind is str else kind.__name__
            raise ValueError(f"example {k} is {one!r} and no {what}, as others are: leave it out, or mend it")
    return examples


_RAW = (str, dict, list)  # kinds of examples that a featuriser reads; a tuple may be a row of numbers


def _is_column(X: Any) -> bool:
    """Return whether X is a Series, an Arrow array or a NumPy array of one dimension."""
    if isinstance(X, (list, tuple, str, bytes)) or hasattr(X, "tocsr") or is_frame(X):
        return False
    return hasattr(X, "to_pylist") or (hasattr(X, "dtype") and len(getattr(X, "shape", ())) == 1)


def _are_raw(column: Any) -> bool:
    """Return whether a column has texts, dicts or lists: by the first of its values that there is."""
    if getattr(getattr(column, "dtype", None), "kind", "O") in "biufc":
        return False
    for one in column:
        value = one.as_py() if hasattr(one, "as_py") else one
        if isinstance(value, _RAW):
            return True
        if value is not None and value == value and type(value).__name__ != "NAType":
            return False
    return False


def texts_and_labels(X: Any, y: Any, text_column: str, label_column: str | None) -> tuple[Any, Any]:
    """Return the texts of records or of a data frame, and their labels if ``y`` is None; X that has none as it is."""
    label_column = label_column or LABEL
    if isinstance(X, (SparseRows, DenseRows, np.ndarray, str)) or hasattr(X, "tocsr"):
        return X, y
    if is_frame(X):
        names = [name for name in X.columns if name in (text_column, label_column)] or list(X.columns)
        X = [dict(zip(names, row)) for row in zip(*(X[name] for name in names))]
    elif _is_column(X):
        X = plain_examples(X)
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
