"""Several labels per example: scikit-learn's one classifier per label, in every form that labels come in."""

from __future__ import annotations

import json
import subprocess
import sys
import threading

import numpy as np
import pytest
from commands import invoke
from peak import PEAK
from scipy import sparse
from sklearn.datasets import make_multilabel_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, log_loss
from sklearn.multiclass import OneVsRestClassifier

import loglinear
from loglinear import MaxentClassifier
from loglinear.models import load_predictor
from loglinear.models.classifier.multilabel import MultilabelProblem

X, Y = make_multilabel_classification(150, 12, n_classes=4, random_state=0)
NAMES = np.array(["earn", "grain", "oil", "trade"])
SETS = [set(NAMES[row.astype(bool)].tolist()) for row in Y]
TEXTS = ["wheat and corn", "oil prices", "corn oil", "nothing", "wheat prices", "oil and wheat"]
TOPICS = ["grain", "oil,prices", "grain,oil", "", "grain,prices", "grain,oil"]


def theirs(**settings):
    return OneVsRestClassifier(LogisticRegression(tol=1e-10, max_iter=10_000, **settings)).fit(X, Y)


@pytest.mark.parametrize("rows", [X, sparse.csr_matrix(X)])
@pytest.mark.parametrize("settings", [{}, {"class_weight": "balanced"}, {"fit_intercept": False}])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_weights_are_those_of_one_classifier_per_label(rows, settings, n_threads):
    want = theirs(**settings)
    model = MaxentClassifier(tolerance=1e-13, n_threads=n_threads, **settings).fit(rows, Y)
    np.testing.assert_allclose(model.coef_, np.vstack([one.coef_ for one in want.estimators_]), atol=2e-6)
    np.testing.assert_allclose(model.predict_proba(rows), want.predict_proba(X), atol=2e-6)
    np.testing.assert_array_equal(model.predict(rows), want.predict(X))
    np.testing.assert_allclose(np.exp(model.predict_log_proba(rows)), model.predict_proba(rows), atol=1e-12)
    np.testing.assert_allclose(model.decision_function(rows), want.decision_function(X), atol=2e-5)
    assert model.score(rows, Y) == want.score(X, Y)
    assert model.converged_


def test_the_objective_and_the_gap_are_those_of_the_sum():
    model = MaxentClassifier(tolerance=1e-3).fit(X, Y)
    exact = MaxentClassifier(tolerance=1e-13).fit(X, Y)
    parts = [MaxentClassifier(tolerance=1e-13).fit(X, Y[:, c]).objective_ for c in range(4)]
    assert exact.objective_ == pytest.approx(sum(parts), rel=1e-9)
    assert model.objective_ - exact.objective_ <= model.gap_ * model.objective_ + 1e-9
    assert model.gap_ <= 1e-3


def test_weights_of_examples_and_a_warm_start():
    weight = np.arange(150) % 3 + 0.5
    want = OneVsRestClassifier(LogisticRegression(tol=1e-10, max_iter=10_000))
    many = np.repeat(np.arange(150), (2 * weight).astype(int))
    want.estimator.set_params(C=0.5)
    want.fit(X[many], Y[many])
    model = MaxentClassifier(tolerance=1e-13, warm_start=True).fit(X, Y, weight)
    np.testing.assert_allclose(model.coef_, np.vstack([one.coef_ for one in want.estimators_]), atol=5e-6)
    assert model.fit(X, Y, weight).n_iter_ <= 3
    np.testing.assert_allclose(model.coef_, np.vstack([one.coef_ for one in want.estimators_]), atol=5e-6)


def plain(answer):
    return answer.toarray().tolist() if sparse.issparse(answer) else answer.tolist()


def test_every_form_comes_back(tmp_path):
    want = MaxentClassifier().fit(X, Y)
    numbers = want.predict(X)
    names = [set(NAMES[row.astype(bool)].tolist()) for row in numbers]
    for y in (Y, Y.tolist(), Y.astype(bool), sparse.csr_matrix(Y)):
        model = MaxentClassifier().fit(X, y)
        assert sparse.issparse(model.predict(X)) == sparse.issparse(y)
        assert plain(model.predict(X)) == numbers.tolist()
        assert model.score(X, y) == want.score(X, Y)
    for kind, empty in ((set, set()), (list, []), (tuple, ())):
        model = MaxentClassifier().fit(X, [kind(sorted(one)) for one in SETS])
        assert model.classes_.tolist() == NAMES.tolist()
        assert [set(one) for one in model.predict(X)] == names
        assert type(model.predict(X)[0]) is kind
        assert empty in model.predict(X)
        model.save(tmp_path / "m.ll")
        for again in (loglinear.load(tmp_path / "m.ll"), load_predictor(tmp_path / "m.ll")):
            assert again.predict(X) == model.predict(X)
            np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    texts = [",".join(sorted(one)) for one in SETS]
    model = MaxentClassifier(label_separator=",").fit(X, texts, validation=(X, texts))
    assert model.predict(X).tolist() == [",".join(sorted(one)) for one in names]
    assert model.validation_score_ == want.score(X, Y)


