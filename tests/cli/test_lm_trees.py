"""Tree penalties on the command line: training, tuning, unbounded order, files, and refusals."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from commands import invoke

import loglinear


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """train, valid and test text."""
    root = tmp_path_factory.mktemp("trees")
    for name, n in (("train", 300), ("valid", 60), ("test", 50)):
        rng = random.Random(len(name))
        nouns, verbs = ["dog", "cat", "bird", "fish"], ["sees", "hears", "likes"]
        lines = [
            f"the {rng.choice(['old ', 'new ', ''])}{rng.choice(nouns)} {rng.choice(verbs)} a {rng.choice(nouns)} ."
            for _ in range(n)
        ]
        (root / f"{name}.txt").write_text("\n".join(lines) + "\n")
    return root


def train(place: Path, model: Path, *args: object) -> dict:
    done = invoke("lm", "train", place / "train.txt", "-o", model, "--json", *args)
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("penalty", ["tree-l2", "tree-linf"])
def test_trained_used_and_exported(place: Path, tmp_path: Path, penalty: str) -> None:
    model = tmp_path / "m.ll"
    summary = train(place, model, "--order", 5, "--penalty", penalty, "--depth-growth", 1.2, "--l2", 0.1)
    assert (summary["penalty"], summary["depth_growth"], summary["l2"]) == (penalty, 1.2, 0.1)
    assert summary["n_parameters"] <= summary["weights"] <= sum(summary["ngrams_counted"])
    assert [row["order"] for row in summary["strengths"]] == [1, 2, 3, 4, 5]
    found = json.loads(invoke("lm", "eval", model, place / "test.txt", "--json").stdout)
    assert 1.5 < found["perplexity"] < 8
    assert invoke("lm", "export", model, tmp_path / "m.arpa").exit_code == 0
    again = json.loads(invoke("lm", "eval", tmp_path / "m.arpa", place / "test.txt", "--json").stdout)
    assert again["perplexity"] == pytest.approx(found["perplexity"], rel=1e-5)
    shown = invoke("inspect", model)
    assert shown.exit_code == 0, shown.stderr
    for word in (penalty, "group", "n parameters"):
        assert word in shown.stdout
    described = json.loads(invoke("inspect", model, "--json").stdout)
    assert described["n_parameters"] == summary["n_parameters"]
    text = invoke("lm", "train", place / "train.txt", "-o", model, "--order", 5, "--penalty", penalty).stdout
    assert "depth growth" in text
    assert "parameters" in text


def test_any_order(place: Path, tmp_path: Path) -> None:
    summary = train(place, tmp_path / "m.ll", "--order", "none", "--penalty", "tree-linf")
    longest = max(len(line.split()) for line in (place / "train.txt").read_text().splitlines()) + 2
    assert len(summary["ngrams_counted"]) == longest
    model = loglinear.load(tmp_path / "m.ll")
    assert model.order is None
    assert model.order_ <= longest
    args = ("--order", "none", "--penalty", "tree-linf", "--depth-growth", 4)
    done = invoke("lm", "train", place / "train.txt", "-o", tmp_path / "m.ll", *args)
    assert done.exit_code == 0, done.stderr  # a model that ends before the n-grams counted is shown too
    assert loglinear.load(tmp_path / "m.ll").order_ < longest
    assert "group" in done.stdout
    assert "group" in invoke("inspect", tmp_path / "m.ll").stdout


def test_tuning(place: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.ll"
    summary = train(place, model, "--order", 3, "--penalty", "tree-linf", "--tune", "--dev", place / "valid.txt")
    assert summary["tuning_status"]
    (best,) = [trial for trial in summary["tuning"] if trial["chosen"]]
    assert best["strengths"] == pytest.approx([summary[name] for name in ("strength", "depth_growth", "l2")])
    assert "strength, depth growth, l2" in invoke("inspect", model).stdout


def test_depth_growth_of_other_penalties(place: Path, tmp_path: Path) -> None:
    summary = train(place, tmp_path / "m.ll", "--order", 3, "--penalty", "l1", "--strength", 0.5, "--depth-growth", 2)
    assert [row["l1"] for row in summary["strengths"]] == [0.0, 0.5, 1.0]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--order", "many"), "a whole number or none"),
        (("--order", "none", "--penalty", "tree-l2"), "give an order, or one of those"),
        (("--order", 100, "--penalty", "tree-l2"), "the longest n-gram of the text"),
        (("--penalty", "tree-l2", "--depth-growth", 0), "positive, finite"),
        (("--penalty", "tree-linf", "--depth-growth", "1e200"), "too large"),
        (("--penalty", "tree-linf", "--min-count", 2), "leave min_count"),
        (("--penalty", "tree-l2", "--strength", "0.1,0.2"), "which has one"),
        (("--l2", 0.3), "l1_ratio"),
        (("--estimator", "kneser-ney", "--depth-growth", 1.2), "depth-growth is a setting of maxent"),
        (("--estimator", "kneser-ney", "--penalty", "tree-l2"), "penalty is a setting of maxent"),
        (("--penalty", "tree-l2", "--base", "m.ll"), "elastic_net"),
    ],
)
def test_refusals(place: Path, tmp_path: Path, args: tuple[object, ...], message: str) -> None:
    done = invoke("lm", "train", place / "train.txt", "-o", tmp_path / "m.ll", *args)
    assert done.exit_code == 2
    assert message in done.stderr
    assert not (tmp_path / "m.ll").exists()
