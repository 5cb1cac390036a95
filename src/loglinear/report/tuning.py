"""The strengths that tuning tried, as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from loglinear.display.tables import Table

_TITLES = {"nonzero_weights": "weights kept", "dev_loss": "loss on dev", "dev_accuracy": "accuracy on dev",
           "dev_score": "score on dev"}  # fmt: skip
_NOTE = "* is the model"


def tuning_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Return what was found at each strength; the row of the model has a star."""
    names = [name for name in rows[0] if name not in ("strength", "chosen")]
    cells = [
        (f"{row['strength']:.6g}" + " *" * row["chosen"], *(_cell(row[name]) for name in names)) for row in rows
    ]
    return Table(("strength", *(_TITLES.get(name, name) for name in names)), cells, "Strengths tried", _NOTE)


def _cell(value: Any) -> Any:
    return f"{value:.4f}" if isinstance(value, float) else value
