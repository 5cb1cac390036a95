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
    tables = [section["tables"] for section in report["sections"]]
    comparison, learnt, decision, race = (table[0] for table in tables[:4])
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
    check_taggers(*tables[4:7])
    check_language_models(*tables[7:9])
    check_input_method(*tables[9])
    text = page.read_text()
    assert "A race to the optimum" in text
    assert "A line with more than one reading" in text
    assert "Longer contexts, lower perplexity" in text


def check_taggers(comparison: list, learnt: list, readings: list) -> None:
    """Equal features: conditional estimators beat the M-estimate, which beats the HMM it corrects."""
    accuracy = {row["estimator"]: row["accuracy"] for row in comparison[0]}
    assert list(accuracy) == ["crf", "memm", "pseudolikelihood", "m-estimation", "hmm"]
    assert min(accuracy[name] for name in ("crf", "memm", "pseudolikelihood")) > accuracy["m-estimation"]
    assert accuracy["m-estimation"] > accuracy["hmm"] > 0.7
    assert all(row["F1 of names"] < row["accuracy"] for row in comparison[0])
    heat_map, attributes = learnt
    assert len(heat_map) == 8
    assert "U01:def" in next(row for row in attributes if row["label"] == "definition-function")[
        "attributes that speak for it"
    ]
    probabilities = [float(readings[0][-1][f"reading {rank}"]) for rank in (1, 2, 3)]
    assert probabilities == sorted(probabilities, reverse=True)
    assert sum(probabilities) <= 1.0


def check_input_method(rows: list, learnt: list) -> None:
    """Text of its own kind is easier than docstrings; all three adaptations help, rerankers with far fewer weights."""
    own, other, *adapted = (float(row["character errors"].rstrip("%")) for row in rows)
    assert own < other
    assert len(adapted) == 3
    assert max(adapted) < other
    assert all(float(row["best of 20"].rstrip("%")) < float(row["character errors"].rstrip("%")) for row in rows)
    interpolated, *rerankers = (row["weights or n-grams added"] for row in rows[2:])
    assert 0 < max(rerankers) < interpolated / 10
    assert all(row["seconds"] > 0 for row in rows[2:])
    assert len(learnt) == 8
    assert all(float(row["weight"]) and row["words on the same keys"] for row in learnt)


def check_language_models(comparison: list, said: list) -> None:
    """Contexts help, penalties keep fewer n-grams than Kneser-Ney needs, and both know what comes next."""
    (rows,), (words,) = comparison, said
    found = {(row["estimator"], row["order"]): row for row in rows}
    assert set(found) == {(name, n) for name in ("maxent", "kneser-ney") for n in range(1, 6)} | {
        ("maxent, default strengths", 5)
    }
    for name in ("maxent", "kneser-ney"):
        perplexity = [found[name, n]["test perplexity"] for n in (1, 2, 3)]
        assert perplexity[0] > 2 * perplexity[1] > 2 * perplexity[2] > 2
    assert found["maxent", 5]["n-grams kept"] < found["kneser-ney", 5]["n-grams kept"]
    assert found["maxent", 5]["test perplexity"] < found["kneser-ney", 5]["test perplexity"]
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
