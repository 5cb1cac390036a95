"""Labels where an example may have several, or none: read in every form they come in, returned in the same, scored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loglinear.data.matrix import is_sparse
from loglinear.formats.text import plain_label
from loglinear.metrics.label_sets import score_label_sets

FORMS = ("array", "matrix", "list", "tuple", "set", "text")  # of labels: what predict returns
_KINDS: dict[Any, str] = {list: "list", tuple: "tuple", set: "set", frozenset: "set"}


@dataclass(frozen=True, eq=False)
class LabelSets:
    """The labels of examples, by label: those with label c are examples[ptr[c]:ptr[c + 1]], ascending."""

    classes: np.ndarray  # [n_labels], sorted
    ptr: NDArray[np.int64]
    examples: NDArray[np.int64]
    n_examples: int
    form: str | None  # one of FORMS; None where every example has one label

    def with_label(self, c: int) -> NDArray[np.int64]:
        """Return the numbers of the examples with label number c."""
        return self.examples[self.ptr[c] : self.ptr[c + 1]]

    def indicator(self) -> NDArray[np.bool_]:
        """Return an array [n_examples, n_labels]."""
        found = np.zeros((self.n_examples, self.classes.size), dtype=bool)
        found[self.examples, np.repeat(np.arange(self.classes.size), np.diff(self.ptr))] = True
        return found


def read_label_sets(y: Any, separator: str | None = None) -> LabelSets | None:
    """Return labels of which an example may have several; None where ``y`` has one label per example.

    y : an array or a sparse matrix of zeros and ones [n_examples, n_labels]; lists, tuples or sets of labels; or, with
        a separator, texts of labels
    """
    if y is None or (getattr(getattr(y, "dtype", None), "kind", "O") in "USM" and separator is None):
        return None
    if separator is not None and not is_sparse(y) and all(isinstance(one, str) for one in y):
        return _of_sets([split_labels(one, separator) for one in y], "text")
    if is_sparse(y):
        return _of_indicator(y.tocsc(), "matrix")
    if hasattr(y, "shape") and len(y.shape) == 2:
        return _of_indicator(np.asarray(y), "array") if y.shape[1] > 1 else None
    examples = y.tolist() if hasattr(y, "tolist") else y
    if isinstance(examples, (list, tuple)) and examples and isinstance(examples[0], np.ndarray):
        return _of_indicator(np.asarray(examples), "array")
    if not isinstance(examples, (list, tuple)) or not examples or type(examples[0]) not in _KINDS:
        return None
    if type(examples[0]) is list and _are_rows(examples):
        return _of_indicator(np.asarray(examples), "array")
    wrong = next((k for k, one in enumerate(examples) if type(one) not in _KINDS), None)
    if wrong is not None:
        kind = _KINDS[type(examples[0])]
        raise ValueError(f"example {wrong} has {examples[wrong]!r} and no {kind} of labels, as others have")
    return _of_sets(examples, _KINDS[type(examples[0])])


def one_label_each(classes: np.ndarray, numbers: NDArray[np.int32]) -> LabelSets:
    """Return labels of which every example has one, by label."""
    return _by_label(classes, numbers, np.arange(numbers.size), numbers.size, None)


def split_labels(text: str, separator: str) -> list[str]:
    """Return the labels of a text, none for an empty one."""
    return [label for label in (part.strip() for part in text.split(separator)) if label]


def _are_rows(examples: Sequence[Any]) -> bool:
    """Return whether lists are rows of zeros and ones of an indicator, as scikit-learn takes them."""
    width = len(examples[0])
    return width > 1 and all(len(one) == width and all(v in (0, 1) for v in one) for one in examples)


def _of_sets(examples: Sequence[Any], form: str) -> LabelSets:
    lengths = np.array([len(set(one)) for one in examples], dtype=np.int64)
    every = [label for one in examples for label in sorted(set(one))]
    if not every:
        raise ValueError("no example has a label: there is nothing to learn")
    if len({isinstance(label, str) for label in every}) > 1:
        raise ValueError("some labels are text, and others numbers: give all the same")
    classes, numbers = np.unique(np.array(every), return_inverse=True)
    owners = np.repeat(np.arange(lengths.size), lengths)
    return _by_label(classes, numbers, owners, lengths.size, form)


def _of_indicator(matrix: Any, form: str) -> LabelSets:
    stored = matrix.data if form == "matrix" else matrix
    if not np.all(np.isin(stored, (0, 1))):
        raise ValueError("labels [n_examples, n_labels] must be 0 or 1; multiclass-multioutput is not supported")
    owners, numbers = matrix.nonzero()
    return _by_label(np.arange(matrix.shape[1]), numbers, owners, matrix.shape[0], form)


def _by_label(classes: np.ndarray, numbers: Any, owners: Any, n_examples: int, form: str | None) -> LabelSets:
    order = np.lexsort((owners, numbers))
    ptr = np.concatenate([[0], np.cumsum(np.bincount(numbers, minlength=classes.size))])
    return LabelSets(classes, ptr, np.asarray(owners, dtype=np.int64)[order], n_examples, form)


def in_form(indicator: NDArray[np.bool_], classes: np.ndarray, form: str, separator: str | None) -> Any:
    """Return predicted labels in the form of those of training."""
    if form == "array":
        return indicator.astype(np.int64)
    if form == "matrix":
        from scipy import sparse

        return sparse.csr_matrix(indicator.astype(np.int64))
    names = classes.tolist()
    found = [[names[c] for c in np.flatnonzero(row).tolist()] for row in indicator]
    if form == "text":
        return np.array([(separator or ",").join(map(str, one)) for one in found], dtype=object)
    return found if form == "list" else [tuple(one) if form == "tuple" else set(one) for one in found]


def known_indicator(y: Any, classes: np.ndarray, separator: str | None) -> NDArray[np.bool_]:
    """Return the labels of held-out examples as an array [n_examples, n_labels]; ValueError for unknown ones."""
    found = read_label_sets(y, separator)
    if found is None:
        raise ValueError("the model has several labels per example: give labels in the form of those of training")
    place = np.searchsorted(classes, found.classes)
    known = (place < classes.size) & (classes[np.minimum(place, classes.size - 1)] == found.classes)
    if not np.all(known):
        raise ValueError(f"label {found.classes[~known].tolist()[0]!r} was not seen in training")
    out = np.zeros((found.n_examples, classes.size), dtype=bool)
    out[:, place] = found.indicator()
    return out


def evaluate_label_sets(model: Any, X: Any, y: Any, errors: int = 0) -> dict[str, Any]:
    """Return the figures of ``evaluate``; labels are compared as text, and unknown ones count as missed."""
    if errors:
        raise ValueError("errors are told of examples with one label each")
    found = read_label_sets(y, model.label_separator)
    if found is None:
        raise ValueError("the model has several labels per example: give labels in the form of those of training")
    known = [plain_label(label) for label in model.classes_.tolist()]
    given = [plain_label(label) for label in found.classes.tolist()]
    if found.form in ("array", "matrix") and len(given) != len(known):
        raise ValueError(f"labels of {len(given)} columns for a model of {len(known)} labels")
    if found.form in ("array", "matrix"):
        given = known
    names = sorted({*known, *given})
    place = {name: c for c, name in enumerate(names)}
    truth, predicted = (np.zeros((found.n_examples, len(names)), dtype=bool) for _ in range(2))
    truth[:, [place[name] for name in given]] = found.indicator()
    margins = model.decision_function(X)
    predicted[:, [place[name] for name in known]] = margins > 0
    scores = score_label_sets(truth, predicted, names, sorted(set(given) - set(known)))
    has = truth[:, [place[name] for name in known]]
    losses = np.logaddexp(0.0, np.where(has, -margins, margins)).sum(axis=1)
    return {**scores, "log_loss": float(losses.mean())}
