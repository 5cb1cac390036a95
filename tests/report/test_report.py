"""Tables with two faces, plots that may be missing, pages that stand alone."""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from rich.console import Console

from loglinear.report.html import Section, page, write_page
from loglinear.report.plots import MISSING, Curve, Plot, convergence, svg
from loglinear.report.tables import Table, cell_text, plain_line, to_html, to_records, to_rich

TABLE = Table(("name", "count"), [("[red]<b>", 1234567), ("a\tb\x1b[31m", None)], title="T & t", note="n < m")


def text_of(table: Table) -> str:
    console = Console(width=80, record=True, file=open("/dev/null", "w"))  # noqa: PTH123, SIM115
    console.print(to_rich(table))
    return console.export_text()


def test_both_faces_show_the_same_cells_and_no_markup() -> None:
    text, html = text_of(TABLE), to_html(TABLE)
    assert "[red]<b>" in text
    assert "1,234,567" in text
    assert "\x1b" not in text
    assert "[red]&lt;b&gt;" in html
    assert '<td class="n">1,234,567</td>' in html
    assert "T &amp; t" in html
    assert to_records(TABLE)[0] == {"name": "[red]<b>", "count": 1234567}


def test_cells() -> None:
    assert [cell_text(v) for v in (None, 0.0, 0.12345678, 12345.678, 1e-9, 5, True, 521.3812)] == [
        "", "0", "0.1235", "12,345.7", "1e-09", "5", "True", "521.38",
    ]  # fmt: skip
    assert plain_line("é\n\t") == "é\\n\\t"
    with pytest.raises(ValueError, match="a row of 1 cells in a table of 2 columns"):
        Table(("a", "b"), [("x",)])


def test_a_convergence_plot_is_svg_and_leaves_out_what_logarithms_cannot_show() -> None:
    pytest.importorskip("matplotlib")
    plot = convergence("title <&>", {"lbfgs": ([0.0, 0.1, 0.2], [3.0, 2.0, 1.0]), "none": ([0.0], [1.0])}, best=1.0)
    assert list(plot.curves[0].y) == [2.0, 1.0, 0.0]
    text = svg(plot)
    assert text is not None
    assert text.startswith("<svg")
    assert text == svg(plot)
    assert "lbfgs" in text
    assert svg(Plot("empty", [Curve("nothing", [], [])], log_y=True)) is not None


class _Outside(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attributes) -> None:
        if tag in ("script", "link", "iframe", "img", "object"):
            self.found.append(tag)
        for name, value in attributes:
            if name in ("src", "href", "xlink:href") and not (value or "").startswith("#"):
                self.found.append(f"{name}={value}")


def test_a_page_stands_alone(tmp_path: Path) -> None:
    plot = convergence("gap", {"lbfgs": ([0.1, 0.2], [3.0, 2.0])}, best=1.0)
    sections = [Section("A <title>", ["p & q"], quote="<pre>", tables=[TABLE], plots=[plot])]
    write_page(tmp_path / "p.html", "Page", sections)
    text = (tmp_path / "p.html").read_text()
    assert text == page("Page", sections)
    outside = _Outside()
    outside.feed(text)
    assert outside.found == []
    assert not re.search(r"@import|url\(\s*['\"]?http", text)
    assert "A &lt;title&gt;" in text


def test_without_matplotlib_the_page_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    plot = convergence("gap", {"lbfgs": ([0.1], [3.0])}, best=1.0)
    assert svg(plot) is None
    text = page("Page", [Section("S", tables=[TABLE], plots=[plot])])
    assert MISSING in text
    assert "pip install loglinear[plot]" in text
    assert "<svg" not in text
