"""The most confident mistakes of a model, as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

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


def _heading(mistake: Mapping[str, Any]) -> str:
    place = f"example {mistake['example']}" if "example" in mistake else None
    place = place or f"sequence {mistake['sequence']}, token {mistake['token']}"
    gold, predicted = (plain_line(str(mistake[name])) for name in ("gold", "predicted"))
    shares = f"probability {mistake['probability']:.4f}, of the gold label {mistake['gold_probability']:.4f}"
    return f"{place} (from 0): gold {gold}, predicted {predicted} ({shares})"


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
