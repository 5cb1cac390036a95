"""What is stored or expanded of a suffix tree with weights has the distribution of the whole."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ngrams import contexts_of
from suffix_trees import collapse, longest_order

from loglinear.backoff.model import BackoffModel
from loglinear.data.sentences import Sentences
from loglinear.data.suffix_tree import PACKED, SuffixTree, build_suffix_tree
from loglinear.features.word_vocabulary import WordVocabulary
from loglinear.losses.collapsed_ngram import CollapsedNgramLoss
from loglinear.losses.ngram_maxent import NgramMaxentLoss


def encode(sentences, n_words):
    words = np.array([word for sentence in sentences for word in sentence], dtype=np.uint32)
    return Sentences(n_words, words, np.cumsum([0] + [len(s) for s in sentences], dtype=np.int64))


def problem(seed, order=None, density=0.3, n_words=5):
    rng = np.random.default_rng(seed)
    sentences = [rng.integers(1, n_words, rng.integers(0, 9)).tolist() for _ in range(6)]
    sentences.append(sentences[0])
    if order is not None:
        order = min(order, longest_order(sentences))
    tree = build_suffix_tree(encode(sentences, n_words), order)
    x = rng.choice([-0.5, 0.25, 1.0], tree.n_entries) * (rng.random(tree.n_entries) < density)
    for e in range(n_words, tree.n_entries):  # paths of equal weights
        parent = tree.trie.entry_parent[e]
        if parent >= n_words and rng.random() < 0.5:
            x[e] = x[parent]
    other = [rng.integers(1, n_words, rng.integers(0, 9)).tolist() for _ in range(8)] + sentences
    other += [s[1:] for s in sentences] + [s[2:] for s in sentences]
    return tree, x, sentences, encode(other, n_words)


seeds, orders = st.integers(0, 10**6), st.none() | st.integers(1, 6)


@given(seeds, orders, st.sampled_from([0.0, 0.1, 0.5, 1.0]))
@settings(deadline=None, max_examples=100)
def test_a_packed_tree_has_the_same_distribution(seed, order, density):
    tree, x, _, text = problem(seed, order, density)
    arrays = tree.pack(x)
    small, y = SuffixTree.unpack(arrays, tree.n_words)
    expected = CollapsedNgramLoss(tree).score(x, text)[0]
    np.testing.assert_allclose(CollapsedNgramLoss(small).score(y, text)[0], expected, atol=1e-12)
    assert small.n_contexts <= tree.n_contexts
    assert small.n_parameters(y) <= tree.n_parameters(x) <= np.count_nonzero(x)
    again = small.pack(y)  # nothing is left to join or to leave out
    for name in PACKED:
        np.testing.assert_array_equal(again[name], arrays[name])


@given(seeds, orders, st.sampled_from([0.0, 0.1, 0.5, 1.0]), st.booleans())
@settings(deadline=None, max_examples=100)
def test_an_expanded_tree_has_the_same_distribution(seed, order, density, packed):
    tree, x, sentences, text = problem(seed, order, density)
    full, weights = tree.expand(x)
    loss = NgramMaxentLoss(full)  # checks the layout
    assert loss.on(text).value_and_gradient(weights, np.empty_like(weights)) == pytest.approx(
        CollapsedNgramLoss(tree).value_on(x, text), rel=1e-12
    )
    twin = collapse(sentences, order, tree.n_words)
    place = {h: c for c, h in enumerate(contexts_of(twin.full))}
    number = {(c, w): e for c in range(twin.full.n_contexts) for e, w in _entries(twin.full, c)}
    nonzero = np.flatnonzero(x[twin.entry_of])
    found = set()
    for c, h in enumerate(contexts_of(full)):
        assert full.context_count[c] == twin.full.context_count[place[h]]
        for e, w in _entries(full, c):
            original = number[place[h], w]
            found.add(original)
            assert weights[e] == x[twin.entry_of[original]]
            assert full.entry_count[e] == twin.full.entry_count[original]
    assert set(nonzero.tolist()) <= found
    if packed:
        small, y = SuffixTree.unpack(tree.pack(x), tree.n_words)
        other, other_weights = small.expand(y)
        np.testing.assert_array_equal(other.context_word, full.context_word)
        np.testing.assert_array_equal(other.context_child, full.context_child)
        np.testing.assert_array_equal(other.context_entry, full.context_entry)
        np.testing.assert_array_equal(other.entry_word, full.entry_word)
        np.testing.assert_array_equal(other.entry_parent, full.entry_parent)
        np.testing.assert_array_equal(other_weights, weights)


def _entries(trie, c):
    return [(e, int(trie.entry_word[e])) for e in range(trie.context_entry[c], trie.context_entry[c + 1])]


def test_paths_are_joined():
    """After pruning only a b c </s> is left of what parted before a."""
    tree = build_suffix_tree(encode([[1, 2, 3], [2, 2, 3], [3, 1, 3]], 4))
    x = np.zeros(tree.n_entries)
    x[:4] = 1.0
    end = tree.trie.entry_word == 0
    contexts = np.repeat(np.arange(tree.n_contexts), np.diff(tree.trie.context_entry))
    words = [tuple(int(tree.text[e - k]) for k in range(1, n + 1))
             for e, n in zip(tree.context_end.tolist(), tree.context_length.tolist())]  # fmt: skip
    for e in range(4, tree.n_entries):
        if end[e] and words[contexts[e]] == (3, 2, 1, 4)[: len(words[contexts[e]])]:
            x[e] = 0.5
    assert np.count_nonzero(x) == 4 + 3
    small, _ = SuffixTree.unpack(tree.pack(x), 4)
    assert small.context_length.tolist() == [0, 4]
    assert small.n_entries == 5
    assert tree.n_parameters(x) == 4 + 3  # each of the three parts from others
    x[4:] = 0
    assert SuffixTree.unpack(tree.pack(x), 4)[0].order == 1


@given(seeds)
@settings(deadline=None, max_examples=50)
def test_parameters_are_counted_on_paths_of_the_trie(seed):
    tree, x, sentences, _ = problem(seed)
    twin = collapse(sentences, None, tree.n_words)
    full, w = twin.full, x[twin.entry_of]
    children = np.bincount(full.entry_parent[tree.n_words :], minlength=full.n_entries)
    starts = 0
    for e in range(full.n_entries):
        parent = int(full.entry_parent[e])
        goes_on = e >= tree.n_words <= parent and children[parent] == 1 and w[parent] == w[e]
        starts += w[e] != 0 and not goes_on
    assert tree.n_parameters(x) == starts


def test_nothing_that_is_loaded_is_trusted():
    tree, x, _, _ = problem(3, density=0.8)
    arrays = tree.pack(x)
    rng = np.random.default_rng(0)
    refused = 0
    for name in PACKED[:-1]:
        for _ in range(60):
            damaged = {key: value.copy() for key, value in arrays.items()}
            place = rng.integers(damaged[name].size)
            damaged[name][place] = rng.choice([0, 1, 2, 5, 6, 100, 2**31, 2**32 - 1])
            try:
                small, y = SuffixTree.unpack(damaged, tree.n_words)
                CollapsedNgramLoss(small).score(y, encode([[1, 2, 3, 4]], tree.n_words))
                small.expand(y)
            except ValueError:
                refused += 1
    assert refused > 100
    for name in PACKED:
        for damaged in (arrays[name][:-1], np.append(arrays[name], arrays[name][-1:])):
            with pytest.raises(ValueError, match="packed suffix tree"):
                SuffixTree.unpack({**arrays, name: damaged}, tree.n_words)
        with pytest.raises(ValueError, match=f"{name} must be a vector of"):
            SuffixTree.unpack({**arrays, name: arrays[name].astype(np.float32)}, tree.n_words)
        with pytest.raises(ValueError, match=f"no array '{name}'"):
            SuffixTree.unpack({key: value for key, value in arrays.items() if key != name}, tree.n_words)
    with pytest.raises(ValueError, match="not finite"):
        SuffixTree.unpack({**arrays, "weights": arrays["weights"] * np.nan}, tree.n_words)
    for n_words in (0, 4, 6):
        with pytest.raises(ValueError, match="packed suffix tree"):
            SuffixTree.unpack(arrays, n_words)


def test_weights_must_be_those_of_the_tree():
    tree, x, _, _ = problem(4)
    for use in (tree.pack, tree.expand, tree.n_parameters):
        with pytest.raises(ValueError, match="weights of shape"):
            use(x[1:])


def test_ngrams_too_long_for_a_backoff_model():
    rng = np.random.default_rng(0)
    tree = build_suffix_tree(encode([rng.integers(1, 9, 300).tolist()], 9))
    with pytest.raises(ValueError, match="that is kept has 302 words, and a back-off model may have 255; train with"):
        tree.expand(np.ones(tree.n_entries))
    bounded = build_suffix_tree(encode([rng.integers(1, 9, 300).tolist()], 9), 255)
    full, weights = bounded.expand(np.ones(bounded.n_entries))
    assert full.order == 255
    vocabulary = WordVocabulary.from_words([f"w{i}" for i in range(7)], is_open=True)
    log_p, log_r = NgramMaxentLoss(full).log_probabilities(weights)
    assert isinstance(backoff(full, vocabulary, log_p, log_r), BackoffModel)


def backoff(trie, vocabulary, log_p, log_r):
    shape = (trie.context_start, trie.entry_start, trie.context_word, trie.context_child, trie.context_entry)
    return BackoffModel(vocabulary, trie.order, *shape, -log_r, trie.entry_word, log_p)
