"""Scores of a classifier as facts and a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from loglinear.report.labels import label_table
from loglinear.report.tables import Table


def score_facts(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the figures of ``evaluate`` as names and texts."""
    loss = "none: no label is known" if found["log_loss"] is None else f"{found['log_loss']:.4f}"
    if found["unseen_labels"] and found["log_loss"] is not None:
        loss += " (over the labels known)"
    return [
        ("examples", f"{found['n_examples']:,}"),
        ("accuracy", f"{found['accuracy']:.4f}"),
        ("log-loss", loss),
        ("macro F1", f"{found['macro_f1']:.4f}"),
        ("micro F1", f"{found['micro_f1']:.4f}"),
    ]


def score_table(found: Mapping[str, Any]) -> Table:
    """Return the scores of every class; those that never occurred in training are marked."""
    return label_table(found["classes"], found["unseen_labels"])
