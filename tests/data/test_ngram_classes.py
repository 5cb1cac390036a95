import numpy as np
import pytest
from ngrams import reference_trie

from loglinear.data.ngram_classes import ngram_classes


@pytest.fixture
def trie():
    rng = np.random.default_rng(0)
    return reference_trie([rng.zipf(1.7, rng.integers(1, 9)).clip(1, 19).tolist() for _ in range(200)], 4, 20)


def test_by_order(trie):
    classes = ngram_classes(trie)
    assert classes.orders == (1, 2, 3, 4)
    np.testing.assert_array_equal(classes.numbers + 1, trie.order_of_entries())


def test_fine_classes_say_count_parent_and_band(trie):
    classes = ngram_classes(trie, "fine")
    assert len(classes.names) == len(classes.orders) == 1 + 18 * 3
    count = trie.entry_count[: trie.n_words].astype(float)
    share = {w: count[count > count[w]].sum() / count.sum() for w in range(trie.n_words)}
    for e in range(trie.n_words, trie.n_entries):
        name = classes.names[classes.numbers[e]]
        assert name.startswith(f"{trie.order_of_entries()[e]}-grams")
        assert ("once" in name) == (trie.entry_count[e] == 1)
        assert ("twice" in name) == (trie.entry_count[e] == 2)
        assert ("equal" in name) == (trie.entry_count[e] == trie.entry_count[trie.entry_parent[e]])
        if share[trie.entry_word[e]] == 0:
            assert "common" in name
    assert np.all(classes.numbers[: trie.n_words] == 0)
    assert len(np.unique(classes.numbers)) > 20


def test_unknown_schemes_are_refused(trie):
    with pytest.raises(ValueError, match="order, fine"):
        ngram_classes(trie, "coarse")
