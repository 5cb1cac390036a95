import copy
import pickle

import numpy as np
import pytest
from sklearn.model_selection import KFold, train_test_split
from sklearn.utils import _safe_indexing

from loglinear.features.columns import Columns
from loglinear.features.vocabulary import Vocabulary
from loglinear.formats.conll import parse_conll

SENTENCES = [[("the", "DT"), ("dog", "NN")], [("runs", "VB")], [], [("the", "DT"), ("end", "NN"), (".", ".")]]


@pytest.fixture
def columns():
    return Columns.from_lists(SENTENCES)


def test_is_a_sequence_of_sequences(columns):
    assert len(columns) == 4
    assert (columns.n_tokens, columns.n_columns) == (6, 2)
    assert list(columns) == SENTENCES
    assert [columns[i] for i in range(4)] == SENTENCES
    assert columns[-1] == SENTENCES[-1]
    with pytest.raises(IndexError):
        columns[4]
    assert columns.column(1) == [["DT", "NN"], ["VB"], [], ["DT", "NN", "."]]
    assert repr(columns) == "Columns(4 sequences, 6 tokens, 2 columns)"


def test_from_what():
    assert list(Columns.from_lists([["a", "b"], ["a"]])) == [[("a",), ("b",)], [("a",)]]
    assert list(Columns.from_lists(s for s in SENTENCES)) == SENTENCES
    assert list(Columns.from_conll(parse_conll(b"a X\nb Y\n\na Z\n"))) == [[("a", "X"), ("b", "Y")], [("a", "Z")]]
    empty = Columns.from_lists([])
    assert (len(empty), empty.n_tokens, empty.n_columns) == (0, 0, 0)
    same = Columns.from_lists(SENTENCES)
    assert Columns.from_lists(same) is same


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        (slice(1, 3), [1, 2]),
        (slice(None, None, -1), [3, 2, 1, 0]),
        ([3, 0], [3, 0]),
        (np.array([-1, 0]), [3, 0]),
        (np.array([True, False, False, True]), [0, 3]),
        ([], []),
    ],
)
def test_choosing(columns, key, expected):
    chosen = columns[key]
    assert isinstance(chosen, Columns)
    assert list(chosen) == [SENTENCES[i] for i in expected]
    assert chosen.vocabularies == columns.vocabularies


def test_scikit_learn_chooses(columns):
    chosen = _safe_indexing(columns, np.array([2, 1]))
    assert isinstance(chosen, Columns)
    assert list(chosen) == [SENTENCES[2], SENTENCES[1]]
    train, test = train_test_split(columns, test_size=1, random_state=0)
    assert isinstance(train, Columns)
    assert len(train) == 3
    assert len(test) == 1
    assert [len(a) for a, _ in KFold(2).split(columns)] == [2, 2]


def test_without(columns):
    assert next(iter(columns.without(0))) == [("DT",), ("NN",)]
    assert next(iter(columns.without(-1))) == [("the",), ("dog",)]
    with pytest.raises(IndexError):
        columns.without(2)


def test_copies(columns):
    for again in (copy.deepcopy(columns), pickle.loads(pickle.dumps(columns))):
        assert again == columns
    assert columns != columns[:2]
    assert columns != 3


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        ("abc", TypeError, "not one string"),
        (["abc"], TypeError, "sequence 0 is str, not a list of tokens"),
        ([[("a", "b")], [3]], TypeError, "sequence 1, token 0 is int, not a string or a tuple of strings"),
        ([[("a", "b"), ("a",)]], ValueError, "sequence 0, token 1 has 1 columns where the first token has 2"),
        ([[("a", "b"), "a"]], ValueError, "sequence 0, token 1 has 1 columns"),
        ([[()]], ValueError, "sequence 0, token 0 has 0 columns"),
        ([[("a", 3)]], TypeError, "sequence 0, token 0 holds int, not a string"),
        ([3], TypeError, "sequence 0 is int"),
    ],
)
def test_refusals(X, error, message):
    with pytest.raises(error, match=message):
        Columns.from_lists(X)


@pytest.mark.parametrize(
    ("ptr", "ids", "message"),
    [
        ([0, 2], [0], "column 0 has 1 values for 2 tokens"),
        ([0, 1], [5], "numbers outside its vocabulary of 2"),
        ([0, 1], [-1], "numbers outside its vocabulary"),
        ([0, 2, 1], [0], "never decrease"),
        ([1, 2], [0], "begin at 0"),
    ],
)
def test_arrays_are_checked(ptr, ids, message):
    with pytest.raises(ValueError, match=message):
        Columns(np.array(ptr), [np.array(ids)], [Vocabulary.from_strings(["a", "b"])])
    with pytest.raises(ValueError, match="1 columns, but 0 vocabularies"):
        Columns(np.array([0, 1]), [np.array([0])], [])


@pytest.mark.parametrize("key", [[0.5], "a", [9], [True]])
def test_bad_choices(columns, key):
    with pytest.raises((TypeError, IndexError)):
        columns[key]
