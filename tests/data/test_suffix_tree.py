"""The suffix tree of a corpus equals the collapsed trie, on any number of threads."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from suffix_trees import collapse, longest_order

from loglinear.data.ngram import build_trie
from loglinear.data.sentences import Sentences
from loglinear.data.suffix_tree import build_suffix_tree


def encode(sentences, n_words):
    words = np.array([word for sentence in sentences for word in sentence], dtype=np.uint32)
    return Sentences(n_words, words, np.cumsum([0] + [len(s) for s in sentences], dtype=np.int64))


def assert_equal(tree, twin, sentences, n_words):
    for name, value in vars(twin.trie).items():
        assert np.array_equal(getattr(tree.trie, name), value), name
        if isinstance(value, np.ndarray):
            assert getattr(tree.trie, name).dtype == value.dtype
    assert tree.context_length.tolist() == [len(h) for h in twin.longest]
    text = [n_words]
    for sentence in sentences:
        text += [*sentence, n_words]
    assert tree.text.tolist() == text
    for h, end in zip(twin.longest[1:], tree.context_end[1:].tolist()):
        assert tuple(text[end - k] for k in range(1, len(h) + 1)) == h
    multiplicity = np.bincount(twin.entry_of, minlength=twin.trie.n_entries)
    assert tree.entry_multiplicity.tolist() == multiplicity.tolist()
    assert tree.n_ngrams == twin.full.n_entries
    top = np.repeat([min(lengths) for lengths in twin.lengths], np.diff(twin.trie.context_entry))
    assert tree.entry_depth.tolist() == np.maximum(top - 1, 0).tolist()


corpora = st.integers(1, 6).flatmap(
    lambda n_words: st.tuples(
        st.just(n_words), st.lists(st.lists(st.integers(0, n_words - 1), max_size=9), max_size=12)
    )
)


@settings(max_examples=300, deadline=None)
@given(corpora, st.none() | st.integers(1, 7), st.integers(1, 3))
def test_equals_the_twin(corpus, order, n_threads):
    n_words, sentences = corpus
    if order is not None:
        order = min(order, longest_order(sentences))
    tree = build_suffix_tree(encode(sentences, n_words), order, n_threads=n_threads)
    assert_equal(tree, collapse(sentences, order, n_words), sentences, n_words)
    assert tree.order == (order or longest_order(sentences))


@pytest.mark.parametrize(("n_words", "order"), [(2, 12), (60, 5), (300, None), (70_000, None), (300_000, 4)])
def test_keys_of_several_words_of_any_width(n_words, order):
    rng = np.random.default_rng(n_words)
    sentences = [np.minimum(rng.zipf(1.5, n) - 1, n_words - 1).tolist() for n in rng.integers(0, 20, 60)]
    sentences += sentences[:30]
    tree = build_suffix_tree(encode(sentences, n_words), order, n_threads=2)
    assert_equal(tree, collapse(sentences, order, n_words), sentences, n_words)


def test_threads_agree_on_many_chunks():
    rng = np.random.default_rng(5)
    sentences = [np.minimum(rng.zipf(1.3, n), 399).tolist() for n in rng.integers(0, 40, 12_000)]
    text = encode(sentences, 400)
    one = build_suffix_tree(text, n_threads=1)
    for n_threads in (2, 3):
        other = build_suffix_tree(text, n_threads=n_threads)
        for name in ("context_length", "context_end", "text"):
            assert np.array_equal(getattr(one, name), getattr(other, name))
        for name, value in vars(one.trie).items():
            assert np.array_equal(getattr(other.trie, name), value), name
    assert build_suffix_tree(text, 4).n_ngrams == build_trie(text, 4).n_entries


def test_long_sentences_take_memory_of_the_tree_alone():
    """All n-grams of this text would be two thousand million."""
    rng = np.random.default_rng(0)
    tree = build_suffix_tree(encode([rng.integers(1, 1000, 60_000).tolist()], 1000))
    assert tree.order == 60_002
    assert tree.n_ngrams > 1_700_000_000
    assert tree.n_entries < 3 * 60_000
    assert tree.nbytes < 100 * 60_000


def test_a_passage_that_occurs_twice_is_sorted_without_recursion():
    passage = np.random.default_rng(1).integers(1, 50, 3000).tolist()
    tree = build_suffix_tree(encode([[1, *passage], [2, *passage], passage], 50))
    assert int(tree.context_length.max()) == 3002


def test_refuses_an_order_above_the_longest_sentence():
    text = encode([[1, 2], []], 3)
    with pytest.raises(ValueError, match="order 5: the longest n-gram of the text has 4 words; use order=None or at m"):
        build_suffix_tree(text, 5)
    for order in (0, -1, 2.0, True):
        with pytest.raises(ValueError, match="whole number from 1, or None"):
            build_suffix_tree(text, order)
    with pytest.raises(ValueError, match="repeats itself to more than 4096 levels; give a lower order"):
        build_suffix_tree(encode([[1] * 5000], 2))
    assert build_suffix_tree(encode([[1] * 5000], 2), 4000).trie.order == 4000


def test_refuses_malformed_sentences():
    with pytest.raises(ValueError, match=r"word number 3 in sentence 1 is outside \[0, 3\)"):
        build_suffix_tree(encode([[1], [2, 3]], 3), 2)
    with pytest.raises(ValueError, match="must start at 0 and end at the number of words"):
        build_suffix_tree(Sentences(3, np.zeros(2, np.uint32), np.array([0, 3])))
    with pytest.raises(ValueError, match="decreases at sentence 1"):
        build_suffix_tree(Sentences(3, np.zeros(2, np.uint32), np.array([0, 2, 1, 2])))
