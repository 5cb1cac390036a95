"""Labels that are numbers, and tokens that need templates."""

import json
import pickle

import numpy as np
import pytest
from commands import figures, invoke
from sklearn.base import clone

import loglinear
from loglinear import Tagger
from loglinear.models import load_predictor

TEMPLATES = "U:%x[0,0]\nB\n"
X = [[("a",), ("b",), ("c",)], [("b",), ("a",)], [("c",), ("c",), ("a",)]]
Y = [[2, 10, 0], [10, 2], [0, 0, 2]]
TEXT = [[str(label) for label in labels] for labels in Y]
KINDS = {
    "int": Y,
    "numpy": [np.array(labels) for labels in Y],
    "small": [np.array(labels, dtype=np.uint8) for labels in Y],
}


@pytest.fixture(scope="module", params=KINDS)
def tagger(request):
    return Tagger(templates=TEMPLATES, strength=0.1).fit(X, KINDS[request.param])


def test_numbers_as_labels_are_predicted_as_numbers(tagger):
    assert tagger.classes_ == [0, 2, 10]
    predicted = tagger.predict(X)
    assert predicted == Y
    assert {type(label) for labels in predicted for label in labels} == {int}
    assert tagger.scheme_ is None
    same = Tagger(templates=TEMPLATES, strength=0.1).fit(X, TEXT)
    assert tagger.objective_ == pytest.approx(same.objective_, rel=1e-9)
    assert tagger.score(X, Y) == same.score(X, TEXT) == 1.0
    np.testing.assert_allclose(tagger.log_probability(X, Y), same.log_probability(X, TEXT), rtol=1e-6)
    assert tagger.predict_nbest(X[:1], 1)[0][0][0] == [2, 10, 0]
    assert set(tagger.predict_marginals(X[:1])[0][0]) == {0, 2, 10}
    assert {type(label) for labels in tagger.sample(X, 1)[0] for label in labels} == {int}
    assert [token.label for token in tagger.explain(X[0]).tokens] == [2, 10, 0]
    assert (2, 10) in tagger.transition_features_


def test_numbers_as_labels_are_saved_and_loaded(tagger, tmp_path):
    tagger.save(tmp_path / "m.ll")
    files = (loglinear.load(tmp_path / "m.ll"), load_predictor(tmp_path / "m.ll"))
    for loaded in (*files, pickle.loads(pickle.dumps(tagger))):
        assert loaded.classes_ == [0, 2, 10]
        assert [type(label) for label in loaded.classes_] == [int] * 3
        assert loaded.predict(X) == Y
        assert loaded.evaluate(X, Y)["accuracy"] == 1.0


def test_truths_as_labels(tmp_path):
    y = [[label == 2 for label in labels] for labels in Y]
    tagger = Tagger(templates=TEMPLATES, strength=0.1).fit(X, y)
    tagger.save(tmp_path / "m.ll")
    loaded = loglinear.load(tmp_path / "m.ll")
    assert tagger.classes_ == loaded.classes_ == [False, True]
    assert loaded.predict(X) == y
    assert loaded.predict(X)[0][0] is True
    assert Tagger(templates=TEMPLATES).fit(X, [np.array(labels) for labels in y]).classes_ == [False, True]


def test_limits_and_partial_labels_are_numbers_too():
    tagger = Tagger(templates=TEMPLATES, strength=0.1, constraint=[(2, 10)]).fit(X, Y)
    assert tagger.predict(X)[0] != Y[0]
    assert tagger.predict(X[:1], allowed=[[0, {2, 10}, None]])[0][0] == 0
    partly = Tagger(templates=TEMPLATES, strength=0.1).fit(X, [[2, None, {0, 10}], [10, 2], [0, 0, 2]])
    assert partly.classes_ == [0, 2, 10]
    more = Tagger.from_pretrained(tagger).fit([[("d",)]], [[7]])
    assert more.classes_ == [0, 2, 10, 7]
    assert clone(tagger).get_params()["constraint"] == [(2, 10)]


