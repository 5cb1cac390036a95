"""The most confident mistakes of classifiers, and the features that decided them."""

import math

import numpy as np
import pytest

from loglinear import MaxentClassifier

TEXTS = ["good fine fun", "good fun", "fine fun", "bad sad", "bad dull sad", "dull sad", "odd queer", "odd"] * 3
LABELS = ["pos", "pos", "pos", "neg", "neg", "neg", "other", "other"] * 3
TRICKY = ["good fun", "bad sad good", "odd", "dull sad"]
GOLD = ["neg", "pos", "other", "never seen"]


@pytest.mark.parametrize("labels", [LABELS, ["other" if label == "neg" else label for label in LABELS]])
def test_the_most_confident_mistakes_come_first(labels):
    model = MaxentClassifier(verbose=0).fit(TEXTS, labels)
    assert len(model.classes_) in (2, 3)
    gold = [label if label in labels else "other" for label in GOLD[:3]]
    found = model.evaluate(TRICKY[:3], gold, errors=10)["errors"]
    p = dict(zip(TRICKY, model.predict_proba(TRICKY)))
    assert [m["text"] for m in found] == sorted(TRICKY[:2], key=lambda text: -p[text].max())
    for mistake in found:
        shares = dict(zip(model.classes_, p[mistake["text"]]))
        assert mistake["probability"] == pytest.approx(shares[mistake["predicted"]])
        assert mistake["gold_probability"] == pytest.approx(shares[mistake["gold"]])
        # What decided adds up to the difference of the two labels.
        apart = math.log(mistake["probability"] / mistake["gold_probability"])
        assert sum(push["contribution"] for push in mistake["pushes"]) == pytest.approx(apart)
        sizes = [abs(push["contribution"]) for push in mistake["pushes"]]
        assert sizes == sorted(sizes, reverse=True)
    (first,) = (m for m in found if m["text"] == "good fun")
    assert {push["feature"] for push in first["pushes"]} == {"good", "fun", "(intercept)"}
    assert len(model.evaluate(TRICKY[:3], gold, errors=1)["errors"]) == 1
    assert "errors" not in model.evaluate(TRICKY[:3], gold)


def test_a_label_never_seen_has_no_weights():
    model = MaxentClassifier(verbose=0).fit(TEXTS, LABELS)
    with pytest.raises(ValueError, match="must not be negative, not -1"):
        model.evaluate(TRICKY, GOLD, errors=-1)
    mistake = model.evaluate(TRICKY[3:], GOLD[3:], errors=1)["errors"][0]
    assert (mistake["gold"], mistake["gold_probability"], mistake["predicted"]) == ("never seen", 0.0, "neg")
    assert {push["feature"] for push in mistake["pushes"]} == {"dull", "sad"}


def test_numbered_features_and_tokens():
    X, y = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.1]]), np.array([0, 1, 0])
    model = MaxentClassifier(strength=0.01, verbose=0).fit(X, y)
    (mistake,) = model.evaluate(X, np.array([0, 1, 1]), errors=5)["errors"]
    assert (mistake["example"], mistake["text"], mistake["gold"], mistake["predicted"]) == (2, None, "1", "0")
    assert {push["feature"] for push in mistake["pushes"]} <= {"x0", "x1", "(intercept)"}
    model = MaxentClassifier(verbose=0).fit([["a", "b"], ["c"]], ["x", "y"])
    (mistake,) = model.evaluate([["a", "b"]], ["y"], errors=5)["errors"]
    assert mistake["text"] == "a b"


def test_explanations_against_another_class():
    model = MaxentClassifier(verbose=0).fit(TEXTS, LABELS)
    explained = model.explain("bad sad good")
    for label, p in explained.probabilities.items():
        apart = math.log(explained.probabilities[explained.predicted] / p)
        assert sum(push.contribution for push in explained.against(label)) == pytest.approx(apart)
    with pytest.raises(ValueError, match="'none' is not one of the classes: 'neg', 'other', 'pos'"):
        explained.against("none")
    told = explained.to_dict(1)
    assert told["predicted"] == explained.predicted
    assert told["classes"]["pos"]["pushes"] == [explained.pushes["pos"][0]._asdict()]
