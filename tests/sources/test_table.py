import numpy as np
import pytest

from loglinear import _core
from loglinear.data.documents import iterate_documents, number_documents
from loglinear.sources import Words
from loglinear.sources.extraction import extract
from loglinear.sources.table import NONE, build_table
from loglinear.threads import pool
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


@pytest.mark.parametrize("top", [(1, 1), (1, 9), (40, 1), (40, 9), (2**32 - 1, 5), (6, 5, 4), (1, 6, 5, 4)])
def test_equal_rows_are_joined_in_order(top):
    rng = np.random.default_rng(len(top))
    columns = [rng.integers(0, t, 3000, dtype=np.uint32) for t in top]
    found = [_core.group_rows(pool(n), columns) for n in (1, 2, 3)]
    _, first, number, counts = np.unique(
        np.stack(columns, axis=1), axis=0, return_index=True, return_inverse=True, return_counts=True)  # fmt: skip
    for example, sizes, of_row in found:
        np.testing.assert_array_equal(example, first)
        np.testing.assert_array_equal(sizes, counts)
        np.testing.assert_array_equal(of_row, number.ravel())
    assert [a.size for a in _core.group_rows(pool(2), [columns[0][:0], columns[1][:0]])] == [0, 0, 0]
    with pytest.raises(ValueError, match="unequal length"):
        _core.group_rows(pool(2), [columns[0], columns[1][:5]])


def test_contexts_and_scores_of_events_are_those_of_a_search():
    rng = np.random.default_rng(3)
    symbols, words = rng.integers(-1, 6, (900, 3)).astype(np.int32), rng.integers(0, 12, 900).astype(np.uint32)
    table = build_table(symbols[:500], words[:500], min_counts=(1, 2, 2))
    names = {(): 0}
    for c in range(1, table.n_contexts):
        above = next(k for k, v in names.items() if v == table.context_parent[c])
        names[(*above, int(table.context_symbol[c]))] = c
    weights = rng.normal(size=table.n_entries)
    leaf = table.leaves(symbols)
    score, depth = table.scores(leaf, words, weights)
    counts = np.zeros(table.n_entries)
    for event, (chain, word) in enumerate(zip(symbols.tolist(), words.tolist())):
        found = [names[tuple(chain[:d])] for d in range(1, 4) if tuple(chain[:d]) in names and min(chain[:d]) >= 0]
        assert leaf[event] == (found[-1] if found else 0)
        entries = [e for e in (table.find_entry(c, word) for c in found) if e >= 0]
        assert score[event] == pytest.approx(sum(weights[e] for e in entries), abs=1e-14)
        assert depth[event] == len(entries)
        counts[entries] += 1
    np.testing.assert_array_equal(table.count_entries(leaf, words), counts)


def test_tables_that_do_not_fit_together_are_refused():
    table = build_table(np.array([[0, 1], [1, 1]], np.int32), np.array([0, 1], np.uint32))
    symbols, words = np.zeros((3, 2), np.int32), np.zeros(3, np.uint32)
    arrays = [table.context_parent, table.context_symbol, table.context_entry, table.entry_word]
    for place, wrong in ((0, table.context_parent[::-1]), (1, table.context_symbol[:-1]), (2, table.context_entry + 9)):
        broken = [*arrays[:place], np.array(wrong, np.uint32), *arrays[place + 1 :]]
        with pytest.raises(ValueError, match=r"do not fit together|not sorted"):
            _core.table_leaves(pool(2), broken, symbols, 2, np.empty(3, np.uint32))
    with pytest.raises(ValueError, match="a context that does not exist"):
        table.count_entries(words + np.uint32(99), words)
    with pytest.raises(ValueError, match="chain of symbols"):
        _core.table_leaves(pool(2), arrays, symbols, 2, np.empty(2, np.uint32))
