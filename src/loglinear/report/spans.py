"""Scores of labelled sequences as tables: spans by type and their confusions, or single labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from loglinear.display.tables import Table
from loglinear.features.schemes import take_apart
from loglinear.report.labels import frequent_confusions, label_table, type_name, type_table


def score_facts(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the overall figures of ``evaluate`` as names and texts."""
    facts = [
        ("sequences", f"{found['n_sequences']:,}"),
        ("tokens", f"{found['n_tokens']:,}"),
        ("accuracy", f"{found['accuracy']:.4f}"),
        ("sequence accuracy", f"{found['sequence_accuracy']:.4f}"),
    ]
    if found["f1"] is None:
        return [*facts, ("macro F1", f"{found['labels']['macro_f1']:.4f}")]
    counts = f"{found['n_gold']:,} gold spans, {found['n_predicted']:,} predicted, {found['n_correct']:,} correct"
    return [
        *facts,
        ("spans", f"{counts} ({found['scheme']})"),
        ("precision", f"{found['precision']:.4f}"),
        ("recall", f"{found['recall']:.4f}"),
        ("F1", f"{found['f1']:.4f}"),
    ]


def score_tables(found: Mapping[str, Any]) -> list[Table]:
    """Return tables of spans by type and their confusions, or of labels if they encode no spans.

    Labels that never occurred in training are marked, and so are types that only such labels have.
    """
    unseen, labels = found.get("unseen_labels", ()), found["labels"]
    if found["f1"] is None:
        return [label_table(labels["classes"], unseen), *_label_confusions(labels)]
    known = [row["label"] for row in labels["classes"] if row["label"] not in unseen]
    types = take_apart(known, found["scheme"]).type_names
    new = {row["type"] for row in found["types"]}.difference(types)
    return [type_table(found["types"], new), *_span_confusions(found)]


def _span_confusions(found: Mapping[str, Any]) -> list[Table]:
    """Return a table with gold types in rows; a span with wrong boundaries counts as missed and as spurious."""
    types = [row["type"] for row in found["types"]]
    if not types:
        return []
    rows: list[list[Any]] = []
    for gold in types:
        same = found["confusion"].get(gold, {})
        rows.append([type_name(gold), *(same.get(p) for p in types), found["missed"].get(gold)])
    rows.append(["(spurious)", *(found["spurious"].get(p) for p in types), None])
    columns = ["gold \\ predicted", *map(type_name, types), "(missed)"]
    return [Table(columns, rows, title="Spans with the same boundaries, by type")]


def _label_confusions(scores: Mapping[str, Any]) -> list[Table]:
    table = frequent_confusions(scores["confusion"], "tokens")
    return [table] if table.rows else []
