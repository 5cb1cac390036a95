"""The demonstration, in its quick version, and the text it is built on.

Its texts are those of the Python that runs it, so only what must hold on any text is asserted here: identities, bounds
and the shape of tables, but no ranking of models by how well they do.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from loglinear.cli.app import app
from loglinear.demo.docstrings import stdlib_docstrings


def test_the_quick_demonstration(tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    done = CliRunner().invoke(app, ["demo", "--quick", "--json", "-o", str(page)])
    assert done.exit_code == 0, done.stderr
    assert done.stderr == ""  # not a terminal
    report = json.loads(done.stdout)
    assert report["sections"][0]["title"] == "In short"
    tables = [section["tables"] for section in report["sections"][1:]]
    comparison, learnt, decision, race = (table[0] for table in tables[:4])
    l2 = [row for row in comparison if row["penalty"] == "l2"]
    assert [row["solver"].split()[0] for row in l2] == ["auto", "lbfgs", "newton", "clustered"]
    assert all(float(row["gap"].removeprefix("about ").removesuffix("%")) <= 0.01 for row in comparison)
    assert all(row["objective"] == pytest.approx(l2[0]["objective"], rel=1e-3) for row in l2)
    assert min(row["test accuracy"] for row in comparison) > 2 / len(learnt)  # twice as good as a guess
    sparse = next(row for row in comparison if row["penalty"] == "l1")
    assert 0 < sparse["non-zero weights"] < l2[0]["non-zero weights"]
    assert len(learnt) == 6
    assert decision[-1]["feature"] == "(all other features)"
    assert all(0 <= row["relative gap"] < 1e-6 for row in race)
    check_taggers(*tables[4:7])
    check_language_models(*tables[7:9])
    check_word_classes(*tables[9])
    check_input_method(*tables[10])
    (parsers,) = tables[11]
    assert [row["estimator"] for row in parsers] == ["crf", "m-estimation", "pcfg"]
    assert all(0.5 < row["F1"] <= 1 for row in parsers)
    text = page.read_text()
    assert all(told in text for told in ("perplexity", "by Kneser-Ney (", "In short", "All of it was trained"))
    assert "A race to the optimum" in text
    assert "A line with more than one reading" in text
    assert "Longer contexts, lower perplexity" in text


def check_taggers(comparison: list, learnt: list, readings: list) -> None:
    """All estimators are there and better than a coin; the word before it tells a function's name."""
    accuracy = {row["estimator"]: row["accuracy"] for row in comparison[0]}
    assert list(accuracy) == ["crf", "memm", "pseudolikelihood", "m-estimation", "hmm"]
    assert all(0.5 < value <= 1.0 for value in accuracy.values())
    assert all(0.0 < row["F1 of names"] <= 1.0 for row in comparison[0])
    heat_map, attributes = learnt
    assert len(heat_map) == 8
    assert "Uprevious.token=def" in next(row for row in attributes if row["label"] == "definition-function")[
        "attributes that speak for it"
    ]
    probabilities = [float(readings[0][-1][f"reading {rank}"]) for rank in (1, 2, 3)]
    assert probabilities == sorted(probabilities, reverse=True)
    assert sum(probabilities) <= 1.0


def check_word_classes(learnt: list, models: list) -> None:
    """Classes have bits and words; all three models are there, each with a perplexity of its own."""
    assert learnt
    assert all(set(row["bits"]) <= {"0", "1"} and row["words"] > 3 and row["the most frequent"] for row in learnt)
    perplexity = {row["model"]: row["test perplexity"] for row in models}
    assert list(perplexity) == ["maximum entropy", "classes first, then words", "the same with a cache"]
    assert perplexity["the same with a cache"] < perplexity["classes first, then words"]


def check_input_method(rows: list, learnt: list) -> None:
    """The best of 20 candidates has no more errors than the first; rerankers have features, each with its words."""
    assert [row["text"] for row in rows] == ["the language reference", *["docstrings"] * 4]
    for row in rows:
        first, best = (float(row[name].rstrip("%")) for name in ("character errors", "best of 20"))
        assert 0.0 <= best <= first < 100.0
    interpolated, *rerankers = (row["weights or n-grams added"] for row in rows[2:])
    assert interpolated > 0
    assert all(n >= 0 for n in rerankers)
    assert all(row["seconds"] > 0 for row in rows[2:])
    assert len(learnt) <= min(8, rerankers[-1])
    assert all(float(row["weight"]) and row["words on the same keys"] for row in learnt)


def check_language_models(comparison: list, said: list) -> None:
    """A word of context helps, Kneser-Ney keeps all n-grams, and maximum entropy keeps no more."""
    (rows,), (words,) = comparison, said
    found = {(row["estimator"], row["order"]): row for row in rows}
    assert set(found) == {(name, n) for name in ("maxent", "kneser-ney") for n in range(1, 6)} | {
        ("maxent, default strengths", 5),
        ("maxent, with skipped words", 3),
    }
    for name in ("maxent", "kneser-ney"):
        assert found[name, 1]["test perplexity"] > found[name, 2]["test perplexity"] > 1
    for n in range(1, 6):
        kept, counted = found["maxent", n]["n-grams kept"], found["kneser-ney", n]["n-grams kept"]
        assert 0 < kept <= counted
    assert all(row["seconds"] > 0 and row["file, MB"] > 0 for row in rows)
    assert all(len(row["maxent"].split(", ")) >= 4 for row in words)


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
