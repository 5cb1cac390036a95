"""eli5 explains classifiers as it explains scikit-learn's logistic regression."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression

import loglinear
import loglinear.eli5
from loglinear import MaxentClassifier

eli5 = pytest.importorskip("eli5", reason="eli5 is not installed: its explanations are not tested")

TEXTS = ["good film", "bad film", "good good plot", "bad acting", "fine film fine plot", "bad bad plot"]
LABELS = ["pos", "neg", "pos", "neg", "fine", "neg"]


@pytest.fixture(autouse=True)
def _registered():
    loglinear.eli5.register()


def told(explanation):
    """Return {target: {feature: weight}} of an explanation, and its probabilities."""
    assert explanation.error is None
    found = {}
    for target in explanation.targets:
        both = [*target.feature_weights.pos, *target.feature_weights.neg]
        found[str(target.target)] = {one.feature: one.weight for one in both}, target.proba
    return found


def assert_same(ours, theirs, names=None):
    ours, theirs = told(ours), told(theirs)
    assert ours.keys() == theirs.keys()
    for target, (weights, proba) in theirs.items():
        assert ours[target][0] == pytest.approx(weights, abs=1e-3)
        assert ours[target][1] == (None if proba is None else pytest.approx(proba, abs=1e-3))


@pytest.mark.parametrize("labels", [LABELS, [label == "neg" for label in LABELS]])
def test_texts_without_a_vectoriser(labels):
    vec = CountVectorizer().fit(TEXTS)
    theirs = LogisticRegression(tol=1e-10, max_iter=10_000).fit(vec.transform(TEXTS), labels)
    ours = MaxentClassifier(tolerance=1e-12).fit(TEXTS, labels)
    assert_same(eli5.explain_weights(ours), eli5.explain_weights(theirs, vec=vec))
    for text in [*TEXTS, "good unknown"]:
        assert_same(eli5.explain_prediction(ours, text), eli5.explain_prediction(theirs, text, vec=vec))
    assert "good" in eli5.format_as_text(eli5.explain_weights(ours, top=3))
    assert "good" in eli5.format_as_text(eli5.explain_prediction(ours, TEXTS[0], top=3))


def test_a_matrix_a_vectoriser_and_sparse_weights():
    X, y = load_iris(return_X_y=True)
    theirs = LogisticRegression(tol=1e-10, max_iter=100_000).fit(X, y)
    ours = MaxentClassifier(tolerance=1e-12).fit(X, y)
    for _ in range(2):
        assert_same(eli5.explain_weights(ours), eli5.explain_weights(theirs))
        assert_same(eli5.explain_prediction(ours, X[70]), eli5.explain_prediction(theirs, X[70]))
        ours.sparsify()
    vec = CountVectorizer().fit(TEXTS)
    theirs = LogisticRegression(tol=1e-10, max_iter=10_000).fit(vec.transform(TEXTS), LABELS)
    ours = MaxentClassifier(tolerance=1e-12).fit(vec.transform(TEXTS), LABELS)
    assert_same(eli5.explain_prediction(ours, TEXTS[0], vec=vec), eli5.explain_prediction(theirs, TEXTS[0], vec=vec))


def test_a_loaded_model_and_several_labels(tmp_path):
    model = MaxentClassifier().fit(TEXTS, [["a"], ["b"], ["a", "b"], [], ["a"], ["b"]])
    model.save(tmp_path / "m.ll")
    from loglinear.models import load_predictor

    found = told(eli5.explain_prediction(load_predictor(tmp_path / "m.ll"), "good plot"))
    np.testing.assert_allclose([found["a"][1], found["b"][1]], model.predict_proba(["good plot"])[0])
    assert found["a"][0]["good"] == pytest.approx(model.coef_[0, model.feature_names().index("good")])


def test_a_crf_in_the_place_of_sklearn_crfsuite_s():
    """In a process of its own: eli5 looks for the package when it is imported."""
    program = """
from loglinear import crfsuite
crfsuite.install()
import eli5
X, y = [[{"w": "a"}, {"w": "b"}]] * 3, [["A", "B"]] * 3
crf = crfsuite.CRF(c1=0.01, c2=0.1, all_possible_transitions=True).fit(X, y)
told = eli5.explain_weights(crf, top=1, targets=["B", "A"])
assert told.transition_features.class_names == ["B", "A"]
assert [[f.feature for f in t.feature_weights.pos] for t in told.targets] == [["w:b"], ["w:a"]]
for at, b in enumerate("BA"):
    for to, a in enumerate("BA"):
        assert abs(told.transition_features.coef[at, to] - crf.transition_features_.get((b, a), 0)) < 1e-9
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
