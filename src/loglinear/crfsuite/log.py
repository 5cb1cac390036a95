"""The log of training: what CRFsuite prints, line by line, and the same as numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np


class LabelScore(NamedTuple):
    """How often a label was right, predicted and gold; ratios are None where they are 0 / 0 for all three."""

    match: int
    model: int
    ref: int
    precision: float | None
    recall: float | None
    f1: float | None


class TrainingLog:
    """What happened in training; python-crfsuite's ``Trainer.logparser``.

    ``iterations`` has a dict per iteration: "num", "loss", "feature_norm", "time" and, by algorithm, "error_norm",
    "active_features", "linesearch_trials"; with held-out sequences also "scores" (by label), "avg_precision",
    "avg_recall", "avg_f1", "item_accuracy", "instance_accuracy" and both as ``..._float``.
    """

    def __init__(self) -> None:
        self.log: list[str] = []  # all lines
        self.iterations: list[dict[str, Any]] = []
        self.featgen_num_features: int | None = None
        self.featgen_percent = 100
        self.featgen_seconds: float | None = None
        self.training_seconds: float | None = None
        self.storing_seconds: float | None = None

    @property
    def last_iteration(self) -> dict[str, Any] | None:
        """The last iteration, or None before the first."""
        return self.iterations[-1] if self.iterations else None

    @property
    def last_log(self) -> str:
        """All text so far."""
        return "".join(self.log)


def iteration_lines(info: dict[str, Any], head: str) -> Iterator[str]:
    """Yield the lines of an iteration."""
    yield f"***** {head} #{info['num']} *****\n"
    yield f"Loss: {info['loss']:f}\n"
    for key, text in _FIGURES.items():
        if key in info:
            yield text.format(info[key])
    yield f"Seconds required for this iteration: {info['time']:.3f}\n"
    if info.get("scores"):
        yield "Performance by label (#match, #model, #ref) (precision, recall, F1):\n"
        for label, s in info["scores"].items():
            ratios = ", ".join("******" if r is None else f"{r:.4f}" for r in (s.precision, s.recall, s.f1))
            yield f"    {label}: ({s.match}, {s.model}, {s.ref}) ({ratios})\n"
        means = ", ".join(f"{info[key]:f}" for key in ("avg_precision", "avg_recall", "avg_f1"))
        yield f"Macro-average precision, recall, F1: ({means})\n"
        for key, name in (("item_accuracy", "Item"), ("instance_accuracy", "Instance")):
            right, total = info[key + "_counts"]
            yield f"{name} accuracy: {right} / {total} ({info[key + '_float']:.4f})\n"
    yield "\n"


_FIGURES: dict[str, str] = {
    "improvement": "Improvement ratio: {:f}\n",
    "feature_norm": "Feature norm: {:f}\n",
    "error_norm": "Error norm: {:f}\n",
    "active_features": "Active features: {}\n",
    "linesearch_trials": "Line search trials: {}\n",
    "eta": "Learning rate (eta): {:f}\n",
}


class HeldOut(NamedTuple):
    """Held-out sequences: ``predict`` gives the numbers of their labels, -1 is a label that training has not seen."""

    predict: Callable[[], np.ndarray]
    gold: np.ndarray  # [n_tokens]
    sequence_ptr: np.ndarray
    labels: list[Any]

    def figures(self) -> dict[str, Any]:
        """Return the scores of the model as it is, for the dict of an iteration."""
        found, gold, L = self.predict(), self.gold, len(self.labels)
        right = found == gold
        match, model = (np.bincount(x, minlength=L) for x in (found[right], found))
        ref = np.bincount(gold[gold >= 0], minlength=L)
        scores = {name: _score(*row) for name, *row in zip(self.labels, match.tolist(), model.tolist(), ref.tolist())}
        columns = [[s[k] or 0.0 for s in scores.values()] for k in (3, 4, 5)]
        info: dict[str, Any] = {"scores": scores}
        info |= {key: float(np.mean(c)) for key, c in zip(("avg_precision", "avg_recall", "avg_f1"), columns)}
        lengths = np.diff(self.sequence_ptr)
        filled = self.sequence_ptr[:-1][lengths > 0]
        whole = int(np.logical_and.reduceat(right, filled).sum()) if filled.size else 0
        whole += int((lengths == 0).sum())
        counts = {"item": (int(right.sum()), max(right.size, 1)), "instance": (whole, max(lengths.size, 1))}
        for name, (n, total) in counts.items():
            info[f"{name}_accuracy"], info[f"{name}_accuracy_float"] = Fraction(n, total), n / total
            info[f"{name}_accuracy_counts"] = (n, total)
        return info


def _score(match: int, model: int, ref: int) -> LabelScore:
    if not model and not ref:
        return LabelScore(0, 0, 0, None, None, None)
    precision, recall = match / model if model else 0.0, match / ref if ref else 0.0
    f1 = 2 * precision * recall / (precision + recall) if match else 0.0
    return LabelScore(match, model, ref, precision, recall, f1)
