"""Tables, drawn by rich on a terminal and as HTML in a report. Neither reads the text of a cell as markup."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from loglinear.display.numbers import is_number, number
from loglinear.formats.text import plain_line, printable

_DEPTH = 140  # of 255: what the deepest shade takes from white on a terminal, so that black text stays readable
_OPAQUE = 0.6  # of the deepest shade on a page, whose text and background are of either lightness
_LONG, _SOME = 60, 16  # characters of cells that are not squeezed to a word per line
_SMALL = 1e-3  # shares of a column whose least is above this have as many decimals as each other


@dataclass(frozen=True)
class Table:
    """Rows under column names. Columns of numbers are right-aligned; None is an empty cell.

    ``shades``, where given, has the shape of ``rows`` and colours cells: from -1 (blue) over 0 (none) to 1 (red); a
    cell of None stays plain.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    title: str = ""
    note: str = ""
    shades: Sequence[Sequence[float | None]] | None = None

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"a row of {len(row)} cells in a table of {len(self.columns)} columns: {row!r}")
        if self.shades is not None and [len(row) for row in self.shades] != [len(row) for row in self.rows]:
            raise ValueError("shades must have one number or None for every cell of the table")

    def is_numeric(self, column: int) -> bool:
        """Return whether all cells of a column are numbers or empty."""
        return all(row[column] is None or is_number(row[column]) for row in self.rows)

    def text(self, row: int, column: int) -> str:
        """Return a cell as text: shares of a column have as many decimals as each other."""
        value, decimals = self.rows[row][column], self._decimals(column)
        return f"{value:.{decimals}f}" if decimals and value is not None else cell_text(value)

    def _decimals(self, column: int) -> int:
        """Return how many decimals the shares of a column need, four at most; 0 where it has other numbers too."""
        values = [row[column] for row in self.rows if row[column] is not None]
        if not all(isinstance(v, float) and (v == 0.0 or _SMALL <= v <= 1.0) for v in values):
            return 0
        return max((min(4, len(number(v).partition(".")[2])) for v in values), default=0)

    def colour(self, row: int, column: int) -> str | None:
        """Return the background of a cell as #rrggbb, pale enough for black text; None for a plain cell."""
        shade = None if self.shades is None else self.shades[row][column]
        if shade is None or not shade:
            return None
        pale = 255 - round(_DEPTH * min(1.0, abs(shade)))
        return f"#ff{pale:02x}{pale:02x}" if shade > 0 else f"#{pale:02x}{pale:02x}ff"


def cell_text(value: Any) -> str:
    """Format a cell: numbers as everywhere, tabs and line ends of text escaped."""
    if value is None:
        return ""
    return number(value) if is_number(value) else plain_line(str(value))


def to_rich(table: Table) -> Any:
    """Return the table for a rich console."""
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    out = RichTable(
        title=Text(printable(table.title)) if table.title else None,
        caption=Text(printable(table.note)) if table.note else None,
        title_justify="left", caption_justify="left", box=box.SIMPLE_HEAD, pad_edge=False,
    )
    for j, name in enumerate(table.columns):
        out.add_column(Text(plain_line(name)), justify="right" if table.is_numeric(j) else "left", overflow="fold")
    for i, row in enumerate(table.rows):
        out.add_row(*(Text(table.text(i, j), style=_style(table.colour(i, j))) for j in range(len(row))))
    return out


def _style(colour: str | None) -> str:
    """Return a style of rich, which omits colours where the output is no terminal."""
    return "" if colour is None else f"#000000 on {colour}"


def to_html(table: Table) -> str:
    """Return the table as HTML, everything escaped."""
    numeric = [table.is_numeric(j) or _all_short(table, j) for j in range(len(table.columns))]
    heads = [plain_line(name) for name in table.columns]
    head = "".join(f"<th{_of_class('n' * c)}>{escape(name)}</th>" for name, c in zip(heads, numeric))
    body = "\n".join(
        "<tr>" + "".join(_cell(table, i, j, value, numeric[j]) for j, value in enumerate(row)) + "</tr>"
        for i, row in enumerate(table.rows)
    )
    caption = f"<caption>{escape(printable(table.title))}</caption>" if table.title else ""
    note = f'\n<p class="note">{escape(printable(table.note))}</p>' if table.note else ""
    head = f"<thead><tr>{head}</tr></thead>" if any(heads) else ""
    kind = _of_class("map" * (table.shades is not None))
    return f"<table{kind}>{caption}{head}<tbody>\n{body}\n</tbody></table>{note}"


def _cell(table: Table, i: int, j: int, value: Any, is_numeric: bool) -> str:
    text = table.text(i, j)
    shade = None if table.shades is None else table.shades[i][j]
    style = ""
    if shade:
        colour = "214,57,57" if shade > 0 else "47,109,225"
        style = f' style="background: rgba({colour},{_OPAQUE * min(1.0, abs(shade)):.2f})"'
    if is_numeric or is_number(value):
        kind = "n"
    elif _short_number(text):
        kind = "w"
    else:
        kind = "long" if len(text) > _LONG else "some" if len(text) > _SOME else ""
    return f"<td{_of_class(kind)}{style}>{escape(text)}</td>"


def _all_short(table: Table, j: int) -> bool:
    """Return whether a column has nothing but numbers with units or signs; a first column has names."""
    return j > 0 and bool(table.rows) and all(_short_number(cell_text(row[j])) for row in table.rows)


def _short_number(text: str) -> bool:
    """Return whether text is a number with a unit or a sign, such as 93.4% or +0.12, or empty."""
    return len(text) <= 24 and (not text or text.lstrip("+-−±<>≤≥~ ")[:1].isdigit())


def _of_class(name: str) -> str:
    return f' class="{name}"' if name else ""


def to_records(table: Table) -> list[dict[str, Any]]:
    """Return the rows as objects, for JSON."""
    return [dict(zip(table.columns, row)) for row in table.rows]
