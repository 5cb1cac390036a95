"""What happens on the workers of a classifier: parts are read, their features counted, and then encoded as shards.

A part first numbers the features that it has itself. The client joins the names of all parts in their order, so that
features have the numbers they would have in one process, and a shard then keeps only the columns of its own features.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from distributed import get_worker
from numpy.typing import NDArray
from scipy import sparse

from loglinear.arrays import FloatArray
from loglinear.data.matrix import DenseRows, Rows, SparseRows
from loglinear.data.multiclass import MulticlassData
from loglinear.features.featuriser import Featuriser
from loglinear.features.text.hashed import HashedNgrams
from loglinear.features.text.settings import TextSettings
from loglinear.features.vocabulary import Vocabulary, join_vocabularies
from loglinear.features.weighting import COUNT, document_counts, weigh
from loglinear.formats.examples import Labels
from loglinear.losses.multinomial import MultinomialLoss
from loglinear.losses.partitioned import Shard
from loglinear.models.classifier.inputs import featurise, featuriser_for, matrix_rows, plain_examples
from loglinear.models.classifier.labels import known_numbers
from loglinear.threads import pool

HASHED = HashedNgrams.kind


def own_threads(shared: bool) -> int:
    """Return the threads that a task may use: those of its worker, or one where several tasks share them."""
    return 1 if shared else max(1, int(get_worker().state.nthreads))


@dataclass(frozen=True, eq=False)
class Counted:
    """The examples of a part, in the numbers of its own features."""

    rows: Rows
    labels: NDArray[Any]  # as they were given
    weight: NDArray[np.float64] | None
    featuriser: Featuriser | None  # None for matrices

    def summary(self) -> Summary:
        """Return what the client must know of the part."""
        rows, names, totals, documents = self.rows, None, None, None
        if self.featuriser is not None and isinstance(rows, SparseRows):
            documents = document_counts(rows.indices, rows.n_columns)
            if self.featuriser.kind != HASHED:
                names = self.featuriser.vocabulary
                totals = np.bincount(rows.indices, rows.values, minlength=rows.n_columns).astype(np.float64)
        kind = "matrix" if self.featuriser is None else self.featuriser.kind
        labels, numbers = np.unique(self.labels, return_inverse=True)
        counts = np.bincount(numbers, self.weight, labels.size).astype(np.float64)
        return Summary(kind, rows.n_rows, rows.n_columns, labels, counts, names, totals, documents)


@dataclass(frozen=True, eq=False)
class Summary:
    """Facts of a part: the kind of its examples, its size, its labels, its features, their totals and examples."""

    kind: str
    n_examples: int
    n_columns: int
    labels: NDArray[Any]
    label_counts: FloatArray  # sums of their weights
    names: Vocabulary | None
    totals: NDArray[np.float64] | None
    documents: NDArray[np.int64] | None  # how many examples have each feature


def count_part(given: Any, reads: TextSettings, shared: bool) -> Counted | None:
    """Read a part and number its own features; None for one without examples."""
    threads = own_threads(shared)
    if hasattr(given, "read"):
        found = given.read(threads)
        X, y, weight = (None, None, None) if found is None else (found.X, found.labels, None)
    else:
        X, y, weight = given
    if X is None or _length(X) == 0:
        return None
    if not isinstance(X, (SparseRows, DenseRows)):
        X = _plain(X)
    labels = np.asarray(y.names)[y.numbers] if isinstance(y, Labels) else _labels(y)
    featuriser = None if isinstance(X, (SparseRows, DenseRows)) else featuriser_for(X, reads)
    if isinstance(X, (SparseRows, DenseRows)):
        rows: Rows = X
    elif featuriser is not None:
        rows = featurise(featuriser, X, threads, fit=True)
    else:
        rows = matrix_rows(_numbers(X))
    if labels.shape != (rows.n_rows,):
        raise ValueError(f"a partition has {rows.n_rows} examples and labels of shape {labels.shape}")
    if weight is not None:
        weight = np.asarray(weight, np.float64)
    return Counted(rows, labels, weight, featuriser)


def _length(X: Any) -> int:
    return int(X.n_rows if isinstance(X, (SparseRows, DenseRows)) else X.shape[0] if hasattr(X, "shape") else len(X))


def _labels(y: Any) -> NDArray[Any]:
    """Return the labels of a partition, of which none is missing and which are all text or all numbers."""
    labels = np.asarray(y) if hasattr(y, "shape") else np.array([*y, None], dtype=object)[:-1]  # as they are
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels.ravel()
    if labels.dtype.kind == "O":
        every = labels.tolist()
        if any(label is None or type(label).__name__ == "NAType" or label != label for label in every):
            raise ValueError("a partition has examples without a label: leave them out")
        are_text = {isinstance(label, str) for label in every}
        if len(are_text) > 1:
            raise ValueError("a partition has labels that are text, and others that are not: give all the same")
        if True not in are_text or not hasattr(y, "shape"):
            labels = np.asarray(every)  # numbers, as data frames with gaps have them
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise ValueError("a partition has examples whose label is NaN or infinite: leave them out")
    return labels


def _plain(X: Any) -> Any:
    """Return a partition of a bag, an array or a data frame as a list of examples or a matrix."""
    if getattr(X, "ndim", 1) == 1:
        examples = X.tolist() if hasattr(X, "tolist") else list(X)
        for place, one in enumerate(examples):
            if not isinstance(one, (str, dict, list, tuple, np.ndarray)):
                what = f"example {place} of a partition is {type(one).__name__}"
                raise TypeError(f"{what}, not a text, a dict or a list: leave such examples out, or give a matrix")
        return examples
    X = plain_examples(X)
    if hasattr(X, "to_numpy"):
        try:
            return X.to_numpy(np.float64)
        except (TypeError, ValueError):
            names = ", ".join(map(repr, X.columns))
            raise ValueError(
                f"a data frame of the columns {names} is no matrix of numbers: give columns of numbers, or the one "
                "column of texts, X['...']"
            ) from None
    return X


def _numbers(X: Any) -> Any:
    if hasattr(X, "tocsr"):
        if not np.isfinite(X.tocsr().data).all():
            raise ValueError("a partition of X is no matrix of finite numbers")
        return X
    X = np.asarray(X, np.float64)
    if X.ndim != 2 or not np.isfinite(X).all():
        raise ValueError("a partition of X is no matrix of finite numbers")
    return np.ascontiguousarray(X)


def summarise(part: Counted | None) -> Summary | None:
    """Return the summary of a part; None for one without examples."""
    return None if part is None else part.summary()


def encode_part(
    part: Counted | None, columns: NDArray[np.int32] | None, classes: NDArray[Any], n_features: int, intercept: bool,
    weighting: str, idf: FloatArray | None, by_class: FloatArray | None, shared: bool,
) -> Shard:  # fmt: skip
    """Return the shard of a part.

    columns : the number of each of the part's own features among those of all parts, -1 for one that is left out;
        None: matrices and hashed features, whose columns have their numbers
    idf : of all features, for weightings by rarity
    by_class : weight of every class's examples
    """
    threads = own_threads(shared)
    n_classes = classes.size
    K = 1 if n_classes <= 2 else n_classes
    if part is None:
        rows: Rows = SparseRows(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0), 0)
        features, labels, weight = np.zeros(0, np.intp), np.zeros(0, np.int32), None
    else:
        rows, labels, weight = part.rows, known_numbers(part.labels, classes), part.weight
        if by_class is not None:
            weight = by_class[labels] if weight is None else by_class[labels] * weight
        rows, features = _own_columns(rows, columns, pool(threads))
        if isinstance(rows, SparseRows) and weighting != COUNT:
            values = rows.values.copy()  # the part may be encoded again
            own = None if idf is None else idf[features]
            weigh(weighting, (rows.indptr, rows.indices, values), own, threads)
            rows = SparseRows(rows.indptr, rows.indices, values, rows.n_columns)
    data = MulticlassData(rows, labels, n_classes, weight)
    kept = (features[:, None] * K + np.arange(K)).ravel()
    if intercept:
        kept = np.concatenate([kept, n_features * K + np.arange(K)])
    return Shard(MultinomialLoss(data, intercept=intercept, n_threads=threads), kept.astype(np.intp), data.n_examples)


def _own_columns(
    rows: Rows, columns: NDArray[np.int32] | None, threads: Any
) -> tuple[Rows, NDArray[np.intp]]:  # fmt: skip
    """Return the rows with only the columns that a part uses, by their numbers among all, and these numbers."""
    if isinstance(rows, DenseRows):
        return rows, np.arange(rows.n_columns)
    if columns is None:
        local = np.flatnonzero(np.bincount(rows.indices, minlength=rows.n_columns))
        numbers = local
    else:
        local = np.flatnonzero(columns >= 0)
        local = local[np.argsort(columns[local], kind="stable")]
        numbers = columns[local].astype(np.intp)
    place = np.full(rows.n_columns, -1, np.int32)
    place[local] = np.arange(local.size, dtype=np.int32)
    indptr, indices, values = rows.indptr, place[rows.indices], rows.values
    if local.size < rows.n_columns and np.any(indices < 0):
        kept = indices >= 0
        indptr, indices, values = np.concatenate([[0], np.cumsum(kept)])[indptr], indices[kept], values[kept]
    if np.any(np.diff(local) < 0):
        matrix = sparse.csr_matrix((values, indices, indptr), (rows.n_rows, local.size))
        matrix.sort_indices()
        indptr, indices, values = matrix.indptr, matrix.indices, matrix.data
    return SparseRows(indptr, indices, values, local.size), numbers


def join_features(
    summaries: Sequence[Summary | None], min_count: int | None, in_order: bool
) -> tuple[Vocabulary, list[NDArray[np.int32] | None]]:
    """Return the features of all parts, and the number of each part's own among them; -1 where it is left out.

    min_count : least total of a feature that is kept; None: all are
    in_order : whether features are sorted by name, instead of by length and first occurrence
    """
    named = [k for k, one in enumerate(summaries) if one is not None and one.names is not None]
    joined, found = join_vocabularies([summaries[k].names for k in named])  # type: ignore[union-attr, misc]
    numbers: list[NDArray[np.int32] | None] = [None] * len(summaries)
    totals = np.zeros(len(joined))
    for k, own in zip(named, found):
        totals[own] += summaries[k].totals  # type: ignore[union-attr]
        numbers[k] = own
    kept = np.arange(len(joined)) if min_count is None else np.flatnonzero(totals >= min_count)
    if in_order:
        names = list(joined.take(kept))
        kept = kept[np.array(sorted(range(len(names)), key=names.__getitem__), np.intp)]
    else:  # n-grams: those of words, the shorter ones first, then those of characters, whose names have marks
        blanks = np.concatenate([[0], np.cumsum(joined.blob == ord(" "))])[joined.offsets]
        of_words = joined.blob[joined.offsets[:-1]] != ord('"')
        order = np.where(of_words, np.diff(blanks), np.iinfo(np.int64).max)
        kept = kept[np.argsort(order[kept], kind="stable")]
    renumber = np.full(len(joined), -1, np.int32)
    renumber[kept] = np.arange(kept.size, dtype=np.int32)
    return joined.take(kept), [None if one is None else renumber[one] for one in numbers]
