"""Self-contained HTML: inline style, escaped text, no scripts, nothing to fetch; light and dark, for any width.

The style is in piece.css, whose rules all begin with ``.loglinear``, so that a notebook keeps its own; page.css has
what a page of its own needs besides.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from importlib import resources

from loglinear import __version__
from loglinear.display import bars as bars_of_names
from loglinear.display.bars import Bars
from loglinear.display.charts import Plot, svg
from loglinear.display.tables import Table, to_html
from loglinear.formats.text import atomic_write, printable

_FILES = resources.files(__package__)
_PIECE_STYLE = (_FILES / "piece.css").read_text(encoding="utf-8")
_PAGE_STYLE = (_FILES / "page.css").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Section:
    """A heading with paragraphs, quoted text, tables, bars and plots, in this order.

    ``plain`` are tables for terminals, which pages leave out: they say what the bars show.
    """

    title: str
    paragraphs: Sequence[str] = ()
    quote: str = ""
    tables: Sequence[Table] = field(default_factory=list)
    bars: Sequence[Bars] = field(default_factory=list)
    plots: Sequence[Plot] = field(default_factory=list)
    plain: Sequence[Table] = field(default_factory=list)


def page(title: str, sections: Sequence[Section]) -> str:
    """Return the page as HTML."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{_text(title)}</title>\n<style>{_PAGE_STYLE}{_PIECE_STYLE}</style>\n</head>\n<body>\n"
        f'<h1>{_text(title)}</h1>\n<div class="loglinear">\n'
        + "\n".join(map(_section, sections))
        + f"\n<footer><p>Written by loglinear {escape(__version__)}.</p></footer>\n</div>\n</body>\n</html>\n"
    )


def piece(sections: Sequence[Section]) -> str:
    """Return sections as HTML for a notebook."""
    return f'<div class="loglinear"><style>{_PIECE_STYLE}</style>\n' + "\n".join(map(_section, sections)) + "\n</div>"


def _text(text: str) -> str:
    return escape(printable(text))


def _section(section: Section) -> str:
    parts = ["<section>"]
    if section.title:
        parts.append(f"<h2>{_text(section.title)}</h2>")
    parts += [f"<p>{_text(text)}</p>" for text in section.paragraphs]
    if section.quote:
        parts.append(f"<pre>{_text(section.quote)}</pre>")
    parts += [f'<div class="scroll">{to_html(table)}</div>' for table in section.tables]
    if section.bars:
        side = "".join(f"<div>{bars_of_names.to_html(bars)}</div>" for bars in section.bars)
        parts.append(f'<div class="side">{side}</div>' if len(section.bars) > 1 else side)
    parts += [svg(plot) for plot in section.plots]
    return "\n".join([*parts, "</section>"])


def write_page(path: str | os.PathLike[str], title: str, sections: Sequence[Section]) -> None:
    """Write the page, atomically."""
    text = page(title, sections)
    with atomic_write(path) as file:
        file.write(text.encode("utf-8", "backslashreplace"))
