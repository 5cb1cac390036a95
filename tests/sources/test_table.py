import numpy as np
import pytest

from loglinear.data.documents import iterate_documents, number_documents
from loglinear.sources import Words
from loglinear.sources.extraction import extract
from loglinear.sources.table import NONE, build_table
from tests.composite_problems import DOCUMENTS


def test_contexts_and_entries_by_hand():
    symbols = np.array([[0, 1], [0, 1], [0, -1], [2, 1]], np.int32)
    words = np.array([5, 6, 5, 5], np.uint32)
    table = build_table(symbols, words)
    assert table.depth_start.tolist() == [0, 1, 3, 5]  # (0), (2); (0, 1), (2, 1)
    assert table.entry_word.tolist() == [5, 6, 5, 5, 6, 5]
    assert table.entry_parent.tolist() == [NONE, NONE, NONE, 0, 1, 2]
    assert table.leaves(symbols).tolist() == [3, 3, 1, 4]
    assert table.leaves(np.array([[0, 7], [9, 1]], np.int32)).tolist() == [1, 0]
    assert table.count_entries(table.leaves(symbols), words).tolist() == [2, 1, 1, 1, 1, 1]


def test_rare_features_go_and_take_their_extensions_with_them():
    rng = np.random.default_rng(0)
    symbols, words = rng.integers(0, 3, (200, 2)).astype(np.int32), rng.integers(0, 9, 200).astype(np.uint32)
    table = build_table(symbols, words, min_counts=(2, 3))
    counts = table.count_entries(table.leaves(symbols), words)
    assert counts[table.entries_of_depth(1)].min() >= 2
    assert counts[table.entries_of_depth(2)].min() >= 3
    with pytest.raises(ValueError, match="must not decrease with the depth"):
        build_table(symbols, words, min_counts=(3, 2))


def test_selection_keeps_the_words_that_tell_most():
    symbols = np.repeat([0, 1], 50).astype(np.int32)[:, None]
    words = np.concatenate([np.repeat([1, 2], 25), np.repeat([2, 3], 25)]).astype(np.uint32)
    table = build_table(symbols, words, select=2)
    assert table.entry_word.tolist() == [1, 3]  # word 2 is as frequent in both


def test_entries_can_be_left_out_later():
    rng = np.random.default_rng(1)
    symbols, words = rng.integers(0, 3, (300, 2)).astype(np.int32), rng.integers(0, 9, 300).astype(np.uint32)
    table = build_table(symbols, words)
    kept = rng.random(table.n_entries) < 0.3
    smaller, numbers = table.keep(kept)
    assert set(np.flatnonzero(kept)) <= set(numbers)  # parents of kept entries stay
    weights = np.zeros(table.n_entries)
    weights[kept] = rng.normal(size=kept.sum())
    leaves = [t.leaves(symbols) for t in (table, smaller)]
    full = table.scores(leaves[0], words, weights)[0]
    np.testing.assert_allclose(smaller.scores(leaves[1], words, weights[numbers])[0], full)


def test_the_trie_of_ngrams_is_the_table_of_words():
    documents, numbering = number_documents(iterate_documents(DOCUMENTS))
    source = Words(3)
    of_trie = extract([source], documents, numbering)[0].table.arrays()
    built = build_table(source.symbols(documents, numbering, {}), documents.words).arrays()
    assert of_trie.keys() == built.keys()
    for name in built:
        np.testing.assert_array_equal(of_trie[name], built[name])


def test_words_that_a_context_lacks_can_have_features_too():
    symbols, words = np.array([[0], [0], [1]], np.int32), np.array([4, 5, 5], np.uint32)
    table = build_table(symbols, words, min_counts=(0,))
    assert table.entry_word.tolist() == [4, 5, 4, 5]
    assert table.count_entries(table.leaves(symbols), words).tolist() == [1, 1, 0, 1]
    deeper = build_table(np.array([[0, 1], [0, 1], [1, 1]], np.int32), words, min_counts=(0, 1))
    assert [deeper.entries_of_depth(d).stop for d in (1, 2)] == [4, 7]
