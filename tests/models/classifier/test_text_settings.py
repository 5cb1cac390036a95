"""Classifiers with the settings of texts: files, refusals, the command line, hashing and online learning."""

import json

import numpy as np
import pytest
from commands import invoke
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

import loglinear
from loglinear import MaxentClassifier
from loglinear.models import load_predictor

WORDS = ["apple", "pear", "plum", "cherry", "bolt", "nut", "screw", "nail", "the", "of", "a"]


def corpus(n=120, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, n)
    shares = np.ones((3, len(WORDS)))
    shares[0, :4], shares[1, 4:8], shares[2, [0, 1, 4, 5]] = 6, 6, 4
    shares /= shares.sum(axis=1, keepdims=True)
    texts = [" ".join(rng.choice(WORDS, rng.integers(3, 12), p=shares[c])) for c in labels]
    return texts, labels.tolist()


SETTINGS = [
    {"weighting": "log_tfidf"},
    {"weighting": "tfidf", "penalty": "l1", "strength": 0.3},
    {"weighting": "binary", "ngrams": (1, 2), "stop_words": "english"},
    {"weighting": "log", "char_ngrams": (2, 3), "stop_words": ["of"], "lowercase": False},
    {"ngrams": (), "char_ngrams": (3,), "across_words": True},
    {"hash_size": 64, "weighting": "log_tfidf", "penalty": "l1", "strength": 0.2},
    {"hash_size": 5000, "char_ngrams": (2,)},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_a_saved_model_predicts_the_same(tmp_path, settings):
    texts, labels = corpus()
    new = [*corpus(40, 1)[0], "unknown words only", ""]
    model = MaxentClassifier(**{"strength": 0.1, **settings}).fit(texts, labels)
    path = tmp_path / "model.ll"
    model.save(path)
    for again in (loglinear.load(path), load_predictor(path)):
        np.testing.assert_array_equal(again.predict_proba(new), model.predict_proba(new))
        assert again.feature_name(0)
    refit = loglinear.load(path)
    assert {name: refit.get_params()[name] for name in settings} == settings
    np.testing.assert_allclose(refit.fit(texts, labels).predict_proba(new), model.predict_proba(new), atol=1e-12)
    assert model.explain(new[0]).pushes


def test_the_model_is_that_of_scikit_learn():
    texts, labels = corpus()
    new = corpus(40, 1)[0]
    vectoriser = TfidfVectorizer(sublinear_tf=True, token_pattern=r"(?u)\b\w+\b")
    theirs = LogisticRegression(C=2.0, tol=1e-9, max_iter=10_000).fit(vectoriser.fit_transform(texts), labels)
    ours = MaxentClassifier(strength=0.5, weighting="log_tfidf", tolerance=1e-12).fit(texts, labels)
    expected = theirs.predict_proba(vectoriser.transform(new))
    np.testing.assert_allclose(ours.predict_proba(new), expected, atol=1e-5)


def test_hashed_models_learn_new_words_online():
    model = MaxentClassifier(hash_size=2**12)
    model.partial_fit(["red", "blue"], ["warm", "cold"], classes=["cold", "warm"])
    for _ in range(30):
        model.partial_fit(["orange", "cyan"], ["warm", "cold"])
    assert model.predict(["orange", "cyan"]).tolist() == ["warm", "cold"]


@pytest.mark.parametrize(("settings", "message"), [
    ({"char_ngrams": (2,)}, "char_ngrams is for texts, and these are numbers"),
    ({"stop_words": "english"}, "stop_words is for texts, and these are numbers"),
    ({"hash_size": 10}, "hash_size is for texts, and these are numbers"),
    ({"weighting": "log"}, "weighting is for texts and lists of tokens, and these are numbers"),
    ({"weighting": "best"}, "weighting must be one of"),
])  # fmt: skip
def test_settings_of_texts_are_refused_for_numbers(settings, message):
    with pytest.raises(ValueError, match=message):
        MaxentClassifier(**settings).fit(np.eye(4), [0, 1, 0, 1])
    with pytest.raises(ValueError, match=message.replace("numbers", "named features")):
        MaxentClassifier(**settings).fit([{"a": 1}, {"b": 1}], [0, 1])


def test_the_command_line_has_the_settings(tmp_path):
    texts, labels = corpus()
    data, model = tmp_path / "train.tsv", tmp_path / "model.ll"
    data.write_text("".join(f"c{c}\t{t}\n" for t, c in zip(texts, labels)), encoding="utf-8")
    options = ["--weighting", "log_tfidf", "--char-ngrams", "2,3", "--across-words", "--stop-words", "english",
               "--no-lowercase", "--ngrams", "none"]  # fmt: skip
    invoke("classify", "train", data, "-o", model, *options)
    loaded = loglinear.load(model)
    assert (loaded.ngrams, loaded.char_ngrams, loaded.across_words) == ((), (2, 3), True)
    assert (loaded.weighting, loaded.stop_words, loaded.lowercase) == ("log_tfidf", "english", False)
    settings = json.loads(invoke("inspect", model, "--json").stdout)["settings"]
    assert settings["parameters"]["weighting"] == "log_tfidf"
    assert settings["featuriser"]["settings"]["char_ngrams"] == [2, 3]
    invoke("classify", "train", data, "-o", model, "--hash-size", "1000")
    assert loglinear.load(model).hash_size == 1000
    assert "log_tfidf" in invoke("classify", "train", data, "-o", model, "--weighting", "list").stdout
