"""One vocabulary for all models: fit, evaluate, explain, save and load, with the same words and the same figures."""

import json
import subprocess
import sys

import pytest
from candidate_problems import random_lists
from commands import figures, invoke

import loglinear
from loglinear import InputMethod, LanguageModel, MaxentClassifier, Reranker, Tagger
from loglinear.formats.nbest import json_line
from loglinear.models import KINDS, load_predictor

TEXTS = ["cheap pills now", "lunch at noon", "buy cheap pills", "see you at lunch", "buy now", "noon then"]
SPAM = ["spam", "ham", "spam", "ham", "spam", "ham"]
TOKENS = [[("the", "DT"), ("dog", "NN"), ("barks", "VB")], [("a", "DT"), ("cat", "NN")], [("dogs", "NN")]]
CHUNKS = [["B-NP", "I-NP", "B-VP"], ["B-NP", "I-NP"], ["B-NP"]]
LINES = ["the dog sees a cat", "the cat sees the dog", "a dog barks", "the dog barks"]
TYPED = ["A|x B|yz", "C|x B|yz", "A|xy A|x B|yz", "A|x A|x", "C|xy D|z"]
LISTS = random_lists(30, 3)


def conll(sequences, labels):
    lines = ("".join(f"{w} {p} {y}\n" for (w, p), y in zip(s, ys)) for s, ys in zip(sequences, labels))
    return "\n".join(lines)


# kind of model -> (a model, what evaluate takes, what explain takes, the same data as a file for the command, command)
def cases():
    classifier = MaxentClassifier().fit(TEXTS, SPAM)
    tagger = Tagger(templates="U00:%x[0,0]\nU01:%x[0,1]\nB").fit(TOKENS, CHUNKS)
    language = LanguageModel(3, "kneser-ney").fit(LINES)
    ime = InputMethod(2).fit(TYPED)
    reranker = Reranker("maxent", min_count=1).fit(LISTS)
    labels = ["ham", *SPAM[1:-1], "unheard"]
    tsv = "".join(f"{label}\t{text}\n" for label, text in zip(labels, TEXTS))
    held_out = [["B-NP", "B-VP", "B-VP"], ["B-NP", "I-NEW"], ["B-NP"]]
    unknown = [*LINES[:2], "the zebra sees it"]
    lists = b"".join(map(json_line, LISTS)).decode()
    return {
        "maxent-classifier": (classifier, (TEXTS, labels), TEXTS[0], tsv, "classify"),
        "tagger": (tagger, (TOKENS, held_out), TOKENS[0], conll(TOKENS, held_out), "tag"),
        "language-model": (language, (unknown,), "the zebra", "\n".join(unknown), "lm"),
        "input-method": (ime, (["A|x B|z", "Q|q"],), "xyz", "A|x B|z\nQ|q\n", "ime"),
        "reranker": (reranker, (LISTS,), LISTS[0], lists, "rerank"),
    }


CASES = cases()
TIMES = {"seconds", "sentences_per_second"}


def without_times(found):
    return {name: value for name, value in found.items() if name not in TIMES}


def plain(value):
    """As JSON returns it."""
    return json.loads(json.dumps(value).replace("NaN", "null").replace("-Infinity", "null").replace("Infinity", "null"))


def test_every_kind_of_model_is_here():
    assert set(CASES) == set(KINDS)


@pytest.mark.parametrize("kind", CASES)
def test_evaluate_returns_the_figures_of_the_command(kind, tmp_path):
    model, data, _, text, command = CASES[kind]
    model.save(tmp_path / "m.ll")
    (tmp_path / "data").write_text(text, encoding="utf-8")
    found = model.evaluate(*data)
    assert isinstance(found, dict)
    assert found
    if kind == "language-model":
        for one in found["unknown_examples"]:
            one["source"] = str(tmp_path / "data")
    from_command = figures(invoke(command, "eval", tmp_path / "m.ll", tmp_path / "data", "--json"))
    assert without_times(from_command) == plain(without_times(found))
    light = load_predictor(tmp_path / "m.ll").evaluate(*data)
    assert {**without_times(light), "unknown_examples": 0} == {**without_times(found), "unknown_examples": 0}


def test_figures_are_those_of_the_model():
    classifier, (X, y), *_ = CASES["maxent-classifier"]
    found = classifier.evaluate(X, y)
    assert found["accuracy"] == classifier.score(X, y) == 4 / 6
    assert found["unseen_labels"] == {"unheard": 1}
    tagger, (X, y), *_ = CASES["tagger"]
    found = tagger.evaluate(X, y)
    assert (found["f1"], found["unseen_labels"]) == (tagger.score(X, y), {"I-NEW": 1})
    assert found["accuracy"] == 4 / 6
    forbidden = [("B-NP", "I-NP")]
    assert tagger.evaluate(X, y, constraint=forbidden)["f1"] != found["f1"]
    language, (text,), *_ = CASES["language-model"]
    found = language.evaluate(text)
    assert found["perplexity"] == language.perplexity(text)
    assert (found["n_unknown"], found["unknown_types"]) == (2, 2)
    assert [one["word"] for one in found["unknown_examples"]] == ["zebra", "it"]
    ime, (text,), *_ = CASES["input-method"]
    assert ime.evaluate(text, 1)["cer"] == 1 - ime.score(text)
    reranker, (lists,), *_ = CASES["reranker"]
    assert reranker.evaluate(lists)["reranked"]["rate"] == 1 - reranker.score(lists)


@pytest.mark.parametrize(
    ("kind", "old", "new"),
    [
        ("language-model", lambda found: found.perplexity, lambda found: found["perplexity"]),
        ("input-method", lambda found: found.oracle_cer, lambda found: found["oracle_cer"]),
        ("reranker", lambda found: found.comparison.p_bootstrap, lambda found: found["comparison"]["p_bootstrap"]),
    ],
)
def test_figures_can_still_be_read_as_attributes(kind, old, new):
    model, data, *_ = CASES[kind]
    found = model.evaluate(*data)
    with pytest.warns(FutureWarning, match=r"evaluate returns a dict; read its figures as found\['"):
        assert old(found) == new(found)
    with pytest.raises(AttributeError, match="no figure 'nothing'"):
        found.nothing  # noqa: B018


@pytest.mark.parametrize("kind", CASES)
def test_every_model_explains_saves_and_loads(kind, tmp_path):
    model, _, one, *_ = CASES[kind]
    model.save(tmp_path / "m.ll")
    expected = str(model.explain(one))
    assert expected
    assert str(loglinear.load(tmp_path / "m.ll").explain(one)) == expected
    assert str(type(model).load(tmp_path / "m.ll").explain(one)) == expected


def test_evaluation_and_explanation_import_nothing_heavy(tmp_path):
    for kind, (model, *_) in CASES.items():
        model.save(tmp_path / kind)
    code = """
import json, pickle, sys
from pathlib import Path
from loglinear.models import load_predictor
for kind, (data, one) in pickle.loads(Path("data").read_bytes()).items():
    model = load_predictor(kind)
    model.evaluate(*data)
    str(model.explain(one))
print(*sorted({"sklearn", "scipy", "rich", "matplotlib"} & sys.modules.keys()))
"""
    import pickle

    (tmp_path / "data").write_bytes(pickle.dumps({kind: (data, one) for kind, (_, data, one, *_) in CASES.items()}))
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "\n"), done.stderr
