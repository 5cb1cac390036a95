"""One vocabulary for all models: fit, evaluate, explain, save and load, with the same words and the same figures."""

import json
import pickle
import subprocess
import sys

import pytest
from candidate_problems import random_lists
from commands import figures, invoke
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import loglinear
from loglinear import InputMethod, LanguageModel, MaxentClassifier, Parser, Reranker, Tagger
from loglinear.formats.bracketed import parse_bracketed
from loglinear.formats.nbest import json_line
from loglinear.models import KINDS, load_predictor
from loglinear.models.language_model.files import Text, mix

TEXTS = ["cheap pills now", "lunch at noon", "buy cheap pills", "see you at lunch", "buy now", "noon then"]
SPAM = ["spam", "ham", "spam", "ham", "spam", "ham"]
TOKENS = [[("the", "DT"), ("dog", "NN"), ("barks", "VB")], [("a", "DT"), ("cat", "NN")], [("dogs", "NN")]]
CHUNKS = [["B-NP", "I-NP", "B-VP"], ["B-NP", "I-NP"], ["B-NP"]]
LINES = ["the dog sees a cat", "the cat sees the dog", "a dog barks", "the dog barks"]
TYPED = ["A|x B|yz", "C|x B|yz", "A|xy A|x B|yz", "A|x A|x", "C|xy D|z"]
LISTS = random_lists(30, 3)
TREES = """(S (NP (DT the) (NN dog)) (VP (VBZ sees) (NP (DT a) (NN cat))))
(S (NP (DT a) (NN dog)) (VP (VBZ barks)))
(S (NP (DT the) (NN cat)) (VP (VBZ barks)))
"""


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
    trees = parse_bracketed(TREES.encode())
    parser = Parser(min_word_count=1).fit(trees)
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
        "parser": (parser, (trees,), "the dog barks", TREES, "parse"),
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
    (tmp_path / "data").write_bytes(pickle.dumps({kind: (data, one) for kind, (_, data, one, *_) in CASES.items()}))
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "\n"), done.stderr


# ---- held-out data --------------------------------------------------------------------------------------------------
# kind of model -> (an untrained model, training data, held-out data)
def trained():
    tagging = {"templates": "U00:%x[0,0]\nU01:%x[0,1]\nB"}
    return {
        "maxent-classifier": (MaxentClassifier(), (TEXTS, SPAM), (TEXTS[:3], ["spam", "ham", "ham"])),
        "tagger": (Tagger(**tagging), (TOKENS, CHUNKS), (TOKENS[:1], [["B-NP", "B-VP", "B-VP"]])),
        "language-model": (LanguageModel(3, verbose=0), (LINES,), ["a cat sees a dog"]),
        "input-method": (InputMethod(2, estimator="maxent", verbose=0), (TYPED,), ["A|x B|yz", "D|z"]),
        "reranker": (Reranker("maxent", min_count=1), (LISTS[:20],), LISTS[20:]),
    }


TRAINED = trained()


@pytest.mark.parametrize("kind", TRAINED)
def test_held_out_data_score_the_model(kind, tmp_path):
    untrained, data, held_out = TRAINED[kind]
    model = clone(untrained).fit(*data, validation=held_out)
    pair = held_out if isinstance(held_out, tuple) else (held_out,)
    assert model.validation_score_ == pytest.approx(model.score(*pair), rel=1e-12)
    model.save(tmp_path / "m.ll")
    assert loglinear.load(tmp_path / "m.ll").validation_score_ == model.validation_score_
    if kind != "reranker":  # which chooses the point of its path
        alone = clone(untrained).fit(*data)
        assert alone.score(*pair) == pytest.approx(model.score(*pair), rel=1e-12)
        assert not hasattr(model.fit(*data), "validation_score_")


@pytest.mark.parametrize("kind", TRAINED)
def test_tune_chooses_on_the_held_out_data(kind):
    untrained, data, held_out = TRAINED[kind]
    tuned = clone(untrained).set_params(tune="validation").fit(*data, validation=held_out)
    pair = held_out if isinstance(held_out, tuple) else (held_out,)
    assert tuned.validation_score_ == pytest.approx(tuned.score(*pair), rel=1e-12)
    if kind in ("maxent-classifier", "tagger"):
        assert len(tuned.tuning_) > 1
        few = clone(untrained).set_params(tune=[5.0, 0.5]).fit(*data, validation=held_out)
        assert [row["strength"] for row in few.tuning_] == [5.0, 0.5]
        assert few.strength_ in (5.0, 0.5)
    elif kind != "reranker":
        language = tuned if kind == "language-model" else tuned.language_model_
        assert len(language.tuning_) >= 1
    else:
        assert tuned.path_.n_points == 8
    with pytest.raises(ValueError, match=r"tune chooses .* on held-out .*: give fit\(\.\.\., validation="):
        clone(untrained).set_params(tune="validation").fit(*data)
    with pytest.raises(ValueError, match="tune must be None"):
        clone(untrained).set_params(tune="magic").fit(*data, validation=held_out)


@pytest.mark.parametrize("kind", ["maxent-classifier", "tagger"])
def test_held_out_examples_without_labels_are_refused_before_training(kind, monkeypatch):
    untrained, (X, y), (X_held, y_held) = TRAINED[kind]
    monkeypatch.setattr("loglinear.optimise.training.minimise", None)  # training would call it, and fail otherwise
    for wrong, message in [
        ((X_held, None), r"validation lacks its labels: give a pair \(X, y\)"),
        ((None, y_held), r"validation lacks its examples: give a pair \(X, y\)"),
        (X_held, r"validation must be a pair \(X, y\), held-out examples and their labels, not list"),
        ((X_held, y_held[:-1]), r"labels"),
    ]:
        with pytest.raises(ValueError, match=message):
            clone(untrained).fit(X, y, validation=wrong)
    with pytest.raises(ValueError, match="validation lacks its labels"), pytest.warns(FutureWarning):
        clone(untrained).fit(X, y, **{"X_valid" if kind == "maxent-classifier" else "X_dev": X_held})


