"""``loglinear lm`` with classes and caches, from text to evaluation."""

import json

import pytest

from tests.commands import invoke

TRAIN = ["the dog sees a cat", "a dog eats the fish", "the cat sleeps", "a bird sees the dog", "one cat sees it"] * 2
DEV = ["the bird sees a bird", "a bird sees a bird", "the fish sleeps", "the fish sleeps"]


@pytest.fixture
def texts(tmp_path):
    for name, lines in (("train", TRAIN), ("dev", DEV)):
        (tmp_path / f"{name}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path


def evaluate(model, text):
    done = invoke("lm", "eval", model, text, "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_train_tune_cache_evaluate_mix_and_ask(texts):
    train, dev = texts / "train.txt", texts / "dev.txt"
    options = ["--order", 3, "--classes", 3, "--sources", "words:2,classes:3", "--dev", dev, "--json"]
    done = invoke("lm", "train", train, "-o", texts / "tuned.ll", *options, "--tune")
    assert done.exit_code == 0, done.output
    summary = json.loads(done.stdout)
    assert summary["converged"]
    assert {row["level"] for row in summary["tuning"]} == {"classes", "words"}
    done = invoke("lm", "train", train, "-o", texts / "cached.ll", *options, "--cache", "--cache-window", 20)
    assert done.exit_code == 0, done.output
    assert evaluate(texts / "cached.ll", dev)["perplexity"] < evaluate(texts / "tuned.ll", dev)["perplexity"]
    assert invoke("lm", "train", train, "-o", texts / "plain.ll", "--order", 3).exit_code == 0
    parts = [texts / "plain.ll", texts / "tuned.ll"]
    done = invoke("lm", "mix", *parts, "--dev", dev, "--cache", "-o", texts / "mixed.ll")
    assert done.exit_code == 0, done.output
    assert evaluate(texts / "mixed.ll", dev)["n_tokens"] == evaluate(texts / "plain.ll", dev)["n_tokens"]
    history = json.dumps({"words": ["the"], "document": ["a bird sees the bird"]})
    found = invoke("lm", "next", texts / "cached.ll", history, "--json")
    assert found.exit_code == 0, found.output
    told = invoke("lm", "explain", texts / "cached.ll", "a bird sees a bird")
    assert "log Z of the cache" in told.stdout
    lines = invoke("lm", "score", texts / "cached.ll", dev).stdout.splitlines()
    assert len(lines) == len(DEV)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--classes", 99], "99 classes were asked for"),
        (["--classes", "nowhere.tsv"], "nowhere.tsv"),
        (["--cache"], "held-out text"),
        (["--cache-window", 5], "--cache-window is a setting of --cache"),
        (["--classes", 3, "--estimator", "kneser-ney"], "classes is a setting of maxent"),
        (["--classes", 3, "--tune"], "--dev"),
    ],
)
def test_refusals_are_one_sentence(texts, options, message):
    done = invoke("lm", "train", texts / "train.txt", "-o", texts / "m.ll", *options)
    assert done.exit_code == 2
    assert message in done.output
    assert not (texts / "m.ll").exists()
