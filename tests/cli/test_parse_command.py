"""loglinear parse, from the command line."""

import json

import pytest
from typer.testing import CliRunner

from loglinear.cli.app import app

TREES = """( (S (NP-SBJ (DT the) (NN dog)) (VP (VBZ sees) (NP (DT a) (NN cat))) (. .)))
( (S (NP (PRP she)) (VP (VBZ barks) (NP (-NONE- *))) (. .)))
(S (NP (DT a) (NN cat)) (VP (VBZ sees) (NP (DT the) (NN dog))) (. .))
"""


@pytest.fixture
def trees(tmp_path):
    path = tmp_path / "trees.mrg"
    path.write_text(TREES)
    return str(path)


def run(*arguments, code=0, stdin=None):
    done = CliRunner().invoke(app, ["parse", *map(str, arguments)], input=stdin)
    assert done.exit_code == code, done.stderr
    return done


@pytest.mark.parametrize("estimator", ["crf", "m-estimation", "pcfg"])
def test_training_prediction_and_evaluation(trees, tmp_path, estimator):
    model = tmp_path / "m.ll"
    options = ("--estimator", estimator, "--strength", 0.1, "--min-word-count", 1, "--horizontal", "all")
    summary = json.loads(run("train", trees, "-o", model, *options, "--dev", trees, "--json").stdout)
    assert (summary["trees"], summary["tokens"], summary["dev_score"]) == (3, 15, 1.0)
    assert "seconds" in run("train", trees, "-o", model, *options).stdout
    text = "she sees a cat .\n\nthe dog barks .\n"
    lines = run("predict", model, stdin=text).stdout.splitlines()
    assert lines[0] == "(S (NP (PRP she)) (VP (VBZ sees) (NP (DT a) (NN cat))) (. .))"
    assert lines[1] == ""
    first = json.loads(run("predict", model, "--json", "--nbest", 2, "--marginals", stdin=text).stdout.splitlines()[0])
    assert first["nbest"][0]["tree"] == first["tree"] == lines[0]
    assert {"begin": 0, "end": 1, "label": "PRP", "probability": pytest.approx(1, abs=0.4)} in first["constituents"]
    assert run("predict", model, "--nbest", 1, stdin="she barks .\n").stdout.startswith("# 0 ")
    assert "\tNP\t" in run("predict", model, "--marginals", stdin="she barks .\n").stdout
    assert run("predict", model, "--objective", "recall", "--cost", 0.4, stdin="she barks .\n").stdout.startswith("(S ")
    assert json.loads(run("eval", model, trees, "--json").stdout)["f1"] == 1.0
    assert "exact match   100.00" in run("eval", model, trees).stdout
    assert "(root) -> S" in run("explain", model, stdin="she barks .\n").stdout
    assert json.loads(run("explain", model, "--json", stdin="she barks .\n").stdout)["words"] == ["she", "barks", "."]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(S (NP (NN a))", "trees.mrg:1: tree 1: the tree ends before its brackets close"),
        ("(S (NN a))\n(S (NP))", "trees.mrg:2: tree 2: the bracket of 'NP' holds neither a word nor brackets"),
        ("(S (NP (-NONE- *)))", "trees.mrg: tree 1 has no words"),
        ("", "there are no trees"),
    ],
)
def test_bad_trees_are_told_in_a_sentence(tmp_path, text, message):
    path = tmp_path / "trees.mrg"
    path.write_text(text)
    done = run("train", path, "-o", tmp_path / "m.ll", code=2)
    assert message in done.stderr
    assert done.stderr.startswith("error: ")
    assert not (tmp_path / "m.ll").exists()


def test_options_and_long_sentences_are_refused_in_a_sentence(trees, tmp_path):
    model = tmp_path / "m.ll"
    assert "--pruning takes a number" in run("train", trees, "-o", model, "--pruning", "x", code=2).stderr
    assert "--tune chooses on held-out data" in run("train", trees, "-o", model, "--tune", code=2).stderr
    run("train", trees, "-o", model, "--estimator", "pcfg", "--max-memory", "200k")
    done = run("predict", model, stdin="dog " * 300 + "\n", code=2)
    assert "sentence 1 has 300 words, whose charts may need" in done.stderr
    assert "can be combined only with --json" in run("predict", model, "--nbest", 2, "--marginals", code=2).stderr
