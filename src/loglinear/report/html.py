"""Self-contained HTML pages: inline style, escaped text, no scripts, nothing to fetch."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

from loglinear import __version__
from loglinear.formats.text import atomic_write, printable
from loglinear.report.plots import MISSING, Plot, svg
from loglinear.report.tables import Table, to_html

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #222; background: #fff; }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2.2rem; border-bottom: 1px solid #ddd; }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding: .3rem 0; }
th, td { text-align: left; vertical-align: top; padding: .2rem .8rem .2rem 0; border-bottom: 1px solid #eee; }
td { overflow-wrap: anywhere; }
th { border-bottom: 2px solid #bbb; } .n { text-align: right; }
.note, footer { color: #666; font-size: .9rem; } svg { max-width: 100%; height: auto; }
section { overflow-x: auto; }
pre { background: #f6f6f6; padding: .7rem; white-space: pre-wrap; overflow-wrap: anywhere; }
"""


@dataclass(frozen=True)
class Section:
    """A heading with paragraphs, quoted text, tables and plots, in this order."""

    title: str
    paragraphs: Sequence[str] = ()
    quote: str = ""
    tables: Sequence[Table] = field(default_factory=list)
    plots: Sequence[Plot] = field(default_factory=list)


def page(title: str, sections: Sequence[Section]) -> str:
    """Return the page as HTML. Where plots cannot be drawn, each section that has any says so once."""
    parts = [_section(section) for section in sections]
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{_text(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<h1>{_text(title)}</h1>\n"
        + "\n".join(parts)
        + f"\n<footer><p>Written by loglinear {escape(__version__)}.</p></footer>\n</body>\n</html>\n"
    )


def _text(text: str) -> str:
    return escape(printable(text))


def _section(section: Section) -> str:
    parts = [f"<section>\n<h2>{_text(section.title)}</h2>"]
    parts += [f"<p>{_text(text)}</p>" for text in section.paragraphs]
    if section.quote:
        parts.append(f"<pre>{_text(section.quote)}</pre>")
    parts += [to_html(table) for table in section.tables]
    drawings = [svg(plot) for plot in section.plots]
    parts += [f"<figure>{drawing}</figure>" for drawing in drawings if drawing is not None]
    if None in drawings:
        parts.append(f'<p class="note">{escape(MISSING)}</p>')
    return "\n".join([*parts, "</section>"])


def write_page(path: str | os.PathLike[str], title: str, sections: Sequence[Section]) -> None:
    """Write the page, atomically."""
    text = page(title, sections)
    with atomic_write(path) as file:
        file.write(text.encode("utf-8", "backslashreplace"))
