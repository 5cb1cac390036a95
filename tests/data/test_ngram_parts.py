from dataclasses import fields

import numpy as np
import pytest
from ngrams import part_of

from loglinear.data.ngram import build_trie
from loglinear.data.ngram_parts import join_parts
from loglinear.data.runs import context_ranges
from loglinear.data.sentences import Sentences
from loglinear.losses.ngram_maxent import native_maxent

V = 9


def some_trie(order, seed=0):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 7, 60)
    words = rng.integers(1, V - 1, lengths.sum()).astype(np.uint32)  # one word has no tokens
    return build_trie(Sentences(V, words, np.r_[0, np.cumsum(lengths)]), order)


def arrays(trie):
    return {field.name: getattr(trie, field.name) for field in fields(trie)[2:]}


@pytest.mark.parametrize("order", [1, 2, 4])
@pytest.mark.parametrize("n_parts", [1, 2, 3, 12])
def test_parts_are_tries_and_join_to_the_whole(order, n_parts):
    trie = some_trie(order)
    ranges = context_ranges(np.ones(V + 1), n_parts)
    parts = [part_of(trie, *place) for place in ranges]
    for part in parts:
        native_maxent(part)  # checks the layout
        np.testing.assert_array_equal(part.entry_count[:V], trie.entry_count[:V])
    assert sum(part.n_entries - V for part in parts) == trie.n_entries - V
    for name, array in join_parts(order, [arrays(part) for part in parts]).items():
        np.testing.assert_array_equal(array, getattr(trie, name), err_msg=name)
        assert array.dtype == getattr(trie, name).dtype


@pytest.mark.parametrize(
    ("sizes", "n_parts", "expected"),
    [
        ([1, 1, 1, 1], 2, [(0, 2), (2, 4)]),
        ([9, 1, 1, 1], 2, [(0, 1), (1, 4)]),
        ([1, 1, 1, 9], 2, [(0, 3), (3, 4)]),
        ([0, 0, 5, 0], 3, [(0, 2), (2, 3), (3, 4)]),
        ([1, 2], 5, [(0, 1), (1, 2)]),
        ([0, 0], 2, [(0, 1), (1, 2)]),
    ],
)
def test_ranges_of_words_have_similar_sizes(sizes, n_parts, expected):
    assert context_ranges(np.array(sizes), n_parts) == expected
