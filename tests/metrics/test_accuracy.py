"""Against scikit-learn, on random labels and on the corners."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import metrics as theirs

from loglinear import MaxentClassifier
from loglinear.metrics.accuracy import accuracy, log_loss, score_labels
from loglinear.metrics.evaluation import evaluate_classifier, judge


@pytest.mark.parametrize("n_classes", [2, 3, 12])
@pytest.mark.parametrize("seed", range(3))
def test_scores_agree_with_scikit_learn(n_classes: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = rng.integers(n_classes, size=60).astype(str)
    predicted = np.where(rng.random(60) < 0.5, truth, rng.integers(n_classes + 2, size=60).astype(str))
    scores = score_labels(truth, predicted)
    labels = [c.label for c in scores.classes]
    expected = theirs.precision_recall_fscore_support(truth, predicted, labels=labels, zero_division=0)
    ours = np.array([(c.precision, c.recall, c.f1, c.support) for c in scores.classes]).T
    np.testing.assert_allclose(ours, expected)
    assert scores.accuracy == accuracy(truth, predicted) == pytest.approx(theirs.accuracy_score(truth, predicted))
    assert scores.macro_f1 == pytest.approx(theirs.f1_score(truth, predicted, average="macro", zero_division=0))
    assert scores.micro_f1 == pytest.approx(theirs.f1_score(truth, predicted, average="micro"))
    table = theirs.confusion_matrix(truth, predicted, labels=labels)
    for i, a in enumerate(labels):
        for j, b in enumerate(labels):
            assert scores.confusion.get(a, {}).get(b, 0) == table[i, j]


def test_log_loss_agrees_with_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(4), size=50)
    truth = rng.integers(4, size=50)
    assert log_loss(truth, np.log(p), range(4)) == pytest.approx(theirs.log_loss(truth, p, labels=range(4)))


def test_refusals() -> None:
    with pytest.raises(ValueError, match="no examples"):
        accuracy([], [])
    with pytest.raises(ValueError, match="one label and one prediction"):
        score_labels(["a"], ["a", "b"])
    with pytest.raises(ValueError, match="'c' is not one of the classes"):
        log_loss(["c"], [[0.0, 0.0]], ["a", "b"])
    with pytest.raises(ValueError, match="shape"):
        log_loss(["a"], [[0.0]], ["a", "b"])


def test_evaluation_counts_unseen_labels_as_errors() -> None:
    X = np.array([[0.0], [1.0], [0.0], [1.0]])
    model = MaxentClassifier().fit(X, [0, 1, 0, 1])
    found = evaluate_classifier(judge(model, X, ["0", "1", "7", "7"]))
    assert found.scores.accuracy == 0.5
    assert found.unseen == {"7": 2}
    assert found.log_loss == pytest.approx(theirs.log_loss([0, 1], model.predict_proba(X[:2])))
    assert evaluate_classifier(judge(model, X, [0, 1, 0, 1])).unseen == {}
