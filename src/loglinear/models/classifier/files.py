"""Files of labelled examples to what a classifier is trained on: one function, whatever the format.

svmlight gives a sparse matrix whose column j is index j of the file. Counting from 0 or from 1 is then no setting that
training and prediction could disagree about; a file that counts from 1 merely has an empty column 0.
(``sklearn.datasets.load_svmlight_file(..., zero_based=True)`` numbers columns the same way.)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from loglinear.errors import FormatError, IncompatibleError
from loglinear.formats import guess, read_jsonl, read_svmlight, read_texts, read_tsv
from loglinear.formats.text import Source, name_of, plain_label
from loglinear.threads import pool

FORMATS = ("svmlight", "tsv", "jsonl")
# The kind of examples -> (the featuriser that reads them, the format they come in, their name in messages).
_KINDS = {
    "matrix": (None, "svmlight", "numbered features (svmlight)"),
    "text": ("words", "tsv", "text (tsv, or jsonl with 'text')"),
    "features": ("dicts", "jsonl", "named features (jsonl with 'features')"),
    "tokens": ("tokens", "jsonl", "tokens (jsonl with 'tokens')"),
}


@dataclass(frozen=True, eq=False)
class Examples:
    """Examples, a label for each (None where none were read), and where they came from."""

    X: Any  # csr_matrix, or a list of texts, of dicts or of token lists
    labels: list[str] | None
    kind: str  # matrix, text, features or tokens
    source: str

    def __len__(self) -> int:
        return int(self.X.shape[0]) if self.kind == "matrix" else len(self.X)

    @property
    def n_features(self) -> int | None:
        """How many different features occur; None for examples that a featuriser still has to read."""
        return int(np.count_nonzero(np.bincount(self.X.indices, minlength=1))) if self.kind == "matrix" else None


def read_examples(
    source: Source,
    format: str | None = None,
    encoding: str = "utf-8",
    *,
    labelled: bool = True,
    n_threads: int | None = None,
) -> Examples:
    """Read a file (plain, gzip, xz, or ``-``); ``format`` is guessed from its name or its first line unless given.

    Without ``labelled``, a line of tsv is all text and labels of jsonl are ignored; svmlight always has labels.
    """
    format, name = guess(source) if format is None else format, name_of(source)
    if format not in FORMATS:
        raise FormatError(f"unknown format {format!r}; known: {', '.join(FORMATS)}")
    labels: list[str] | None
    if format == "svmlight":
        data = read_svmlight(source, zero_based=True, n_threads=pool(n_threads).size)
        X: Any = sparse.csr_matrix((data.values, data.indices, data.indptr), shape=(len(data.labels), data.n_features))
        kind, labels = "matrix", [plain_label(label) for label in data.labels]
    elif format == "jsonl":
        read = read_jsonl(source, encoding, labelled=labelled)
        X, kind, labels = read.examples, read.kind, read.labels
    elif labelled:
        labels, X = read_tsv(source, encoding)
        kind = "text"
    else:
        X, kind, labels = read_texts(source, encoding), "text", None
    if labelled and not labels:
        raise FormatError("the input holds no examples", name)
    return Examples(X, labels if labelled else None, kind, name)


def kind_of(model: Any) -> str:
    """The kind of examples a classifier was trained on."""
    featuriser = None if model.featuriser_ is None else model.featuriser_.kind
    return next(kind for kind, (reads, _, _) in _KINDS.items() if reads == featuriser)


def read_for(
    model: Any,
    source: Source,
    format: str | None = None,
    encoding: str = "utf-8",
    *,
    labelled: bool = True,
    **options: Any,
) -> tuple[Examples, int]:
    """Examples a trained classifier can read, and how many values were left out as features it does not know.

    A file whose format cannot be guessed is taken to have the format the model was trained on. Matrices get the
    model's number of columns; text models forget unknown words by themselves.
    """
    wanted = kind_of(model)
    if format is None:
        try:
            format = guess(source) if name_of(source) != "<stdin>" else _KINDS[wanted][1]
        except FormatError:
            format = _KINDS[wanted][1]
    examples = read_examples(source, format, encoding, labelled=labelled, **options)
    return match(examples, wanted, int(model.n_features_in_))


def match(examples: Examples, kind: str, n_features: int) -> tuple[Examples, int]:
    """Examples as in training (of this kind, with these columns if a matrix), and how many values were left out."""
    if examples.kind != kind:
        raise IncompatibleError(
            f"{examples.source}: the model was trained on {_KINDS[kind][2]}, but this is {_KINDS[examples.kind][2]}"
        )
    if kind != "matrix":
        return examples, 0
    X = examples.X
    unknown = int(np.count_nonzero(X.indices >= n_features))
    if unknown:
        X = X[:, :n_features]
    elif X.shape[1] < n_features:
        X = sparse.csr_matrix((X.data, X.indices, X.indptr), shape=(X.shape[0], n_features))
    return replace(examples, X=X), unknown
