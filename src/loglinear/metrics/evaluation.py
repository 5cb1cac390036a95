"""Scores of trained models on labelled examples. Labels that never occurred in training count as errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from loglinear.arrays import FloatArray
from loglinear.features.schemes import flat_convert, flat_detect, flatten, schemes_of
from loglinear.features.sequences import FlatLabels
from loglinear.formats.text import plain_label
from loglinear.metrics.accuracy import Scores, log_loss, score_labels
from loglinear.metrics.calibration import calibration
from loglinear.metrics.span_f1 import SpanScores, span_scores


@dataclass(frozen=True)
class Evaluation:
    """Scores of a classifier on labelled examples.

    ``log_loss`` is the mean over the examples whose label the model knows, None if there are none; ``unseen`` counts
    the labels that never occurred in training.
    """

    scores: Scores
    log_loss: float | None
    unseen: dict[str, int]
    calibration: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        scores = self.scores.to_dict()
        confusion = scores.pop("confusion")
        classes = [{**row, "seen": row["label"] not in self.unseen} for row in scores.pop("classes")]
        return {
            **scores,
            "log_loss": self.log_loss,
            "unseen_labels": self.unseen,
            "classes": classes,
            "confusion": confusion,
            "calibration": self.calibration,
        }


@dataclass(frozen=True, eq=False)
class Judged:
    """Gold labels and predictions as text, so that a model trained on the numbers 0 and 1 knows "0" and "1"."""

    classes: list[str]  # of the model
    truth: np.ndarray  # [n_examples]
    predicted: np.ndarray  # [n_examples]
    logs: FloatArray  # [n_examples, n_classes], logarithms of probabilities


def judge(model: Any, X: Any, labels: Sequence[Any]) -> Judged:
    """Let a classifier predict examples whose labels are known."""
    classes = [_text(label) for label in model.classes_.tolist()]
    logs = model.predict_log_proba(X)
    different, numbers = np.unique(np.asarray(labels), return_inverse=True)
    truth = np.asarray([_text(label) for label in different.tolist()])[numbers]
    return Judged(classes, truth, np.asarray(classes)[logs.argmax(axis=1)], logs)


def evaluate_classifier(judged: Judged) -> Evaluation:
    """Score the predictions of a classifier."""
    truth, classes = judged.truth, judged.classes
    known = np.isin(truth, classes)
    unseen, counts = np.unique(truth[~known], return_counts=True)
    loss = log_loss(truth[known], judged.logs[known], classes) if known.any() else None
    sure = calibration(np.exp(judged.logs.max(axis=1)), truth == judged.predicted)
    return Evaluation(score_labels(truth, judged.predicted), loss, dict(zip(unseen.tolist(), counts.tolist())), sure)


def _text(label: Any) -> str:
    return label if isinstance(label, str) else plain_label(label)


@dataclass(frozen=True)
class TaggerEvaluation:
    """Scores of labelled sequences, and the labels that never occurred in training, which count as errors.

    ``converted_from`` is the scheme of the labels given where the model's is another, to which they were converted.
    """

    scores: SpanScores
    unseen: dict[str, int]
    converted_from: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {**self.scores.to_dict(), "unseen_labels": self.unseen, "converted_from": self.converted_from}


def gold_labels(model: Any, labels: Any) -> tuple[FlatLabels, str | None]:
    """Return labels in the scheme of a tagger, and the scheme they were converted from; None if they were not."""
    gold, scheme = flatten(labels).as_text(), model.scheme_
    source = flat_detect(gold).scheme
    if source is None or scheme in (None, source):
        return gold, None
    return flat_convert(gold, source, scheme), source


def evaluate_tagger(model: Any, X: Any, labels: Any, constraint: Any = None) -> TaggerEvaluation:
    """Score a tagger; spans are counted if both its labels and the given ones encode them, each in its own scheme.

    Labels are compared as text, so a model trained on the numbers 0 and 1 knows "0" and "1".
    """
    known, scheme = set(map(str, model.classes_)), model.scheme_
    gold, source = gold_labels(model, labels)
    spells = scheme in schemes_of([*known, *gold.names])
    predicted = model.predict_flat(X, constraint=constraint).as_text()
    scores = span_scores(gold, predicted, scheme if spells else None)
    unseen = {label: n for label, n in gold.counts().items() if label not in known}
    return TaggerEvaluation(scores, unseen, converted_from=source)
