"""Labels of sequences to numbers."""

import numpy as np
import pytest

from loglinear.features.sequences import FlatLabels
from loglinear.models.tagger.labels import allowed_scores, encode_labels

PTR = np.array([0, 2, 2, 3], dtype=np.int64)


def test_there_and_back():
    y = [["b", "a"], [], ["c"]]
    coded = encode_labels(y, PTR)
    assert coded.classes == ["a", "b", "c"]
    assert coded.numbers.tolist() == [1, 0, 2]
    assert coded.numbers.dtype == np.int32
    assert coded.allowed is None
    assert FlatLabels(coded.numbers, PTR, coded.classes) == y
    assert encode_labels((tuple(labels) for labels in y), PTR).numbers.tolist() == [1, 0, 2]
    assert encode_labels([np.array(["b", "a"]), np.array([]), ["c"]], PTR).numbers.tolist() == [1, 0, 2]
    assert all(type(label) is str for label in encode_labels([np.array(["b", "a"]), [], ["c"]], PTR).classes)
    empty = encode_labels([], np.zeros(1, dtype=np.int64))
    assert (empty.numbers.size, empty.classes) == (0, [])


def test_known_labels_keep_their_numbers():
    coded = encode_labels([["b", "a"], [], ["c"]], PTR, ["c", "z"])
    assert coded.classes == ["c", "z", "a", "b"]
    assert coded.numbers.tolist() == [3, 2, 0]


def test_numbers_of_labels_stay_numbers():
    flat = FlatLabels(np.array([2, 1, 0], dtype=np.int32), PTR, ["c", "a", "b", "never"])
    for classes in ([], ["c", "z"]):
        coded, expected = encode_labels(flat, PTR, classes), encode_labels(list(flat), PTR, classes)
        assert coded.classes == expected.classes
        np.testing.assert_array_equal(coded.numbers, expected.numbers)
        assert coded.numbers.dtype == np.int32
        assert coded.allowed is None
    with pytest.raises(ValueError, match=r"label 'b' \(sequence 0, token 0\) was not seen"):
        encode_labels(flat, PTR, ["a", "c"], grow=False)
    with pytest.raises(ValueError, match="sequence 1 has 1 tokens but 0 labels"):
        encode_labels(flat, np.array([0, 2, 3]))
    with pytest.raises(ValueError, match="4 sequences but labels for 3"):
        encode_labels(flat, np.array([0, 2, 2, 3, 3]))


def test_unknown_and_partly_known_labels():
    coded = encode_labels([[None, {"x", "a"}], [], [["y"]]], PTR)
    assert coded.classes == ["a", "x", "y"]
    assert coded.numbers.tolist() == [-1, -1, -1]
    assert coded.allowed.tolist() == [[1, 1, 1], [1, 1, 0], [0, 0, 1]]
    assert encode_labels([[None, "a"], [], [None]], PTR).allowed is None


@pytest.mark.parametrize(
    ("y", "error", "match"),
    [
        ([["a"], [], ["b"]], ValueError, "sequence 0 has 2 tokens but 1 labels"),
        ([["a", "b"], ["c"], ["b"]], ValueError, "sequence 1 has 0 tokens but 1 labels"),
        ([["a", "b"], []], ValueError, "3 sequences but labels for 2"),
        ([["a", "b"], [], ["c"], []], ValueError, "3 sequences but labels for 4"),
        (["ab", [], ["c"]], ValueError, "sequence 0 has 2 tokens but 2 labels"),
        ([None, [], ["c"]], ValueError, "sequence 0 has 2 tokens but no labels"),
        ([["a", "b"], [], [3.5]], TypeError, "sequence 2, token 0: a label must be text"),
        ([["a", "b"], [], [3]], TypeError, "sequence 2, token 0: the label 3 is int, but others are str"),
        ([["a", b"b"], [], ["c"]], TypeError, "sequence 0, token 1"),
        ([["a", float("nan")], [], ["c"]], TypeError, "sequence 0, token 1"),
        ([["a", ()], [], ["c"]], TypeError, "non-empty collection"),
        ([["a", {"b": 1}], [], ["c"]], TypeError, "sequence 0, token 1"),
        ([["a", ["b", None]], [], ["c"]], TypeError, "sequence 0, token 1"),
    ],
)
def test_refusals(y, error, match):
    with pytest.raises(error, match=match):
        encode_labels(y, PTR)


def test_limits_as_scores():
    scores = allowed_scores([["a", None], [], [{"b", "c"}]], PTR, ["a", "b", "c"])
    low = -np.inf
    assert scores.tolist() == [[0.0, low, low], [0.0, 0.0, 0.0], [low, 0.0, 0.0]]
    with pytest.raises(ValueError, match=r"label 'q' \(sequence 0, token 1\) was not seen .* known: a, b"):
        allowed_scores([["a", "q"], [], [None]], PTR, ["a", "b"])
    with pytest.raises(ValueError, match=r"label 'q' \(sequence 2, token 0\)"):
        allowed_scores([["a", None], [], [{"q", "a"}]], PTR, ["a", "b"])
    many = [f"l{k}" for k in range(30)]
    with pytest.raises(ValueError, match=r"l19 \.\.\."):
        allowed_scores([["q", None], [], [None]], PTR, many)
