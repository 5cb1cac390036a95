"""Files of labelled examples to what a classifier is trained on: one function, whatever the format.

svmlight gives a sparse matrix whose column j is index j of the file. Counting from 0 or from 1 is then no setting that
training and prediction could disagree about; a file that counts from 1 merely has an empty column 0.
(``sklearn.datasets.load_svmlight_file(..., zero_based=True)`` numbers columns the same way.)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from loglinear.data.matrix import SparseRows
from loglinear.errors import FormatError, IncompatibleError
from loglinear.formats import FORMATS
from loglinear.formats.examples import Labels, guess
from loglinear.formats.text import Source, name_of
from loglinear.models.classifier.predictor import ClassifierPredictor
from loglinear.threads import pool

if TYPE_CHECKING:
    from loglinear.models.classifier.estimator import MaxentClassifier

# The kind of examples -> (the featuriser that reads them, the format they come in, their name in messages).
_KINDS = {
    "matrix": (None, "svmlight", "numbered features (svmlight)"),
    "text": ("words", "tsv", "text (tsv, or jsonl with 'text')"),
    "features": ("dicts", "jsonl", "named features (jsonl with 'features')"),
    "tokens": ("tokens", "jsonl", "tokens (jsonl with 'tokens')"),
}


@dataclass(frozen=True, eq=False)
class Examples:
    """Examples, a label for each (None where none were read), and the name of their file."""

    X: Any  # SparseRows, or a list of texts, of dicts or of token lists
    labels: Labels | None
    kind: str  # a key of _KINDS
    source: str

    def __len__(self) -> int:
        return self.X.n_rows if isinstance(self.X, SparseRows) else len(self.X)

    @property
    def n_features(self) -> int | None:
        """Number of different features that occur; None for examples that a featuriser still has to read."""
        if not isinstance(self.X, SparseRows):
            return None
        return int(np.count_nonzero(np.bincount(self.X.indices, minlength=1)))


def read_examples(
    source: Source, format: str | None = None, encoding: str = "utf-8", *, labelled: bool = True,
    n_threads: int | None = None,
) -> Examples:
    """Read a file (plain, gzip, xz, or ``-``); ``format`` is guessed from its name or its first line unless given.

    Without ``labelled``, a line of tsv is all text and labels of jsonl are ignored; svmlight always has labels.
    """
    format, name = guess(source) if format is None else format, name_of(source)
    read = FORMATS[format].read(source, encoding=encoding, labelled=labelled, n_threads=pool(n_threads).size)
    X = read.examples
    if read.kind == "matrix":
        X = SparseRows(X.indptr, X.indices, X.values, X.n_features)
    if labelled and not read.labels:
        raise FormatError("the input holds no examples", name)
    return Examples(X, read.labels if labelled else None, read.kind, name)


def train_on_file(
    model: MaxentClassifier, source: Source, format: str | None = None, encoding: str = "utf-8", *,
    held_out: Source | None = None,
) -> Examples:
    """Fit a classifier to a file; ``held_out`` is the file to tune on. Returns the training examples."""
    examples = read_examples(source, format, encoding, n_threads=model.n_threads)
    validation: dict[str, Any] = {}
    if held_out is not None:
        valid = read_examples(held_out, format, encoding, n_threads=model.n_threads)
        valid, _ = match(valid, examples.kind, examples.X.n_columns if examples.kind == "matrix" else 0)
        validation = {"X_valid": valid.X, "y_valid": valid.labels}
    model.fit(examples.X, examples.labels, **validation)
    return examples


def kind_of(model: ClassifierPredictor) -> str:
    """Return the kind of examples a classifier was trained on."""
    featuriser = None if model.featuriser_ is None else model.featuriser_.kind
    return next(kind for kind, (reads, _, _) in _KINDS.items() if reads == featuriser)


def read_for(
    model: ClassifierPredictor, source: Source, format: str | None = None, encoding: str = "utf-8", *,
    labelled: bool = True, n_threads: int | None = None,
) -> tuple[Examples, int]:
    """Read examples for a trained classifier; also return how many values were left out as features it does not know.

    A file whose format cannot be guessed is taken to have the format the model was trained on. Matrices get the
    model's number of columns; text models ignore unknown words by themselves.
    """
    wanted = kind_of(model)
    if format is None:
        try:
            format = guess(source) if name_of(source) != "<stdin>" else _KINDS[wanted][1]
        except FormatError:
            format = _KINDS[wanted][1]
    examples = read_examples(source, format, encoding, labelled=labelled, n_threads=n_threads)
    return match(examples, wanted, int(model.n_features_in_))


def match(examples: Examples, kind: str, n_features: int) -> tuple[Examples, int]:
    """Give examples the columns they had in training, and return how many values were left out.

    Raises IncompatibleError for examples of another kind. Examples that are no matrix stay as they are.
    """
    if examples.kind != kind:
        raise IncompatibleError(
            f"{examples.source}: the model was trained on {_KINDS[kind][2]}, but this is {_KINDS[examples.kind][2]}"
        )
    if kind != "matrix":
        return examples, 0
    X = examples.X.with_columns(n_features)
    return replace(examples, X=X), examples.X.n_nonzeros - X.n_nonzeros
