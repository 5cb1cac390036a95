"""Kneser-Ney over a suffix tree is a model of that tree, and its weights give it back."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from loglinear import _core
from loglinear.backoff.kneser_ney import kneser_ney
from loglinear.backoff.smoothing import native_trie
from loglinear.backoff.tree_start import tree_start
from loglinear.data.ngram import build_trie
from loglinear.data.sentences import Sentences
from loglinear.data.suffix_tree import build_suffix_tree
from loglinear.features.word_vocabulary import WordVocabulary
from loglinear.losses.collapsed_ngram import CollapsedNgramLoss
from loglinear.threads import pool


def problem(seed, n_words=6, n_sentences=40):
    rng = np.random.default_rng(seed)
    sentences = [np.minimum(rng.zipf(1.6, rng.integers(0, 9)), n_words - 1).tolist() for _ in range(n_sentences)]
    words = np.array([word for sentence in sentences for word in sentence], dtype=np.uint32)
    text = Sentences(n_words, words, np.cumsum([0] + [len(s) for s in sentences], dtype=np.int64))
    return text, WordVocabulary.from_words([f"w{i}" for i in range(n_words - 2)], is_open=True)


@given(st.integers(0, 10**6), st.none() | st.integers(1, 4))
@settings(deadline=None, max_examples=60)
def test_the_weights_give_the_model_back(seed, order):
    text, vocabulary = problem(seed)
    tree = build_suffix_tree(text, order)
    counted = kneser_ney(tree.trie, vocabulary, collapsed=True)
    x = tree_start(tree, vocabulary)
    assert np.all(x[tree.n_words :] >= 0)
    log_p, log_r = CollapsedNgramLoss(tree).log_probabilities(x)
    np.testing.assert_allclose(log_p, counted.log_probability, atol=1e-9)
    np.testing.assert_allclose(-log_r[1:], counted.log_backoff[1:], atol=1e-9)
    np.testing.assert_array_equal(tree_start(tree, vocabulary, counted=counted), x)


def test_contexts_that_end_count_tokens_and_others_the_words_before():
    text, vocabulary = problem(1)
    trie = build_suffix_tree(text).trie
    adjusted = np.empty(int(trie.entry_start[trie.order - 1]), np.uint32)
    _core.adjusted_counts(pool(1), native_trie(trie, vocabulary, pool(1)), True, adjusted)
    before = np.bincount(trie.entry_parent[trie.n_words :], minlength=trie.n_entries)
    ends = np.repeat(np.diff(trie.context_child) == 0, np.diff(trie.context_entry))
    expected = np.where(ends, trie.entry_count, before)
    np.testing.assert_array_equal(adjusted, expected[: adjusted.size])
    assert np.any(adjusted[ends[: adjusted.size]] > 1)


def test_bigrams_are_those_of_the_trie():
    """Of order two nothing collapses."""
    text, vocabulary = problem(2)
    tree, trie = build_suffix_tree(text, 2), build_trie(text, 2)
    found = kneser_ney(tree.trie, vocabulary, collapsed=True)
    np.testing.assert_array_equal(found.log_probability, kneser_ney(trie, vocabulary).log_probability)


def test_other_text_is_predicted_better_than_by_chance():
    text, vocabulary = problem(3, n_sentences=400)
    other, _ = problem(4, n_sentences=400)
    tree = build_suffix_tree(text)
    x = tree_start(tree, vocabulary)
    per_token = CollapsedNgramLoss(tree).value_on(x, other) / (other.n_tokens + other.n_sentences)
    assert per_token < np.log(tree.n_words)