def test_constraints_of_numbers_are_saved_and_loaded(tmp_path):
    tagger = Tagger(templates=TEMPLATES, strength=0.1, constraint=[(2, 10)]).fit(X, Y)
    tagger.save(tmp_path / "m.ll")
    loaded = loglinear.load(tmp_path / "m.ll")
    assert loaded.constraint == ((2, 10),)
    assert loaded.predict(X) == tagger.predict(X)


def test_commands_read_and_write_numbers_as_text(tmp_path):
    Tagger(templates=TEMPLATES, strength=0.1).fit(X, Y).save(tmp_path / "m.ll")
    (tmp_path / "d").write_text("a 2\nb 10\nc 0\n\nb 10\na 7\n")
    found = figures(invoke("tag", "eval", tmp_path / "m.ll", tmp_path / "d", "--json"))
    assert (found["accuracy"], found["unseen_labels"]) == (4 / 5, {"7": 1})
    assert invoke("tag", "eval", tmp_path / "m.ll", tmp_path / "d").exit_code == 0
    (tmp_path / "x").write_text("a\nb\n")
    assert invoke("tag", "predict", tmp_path / "m.ll", tmp_path / "x").stdout == "a 2\nb 10\n\n"
    assert invoke("tag", "predict", tmp_path / "m.ll", tmp_path / "x", "--nbest", 1).stdout.splitlines()[1] == "a 2"
    done = invoke("tag", "predict", tmp_path / "m.ll", tmp_path / "x", "--json", "--marginals")
    assert json.loads(done.stdout)["labels"] == [2, 10]
    (tmp_path / "c").write_text("2 10\n")
    done = invoke("tag", "predict", tmp_path / "m.ll", tmp_path / "x", "--constrain", tmp_path / "c")
    assert done.stdout != "a 2\nb 10\n\n"
    assert invoke("inspect", tmp_path / "m.ll").exit_code == 0


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([[2, "x", 0], [10, 2], [0, 0, 2]], "sequence 0, token 1: the label 'x' is str, but others are int"),
        ([[2, 1.5, 0], [10, 2], [0, 0, 2]], "sequence 0, token 1: a label must be text, a whole number"),
        ([[2, {"x", 3}, 0], [10, 2], [0, 0, 2]], "sequence 0, token 1: the label 'x' is str, but others are int"),
    ],
)
def test_labels_of_several_types_are_refused(labels, message):
    with pytest.raises(TypeError, match=message):
        Tagger(templates=TEMPLATES).fit(X, labels)


def test_labels_that_are_unlike_those_of_training_are_refused(tmp_path):
    tagger = Tagger(templates=TEMPLATES).fit(X, Y)
    with pytest.raises(ValueError, match=r"label 7 \(sequence 0, token 0\) was not seen in training; known: 0, 2, 10"):
        tagger.log_probability([X[0][:1]], [[7]])
    with pytest.raises(TypeError, match="the label '2' is str, but others are int; labels are all text or all whole"):
        Tagger.from_pretrained(tagger).fit(X, TEXT)
    with pytest.raises(ValueError, match="label 0 is not of the scheme bio"):
        tagger.predict(X, constraint="bio")
    with pytest.raises(ValueError, match="follow no scheme"):
        Tagger(templates=TEMPLATES, scheme="iobes").fit(X, Y)


def test_columns_without_templates_are_refused():
    pairs = [[("the", "DT"), ("dog", "NN")]]
    said = (
        r"sequence 0, token 0 is a tuple, as tokens in columns are, and columns need templates: "
        r"Tagger\(templates='chunking'\), or another set or text of templates; attributes would be a list of strings"
    )
    with pytest.raises(TypeError, match=said):
        Tagger().fit(pairs, [["D", "N"]])
    tagger = Tagger().fit([[["the", "DT"], ["dog", "NN"]]], [["D", "N"]])
    assert tagger.attribute_names() == ["the", "DT", "dog", "NN"]
    with pytest.raises(TypeError, match="columns need templates"):
        tagger.predict(pairs)
