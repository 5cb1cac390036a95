"""Examples of all kinds that a classifier accepts, turned into feature matrices.

Arrays, scipy sparse matrices and data frames are taken as they are. A list of dicts, of token lists or of texts is
turned into named features by a featuriser, which the model keeps.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from loglinear.data.matrix import DenseRows, Rows, SparseRows
from loglinear.features.dicts import DictFeatures
from loglinear.features.featuriser import Featuriser
from loglinear.features.tokens import TokenFeatures
from loglinear.features.word_classes import WordClassLexicon
from loglinear.features.words import WordNgrams
from loglinear.threads import pool


def featuriser_for(
    X: Any, *, ngrams: tuple[int, ...], min_count: int, classes: Any = None
) -> Featuriser | None:
    """Return the featuriser for this kind of examples; None for matrices."""
    texts = isinstance(X, (list, tuple)) and bool(X) and isinstance(X[0], str)
    if classes is not None and not texts:
        raise ValueError("word classes are those of the words of texts: give texts, or leave classes out")
    if not isinstance(X, (list, tuple)) or not X:
        return None
    first = X[0]
    if isinstance(first, dict):
        return DictFeatures()
    if isinstance(first, str):
        lexicon = None if classes is None else WordClassLexicon.of(classes).for_texts()
        return WordNgrams(ngrams=ngrams, min_count=min_count, classes=lexicon)
    if isinstance(first, (list, tuple)) and (not first or isinstance(first[0], str)):
        strings = next((row for row in X if isinstance(row, (list, tuple)) and row), None)
        if strings is None or isinstance(strings[0], str):
            return TokenFeatures()
    return None


def matrix_rows(X: Any) -> Rows:
    """Return the rows of an array or a scipy sparse matrix."""
    return SparseRows.from_scipy(X) if hasattr(X, "tocsr") else DenseRows(X)


def featurise(featuriser: Featuriser, X: Any, n_threads: int | None, *, fit: bool) -> SparseRows:
    """Return the rows of raw examples."""
    n = pool(n_threads).size
    indptr, indices, values = featuriser.fit_transform(X, n) if fit else featuriser.transform(X, n)
    return SparseRows(indptr, indices, np.asarray(values, dtype=np.float64), len(featuriser.vocabulary))