def test_older_names_of_held_out_data_work_and_name_the_new_one():
    classifier, data, (X, y) = TRAINED["maxent-classifier"]
    with pytest.warns(FutureWarning, match=r"X_valid and y_valid are now validation=\(X, y\)"):
        old = clone(classifier).set_params(tune=[2.0, 1.0]).fit(*data, X_valid=X, y_valid=y)
    assert old.tuning_ == clone(old).fit(*data, validation=(X, y)).tuning_
    with pytest.warns(FutureWarning, match="X_valid and y_valid are now validation"):
        (point,) = classifier.regularization_path(*data, [1.0], X_valid=X, y_valid=y)
    assert point.held_out_accuracy == 2 / 3
    with pytest.raises(TypeError, match="give validation alone"):
        classifier.fit(*data, X_valid=X, y_valid=y, validation=(X, y))
    tagger, data, (X, y) = TRAINED["tagger"]
    for given in ({"X_dev": X, "y_dev": y}, (X, y)):
        with pytest.warns(FutureWarning, match=r"X_dev and y_dev are now validation=\(X, y\)") as caught:
            old = clone(tagger).fit(*data, **given) if isinstance(given, dict) else clone(tagger).fit(*data, *given)
        assert caught[0].filename == __file__
        with pytest.warns(FutureWarning, match="dev_score_ is now validation_score_"):
            assert old.dev_score_ == old.validation_score_
    with pytest.warns(FutureWarning, match="tune='dev' is now tune='validation'") as caught:
        old = clone(tagger).set_params(tune="dev").fit(*data, validation=(X, y))
    assert caught[0].filename == __file__
    assert old.tuning_ == clone(tagger).set_params(tune="validation").fit(*data, validation=(X, y)).tuning_
    language, data, text = TRAINED["language-model"]
    with pytest.warns(FutureWarning, match="strength='auto' is now tune='validation'") as caught:
        old = clone(language).set_params(strength="auto").fit(*data, validation=text)
    assert caught[0].filename == __file__
    tuned = clone(language).set_params(tune="validation").fit(*data, validation=text)
    assert old.perplexity(text) == tuned.perplexity(text)
    with pytest.warns(FutureWarning, match="tune is now validation"):
        old = mix([tuned, old], tune=Text.read(text, tuned))
    assert old.weights == mix([tuned, tuned], validation=Text.read(text, tuned)).weights
    reranker, data, lists = TRAINED["reranker"]
    with pytest.warns(FutureWarning, match="dev is now validation"):
        old = clone(reranker).fit(*data, dev=lists)
    with pytest.warns(FutureWarning, match="several strengths are now those of tune") as caught:
        old = clone(reranker).set_params(strength=[2, 1]).fit(*data, validation=lists)
    assert caught[0].filename == __file__
    assert old.path_.strength.tolist() == [float("inf"), 2, 1]
    for one, was, now in ((old, "dev_baseline_errors_", "validation_baseline_errors_"),
                          (old.path_, "dev_errors", "validation_errors")):  # fmt: skip
        with pytest.warns(FutureWarning, match=f"{was} is now {now}"):
            assert getattr(one, was) is getattr(one, now)
    ime = InputMethod(2).fit(TYPED)
    with pytest.warns(FutureWarning, match="dev is now validation"):
        adapted = ime.adapt_language_model(TYPED, dev=TYPED[:2])
    with pytest.warns(FutureWarning, match="dev_perplexities_ is now validation_perplexities_"):
        assert adapted.dev_perplexities_ == ime.adapt_language_model(TYPED, TYPED[:2]).validation_perplexities_
    with pytest.warns(FutureWarning, match="dev is now validation"):
        ime.adapt(TYPED, dev=TYPED[:2], max_iterations=3)


# ---- no penalty -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", ["maxent-classifier", "tagger", "language-model", "reranker"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_penalty_of_none_is_no_penalty(kind, tmp_path):
    untrained, data, held_out = TRAINED[kind]
    few = {"max_iterations": 20}
    model = clone(untrained).set_params(penalty=None, **few).fit(*data)
    named = clone(untrained).set_params(penalty="none", **few).fit(*data)
    pair = held_out if isinstance(held_out, tuple) else (held_out,)
    assert model.evaluate(*pair) == named.evaluate(*pair)
    model.save(tmp_path / "m.ll")
    loaded = loglinear.load(tmp_path / "m.ll")
    assert loaded.get_params()["penalty"] is None
    assert loaded.evaluate(*pair) == named.evaluate(*pair)
    assert clone(model).penalty is None


def test_without_a_penalty_there_is_no_strength_to_tune():
    classifier, data, _ = TRAINED["maxent-classifier"]
    with pytest.raises(ValueError, match="tune chooses the strength of a penalty, but there is none"):
        clone(classifier).set_params(penalty=None, tune="cv").fit(*data)
    with pytest.warns(ConvergenceWarning, match="without a penalty the optimum may be at infinity"):
        clone(classifier).set_params(penalty=None, max_iterations=5).fit(*data)


@pytest.mark.parametrize("kind", CASES)
def test_untrained_models_say_so(kind):
    model, data, one, *_ = CASES[kind]
    for ask in (lambda m: m.evaluate(*data), lambda m: m.explain(one), lambda m: m.save("never.ll")):
        with pytest.raises(NotFittedError, match=f"This {type(model).__name__} instance is not fitted yet"):
            ask(clone(model))
