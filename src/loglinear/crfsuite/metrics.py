"""Metrics of label sequences, taken over all tokens, with the names of ``sklearn_crfsuite.metrics``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any

from sklearn import metrics


def flatten(sequences: Iterable[Iterable[Any]]) -> list[Any]:
    """Return all labels one after another."""
    return list(chain.from_iterable(sequences))


def _flat(metric: Callable[..., Any], y_true: Any, y_pred: Any, **settings: Any) -> Any:
    return metric(flatten(y_true), flatten(y_pred), **settings)


def flat_accuracy_score(y_true: Any, y_pred: Any) -> float:
    """Return the share of correct labels."""
    return _flat(metrics.accuracy_score, y_true, y_pred)


def flat_precision_score(y_true: Any, y_pred: Any, **settings: Any) -> Any:
    """Return the precision of labels; settings are those of scikit-learn's ``precision_score``."""
    return _flat(metrics.precision_score, y_true, y_pred, **settings)


def flat_recall_score(y_true: Any, y_pred: Any, **settings: Any) -> Any:
    """Return the recall of labels; settings are those of scikit-learn's ``recall_score``."""
    return _flat(metrics.recall_score, y_true, y_pred, **settings)


def flat_f1_score(y_true: Any, y_pred: Any, **settings: Any) -> Any:
    """Return the F1 of labels; settings are those of scikit-learn's ``f1_score``."""
    return _flat(metrics.f1_score, y_true, y_pred, **settings)


def flat_fbeta_score(y_true: Any, y_pred: Any, beta: float, **settings: Any) -> Any:
    """Return the F-beta of labels; settings are those of scikit-learn's ``fbeta_score``."""
    return _flat(metrics.fbeta_score, y_true, y_pred, beta=beta, **settings)


def flat_classification_report(y_true: Any, y_pred: Any, labels: Any = None, **settings: Any) -> Any:
    """Return scikit-learn's table of precision, recall and F1 by label."""
    return _flat(metrics.classification_report, y_true, y_pred, labels=labels, **settings)


def sequence_accuracy_score(y_true: Sequence[Any], y_pred: Sequence[Any]) -> float:
    """Return the share of sequences all of whose labels are correct; 0 where there are none."""
    if len(y_true) != len(y_pred):
        raise ValueError(f"{len(y_true)} sequences but {len(y_pred)} predictions")
    return sum(list(a) == list(b) for a, b in zip(y_true, y_pred)) / len(y_true) if len(y_true) else 0.0
