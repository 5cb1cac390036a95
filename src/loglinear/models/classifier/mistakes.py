"""The most confident mistakes of a classifier, and the features that decided them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from loglinear.metrics.evaluation import Judged
from loglinear.models.classifier.explain import explain
from loglinear.models.push import Push, push_dicts

if TYPE_CHECKING:
    from loglinear.models.classifier.predictor import ClassifierPredictor

_FEATURES = 10  # of a mistake


@dataclass(frozen=True)
class Mistake:
    """An example with another label than the predicted one."""

    example: int  # its number, from 0
    text: str | None  # where examples are texts or lists of tokens
    gold: str
    predicted: str
    probability: float  # of the predicted label
    gold_probability: float  # zero for a label that never occurred in training
    pushes: list[Push]  # for the predicted label against the gold one, or by itself if that one is unknown

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {**vars(self), "pushes": push_dicts(self.pushes)}


def most_confident(model: ClassifierPredictor, X: Any, judged: Judged, n: int) -> list[Mistake]:
    """Return the n mistakes whose predicted label has the highest probability."""
    if n < 0:
        raise ValueError(f"the number of errors must not be negative, not {n}")
    wrong = np.flatnonzero(judged.truth != judged.predicted)
    order = np.argsort(-judged.logs[wrong].max(axis=1), kind="stable")[:n] if wrong.size else wrong
    rows, number = model._rows(X), dict(zip(judged.classes, model.classes_.tolist()))
    found = []
    for i in wrong[order].tolist():
        explained, gold = explain(model, rows.take(np.array([i]))), str(judged.truth[i])
        known = gold in number
        pushes = explained.against(number[gold]) if known else explained.top(_FEATURES)
        found.append(
            Mistake(
                i, _text_of(X, i), gold, str(judged.predicted[i]), explained.probabilities[explained.predicted],
                explained.probabilities[number[gold]] if known else 0.0, pushes[:_FEATURES],
            )
        )
    return found


def _text_of(X: Any, i: int) -> str | None:
    example = X[i] if isinstance(X, Sequence) else None
    if isinstance(example, (list, tuple)) and all(isinstance(token, str) for token in example):
        return " ".join(example)
    return example if isinstance(example, str) else None
