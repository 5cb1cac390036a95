import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loglinear.errors import ModelFileError
from loglinear.features.vocabulary import Vocabulary

strings = st.text(st.characters(), max_size=30)  # surrogates included


@given(st.lists(strings, unique=True, max_size=50), st.lists(strings, max_size=10))
def test_is_a_dict(known, others):
    vocabulary = Vocabulary.from_strings(known)
    numbers = {s: i for i, s in enumerate(known)}
    assert len(vocabulary) == len(known)
    assert list(vocabulary) == known
    assert [vocabulary[i] for i in range(len(known))] == known
    queries = known[::-1] + others
    ids = vocabulary.ids(queries)
    assert ids.dtype == np.int32
    assert ids.tolist() == [numbers.get(q, -1) for q in queries]
    assert all((q in vocabulary) == (q in numbers) for q in queries)


def test_many_strings_of_every_length():
    known = [f"{i:x}" * (i % 9) + str(i) for i in range(30_000)]
    vocabulary = Vocabulary.from_strings(known)
    assert np.array_equal(vocabulary.ids(known), np.arange(len(known)))
    assert (vocabulary.ids([s + "?" for s in known]) == -1).all()


def test_take_pickle_equality():
    vocabulary = Vocabulary.from_strings(["a", "", "é", "b c"])
    smaller = vocabulary.take(np.array([3, 1]))
    assert list(smaller) == ["b c", ""]
    assert smaller.ids(["", "a", "b c"]).tolist() == [1, -1, 0]
    assert list(vocabulary.take([])) == []
    assert pickle.loads(pickle.dumps(vocabulary)) == vocabulary
    assert vocabulary != smaller
    assert vocabulary != ["a"]
    assert Vocabulary.from_strings([]) == Vocabulary.from_strings([])
    assert 3 not in vocabulary
    assert repr(smaller) == "Vocabulary(2 strings, 3 bytes)"
    with pytest.raises(ValueError, match=r"string index 4 is outside \[0, 4\)"):
        vocabulary.take([4])
    with pytest.raises(IndexError, match=r"id -1 is outside \[0, 4\)"):
        vocabulary[-1]


def test_memory_mapped_arrays(tmp_path):
    vocabulary = Vocabulary.from_strings(["x", "yy", "zzz"])
    np.save(tmp_path / "blob.npy", vocabulary.blob)
    np.save(tmp_path / "offsets.npy", vocabulary.offsets)
    mapped = Vocabulary.from_arrays(
        np.load(tmp_path / "blob.npy", mmap_mode="r"), np.load(tmp_path / "offsets.npy", mmap_mode="r")
    )
    assert mapped == vocabulary
    assert mapped.ids(["zzz"]).tolist() == [2]
    assert not mapped.blob.flags.writeable


BLOB = np.frombuffer(b"abc", np.uint8)


@pytest.mark.parametrize(
    ("blob", "offsets", "message"),
    [
        (BLOB, np.zeros(0, np.int64), "offsets are empty"),
        (BLOB, np.array([1, 3]), "must start at 0 and end at the number of bytes"),
        (BLOB, np.array([0, 2]), "must start at 0 and end at the number of bytes"),
        (BLOB, np.array([0, 4]), "must start at 0 and end at the number of bytes"),
        (BLOB, np.array([0, 2, 1, 3]), "offsets decrease at string 1"),
        (BLOB, np.array([0, 2**62, 3]), "offsets decrease at string 0"),
        (BLOB, np.array([0, -1, 3]), "offsets decrease at string 0"),
        (BLOB, np.array([0, 3], np.int32), "offsets must be a one-dimensional int64 array"),
        (BLOB.astype(np.int8), np.array([0, 3]), "bytes must be a one-dimensional uint8 array"),
        (BLOB, np.array([[0, 3]]), "offsets must be a one-dimensional int64 array"),
    ],
)
def test_damaged_arrays_are_refused(blob, offsets, message):
    with pytest.raises(ModelFileError, match=f"vocabulary: .*{message}"):
        Vocabulary.from_arrays(blob, offsets)


def test_other_refusals():
    with pytest.raises(ValueError, match="strings 0 and 2 are the same"):
        Vocabulary.from_strings(["a", "b", "a"])
    with pytest.raises(TypeError, match="item 1 is int, not a string"):
        Vocabulary.from_strings(["a", 3])
    broken = Vocabulary.from_arrays(np.frombuffer(b"\xff", np.uint8), np.array([0, 1]))
    with pytest.raises(ModelFileError, match="string 0 is not valid UTF-8"):
        broken[0]
