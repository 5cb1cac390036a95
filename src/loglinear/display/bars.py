"""Names with bars: weights, contributions, shares. HTML alone, so that names wrap on a narrow screen."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from loglinear.display.numbers import number, signed
from loglinear.display.tables import Table
from loglinear.formats.text import plain_line, printable

_WORDY = 40  # characters of a name that is given more room, and on a phone a line of its own


@dataclass(frozen=True)
class Bars:
    """A bar for each (name, value); bars of negative values go to the left and are red.

    ``is_signed`` says that values are written with their signs, as weights and contributions are; ``is_ratio`` that
    they are ratios: bars grow with their logarithms, and those below 1 go to the left and are red.
    """

    title: str
    rows: Sequence[tuple[str, float]]
    is_signed: bool = False
    note: str = ""
    is_ratio: bool = False

    def __post_init__(self) -> None:
        if self.is_ratio and not all(value > 0 for _, value in self.rows):
            raise ValueError("ratios must be positive")

    @property
    def table(self) -> Table:
        """The same as a table, for terminals and JSON."""
        return Table((self.title or "name", "value"), list(self.rows), note=self.note)


def to_html(bars: Bars) -> str:
    """Return the bars as HTML, everything escaped; the longest fills its room."""
    lengths = [math.log(value) if bars.is_ratio else value for _, value in bars.rows]
    low, high = min([*lengths, 0.0]), max([*lengths, 0.0])
    whole = (high - low) or 1.0
    text = _times if bars.is_ratio else signed if bars.is_signed else number
    rows = []
    for (name, value), length in zip(bars.rows, lengths):
        begin, width = 100 * (min(length, 0.0) - low) / whole, 100 * abs(length) / whole
        bar = f'<i class="{"neg" if length < 0 else "pos"}" style="margin-left:{begin:.2f}%;width:{width:.2f}%"></i>'
        rows.append(
            f'<tr><td class="name">{escape(plain_line(name))}</td><td class="bar">{bar}</td>'
            f'<td class="n">{text(value)}</td></tr>'
        )
    caption = f"<caption>{escape(printable(bars.title))}</caption>" if bars.title else ""
    note = f'\n<p class="note">{escape(printable(bars.note))}</p>' if bars.note else ""
    kind = "bars wordy" if any(len(name) > _WORDY for name, _ in bars.rows) else "bars"
    return f'<table class="{kind}">{caption}<tbody>\n' + "\n".join(rows) + f"\n</tbody></table>{note}"


def _times(ratio: float) -> str:
    return f"{ratio:,.0f}×" if ratio >= 100 else f"{ratio:.3g}×"
