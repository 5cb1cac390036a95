"""Scores of a classifier as facts and tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from loglinear.display.tables import Table
from loglinear.report.labels import frequent_confusions, label_table

_MOST_LABELS = 12  # of a matrix that fits a terminal


def score_facts(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the figures of ``evaluate`` as names and texts."""
    loss = "none: no label is known" if found["log_loss"] is None else f"{found['log_loss']:.4f}"
    if found["unseen_labels"] and found["log_loss"] is not None:
        loss += " (over the labels known)"
    return [
        ("examples", f"{found['n_examples']:,}"),
        ("accuracy", f"{found['accuracy']:.4f}") if "accuracy" in found
        else ("all labels right", f"{found['subset_accuracy']:.4f}"),
        ("log-loss", loss),
        ("macro F1", f"{found['macro_f1']:.4f}"),
        ("micro F1", f"{found['micro_f1']:.4f}"),
    ]


def score_table(found: Mapping[str, Any]) -> Table:
    """Return the scores of every class; those that never occurred in training are marked."""
    return label_table(found["classes"], found["unseen_labels"])


def confusion_table(found: Mapping[str, Any]) -> Table:
    """Return how often each label was taken for each; of many labels only the most frequent confusions."""
    labels = [c["label"] for c in found["classes"]]
    if len(labels) > _MOST_LABELS:
        return frequent_confusions(found["confusion"], "examples")
    rows = [[str(gold), *(found["confusion"].get(gold, {}).get(p, 0) for p in labels)] for gold in labels]
    shades = [[None, *shades_of(row[1:], k)] for k, row in enumerate(rows)]
    return Table(("gold \\ predicted", *map(str, labels)), rows, title="Confusion matrix", shades=shades)


def shades_of(counts: Sequence[int], right: int) -> list[float]:
    """Return the shades of a row of a confusion matrix, by shares of the row: right ones blue, wrong ones red."""
    n = sum(counts) or 1
    return [-count / n if k == right else count / n for k, count in enumerate(counts)]
