"""Scores of labelled sequences as tables: spans by type and their confusions, or single labels."""

from __future__ import annotations

from typing import Any

from loglinear.metrics.span_f1 import SpanScores
from loglinear.report.tables import Table

_MOST_CONFUSIONS = 15


def score_facts(scores: SpanScores) -> list[tuple[str, str]]:
    """Return names and values of the overall figures."""
    facts = [
        ("sequences", f"{scores.n_sequences:,}"),
        ("tokens", f"{scores.n_tokens:,}"),
        ("accuracy", f"{scores.accuracy:.4f}"),
        ("sequence accuracy", f"{scores.sequence_accuracy:.4f}"),
    ]
    if scores.f1 is None:
        return [*facts, ("macro F1", f"{scores.labels.macro_f1:.4f}")]
    counts = f"{scores.n_gold:,} gold spans, {scores.n_predicted:,} predicted, {scores.n_correct:,} correct"
    return [
        *facts,
        ("spans", f"{counts} ({scores.scheme})"),
        ("precision", f"{scores.precision:.4f}"),
        ("recall", f"{scores.recall:.4f}"),
        ("F1", f"{scores.f1:.4f}"),
    ]


def score_tables(scores: SpanScores) -> list[Table]:
    """Return tables of spans by type and their confusions, or of labels where they spell no spans."""
    if scores.f1 is None:
        return [_labels(scores), *_label_confusions(scores)]
    rows = [
        (row.type or "(no type)", *(f"{x:.4f}" for x in (row.precision, row.recall, row.f1)), row.gold, row.predicted)
        for row in scores.types
    ]
    columns = ("type", "precision", "recall", "F1", "gold", "predicted")
    return [Table(columns, rows), *_span_confusions(scores)]


def _span_confusions(scores: SpanScores) -> list[Table]:
    """Return a table with gold types in rows; a span with wrong boundaries counts as missed and as spurious."""
    types = [row.type for row in scores.types]
    if not types:
        return []
    rows: list[list[Any]] = []
    for gold in types:
        found = scores.confusion.get(gold, {})
        rows.append([gold or "(no type)", *(found.get(p) for p in types), scores.missed.get(gold)])
    rows.append(["(spurious)", *(scores.spurious.get(p) for p in types), None])
    columns = ["gold \\ predicted", *(p or "(no type)" for p in types), "(missed)"]
    return [Table(columns, rows, title="Spans with the same boundaries, by type")]


def _labels(scores: SpanScores) -> Table:
    rows = [
        (c.label, *(f"{x:.4f}" for x in (c.precision, c.recall, c.f1)), c.support, c.predicted)
        for c in scores.labels.classes
    ]
    return Table(("label", "precision", "recall", "F1", "gold", "predicted"), rows)


def _label_confusions(scores: SpanScores) -> list[Table]:
    wrong = [
        (gold, found, count)
        for gold, row in scores.labels.confusion.items()
        for found, count in row.items()
        if gold != found
    ]
    wrong.sort(key=lambda entry: -entry[2])
    if not wrong:
        return []
    return [Table(("gold", "predicted", "tokens"), wrong[:_MOST_CONFUSIONS], title="Most frequent confusions")]
