"""Dicts, tokens, and what all featurisers have in common."""

import json
from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.feature_extraction import DictVectorizer

from loglinear.errors import ModelFileError
from loglinear.features import FEATURISERS
from loglinear.features.dicts import DictFeatures
from loglinear.features.text.words import WordNgrams
from loglinear.features.tokens import TokenFeatures

DICTS = [{"b": 2, "a": "x", "flag": True}, {}, {"a": "y", "b": -0.5, "a=y": 3.0}, {"flag": False, "n": np.float32(0.5)}]
TOKENS = [["the", "cat", "the"], (), ["a", "é"]]
TEXTS = ["the cat the", "", "a é"]
CASES = [
    (WordNgrams((1, 2), lowercase=False, min_count=1), TEXTS),
    (DictFeatures(), DICTS),
    (TokenFeatures(), TOKENS),
]


def dense(rows, n_features):
    indptr, indices, values = rows
    assert (indptr.dtype, indices.dtype, values.dtype) == (np.int64, np.int32, np.float64)
    matrix = csr_matrix((values, indices, indptr), shape=(len(indptr) - 1, n_features))
    assert matrix.has_canonical_format
    return matrix.toarray()


def test_dicts_follow_scikit_learn():
    ours, theirs = DictFeatures(), DictVectorizer(sparse=False)
    rows = dense(ours.fit_transform(DICTS), 5)
    assert np.array_equal(rows, theirs.fit_transform(DICTS))
    assert ours.names() == theirs.get_feature_names_out().tolist()
    new = [{"a": "z", "b": 4, "zzz": 1}, {"a": "x"}]
    assert np.array_equal(dense(ours.transform(new), 5), theirs.transform(new))


def test_tokens():
    featuriser = TokenFeatures()
    assert dense(featuriser.fit_transform(TOKENS), 4).tolist() == [[0, 1, 2, 0], [0, 0, 0, 0], [1, 0, 0, 1]]
    assert featuriser.names() == ["a", "cat", "the", "é"]
    assert dense(featuriser.transform([["é", "new", "é"]]), 4).tolist() == [[0, 0, 0, 2]]


@pytest.mark.parametrize(
    ("example", "error", "message"),
    [
        ({"k": None}, TypeError, "example 1: feature 'k' is NoneType; a value is a number, a boolean or a string"),
        ({"k": {"n": 1}}, TypeError, "example 1: feature 'k' is dict"),
        ({"k": [1]}, TypeError, "example 1: feature 'k' is list"),
        ({"k": 1j}, TypeError, "example 1: feature 'k' is complex"),
        ({"k": float("nan")}, ValueError, "example 1: feature 'k' is not a finite number"),
        ({"k": -np.inf}, ValueError, "example 1: feature 'k' is not a finite number"),
        ({"k": 10**400}, ValueError, "example 1: feature 'k' is not a finite number"),
        ({3: 1}, TypeError, "example 1: feature name 3 is int, not a string"),
        (["k"], TypeError, "example 1 is list, not a dict of features"),
    ],
)
def test_dict_refusals(example, error, message):
    featuriser = DictFeatures()
    with pytest.raises(error, match=message):
        featuriser.fit_transform([{}, example])
    featuriser.fit_transform([{"half": Fraction(1, 2)}])
    with pytest.raises(error, match=message):
        featuriser.transform([{}, example])


def test_token_refusals():
    with pytest.raises(TypeError, match="example 1 is str, not a list of tokens"):
        TokenFeatures().fit_transform([[], "abc"])
    with pytest.raises(TypeError, match="example 0: token 1 is int, not a string"):
        TokenFeatures().fit_transform([["a", 3]])


@pytest.mark.parametrize(("featuriser", "examples"), CASES, ids=lambda x: getattr(x, "kind", ""))
def test_save_load_take(featuriser, examples):
    rows = dense(featuriser.fit_transform(examples), len(featuriser.vocabulary))
    settings, arrays = featuriser.to_arrays()
    again = FEATURISERS[featuriser.kind].from_arrays(json.loads(json.dumps(settings)), arrays)
    assert type(again) is type(featuriser)
    assert again.settings() == settings
    assert np.array_equal(dense(again.transform(examples), rows.shape[1]), rows)

    kept = np.array([2, 0])
    smaller = again.take(kept)
    assert type(smaller) is type(featuriser)
    assert smaller.names() == [again.names()[i] for i in kept]
    assert np.array_equal(dense(smaller.transform(examples), 2), rows[:, kept])
    assert len(again.vocabulary) == rows.shape[1]


@pytest.mark.parametrize("kind", sorted({*FEATURISERS} - {"hashed"}))  # which has no names
def test_damaged_models_are_refused(kind):
    cls = FEATURISERS[kind]
    arrays = {"vocabulary_blob": np.zeros(1, np.uint8), "vocabulary_offsets": np.array([0, 1])}
    with pytest.raises(ModelFileError, match=f"featuriser '{kind}': bad settings"):
        cls.from_arrays({"colour": 1}, arrays)
    with pytest.raises(ModelFileError, match=f"featuriser '{kind}': array 'vocabulary_offsets' is missing"):
        cls.from_arrays({}, {"vocabulary_blob": arrays["vocabulary_blob"]})
    with pytest.raises(ModelFileError, match="must start at 0 and end at the number of bytes"):
        cls.from_arrays({}, {**arrays, "vocabulary_offsets": np.array([0, 9])})


def test_damaged_settings_of_words():
    with pytest.raises(ModelFileError, match="featuriser 'words': bad settings: ngrams must be"):
        WordNgrams.from_arrays({"ngrams": [0]}, {})
    with pytest.raises(ModelFileError, match="featuriser 'words': bad settings"):
        WordNgrams.from_arrays({"ngrams": ["a", 1]}, {})


@pytest.mark.parametrize("cls", [DictFeatures, TokenFeatures])
def test_nothing_to_fit(cls):
    featuriser = cls()
    assert dense(featuriser.fit_transform([]), 0).shape == (0, 0)
    empty = {} if cls is DictFeatures else []
    assert dense(featuriser.fit_transform([empty, empty]), 0).shape == (2, 0)
    assert featuriser.names() == []
