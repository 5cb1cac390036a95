"""Looking at decisions and errors on the command line: explain, eval --errors, confusion matrices."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import figures, invoke, refusal

import loglinear

MODELS = Path(__file__).parents[1] / "saved_models"


def test_classify_explain() -> None:
    path = MODELS / "classifier.ll"
    model = loglinear.load(path)
    explained = model.explain("Parse a string")
    done = invoke("classify", "explain", path, "Parse", "a", "string")
    assert (done.exit_code, done.stdout) == (0, f"{explained}\n\n")
    assert invoke("classify", "explain", path, stdin="Parse a string\n").stdout == done.stdout
    found = [json.loads(line) for line in invoke(
        "classify", "explain", path, "--json", "--top", 1, stdin="Parse a string\nReturn it\n"
    ).stdout.splitlines()]  # fmt: skip
    assert found[0] == json.loads(json.dumps(explained.to_dict(1)))
    assert len(found) == 2
    numbers = invoke("classify", "explain", MODELS / "classifier_of_a_matrix.ll", stdin="1 0:1 4:2\n")
    assert "x0  (value 1, weight +" in numbers.stdout
    told = refusal(invoke("classify", "explain", MODELS / "classifier_of_a_matrix.ll", "some text"))
    assert "trained on numbered features (svmlight), not on text: give examples on stdin" in told


def test_tag_explain() -> None:
    path, text = MODELS / "tagger.ll", "x NAME a\n= OP =\n\n1 NUMBER 1\n"
    model = loglinear.load(path)
    sequences = [[("x", "NAME", "a"), ("=", "OP", "=")], [("1", "NUMBER", "1")]]
    done = invoke("tag", "explain", path, "--top", 2, stdin=text)
    assert done.exit_code == 0, done.stderr
    expected = "".join(model.explain(x).to_text(2, [token[0] for token in x]) + "\n\n" for x in sequences)
    assert done.stdout == expected
    found = [json.loads(line) for line in invoke("tag", "explain", path, "--json", stdin=text).stdout.splitlines()]
    assert [token["word"] for token in found[0]["tokens"]] == ["x", "="]
    predicted = invoke("tag", "predict", path, "--json", stdin=text).stdout.splitlines()
    labels = [json.loads(line)["labels"] for line in predicted]
    assert [[token["label"] for token in one["tokens"]] for one in found] == labels
    for one in found:
        for token in one["tokens"]:
            parts = sum(push["contribution"] for push in token["pushes"]) + token["step"] + token["base"]
            assert token["score"] == pytest.approx(parts)


def test_lm_explain() -> None:
    path = MODELS / "language_model.ll"
    model = loglinear.load(path)
    done = invoke("lm", "explain", path, "the", "value")
    assert (done.exit_code, done.stdout) == (0, f"{model.explain('the value')}\n\n")
    lines = invoke("lm", "explain", path, "--json", stdin="the value\n\n").stdout.splitlines()
    first, empty = (json.loads(line) for line in lines)
    assert [token["word"] for token in first["tokens"]] == ["the", "value", "</s>"]
    total = sum(push["contribution"] for token in first["tokens"] for push in token["pushes"])
    assert first["log_probability"] == pytest.approx(total)
    assert len(empty["tokens"]) == 1


def test_classify_eval_shows_confusions_and_errors(tmp_path: Path) -> None:
    data, model = tmp_path / "d.tsv", tmp_path / "m.ll"
    data.write_text("spam\tcheap pills\nham\tlunch at noon\nspam\tbuy pills\nham\tsee you at noon\n" * 3)
    assert invoke("classify", "train", data, "-o", model).exit_code == 0
    test = tmp_path / "t.tsv"
    test.write_text("ham\tbuy cheap pills\nspam\tpills\nham\tat noon\n")
    found = figures(invoke("classify", "eval", model, test, "--errors", 2, "--json"))
    assert found["confusion"] == {"ham": {"ham": 1, "spam": 1}, "spam": {"spam": 1}}
    (mistake,) = found["errors"]
    assert (mistake["example"], mistake["gold"], mistake["predicted"]) == (0, "ham", "spam")
    assert mistake["pushes"][0]["feature"] == "pills"
    shown = invoke("classify", "eval", model, test, "--errors", 2).stdout
    assert "Confusion matrix" in shown
    assert ["ham", "1", "1"] in [line.split() for line in shown.splitlines()]
    assert "example 0 (from 0): gold ham, predicted spam (probability 0." in shown
    assert "    buy cheap pills\n" in shown
    assert f"    {mistake['pushes'][0]['contribution']:+9.4f}  pills\n" in shown
    assert "Most confident mistakes" not in invoke("classify", "eval", model, test).stdout
    many = tmp_path / "many.tsv"
    many.write_text("".join(f"c{i}\tword{i}\n" for i in range(20)))
    assert invoke("classify", "train", many, "-o", model).exit_code == 0
    assert "Confusion matrix" not in invoke("classify", "eval", model, many).stdout


def test_tag_eval_shows_errors(tmp_path: Path) -> None:
    data, model, test = tmp_path / "d.conll", tmp_path / "m.ll", tmp_path / "t.conll"
    data.write_text("the DT B-NP\ndog NN I-NP\nbarks VBZ B-VP\n\na DT B-NP\ncat NN I-NP\nsleeps VBZ B-VP\n\n" * 3)
    assert invoke("tag", "train", data, "-o", model, "--templates", "chunking").exit_code == 0
    test.write_text("the DT B-NP\ncat NN B-VP\nbarks VBZ B-VP\n")
    found = figures(invoke("tag", "eval", model, test, "--errors", 5, "--json"))
    (mistake,) = found["errors"]
    assert (mistake["token"], mistake["gold"], mistake["predicted"]) == (1, "B-VP", "I-NP")
    shown = invoke("tag", "eval", model, test, "--errors", 5).stdout
    assert "sequence 0, token 1 (from 0): gold B-VP, predicted I-NP (probability " in shown
    assert "    the [cat] barks\n" in shown
    assert "previous.tag=DT\n" in shown
