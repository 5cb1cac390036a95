"""The most confident mistakes of a model, as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from loglinear.display.numbers import signed
from loglinear.display.tables import Table
from loglinear.formats.text import plain_line

_PUSHES = 5  # of a mistake
_LONGEST = 100  # characters of a text
_WINDOW = 5  # words before and after a token


def mistake_lines(found: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the mistakes that ``evaluate`` told, each with what decided it."""
    lines = ["", "Most confident mistakes, and what spoke for the predicted label against the gold one"]
    for mistake in found:
        lines += ["", _heading(mistake)]
        if context := _context(mistake):
            lines.append(f"    {plain_line(context)}")
        for push in mistake["pushes"][:_PUSHES]:
            lines.append(f"    {push['contribution']:+9.4f}  {plain_line(push['feature'])}")
    return lines


def mistake_table(found: Sequence[Mapping[str, Any]]) -> Table:
    """Return the same as a table."""
    rows = [
        (
            _place(mistake), _context(mistake), str(mistake["gold"]), str(mistake["predicted"]),
            mistake["probability"], mistake["gold_probability"],
            ",  ".join(f"{one['feature']} {signed(one['contribution'])}" for one in mistake["pushes"][:_PUSHES]),
        )
        for mistake in found
    ]  # fmt: skip
    columns = ("place, from 0", "text", "gold", "predicted", "probability", "of the gold one", "what decided it")
    return Table(columns, rows)


def _heading(mistake: Mapping[str, Any]) -> str:
    gold, predicted = (plain_line(str(mistake[name])) for name in ("gold", "predicted"))
    shares = f"probability {mistake['probability']:.4f}, of the gold label {mistake['gold_probability']:.4f}"
    return f"{_place(mistake)} (from 0): gold {gold}, predicted {predicted} ({shares})"


def _place(mistake: Mapping[str, Any]) -> str:
    if "example" in mistake:
        return f"example {mistake['example']}"
    return f"sequence {mistake['sequence']}, token {mistake['token']}"


def _context(mistake: Mapping[str, Any]) -> str:
    """Return the text of an example, or the words around a token; nothing where neither is known."""
    if "example" in mistake:
        text = mistake["text"] or ""
        return text if len(text) <= _LONGEST else text[:_LONGEST] + " ..."
    words, t = mistake["words"], mistake["token"]
    if words is None:
        return ""
    before, after = words[max(t - _WINDOW, 0) : t], words[t + 1 : t + 1 + _WINDOW]
    return " ".join([*before, f"[{words[t]}]", *after])
