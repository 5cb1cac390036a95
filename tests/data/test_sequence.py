"""SequenceData: what it refuses, and parts of it."""

import pickle

import chains
import numpy as np
import pytest

from loglinear.data.sequence import SequenceData
from loglinear.features.sequences import TokenRows, take_ranges


def data(**changes):
    given = {
        "sequence_ptr": np.array([0, 2, 2, 3], dtype=np.int64),
        "rows": TokenRows(np.array([0, 1, 3, 3], dtype=np.int64), np.array([0, 1, 0], dtype=np.int32), None),
        "n_attributes": 2,
        "labels": np.array([1, 0, -1], dtype=np.int32),
        "n_labels": 2,
        "allowed": None,
    }
    return SequenceData(**{**given, **changes})


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"sequence_ptr": np.array([0, 2, 1, 3])}, "never decrease"),
        ({"sequence_ptr": np.array([1, 3])}, "begin at 0"),
        ({"sequence_ptr": np.array([0, 3], dtype=np.int32)}, "must be int64"),
        ({"sequence_ptr": np.array([], dtype=np.int64)}, "begin at 0"),
        ({"sequence_ptr": np.array([0, 4])}, "sequences of 4 tokens, but attributes of 3"),
        ({"labels": np.array([1, 0], dtype=np.int32)}, "2 labels for 3 tokens"),
        ({"labels": np.array([1, 0, 1])}, "3 labels for 3 tokens"),
        ({"labels": np.array([1, 0, 2], dtype=np.int32)}, "numbers below 2"),
        ({"labels": np.array([1, 0, -2], dtype=np.int32)}, "or -1 where unknown"),
        ({"allowed": np.ones((2, 2), dtype=np.uint8)}, "one row per token"),
    ],
)
def test_refusals(changes, match):
    with pytest.raises(ValueError, match=match):
        data(**changes)


def test_native_arrays_are_checked():
    rows = TokenRows(np.array([0, 1, 3, 3], dtype=np.int64), np.array([0, 2, 0], dtype=np.int32), None)
    with pytest.raises(ValueError, match=r"attribute number 2 is outside \[0, 2\)"):
        _ = data(rows=rows).native
    rows = TokenRows(rows.indptr, np.zeros(3, dtype=np.int32), np.array([1.0, np.nan, 0.0]))
    with pytest.raises(ValueError, match="not finite"):
        _ = data(rows=rows).native


def test_parts_are_the_sequences_asked_for():
    rng = np.random.default_rng(0)
    whole = chains.random_data(rng, (3, 0, 5, 1, 4), 3, 6, values=True)
    chosen = whole.take(np.array([4, 1, 2, 2]))
    assert np.diff(chosen.sequence_ptr).tolist() == [4, 0, 5, 5]
    for new, old in enumerate([4, 1, 2, 2]):
        a, b = chosen.sequence_ptr[new], whole.sequence_ptr[old]
        for t in range(int(chosen.sequence_ptr[new + 1] - a)):
            assert chosen.labels[a + t] == whole.labels[b + t]
            for part in ("indices", "values"):
                got, expected = getattr(chosen.rows, part), getattr(whole.rows, part)
                np.testing.assert_array_equal(
                    got[slice(*chosen.rows.indptr[a + t : a + t + 2])],
                    expected[slice(*whole.rows.indptr[b + t : b + t + 2])],
                )
    allowed = np.arange(whole.n_tokens * 3).reshape(-1, 3) % 2
    partial = SequenceData(whole.sequence_ptr, whole.rows, 6, whole.labels, 3, allowed.astype(np.uint8))
    np.testing.assert_array_equal(partial.take(np.array([3])).allowed, allowed[8:9])


def test_fingerprints_tell_data_apart():
    first = data()
    assert first.fingerprint() == data().fingerprint()
    others = [
        data(labels=np.array([1, 1, -1], dtype=np.int32)),
        data(sequence_ptr=np.array([0, 1, 2, 3])),
        data(allowed=np.ones((3, 2), dtype=np.uint8)),
        data(rows=TokenRows(first.rows.indptr, first.rows.indices, np.ones(3))),
    ]
    assert len({d.fingerprint() for d in [first, *others]}) == 5


def test_pickling_leaves_the_native_view_behind():
    first = data()
    assert first.native is first.native
    again = pickle.loads(pickle.dumps(first))
    assert "native" not in vars(again)
    assert again.fingerprint() == first.fingerprint()
    assert again.native is not None


def test_ranges():
    ptr, items = take_ranges(np.array([0, 2, 2, 5]), np.array([2, 0, 1]))
    assert ptr.tolist() == [0, 3, 5, 5]
    assert items.tolist() == [2, 3, 4, 0, 1]
    ptr, items = take_ranges(np.array([0, 2]), np.array([], dtype=np.intp))
    assert (ptr.tolist(), items.tolist()) == ([0], [])
