"""Plans of composite models as facts and tables."""

from __future__ import annotations

from typing import Any

from loglinear.display.tables import Table
from loglinear.models.language_model.composite.plan import CorpusPlan


def plan_facts(found: CorpusPlan) -> list[tuple[str, Any]]:
    """Return the sizes of the problem, and the method chosen with its reason."""
    return [
        ("words", f"{found.words:,}"),
        ("tokens", f"{found.tokens:,}"),
        ("histories", f"{found.histories:,}"),
        ("features", " + ".join(f"{n:,} {name}" for name, n in found.features.items())),
        ("method", found.plan.reason),
    ]


def plan_tables(found: CorpusPlan) -> list[Table]:
    """Return the methods with their predictions (and measurements), and the relations of the patterns."""
    is_measured = any(e.measured_seconds is not None for e in found.plan.estimates)
    head = ["method", "terms", "seconds", "MiB"]
    if is_measured:
        head += ["measured terms", "measured seconds", "MiB"]
    rows = []
    for e in sorted(found.plan.estimates, key=lambda e: e.seconds):
        mark = "" if e.fits else " (too large)"
        row = [e.method + mark, f"{e.terms:.3g}", f"{e.seconds:.3g}", f"{e.nbytes / 2**20:,.0f}"]
        if is_measured:
            size = f"{(e.measured_bytes or 0) / 2**20:,.0f}"
            ran = e.measured_seconds is not None
            row += [f"{e.measured_terms:.3g}", f"{e.measured_seconds:.3g}", size] if ran else ["", "", ""]
        rows.append(row)
    relations = [
        [r.first, r.second, r.kind, f"{r.first_words:.1f}", f"{r.second_words:.1f}", f"{r.both_words:.1f}"]
        for r in found.relations
    ]
    return [
        Table(head, rows, "Methods, one iteration"),
        Table(["first", "second", "relation", "words of the first", "of the second", "of both"], relations,
              "Relations of patterns"),
    ]
