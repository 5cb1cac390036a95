"""The demonstration, in its quick version, and the text it is built on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from loglinear.cli.app import app
from loglinear.demo.corpus import stdlib_docstrings


def test_the_quick_demonstration(tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    done = CliRunner().invoke(app, ["demo", "--quick", "--json", "-o", str(page)])
    assert done.exit_code == 0, done.stderr
    assert done.stderr == ""  # not a terminal
    report = json.loads(done.stdout)
    comparison, learnt, decision, race = (section["tables"][0] for section in report["sections"])
    l2 = [row for row in comparison if row["penalty"] == "l2"]
    assert [row["solver"].split()[0] for row in l2] == ["auto", "lbfgs", "newton", "clustered"]
    assert all(row["optimal"] == "yes" for row in comparison)
    assert all(row["objective"] == pytest.approx(l2[0]["objective"], rel=1e-3) for row in l2)
    assert min(row["test accuracy"] for row in comparison) > 0.6
    sparse = next(row for row in comparison if row["penalty"] == "l1")
    assert sparse["non-zero weights"] < l2[0]["non-zero weights"] / 20
    assert len(learnt) == 6
    assert decision[-1]["feature"] == "(all other features)"
    assert all(0 <= row["relative gap"] < 1e-6 for row in race)
    text = page.read_text()
    assert "A race to the optimum" in text


def test_the_corpus_is_the_same_every_time_and_hides_the_answer() -> None:
    corpus = stdlib_docstrings(quick=True)
    assert corpus == stdlib_docstrings(quick=True)
    assert not set(corpus.train_texts) & set(corpus.test_texts)
    for text, label in zip(corpus.train_texts, corpus.train_labels):
        assert label.lower() not in text.lower()


def test_a_python_without_sources_has_topics_still(tmp_path: Path) -> None:
    corpus = stdlib_docstrings(folder=str(tmp_path))
    assert "pydoc's topics" in corpus.about
    assert len(set(corpus.train_labels)) > 5
