"""Language models from text to files and back, on text that every Python carries and on corpora where there are any."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from commands import figures, invoke

FOLDER = os.environ.get("LOGLINEAR_DATA")


def lm(*arguments: object) -> dict:
    return figures(invoke("lm", *arguments, "--json"))


@pytest.fixture(scope="module")
def topics(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """train.txt, valid.txt and test.txt from pydoc's topics."""
    found = pytest.importorskip("pydoc_data.topics").topics
    paragraphs = [p for name in sorted(found) for p in found[name].split("\n\n")]
    lines = [" ".join(re.findall(r"\w+|[^\w\s]", p.lower())) + "\n" for p in paragraphs if len(p.split()) > 3]
    root = tmp_path_factory.mktemp("topics")
    for name, part in (("train", lines[0::2]), ("valid", lines[1::4]), ("test", lines[3::4])):
        (root / f"{name}.txt").write_text("".join(part), encoding="utf-8")
    return root


def test_from_text_to_a_mixture(topics: Path) -> None:
    train, valid, test = (topics / f"{name}.txt" for name in ("train", "valid", "test"))
    maxent, kn, mixed = (topics / f"{name}.ll" for name in ("maxent", "kn", "mixed"))
    words = ("--order", 3, "--min-word-count", 2)  # so that training sees <unk>: maxent cannot know its share otherwise
    tuned = lm("train", train, "-o", maxent, *words, "--tune", "--dev", valid)
    assert tuned["tuning"][-1]["perplexity"] < tuned["tuning"][0]["perplexity"]
    lm("train", train, "-o", kn, *words, "--estimator", "kneser-ney")
    compared = lm("compare", kn, maxent, test)
    assert compared["difference"] < 0
    found = lm("mix", maxent, kn, "--dev", valid, "--test", test, "-o", mixed)
    assert found["perplexities"][str(test)]["mixture"] < compared["perplexity_first"]
    assert found["merged"][str(test)] == pytest.approx(lm("eval", mixed, test)["perplexity"])
    assert invoke("lm", "export", mixed, topics / "mixed.arpa").exit_code == 0
    assert lm("eval", topics / "mixed.arpa", test)["perplexity"] == pytest.approx(
        lm("eval", mixed, test)["perplexity"], rel=1e-5
    )


@pytest.mark.skipif(not FOLDER, reason="LOGLINEAR_DATA is not set: no corpora to test on")
def test_penn_treebank(tmp_path: Path) -> None:
    assert FOLDER is not None
    train, test = (Path(FOLDER) / "ptb" / f"ptb.{name}.txt.gz" for name in ("train", "test"))
    maxent, kn = tmp_path / "maxent.ll", tmp_path / "kn.ll"
    lm("train", train, "-o", kn, "--estimator", "kneser-ney")
    trained = lm("train", train, "-o", maxent)
    assert trained["weights"] < sum(trained["ngrams_counted"])
    counted = lm("eval", kn, test)
    assert counted["perplexity"] == pytest.approx(141.19, abs=0.02)
    compared = lm("compare", kn, maxent, test)
    assert compared["perplexity_second"] < 138.8
    assert compared["p_value"] < 0.01
    scores = [line.split("\t") for line in invoke("lm", "score", kn, test).stdout.splitlines()]
    total, tokens = sum(float(row[0]) for row in scores), sum(int(row[1]) for row in scores)
    assert tokens == counted["n_tokens"]
    assert 10 ** (-total / tokens) == pytest.approx(counted["perplexity"], rel=1e-5)
