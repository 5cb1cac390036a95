import copy
import json
import pickle
import tracemalloc
from collections import Counter
from fractions import Fraction
from itertools import pairwise
from types import MappingProxyType

import numpy as np
import pycrfsuite
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loglinear.errors import LoglinearError, ModelFileError
from loglinear.features import TOKEN_FEATURISERS
from loglinear.features.attributes import AttributeEncoder, AttributeFeatures, AttributeSequences
from loglinear.formats.crfsuite.data import parse_crfsuite

DICTS = [
    [{"w": "dog", "n": 2.5, "flag": True, "off": False}, {"f": ["a", "b"], "g": {"a": 0.5, "b": {"c": "x"}}}],
    [],
    [{b"w": b"d\xc3\xa9", "s": {"z", "y"}, "half": Fraction(1, 2), "np": np.float32(3)}],
]
FLAT = [
    [("w:dog", 1), ("n", 2.5), ("flag", 1), ("off", 0)],
    [("f:a", 1), ("f:b", 1), ("g:a", 0.5), ("g:b:c:x", 1)],
    [("w:dé", 1), ("s:y", 1), ("s:z", 1), ("half", 0.5), ("np", 3)],
]
LISTS = [[["a", "b"], ("c", "a")], [], [["b", b"d"], set()]]


def as_rows(rows, names):
    assert (rows.indptr.dtype, rows.indices.dtype) == (np.int64, np.int32)
    values = np.ones(rows.indices.size) if rows.values is None else rows.values
    pairs = [(names[i], v) for i, v in zip(rows.indices, values)]
    return [pairs[a:b] for a, b in pairwise(rows.indptr)]


def test_dicts():
    featuriser = AttributeFeatures()
    rows = featuriser.fit_transform(DICTS)
    assert as_rows(rows, featuriser.names()) == FLAT
    assert featuriser.names() == list(dict.fromkeys(name for row in FLAT for name, _ in row))
    assert featuriser.scopes.tolist() == [1] * featuriser.n_attributes
    assert featuriser.has_transitions
    new = featuriser.transform([[{"w": "cat", "n": 4}]])
    assert as_rows(new, featuriser.names()) == [[("n", 4)]]


def test_dicts_follow_python_crfsuite():
    theirs = pycrfsuite.ItemSequence([{k: v for k, v in token.items() if k not in ("half", "np")} for token in
                                      (*DICTS[0], *DICTS[2])]).items()  # fmt: skip
    featuriser = AttributeFeatures()
    ours = as_rows(featuriser.fit_transform(DICTS), featuriser.names())
    assert [dict(row) for row in ours][:2] == theirs[:2]
    assert {k: v for k, v in ours[2] if k not in ("half", "np")} == theirs[2]


def test_lists():
    featuriser = AttributeFeatures()
    rows = featuriser.fit_transform(LISTS)
    assert rows.values is None
    found = [[n for n, _ in row] for row in as_rows(rows, featuriser.names())]
    assert found == [["a", "b"], ["c", "a"], ["b", "d"], []]


words = st.text(max_size=3)  # any code points, lone surrogates among them
plain_values = st.recursive(
    st.one_of(st.booleans(), st.integers(-(2**70), 2**70), st.floats(-1e9, 1e9), words, st.lists(words, max_size=2)),
    lambda inner: st.dictionaries(words, inner, max_size=2),
    max_leaves=3,
)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.dictionaries(st.text(st.characters(), max_size=3), plain_values, max_size=3), max_size=3))
def test_plain_dicts_are_read_natively_as_other_mappings_are_in_python(tokens):
    native, other = AttributeFeatures(), AttributeFeatures()
    rows = native.fit_transform([tokens])
    others = other.fit_transform([[MappingProxyType(token) for token in tokens]])
    assert native.names() == other.names()
    assert as_rows(rows, native.names()) == as_rows(others, other.names())


