"""Tables, drawn by rich on a terminal and as HTML in a report. Neither reads the text of a cell as markup."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from loglinear.formats.text import plain_line, printable

_DEPTH = 140  # of 255: what the deepest shade takes from white, so that black text stays readable


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
        return all(row[column] is None or _is_number(row[column]) for row in self.rows)

    def colour(self, row: int, column: int) -> str | None:
        """Return the background of a cell as #rrggbb, pale enough for black text; None for a plain cell."""
        shade = None if self.shades is None else self.shades[row][column]
        if shade is None or not shade:
            return None
        pale = 255 - round(_DEPTH * min(1.0, abs(shade)))
        return f"#ff{pale:02x}{pale:02x}" if shade > 0 else f"#{pale:02x}{pale:02x}ff"


def cell_text(value: Any) -> str:
    """Format a cell: whole numbers with thousands separators, others to a few digits, tabs and line ends escaped."""
    if value is None:
        return ""
    if isinstance(value, bool) or not _is_number(value):
        return plain_line(str(value))
    if isinstance(value, int):
        return f"{value:,}"
    size = abs(value)
    if size != 0 and not 1e-3 <= size < 1e6:
        return f"{value:.3g}"
    return f"{value:,.1f}" if size >= 1000 else f"{value:.5g}" if size >= 100 else f"{value:.4g}"


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


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
        out.add_row(*(Text(cell_text(value), style=_style(table.colour(i, j))) for j, value in enumerate(row)))
    return out


def _style(colour: str | None) -> str:
    """Return a style of rich, which omits colours where the output is no terminal."""
    return "" if colour is None else f"#000000 on {colour}"


def to_html(table: Table) -> str:
    """Return the table as HTML, everything escaped."""
    numeric = [' class="n"' if table.is_numeric(j) else "" for j in range(len(table.columns))]
    head = "".join(f"<th{c}>{escape(plain_line(name))}</th>" for name, c in zip(table.columns, numeric))
    body = "\n".join(
        "<tr>"
        + "".join(
            f"<td{c}{_attribute(table.colour(i, j))}>{escape(cell_text(v))}</td>"
            for j, (v, c) in enumerate(zip(row, numeric))
        )
        + "</tr>"
        for i, row in enumerate(table.rows)
    )
    caption = f"<caption>{escape(printable(table.title))}</caption>" if table.title else ""
    note = f'\n<p class="note">{escape(printable(table.note))}</p>' if table.note else ""
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table>{note}"


def _attribute(colour: str | None) -> str:
    return "" if colour is None else f' style="background: {colour}"'


def to_records(table: Table) -> list[dict[str, Any]]:
    """Return the rows as objects, for JSON."""
    return [dict(zip(table.columns, row)) for row in table.rows]