def test_two_labels_and_one_keep_their_columns(tmp_path):
    for n in (1, 2):
        sets = [list(NAMES[:n][row[:n].astype(bool)]) for row in Y]
        model = MaxentClassifier().fit(X, sets)
        assert model.predict_proba(X).shape == model.decision_function(X).shape == (150, n)
        assert model.coef_.shape == (n, 12)
        assert len(model.explain(X[0]).pushes) == n
        model.sparsify().save(tmp_path / "m.ll")
        assert loglinear.load(tmp_path / "m.ll").predict(X) == model.predict(X)


def test_figures_are_those_of_scikit_learn():
    model = MaxentClassifier().fit(X, SETS)
    found, predicted = model.evaluate(X, SETS), MaxentClassifier().fit(X, Y).predict(X)
    assert found["micro_f1"] == pytest.approx(f1_score(Y, predicted, average="micro"))
    assert found["macro_f1"] == pytest.approx(f1_score(Y, predicted, average="macro"))
    assert found["subset_accuracy"] == model.score(X, SETS)
    p = model.predict_proba(X)
    assert found["log_loss"] == pytest.approx(sum(log_loss(Y[:, c], p[:, c]) for c in range(4)))
    more = [one | {"gold"} for one in SETS]
    assert model.evaluate(X, more)["unseen_labels"] == {"gold": 150}
    assert model.evaluate(X, more)["micro_recall"] < found["micro_recall"]


def test_a_label_of_all_or_of_none_is_certain(tmp_path):
    constant = np.hstack([Y, np.ones((150, 1), int), np.zeros((150, 1), int)])
    with pytest.warns(UserWarning, match="example has label"):
        model = MaxentClassifier().fit(X, constant)
    np.testing.assert_array_equal(model.predict_proba(X)[:, 4:], np.tile([1.0, 0.0], (150, 1)))
    np.testing.assert_array_equal(model.predict(X)[:, :4], MaxentClassifier().fit(X, Y).predict(X))
    model.save(tmp_path / "m.ll")
    np.testing.assert_array_equal(loglinear.load(tmp_path / "m.ll").predict(X), model.predict(X))
    assert np.isfinite(model.evaluate(X, constant)["log_loss"])


def test_refusals():
    for y, message in (
        (np.where(Y, 2, 0), "must be 0 or 1"), ([[], []] * 75, "no example has a label"),
        ([["a"], *["a"] * 149], "example 1 has 'a' and no list of labels"), ([{"a", "b"}], "inconsistent numbers"),
        ([["a"], [1]] * 75, "some labels are text, and others numbers"),
    ):
        with pytest.raises(ValueError, match=message):
            MaxentClassifier().fit(X, y)
    for settings in ({"tune": "cv"}, {"class_weight": {"a": 1.0}}, {"checkpoint": "x"}):
        with pytest.raises(ValueError, match="is for one problem for all labels"):
            MaxentClassifier(**settings).fit(X, Y)
    with pytest.raises(ValueError, match="partial_fit takes one label per example"):
        MaxentClassifier().partial_fit(X, Y)
    model = MaxentClassifier().fit(X, SETS)
    with pytest.raises(ValueError, match="'gold' was not seen in training"):
        model.score(X, [{"gold"}] * 150)
    with pytest.raises(ValueError, match="give labels in the form"):
        model.evaluate(X, ["earn"] * 150)


def test_ctrl_c_ends_all_problems_and_leaves_the_model(monkeypatch):
    model = MaxentClassifier(n_threads=2).fit(X, Y)
    before, started = model.coef_, threading.Event()

    def interrupted(self, c, start, stop):
        if c == 0:
            raise KeyboardInterrupt
        started.set()
        assert stop.wait(30)

    monkeypatch.setattr(MultilabelProblem, "_solve", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:100], Y[:100])
    assert model.coef_ is before


