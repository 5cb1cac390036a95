"""Why a classifier decided as it did: the contribution of every feature to every class's score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from loglinear.data.matrix import Rows, SparseRows
from loglinear.models.push import Push

if TYPE_CHECKING:
    from loglinear.models.classifier.predictor import ClassifierPredictor


@dataclass(frozen=True)
class Explanation:
    """Scores add up: score[c] = intercept[c] + sum of contributions to c. Pushes are sorted, largest effect first."""

    predicted: Any
    probabilities: dict[Any, float]
    scores: dict[Any, float]
    intercepts: dict[Any, float]
    pushes: dict[Any, list[Push]]

    def top(self, k: int = 10, label: Any = None) -> list[Push]:
        """Return the k pushes of largest effect on a class (None: the predicted one)."""
        return self.pushes[self.predicted if label is None else label][:k]

    def __str__(self) -> str:
        lines = [f"predicted {self.predicted!r} with probability {self.probabilities[self.predicted]:.4f}"]
        for push in self.top():
            detail = f"(value {push.value:g}, weight {push.weight:+.4f})"
            lines.append(f"  {push.contribution:+9.4f}  {push.feature}  {detail}")
        lines.append(f"  {self.intercepts[self.predicted]:+9.4f}  intercept")
        return "\n".join(lines)


def explain(model: ClassifierPredictor, rows: Rows) -> Explanation:
    """Explain the decision about one encoded example."""
    if rows.n_rows != 1:
        raise ValueError(f"explain takes one example, not {rows.n_rows}")
    if isinstance(rows, SparseRows):
        index, values = rows.indices, rows.values
    else:
        index = np.flatnonzero(rows.X[0])
        values = rows.X[0, index]
    probability = model.predict_proba(rows)[0]
    names, (weights, intercepts) = model.feature_names(), model.class_weights()
    labels = model.classes_.tolist()
    pushes, scores = {}, {}
    for c, label in enumerate(labels):
        shares = zip(index.tolist(), values.tolist(), weights[c, index].tolist())
        parts = [Push(names[j], value, weight, value * weight) for j, value, weight in shares]
        pushes[label] = sorted((p for p in parts if p.contribution), key=lambda p: -abs(p.contribution))
        scores[label] = float(intercepts[c]) + sum(p.contribution for p in parts)
    return Explanation(
        predicted=labels[int(np.argmax(probability))], probabilities=dict(zip(labels, probability.tolist())),
        scores=scores, intercepts=dict(zip(labels, intercepts.tolist())), pushes=pushes,
    )
