import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loglinear.data.edit_distance import edit_distances


def slow(a, b):
    """The table of Wagner and Fischer."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, start=1):
        diagonal, row[0] = row[0], i
        for j, y in enumerate(b, start=1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (x != y))
    return row[-1]


@settings(max_examples=200, deadline=None)
@given(st.text("ab ", max_size=40), st.text("abc ", max_size=40))
def test_words_and_characters(a, b):
    assert edit_distances([a], [b])[0][0] == slow(a.split(), b.split())
    distance, length = edit_distances([a], [b], units="characters")
    assert distance[0] == slow(a.replace(" ", ""), b.replace(" ", ""))
    assert length[0] == len(a.replace(" ", ""))


@pytest.mark.parametrize("sizes", [(63, 200), (64, 65), (65, 64), (128, 129), (200, 130), (1, 300), (0, 70)])
def test_long_texts_take_many_blocks(sizes):
    rng = np.random.default_rng(sum(sizes))
    for alphabet in ("ab", "abcdefghijklmnop", "あいう亜"):
        a, b = ("".join(rng.choice(list(alphabet), size=n)) for n in sizes)
        assert edit_distances([a], [b], units="characters")[0][0] == slow(a, b)
        changed = a[: len(a) // 2] + "x" + a[len(a) // 2 + 1 :]
        assert edit_distances([a], [changed], units="characters")[0][0] == slow(a, changed)


def test_lists_of_candidates():
    distances, lengths = edit_distances(["a b", "", "c"], ["a b", "b", "x y", "c c"], np.asarray([0, 2, 3, 4]))
    assert distances.tolist() == [0, 1, 2, 1]
    assert lengths.tolist() == [2, 0, 1]


def test_any_unicode():
    assert edit_distances(["a\u3000b\ud800"], ["ab\ud801"], units="characters")[0][0] == 1


def test_refusals():
    with pytest.raises(ValueError, match="2 transcripts for 1 texts"):
        edit_distances(["a", "b"], ["a"])
    with pytest.raises(ValueError, match="units must be"):
        edit_distances(["a"], ["a"], units="bytes")
    with pytest.raises(ValueError, match="list_ptr"):
        edit_distances(["a"], ["a"], np.asarray([0, 2]))
