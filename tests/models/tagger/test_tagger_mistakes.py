"""The most confident mistakes of taggers, and the attributes that decided them."""

import numpy as np
import pytest
from taggers import ESTIMATORS, PAIRS, TEMPLATES, fitted, toy

from loglinear import Tagger


def spoilt():
    """Sequences of the training data with two wrong gold labels."""
    X, y = toy()
    y = [list(labels) for labels in y]
    classes = sorted({label for labels in y for label in labels})
    for i, t in ((1, 0), (4, 0)):
        y[i][t] = next(label for label in classes if label != y[i][t])
    return X, y


@pytest.mark.parametrize("templates", [TEMPLATES, PAIRS])
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_mistakes_are_told_with_what_decided_them(estimator, templates):
    X, y = spoilt()
    model = Tagger(estimator, templates, verbose=0).fit(*toy())
    best, marginals = model.predict(X), model.predict_marginals(X)
    expected = [(i, t) for i, labels in enumerate(best) for t, label in enumerate(labels) if label != y[i][t]]
    expected.sort(key=lambda place: -marginals[place[0]][place[1]][best[place[0]][place[1]]])
    found = model.evaluate(X, y, errors=1000)["errors"]
    assert len(found) == len(expected) >= 2
    shares = [marginals[i][t][best[i][t]] for i, t in expected]
    assert [m["probability"] for m in found] == pytest.approx(shares)
    for mistake in found:
        i, t = mistake["sequence"], mistake["token"]
        assert (mistake["gold"], mistake["predicted"]) == (y[i][t], best[i][t])
        assert mistake["words"] == [token[0] for token in X[i]]
        assert mistake["gold_probability"] == pytest.approx(marginals[i][t][y[i][t]])
        # What decided adds up to the difference of the labelling and that with the gold label.
        other = [*best[i][:t], y[i][t], *best[i][t + 1 :]]
        apart = model.log_probability([X[i], X[i]], [best[i], other])
        if len(mistake["pushes"]) < 10 and np.isfinite(apart).all():
            assert sum(push["contribution"] for push in mistake["pushes"]) == pytest.approx(apart[0] - apart[1])
    assert model.evaluate(X, y, errors=1)["errors"] == found[:1]


def test_mistakes_under_a_constraint_and_with_labels_never_seen():
    X = [[("a",), ("b",)], [("b",), ("a",)]] * 3
    y = [["A", "B"], ["C", "A"]] * 3
    model = Tagger(templates="U:%x[0,0]\nB\n", strength=0.1, verbose=0).fit(X, y)
    (mistake,) = model.evaluate(X[:1], [["A", "NEW"]], errors=3)["errors"]
    assert (mistake["gold"], mistake["gold_probability"]) == ("NEW", 0.0)
    assert [push["feature"] for push in mistake["pushes"]] == ["U:b"]
    (mistake,) = model.evaluate(X[:1], [["C", "B"]], errors=3, constraint=[("C", "B")])["errors"]
    assert [push["feature"] for push in mistake["pushes"]] == ["U:a"]


def test_mistakes_of_attributes_have_no_words():
    X, y = [[{"w": "a"}, {"w": "b"}]] * 3, [["A", "B"]] * 3
    model = Tagger(verbose=0).fit(X, y)
    (mistake,) = model.evaluate(X[:1], [["A", "A"]], errors=3)["errors"]
    assert (mistake["words"], mistake["token"]) == (None, 1)
    assert mistake["pushes"][0]["feature"] in ("w:b", "(labels around it)")


def test_names_of_single_attributes():
    for model in (fitted("crf"), Tagger(templates=TEMPLATES, hash_bits=6, verbose=0).fit(*toy())):
        assert [model.attribute_name(a) for a in range(model.reader_.n_attributes)] == model.attribute_names()
    model = Tagger(hash_bits=6, verbose=0).fit([[{"w": "a"}, {"w": "b"}]], [["A", "B"]])
    assert [model.attribute_name(a) for a in range(model.reader_.n_attributes)] == model.attribute_names()