def test_a_refused_sequence_leaves_the_encoder_as_it_was():
    encoder = AttributeEncoder()
    encoder.add([{"a": 1}])
    with pytest.raises(ValueError, match="sequence 1, token 2: attribute 'c' is not a finite number"):
        encoder.add([{"b": 2}, {"b": 1}, {"a": 3, "c": float("inf")}])
    encoder.add([{"b": "x"}])
    found = encoder.finish()
    assert [found[0], found[1]] == [[{"a": 1}], [{"b:x": 1}]]
    assert len(encoder.finish()) == 0


def test_values_appear_late():
    rows = AttributeFeatures().fit_transform([[{"a": 1, "b": 1.0}, {"a": 2}, {"b": 1}]])
    assert rows.values.tolist() == [1, 1, 2, 1]


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        ([[{}, {"k": float("nan")}]], ValueError, "sequence 0, token 1: attribute 'k' is not a finite number"),
        ([[{}], [{"k": {"a": -np.inf}}]], ValueError, "sequence 1, token 0: attribute 'k:a' is not a finite number"),
        ([[{"k": 10**400}]], ValueError, "attribute 'k' is not a finite number"),
        ([[{"k": None}]], TypeError, "attribute 'k' is NoneType; a value is a number"),
        ([[{"k": 1j}]], TypeError, "attribute 'k' is complex"),
        ([[{"k": [3]}]], TypeError, "sequence 0, token 0: k 3 is int, not a string"),
        ([[{3: 1}]], TypeError, "attribute name 3 is int, not a string"),
        ([[{}, ["a"]]], TypeError, "sequence 0, token 1 is a list, but those before are a dict"),
        ([[["a"], {}]], TypeError, "sequence 0, token 1 is a dict, but those before are a list"),
        ([["abc"]], TypeError, "sequence 0, token 0 is str, not a dict or a list of attributes"),
        ([{"a": 1}], TypeError, "sequence 0 is dict, not a list of tokens"),
        ([3], TypeError, "sequence 0 is int"),
        ([[[3]]], TypeError, "attribute 3 is int, not a string"),
        ([[{b"\xff": 1}]], ValueError, "is not valid UTF-8; decode it first"),
    ],
)
def test_refusals(X, error, message):
    with pytest.raises(error, match=message):
        AttributeFeatures().fit_transform(X)
    deep = {}
    for _ in range(50):
        deep = {"d": deep}
    with pytest.raises(ValueError, match="more than 32 deep"):
        AttributeFeatures().fit_transform([[deep]])


def test_streams_are_not_kept():
    def stream():
        for i in range(2000):
            yield [{"w": f"w{i % 50}", "long": "x" * 50} for _ in range(20)]

    tracemalloc.start()
    rows = AttributeFeatures().fit_transform(stream())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert rows.n_tokens == 40_000
    assert peak < 4_000_000  # the dicts would take over ten times as much


names = st.sampled_from(["a", "b", "c", "é"])
token_lists = st.lists(st.lists(st.lists(names, max_size=4), max_size=4), max_size=4)


def twin(sequences, known, min_count):
    counts = Counter(name for s in sequences for token in s for name in token)
    kept = list(known)
    for s in sequences:
        for token in s:
            kept += [n for n in dict.fromkeys(token) if counts[n] >= min_count and n not in kept]
    return kept, [[n for n in token if n in kept] for s in sequences for token in s]


@settings(max_examples=100, deadline=None)
@given(token_lists, token_lists, st.integers(1, 3))
def test_fit_and_extend_against_the_twin(first, second, min_count):
    featuriser = AttributeFeatures(min_count=min_count)
    rows = featuriser.fit_transform(first)
    kept, expected = twin(first, [], min_count)
    assert featuriser.names() == kept
    assert [[n for n, _ in row] for row in as_rows(rows, kept)] == expected
    rows = featuriser.extend(second)
    kept, expected = twin(second, kept, min_count)
    assert featuriser.names() == kept
    assert [[n for n, _ in row] for row in as_rows(rows, kept)] == expected
    assert as_rows(featuriser.transform(second), kept) == as_rows(rows, kept)


