"""Measures of single-label classification.

    precision(c) = right(c) / predicted(c)     recall(c) = right(c) / support(c)     F1 = harmonic mean of the two

where 0 / 0 counts as 0, as in scikit-learn. Macro F1 is the mean over the classes that occur in the
truth or among the predictions; micro F1 pools their counts, which for one label per example equals the accuracy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loglinear.arrays import FloatArray


@dataclass(frozen=True)
class ClassScores:
    """The scores of one class; ``support`` counts its gold labels, ``predicted`` its predictions."""

    label: Any
    precision: float
    recall: float
    f1: float
    support: int
    predicted: int


@dataclass(frozen=True)
class Scores:
    """All measures that need labels only; ``confusion[truth][prediction]`` holds the nonzero counts."""

    n_examples: int
    accuracy: float
    macro_f1: float
    micro_f1: float
    classes: list[ClassScores]
    confusion: dict[Any, dict[Any, int]]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return asdict(self)


def _pair(truth: Any, predicted: Any) -> tuple[np.ndarray, np.ndarray]:
    truth, predicted = np.asarray(truth), np.asarray(predicted)
    if truth.ndim != 1 or truth.shape != predicted.shape:
        raise ValueError(
            f"one label and one prediction per example are needed, not {truth.shape} and {predicted.shape}"
        )
    if truth.size == 0:
        raise ValueError("there are no examples to score")
    return truth, predicted


def accuracy(truth: Any, predicted: Any) -> float:
    """Return the share of correct predictions."""
    truth, predicted = _pair(truth, predicted)
    return float(np.mean(truth == predicted))


def score_labels(truth: Any, predicted: Any) -> Scores:
    """Compute accuracy, precision, recall and F1; labels in only one of truth and predictions count like any other."""
    truth, predicted = _pair(truth, predicted)
    labels, numbers = np.unique(np.concatenate([truth, predicted]), return_inverse=True)
    K, n = labels.size, truth.size
    t, p = numbers[:n].astype(np.int64), numbers[n:].astype(np.int64)
    support, guessed = np.bincount(t, minlength=K), np.bincount(p, minlength=K)
    right = np.bincount(t[t == p], minlength=K)
    precision, recall = _quotient(right, guessed), _quotient(right, support)
    f1 = _quotient(2 * right, support + guessed)
    names = labels.tolist()
    rows = zip(names, precision.tolist(), recall.tolist(), f1.tolist(), support.tolist(), guessed.tolist())
    share = float(right.sum() / n)
    return Scores(n, share, float(f1.mean()), share, [ClassScores(*row) for row in rows], _confusion(names, t, p))


def _quotient(part: NDArray[np.int64], whole: NDArray[np.int64]) -> FloatArray:
    return np.divide(part, whole, out=np.zeros(part.size), where=whole > 0)


def _confusion(names: list[Any], t: NDArray[np.int64], p: NDArray[np.int64]) -> dict[Any, dict[Any, int]]:
    """Count pairs by sorting their numbers: a table of all pairs would be large for many classes."""
    pairs, counts = np.unique(t * len(names) + p, return_counts=True)
    table: dict[Any, dict[Any, int]] = {}
    for pair, count in zip(pairs.tolist(), counts.tolist()):
        table.setdefault(names[pair // len(names)], {})[names[pair % len(names)]] = count
    return table


def log_loss(truth: Any, log_probabilities: Any, classes: Sequence[Any]) -> float:
    """Return the mean of -log p(label); the columns of ``log_probabilities`` [n, n_classes] follow ``classes``."""
    logs = np.asarray(log_probabilities, dtype=np.float64)
    truth = np.asarray(truth)
    if logs.ndim != 2 or logs.shape != (truth.size, len(classes)):
        raise ValueError(
            f"log-probabilities of shape {logs.shape} for {truth.size} examples and {len(classes)} classes"
        )
    if truth.size == 0:
        raise ValueError("there are no examples to score")
    number = {label: c for c, label in enumerate(classes)}
    try:
        columns = [number[label] for label in truth.tolist()]
    except KeyError as error:
        raise ValueError(f"label {error.args[0]!r} is not one of the classes") from None
    return float(-np.mean(logs[np.arange(truth.size), columns]))
