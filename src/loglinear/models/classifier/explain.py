"""Why a classifier decided as it did: the contribution of every feature to every class's score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from loglinear.data.matrix import Rows, SparseRows
from loglinear.models.notebook import Shown
from loglinear.models.push import Push, by_effect, push_dicts

if TYPE_CHECKING:
    from loglinear.display.page import Section
    from loglinear.models.classifier.predictor import ClassifierPredictor


_CLASSES = 8  # the most probable ones, in a notebook


@dataclass(frozen=True)
class Explanation(Shown):
    """Scores add up: score[c] = intercept[c] + sum of contributions to c. Pushes are sorted, largest effect first."""

    predicted: Any
    probabilities: dict[Any, float]
    scores: dict[Any, float]
    intercepts: dict[Any, float]
    pushes: dict[Any, list[Push]]

    def top(self, k: int = 10, label: Any = None) -> list[Push]:
        """Return the k pushes of largest effect on a class (None: the predicted one)."""
        return self.pushes[self.predicted if label is None else label][:k]

    def against(self, label: Any) -> list[Push]:
        """Return what set the predicted class apart from another, largest effect first.

        Contributions, that of the intercept included, add up to log p(predicted) - log p(label).
        """
        if label not in self.pushes:
            raise ValueError(f"{label!r} is not one of the classes: {', '.join(map(repr, self.pushes))}")
        if label == self.predicted:
            return []
        here, there = ({push.feature: push for push in self.pushes[name]} for name in (self.predicted, label))
        intercept = self.intercepts[self.predicted] - self.intercepts[label]
        if len(self.pushes) == 2:  # they share one weight per feature, and the score of either is the difference
            there, intercept = {}, self.intercepts[self.predicted]
        apart = [Push("(intercept)", 1.0, intercept, intercept)]
        for name in {**here, **there}:
            weight = (here[name].weight if name in here else 0.0) - (there[name].weight if name in there else 0.0)
            value = (here.get(name) or there[name]).value
            apart.append(Push(name, value, weight, value * weight))
        return by_effect(apart)

    def to_text(self, k: int = 10) -> str:
        """Return the prediction and its k pushes of largest effect, a line each."""
        lines = [f"predicted {self.predicted!r} with probability {self.probabilities[self.predicted]:.4f}"]
        for push in self.top(k):
            detail = f"(value {push.value:g}, weight {push.weight:+.4f})"
            lines.append(f"  {push.contribution:+9.4f}  {push.feature}  {detail}")
        lines.append(f"  {self.intercepts[self.predicted]:+9.4f}  intercept")
        return "\n".join(lines)

    def to_dict(self, k: int | None = None) -> dict[str, Any]:
        """Return plain values, for JSON, with the k pushes of largest effect on each class; None: all."""
        classes = {
            str(label): {
                "probability": self.probabilities[label],
                "score": self.scores[label],
                "intercept": self.intercepts[label],
                "pushes": push_dicts(self.pushes[label][:k]),
            }
            for label in self.pushes
        }
        return {"predicted": self.predicted, "classes": classes}

    def __str__(self) -> str:
        return self.to_text()

    def sections(self) -> list[Section]:
        """Return bars of the probabilities of classes, and of what pushed the predicted one."""
        from loglinear.display.bars import Bars
        from loglinear.display.page import Section

        likely = sorted(self.probabilities.items(), key=lambda pair: -pair[1])[:_CLASSES]
        pushes = [(push.feature, push.contribution) for push in self.top()]
        pushes.append(("(intercept)", self.intercepts[self.predicted]))
        return [
            Section(
                "",
                bars=[
                    Bars("probability", [(str(label), p) for label, p in likely]),
                    Bars(f"what each feature adds to the score of {self.predicted}", pushes, is_signed=True),
                ],
            )
        ]


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
    weights, intercepts = model.class_weights(index)
    labels, names = model.classes_.tolist(), {j: model.feature_name(j) for j in index.tolist()}
    pushes, scores = {}, {}
    for c, label in enumerate(labels):
        shares = zip(index.tolist(), values.tolist(), weights[c].tolist())
        parts = [Push(names[j], value, weight, value * weight) for j, value, weight in shares]
        pushes[label] = by_effect(parts)
        scores[label] = float(intercepts[c]) + sum(p.contribution for p in parts)
    return Explanation(
        predicted=labels[int(np.argmax(probability))], probabilities=dict(zip(labels, probability.tolist())),
        scores=scores, intercepts=dict(zip(labels, intercepts.tolist())), pushes=pushes,
    )