def test_encoded_sequences():
    data = parse_crfsuite(b"A\tx:2\ty\nB\tz\n\nA\ty\n")
    encoded = AttributeSequences.from_crfsuite(data)
    assert (len(encoded), encoded.n_tokens, encoded.shape) == (2, 3, (2,))
    assert encoded[0] == [{"x": 2, "y": 1}, {"z": 1}]
    assert next(iter(encoded[::-1])) == [{"y": 1}]
    assert encoded[np.array([1])][0] == [{"y": 1}]
    assert repr(encoded) == "AttributeSequences(2 sequences, 3 tokens, 3 attributes)"
    featuriser = AttributeFeatures()
    rows = featuriser.fit_transform(encoded[1:])
    assert featuriser.names() == ["y"]
    assert as_rows(rows, ["y"]) == [[("y", 1)]]
    assert as_rows(featuriser.transform(encoded), ["y"]) == [[("y", 1)], [], [("y", 1)]]
    assert AttributeSequences.from_lists(encoded) is encoded
    assert AttributeSequences.from_lists([]).n_tokens == 0
    with pytest.raises(ValueError, match="attribute numbers must be below 1"):
        AttributeSequences(encoded.sequence_ptr, encoded.rows, encoded.vocabulary.take([0]))
    with pytest.raises(ValueError, match="sequences of 1 tokens, but attributes of 3"):
        AttributeSequences(np.array([0, 1]), encoded.rows, encoded.vocabulary)


@pytest.mark.parametrize("hash_bits", [None, 10])
def test_save_copy_pickle_take(hash_bits):
    featuriser = AttributeFeatures(hash_bits=hash_bits)
    rows = as_rows(featuriser.fit_transform(DICTS), featuriser.names())
    number = {name: i for i, name in enumerate(featuriser.names())}
    kept = [rows[1][0][0], rows[0][0][0]]
    smaller = featuriser.take([number[name] for name in kept])
    assert smaller.names() == kept
    assert as_rows(smaller.transform(DICTS), kept) == [[pair for pair in row if pair[0] in kept] for row in rows]
    for one in (featuriser, smaller):
        settings_, arrays = one.to_arrays()
        again = TOKEN_FEATURISERS[one.kind].from_arrays(json.loads(json.dumps(settings_)), arrays)
        for other in (again, copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
            assert other.names() == one.names()
            assert as_rows(other.transform(DICTS), one.names()) == as_rows(one.transform(DICTS), one.names())


def test_hashing():
    featuriser = AttributeFeatures(hash_bits=16)
    rows = featuriser.fit_transform(DICTS)
    assert featuriser.n_attributes == 2**16
    assert rows.values.tolist() == [value for row in FLAT for _, value in row]
    assert rows.indices.max() < 2**16
    assert len(set(rows.indices.tolist())) == sum(map(len, FLAT))
    again = AttributeFeatures(hash_bits=16).fit_transform(DICTS[::-1])
    assert again.indices[-8:].tolist() == rows.indices[:8].tolist()
    with pytest.raises(LoglinearError, match="are hashed"):
        featuriser.vocabulary  # noqa: B018


def test_not_fitted_and_damaged():
    for featuriser in (AttributeFeatures(), AttributeFeatures(hash_bits=4)):
        for use in (featuriser.names, featuriser.to_arrays, lambda f=featuriser: f.transform(LISTS)):
            with pytest.raises(LoglinearError, match="call fit_transform first"):
                use()
    good = {"attribute_blob": np.zeros(2, np.uint8), "attribute_offsets": np.array([0, 1, 2])}
    with pytest.raises(ModelFileError, match="are the same"):
        AttributeFeatures.from_arrays({}, good)
    with pytest.raises(ModelFileError, match="array 'attribute_offsets' is missing"):
        AttributeFeatures.from_arrays({}, {"attribute_blob": good["attribute_blob"]})
    with pytest.raises(ModelFileError, match="bad settings"):
        AttributeFeatures.from_arrays({"min_count": 0}, good)
    with pytest.raises(ModelFileError, match="'kept' must be distinct"):
        AttributeFeatures.from_arrays({"hash_bits": 4}, {"kept": np.array([16], np.int32)})