def test_commands(tmp_path):
    lines = [f"{topics}\t{text}\n" for topics, text in zip(TOPICS, TEXTS)]
    (tmp_path / "d.tsv").write_text("".join(lines), encoding="utf-8")
    train = ("classify", "train", tmp_path / "d.tsv", "-o", tmp_path / "m.ll")
    assert "the label is empty" in invoke(*train).output
    told = json.loads(invoke(*train, "--label-separator", ",", "--strength", "0.01", "--json").stdout)
    assert told["classes"] == 3
    assert told["training_accuracy"] == 1.0
    for labelled in ((tmp_path / "d.tsv",), ("-", "--unlabelled")):
        done = invoke("classify", "predict", tmp_path / "m.ll", *labelled, stdin="".join(f"{t}\n" for t in TEXTS))
        assert done.stdout.splitlines() == TOPICS
    told = invoke("classify", "predict", tmp_path / "m.ll", "-", "--json", "--unlabelled", stdin="corn oil\n").stdout
    assert json.loads(told) == {"labels": ["grain", "oil"]}
    answer = invoke("classify", "predict", tmp_path / "m.ll", "-", "--proba", "--unlabelled", stdin="corn oil\n").stdout
    assert answer.startswith("grain,oil\tgrain=0.9")
    found = json.loads(invoke("classify", "eval", tmp_path / "m.ll", tmp_path / "d.tsv", "--json").stdout)
    assert (found["micro_f1"], found["macro_f1"], found["subset_accuracy"]) == (1.0, 1.0, 1.0)
    assert "all labels right" in invoke("classify", "eval", tmp_path / "m.ll", tmp_path / "d.tsv").stdout
    records = [{"label": topics, "text": text} for topics, text in zip(TOPICS, TEXTS)]
    (tmp_path / "d.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records), encoding="utf-8")
    again = json.loads(invoke("classify", "eval", tmp_path / "m.ll", tmp_path / "d.jsonl", "--json").stdout)
    assert again == found


MANY_CLASSES = (
    PEAK
    + """
import sys, warnings
import numpy as np
import loglinear
from loglinear import MaxentClassifier

N, HASHED = 300, 1 << 17
texts = [f"w{c} w{(c + k) % N} of" for k in (1, 2) for c in range(N)]
labels = [f"l{c}" for _ in (1, 2) for c in range(N)]
several = sys.argv[2] == "several"  # labels per example, of which all have one here
settings = {"hash_size": HASHED, "n_threads": 2, "tolerance": 1e-2, "one_vs_rest": not several}
y = [[label] for label in labels] if several else labels
warnings.simplefilter("ignore")
MaxentClassifier("l1", 0.3, **settings).fit(texts[:3], y[:3])
before = peak()
model = MaxentClassifier("l1", 0.3, **settings).fit(texts, y)
model.save(sys.argv[1])
again = loglinear.load(sys.argv[1])
assert list(again.predict(texts)) == list(model.predict(texts))
assert len(again.explain(texts[0]).pushes) == N
best = model.classes_[model.decision_function(texts).argmax(axis=1)]
print(np.mean(best == np.array(labels)), (peak() - before) / (8 * N * HASHED), model.coef_.nnz)
"""
)


@pytest.mark.parametrize("labels", ["several", "one"])
def test_many_labels_need_memory_for_the_weights_that_are_not_zero(tmp_path, labels):
    command = [sys.executable, "-c", MANY_CLASSES, str(tmp_path / "m.ll"), labels]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    right, memory, nonzero = map(float, done.stdout.split())
    assert right == 1.0
    assert nonzero < 300 * 20
    assert memory < 0.25  # of one array of all weights; half of that is one problem per thread


@pytest.mark.parametrize("y", [["a", "b", "c"] * 4, [3, 1, 2] * 4])
def test_each_class_against_the_others_is_the_binary_problem_of_that_class(y):
    texts = [f"{'pqr'[i % 3]} {'stu'[i // 4]} v" for i in range(12)]
    model = MaxentClassifier(one_vs_rest=True, tolerance=1e-10).fit(texts, y)
    assert list(model.predict(texts)) == list(y)
    for c, label in enumerate(model.classes_.tolist()):
        alone = MaxentClassifier(tolerance=1e-10).fit(texts, [one == label for one in y])
        np.testing.assert_allclose(model.decision_function(texts)[:, c], alone.decision_function(texts), atol=1e-4)
    odds = np.exp(model.decision_function(texts))
    np.testing.assert_allclose(model.predict_proba(texts), odds / odds.sum(axis=1, keepdims=True), rtol=1e-6)


def test_two_classes_are_one_problem_whichever_way():
    texts, y = ["p q", "q r", "p", "r"], ["a", "b", "a", "b"]
    one, other = (MaxentClassifier(one_vs_rest=way).fit(texts, y) for way in (True, False))
    assert one.coef_.tolist() == other.coef_.tolist()


def test_each_class_against_the_others_refuses_what_is_for_one_problem():
    texts, y = ["p", "q", "r"] * 2, ["a", "b", "c"] * 2
    with pytest.raises(ValueError, match="tune is for one problem for all labels"):
        MaxentClassifier(one_vs_rest=True, tune="cv").fit(texts, y)
    with pytest.raises(ValueError, match="leave out one_vs_rest"):
        MaxentClassifier(one_vs_rest=True).partial_fit(texts, y, classes=["a", "b", "c"])
    with pytest.raises(ValueError, match="leave out one_vs_rest"):
        MaxentClassifier(one_vs_rest=True).regularization_path(texts, y)
