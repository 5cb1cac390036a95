"""Transition weights in colours, in both faces of a table; strongest attributes per label."""

from __future__ import annotations

import io

import numpy as np
import pytest
from rich.console import Console

from loglinear.display.page import Section, page
from loglinear.display.tables import Table, to_html, to_records, to_rich
from loglinear.report.heat_map import attribute_table, strongest_attributes, transition_table

LABELS = ["O", "B-<x>", "I-<x>"]
WEIGHTS = [[0.5, 1.25, -np.inf], [-0.001, 0.0, 2.5], [0.0, -2.5, 1.0]]


def printed(table: Table, terminal: bool) -> str:
    out = io.StringIO()
    console = Console(
        file=out, width=100, force_terminal=terminal, color_system="truecolor" if terminal else None, no_color=False
    )
    console.print(to_rich(table))
    return out.getvalue()


def test_a_heat_map_has_numbers_and_colours() -> None:
    table = transition_table(LABELS, WEIGHTS)
    assert list(table.columns) == ["from \\ to", *LABELS]
    assert table.rows[0] == ["O", 0.5, 1.25, None]
    assert table.rows[1] == ["B-<x>", 0.0, 0.0, 2.5]
    assert str(table.rows[1][1]) == "0.0"
    assert table.note == "Empty: not allowed."
    assert table.colour(1, 3) == "#ff7373"  # the largest weight, the deepest red
    assert table.colour(2, 2) == "#7373ff"
    assert table.colour(0, 0) is table.colour(0, 3) is table.colour(1, 2) is None
    html = to_html(table)
    assert '<td class="n" style="background: rgba(214,57,57,0.60)">2.5</td>' in html
    assert '<td class="n"></td>' in html
    assert "B-&lt;x&gt;" in html
    assert "<x>" not in html
    assert to_records(table)[0] == {"from \\ to": "O", "O": 0.5, "B-<x>": 1.25, "I-<x>": None}
    assert "rgba(214,57,57,0.60)" in page("p", [Section("s", tables=[table])])


def test_colours_are_for_terminals_alone() -> None:
    table = transition_table(LABELS, WEIGHTS)
    assert "\x1b" not in printed(table, terminal=False)
    assert "2.5" in printed(table, terminal=False)
    assert "\x1b[38;2;0;0;0;48;2;255;115;115m" in printed(table, terminal=True)


def test_many_labels_are_cut_to_the_strongest_in_their_order() -> None:
    weights = np.zeros((6, 6))
    weights[4, 1] = -3.0
    weights[2, 2] = 1.0
    table = transition_table(list("abcdef"), weights, most=3)
    assert list(table.columns)[1:] == ["b", "c", "e"]
    assert table.note == "The 3 of 6 labels with the largest weights."
    assert len(transition_table([], np.empty((0, 0))).rows) == 0
    assert transition_table(["a"], [[-np.inf]]).rows == [["a", None]]
    assert all(shade == 0.0 for row in transition_table(["a"], [[0.0]]).shades or [] for shade in row[1:])


def test_strongest_attributes_speak_for_and_against() -> None:
    triples = [("w=b", "X", 1.0), ("w=a", "X", 1.0), ("w=c", "X", 2.0), ("w=d", "X", -0.5), ("w=e", "Y", 0.0)]
    assert strongest_attributes(triples, k=2) == {"X": ([("w=c", 2.0), ("w=a", 1.0)], [("w=d", -0.5)]), "Y": ([], [])}
    table = attribute_table(triples, k=2)
    assert list(table.rows) == [("X", "w=c +2.00,  w=a +1.00", "w=d -0.50"), ("Y", "", "")]
    assert attribute_table([]).rows == []


def test_refusals() -> None:
    with pytest.raises(ValueError, match=r"weights must be of shape \(2, 2\) for 2 labels, not \(2, 3\)"):
        transition_table(["a", "b"], np.zeros((2, 3)))
    with pytest.raises(ValueError, match="-inf where a transition is not allowed"):
        transition_table(["a"], [[np.nan]])
    with pytest.raises(ValueError, match="shades must have one number or None for every cell"):
        Table(("a",), [(1,)], shades=[])
