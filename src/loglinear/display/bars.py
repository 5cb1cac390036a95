"""Names with bars: weights, contributions, shares. HTML alone, so that names wrap on a narrow screen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from loglinear.display.numbers import number, signed
from loglinear.display.tables import Table
from loglinear.formats.text import plain_line, printable


@dataclass(frozen=True)
class Bars:
    """A bar for each (name, value); bars of negative values go to the left and are red.

    ``is_signed`` says that values are written with their signs, as weights and contributions are.
    """

    title: str
    rows: Sequence[tuple[str, float]]
    is_signed: bool = False
    note: str = ""

    @property
    def table(self) -> Table:
        """The same as a table, for terminals and JSON."""
        return Table((self.title or "name", "value"), list(self.rows), note=self.note)


def to_html(bars: Bars) -> str:
    """Return the bars as HTML, everything escaped; the longest fills its room."""
    low = min((value for _, value in bars.rows), default=0.0)
    high = max((value for _, value in bars.rows), default=0.0)
    low, high = min(low, 0.0), max(high, 0.0)
    whole = (high - low) or 1.0
    text = signed if bars.is_signed else number
    rows = []
    for name, value in bars.rows:
        begin, width = 100 * (min(value, 0.0) - low) / whole, 100 * abs(value) / whole
        bar = f'<i class="{"neg" if value < 0 else "pos"}" style="margin-left:{begin:.2f}%;width:{width:.2f}%"></i>'
        rows.append(
            f'<tr><td class="name">{escape(plain_line(name))}</td><td class="bar">{bar}</td>'
            f'<td class="n">{text(value)}</td></tr>'
        )
    caption = f"<caption>{escape(printable(bars.title))}</caption>" if bars.title else ""
    note = f'\n<p class="note">{escape(printable(bars.note))}</p>' if bars.note else ""
    return f'<table class="bars">{caption}<tbody>\n' + "\n".join(rows) + f"\n</tbody></table>{note}"
