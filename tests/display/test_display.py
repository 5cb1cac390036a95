"""Tables with two faces, bars, charts whose points are where they belong, pages that stand alone."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path

import pytest
from rich.console import Console

from loglinear.display.bars import Bars
from loglinear.display.bars import to_html as bars_html
from loglinear.display.charts import Curve, Plot, convergence, svg
from loglinear.display.numbers import probability, signed, ticks
from loglinear.display.page import Section, page, piece, write_page
from loglinear.display.tables import Table, cell_text, to_html, to_records, to_rich
from loglinear.formats.text import plain_line

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
    assert re.search(r"td\.n[^{]*\{ white-space: nowrap", page("", []))
    assert "T &amp; t" in html
    assert to_records(TABLE)[0] == {"name": "[red]<b>", "count": 1234567}


def test_cells() -> None:
    assert [cell_text(v) for v in (None, 0.0, 0.12345678, 12345.678, 1e-9, 5, True, 521.3812)] == [
        "", "0", "0.1235", "12,345.7", "1e-09", "5", "True", "521.38",
    ]  # fmt: skip
    assert plain_line("é\n\t") == "é\\n\\t"
    with pytest.raises(ValueError, match="a row of 1 cells in a table of 2 columns"):
        Table(("a", "b"), [("x",)])


def test_shares_of_a_column_have_as_many_decimals() -> None:
    table = Table(("share", "seconds"), [(0.5, 0.5), (0.25, 12.25), (1.0, 3.0), (None, None)])
    assert [table.text(i, 0) for i in range(4)] == ["0.50", "0.25", "1.00", ""]
    assert [table.text(i, 1) for i in range(3)] == ["0.5", "12.25", "3"]
    assert Table(("p",), [(0.5,), (1e-9,)]).text(0, 0) == "0.5"
    assert '<td class="n">0.25</td>' in to_html(table)
    assert "0.25" in text_of(table)


def test_texts_keep_some_width_on_a_phone() -> None:
    html = to_html(Table(("a", "b"), [("short", "a text of some words"), ("x", "long " * 20)]))
    assert '<td class="some">a text of some words</td>' in html
    assert '<td class="long">' in html


def circles(text: str) -> list[tuple[float, float]]:
    """Return the places of the marks of a chart, which must be well-formed XML."""
    figure = ET.fromstring(text)
    return [(float(c.get("cx", "")), float(c.get("cy", ""))) for c in figure.iter("circle")]


def test_points_of_a_chart_lie_where_their_values_are() -> None:
    plain = circles(svg(Plot("a <&>", [Curve("b", [0, 1, 2, 4], [0, 10, 20, 40])])))
    (x0, y0), (x1, y1), (x2, y2), (x4, y4) = plain
    assert (x1 - x0, y1 - y0) == pytest.approx(((x4 - x0) / 4, (y4 - y0) / 4), abs=0.2)
    assert x4 > x2 > x0
    assert y4 < y2 < y0  # upwards
    logarithmic = circles(svg(Plot("a", [Curve("b", [1, 10, 100, -1], [1e-8, 1e-4, 1, 1])], log_x=True, log_y=True)))
    (x0, y0), (x1, y1), (x2, y2) = logarithmic  # the point that has no logarithm is left out
    assert (x1 - x0, y1 - y0) == pytest.approx((x2 - x1, y2 - y1), abs=0.2)


def test_charts_name_their_curves_and_scales() -> None:
    plot = convergence("title <&>", {"lbfgs": ([0.1, 0.1, 0.2], [3.0, 2.0, 1.0]), "<o>": ([0.1], [1.001])}, best=1.0)
    assert list(plot.curves[0].y) == [2.0, 1.0, 0.0]
    text = svg(plot)
    assert text == svg(plot)
    assert all(name in text for name in ("title &lt;&amp;&gt;", "lbfgs", "&lt;o&gt;", "seconds", "relative gap"))
    labels = [label.text for label in ET.fromstring(text).iter("text")]
    assert {"0.001", "1"} <= set(labels)
    assert "nothing to draw" in svg(Plot("empty", [Curve("nothing", [], [])], log_y=True))
    assert len(circles(svg(Plot("one", [Curve("point", [3.0], [math.pi])])))) == 1


def test_numbers_of_axes_and_weights() -> None:
    assert ticks((0, 0.25, 1500, 25_000, 2e6)) == ["0", "0.25", "1500", "25,000", "2e+06"]
    assert ticks((1e-8, 2e-4, 0.01, 1, 1e5), True) == ["10⁻⁸", "2·10⁻⁴", "10⁻²", "10⁰", "10⁵"]
    assert ticks((0.01, 0.1, 1), True) == ["0.01", "0.1", "1"]
    assert [signed(v) for v in (0.25, -1234.5, -1e9)] == ["+0.250", "−1,234.500", "−1e+09"]


def test_bars_share_one_scale_and_escape_names() -> None:
    html = bars_html(Bars("weights", [("<b>", 3.0), ("c", -1.0)], is_signed=True))
    assert "&lt;b&gt;" in html
    assert 'class="pos" style="margin-left:25.00%;width:75.00%"' in html
    assert 'class="neg" style="margin-left:0.00%;width:25.00%"' in html
    assert "+3.000" in html
    assert "<tbody>" in bars_html(Bars("none", []))


def test_bars_of_long_names_give_them_room() -> None:
    assert '<table class="bars">' in bars_html(Bars("", [("a" * 40, 1.0)]))
    assert '<table class="bars wordy">' in bars_html(Bars("", [("a" * 41, 1.0)]))


def test_bars_of_ratios_grow_with_their_logarithms_from_one() -> None:
    html = bars_html(Bars("times as fast", [("fast", 100.0), ("the same", 1.0), ("slow", 0.1)], is_ratio=True))
    assert 'class="pos" style="margin-left:33.33%;width:66.67%"' in html
    assert 'class="pos" style="margin-left:33.33%;width:0.00%"' in html
    assert 'class="neg" style="margin-left:0.00%;width:33.33%"' in html
    assert "100×" in html
    assert "0.1×" in html
    with pytest.raises(ValueError, match="ratios must be positive"):
        Bars("", [("a", 0.0)], is_ratio=True)


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
    bars = [Bars("<i>", [("<u>", 1.0)])]
    sections = [Section("A <title>", ["p & q"], quote="<pre>", tables=[TABLE], bars=bars, plots=[plot])]
    write_page(tmp_path / "p.html", "Page", sections)
    text = (tmp_path / "p.html").read_text()
    assert text == page("Page", sections)
    outside = _Outside()
    outside.feed(text)
    assert outside.found == []
    assert not re.search(r"@import|url\(\s*['\"]?http", text)
    assert "A &lt;title&gt;" in text
    assert "<u>" not in text


def test_a_piece_of_a_notebook_leaves_the_rest_of_it_alone() -> None:
    html = piece([Section("", tables=[TABLE])])
    style = html[html.index("<style>") + 7 : html.index("</style>")]
    style = re.sub(r"/\*.*?\*/", "", style, flags=re.S)
    style = re.sub(r"@media [^{]+\{", "", style)
    selectors = [one for rule in re.findall(r"([^{}]+)\{", style) for one in rule.split(",")]
    assert all(one.strip().startswith(".loglinear ") for one in selectors if one.strip() != ".loglinear")


def test_probabilities_however_small():
    values = [0.0, math.log(0.25), math.log(2e-6), math.log(5e-7), -1000 * math.log(10), -2000.5, -math.inf]
    shown = [probability(value) for value in values]
    assert shown == ["1.000000", "0.250000", "0.000002", "5.00000e-7", "1.00000e-1000", "1.56275e-869", "0.000000"]
