"""Scores by label or by span type as a table; those that never occurred in training are marked."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from loglinear.display.tables import Table

_MOST_CONFUSIONS = 15
_UNSEEN = "* never occurred in training, so it is never predicted"


def label_table(scores: Iterable[Mapping[str, Any]], unseen: Collection[str] = ()) -> Table:
    """Return the scores of labels, the dicts of ``ClassScores``, as a table; labels in ``unseen`` are marked."""
    return _table("label", ((str(row["label"]), row["support"], row) for row in scores), unseen)


def type_table(scores: Iterable[Mapping[str, Any]], unseen: Collection[str] = ()) -> Table:
    """Return the scores of span types, the dicts of ``TypeScores``, as a table; types in ``unseen`` are marked."""
    return _table("type", ((row["type"], row["gold"], row) for row in scores), unseen)


def type_name(kind: str) -> str:
    """Return the name of a span type in tables."""
    return kind or "(no type)"


def _table(what: str, rows: Iterable[tuple[str, int, Mapping[str, Any]]], unseen: Collection[str]) -> Table:
    shown = []
    for name, gold, row in rows:
        mark = " *" if name in unseen else ""
        figures = (f"{row[figure]:.4f}" for figure in ("precision", "recall", "f1"))
        shown.append(((type_name(name) if what == "type" else name) + mark, *figures, gold, row["predicted"]))
    columns = (what, "precision", "recall", "F1", "gold", "predicted")
    return Table(columns, shown, note=_UNSEEN if unseen else "")


def frequent_confusions(confusion: Mapping[Any, Mapping[Any, int]], counted: str) -> Table:
    """Return the pairs of gold and predicted labels that are confused most often."""
    wrong = [(gold, p, n) for gold, row in confusion.items() for p, n in row.items() if gold != p]
    wrong.sort(key=lambda entry: -entry[2])
    return Table(("gold", "predicted", counted), wrong[:_MOST_CONFUSIONS], title="Most frequent confusions")
