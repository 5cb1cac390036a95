"""The loss on the suffix tree is that of the trie, with weights that are equal along paths."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ngrams import contexts_of
from suffix_trees import collapse, longest_order

from loglinear.data.sentences import Sentences
from loglinear.data.suffix_tree import build_suffix_tree
from loglinear.losses.collapsed_ngram import CollapsedNgramLoss
from loglinear.losses.ngram_maxent import NgramMaxentLoss
from loglinear.protocols import Curvature, Loss, Scaled
from loglinear.testing import check_loss


def problem(seed, order, n_sentences=12, n_words=5, length=9):
    rng = np.random.default_rng(seed)
    sentences = [rng.integers(1, n_words, rng.integers(0, length)).tolist() for _ in range(n_sentences)]
    sentences += sentences[:2]
    if order is not None:
        order = min(order, longest_order(sentences))
    return build_suffix_tree(encode(sentences, n_words), order), collapse(sentences, order, n_words), rng


def encode(sentences, n_words):
    lengths = np.cumsum([0, *map(len, sentences)])
    return Sentences(n_words, np.array([w for s in sentences for w in s], np.uint32), lengths.astype(np.int64))


@given(st.integers(0, 10**6), st.none() | st.integers(1, 6), st.floats(0, 2))
@settings(deadline=None, max_examples=80)
def test_equals_the_loss_of_the_trie(seed, order, scale):
    tree, twin, rng = problem(seed, order)
    on_tree, on_trie = CollapsedNgramLoss(tree), NgramMaxentLoss(twin.full)
    x, v = rng.normal(size=(2, tree.n_entries)) * scale
    g, h, d = (np.empty(tree.n_entries) for _ in range(3))
    full_g, full_h = (np.empty(twin.full.n_entries) for _ in range(2))
    value = on_tree.value_and_gradient(x, g)
    assert value == pytest.approx(on_trie.value_and_gradient(x[twin.entry_of], full_g), rel=1e-10, abs=1e-9)

    def summed(values):
        return np.bincount(twin.entry_of, values, minlength=tree.n_entries)

    np.testing.assert_allclose(g, summed(full_g), atol=1e-8)
    one = np.zeros(tree.n_entries)  # any of the n-grams of an entry has the gradient of all of them, divided by m
    one[twin.entry_of] = full_g
    np.testing.assert_allclose(g, tree.entry_multiplicity * one, atol=1e-8)
    on_tree.hessian(x).product(v, h)
    on_trie.hessian(x[twin.entry_of]).product(v[twin.entry_of], full_h)
    np.testing.assert_allclose(h, summed(full_h), atol=1e-7)
    on_tree.hessian(x).diagonal(d)
    e = int(rng.integers(tree.n_entries))
    unit = np.zeros(tree.n_entries)
    unit[e] = 1
    on_tree.hessian(x).product(unit, h)
    assert h[e] == pytest.approx(d[e], abs=1e-7)


def scored_by_the_trie(full, w, sentences, order):
    """log p and the longest n-gram matched of every token, by backing off in the model of the trie."""
    log_p, log_r = NgramMaxentLoss(full).log_probabilities(w)
    place = {h: c for c, h in enumerate(contexts_of(full))}

    def look(history, word):
        while history not in place:
            history = history[:-1]
        c = place[history]
        for e in range(full.context_entry[c], full.context_entry[c + 1]):
            if full.entry_word[e] == word:
                return log_p[e], len(history) + 1
        shorter, length = look(history[:-1], word)
        return shorter - log_r[c], length

    found = []
    for sentence in sentences:
        history = (full.n_words,)
        for word in [*sentence, 0]:
            found.append(look(history[: order - 1], word))
            history = (word, *history)
    return np.array([f[0] for f in found]), np.array([f[1] for f in found])


@given(st.integers(0, 10**6), st.none() | st.integers(1, 6), st.sampled_from([0.0, 0.5, 3.0, 60.0]), st.booleans())
@settings(deadline=None, max_examples=150)
def test_scores_of_any_text_are_those_of_the_trie(seed, order, scale, nonnegative):
    tree, twin, rng = problem(seed, order, n_sentences=6)
    x = rng.normal(size=tree.n_entries) * scale * (rng.random(tree.n_entries) < 0.7)
    if nonnegative:
        x[tree.n_words :] = np.abs(x[tree.n_words :])
    other = [rng.integers(1, tree.n_words, rng.integers(0, 9)).tolist() for _ in range(8)]
    flat = tree.text[1:-1].tolist()
    other += [flat[i : i + 5] for i in range(0, len(flat), 7)]  # parts of what it was trained on
    other = [[w for w in s if w != tree.n_words] for s in other]
    expected, lengths = scored_by_the_trie(twin.full, x[twin.entry_of], other, tree.order)
    for n_threads in (1, 2):
        found, matched = CollapsedNgramLoss(tree, n_threads=n_threads).score(x, encode(other, tree.n_words))
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-9)
        np.testing.assert_array_equal(matched, lengths)


def test_probabilities_of_all_words_sum_to_one():
    tree, _, rng = problem(17, None, n_sentences=5)
    x = rng.normal(size=tree.n_entries)
    loss = CollapsedNgramLoss(tree)
    for length in range(5):
        for history in itertools.product(range(1, tree.n_words), repeat=length):
            texts = [[*history, word] for word in range(tree.n_words)]  # the word 0 is what a sentence ends with
            scores = loss.score(x, encode(texts, tree.n_words))[0].reshape(tree.n_words, length + 2)
            assert np.exp(scores[:, length]).sum() == pytest.approx(1, abs=1e-12)


def test_the_training_text_is_scored_like_the_loss():
    tree, _, rng = problem(5, None)
    x = rng.normal(size=tree.n_entries)
    loss = CollapsedNgramLoss(tree)
    sentences, line = [], []
    for word in tree.text[1:].tolist():
        if word == tree.n_words:
            sentences.append(line)
            line = []
        else:
            line.append(word)
    value = loss.value_and_gradient(x, np.empty_like(x))
    assert loss.value_on(x, encode(sentences, tree.n_words)) == pytest.approx(value)
    for bad, message in ((encode([[99]], tree.n_words), "not of the vocabulary"), (encode([[1]], 99), "vocabulary of")):
        with pytest.raises(ValueError, match=message):
            loss.score(x, bad)


def test_derivatives_and_powers():
    tree, _, _ = problem(3, None)
    loss = CollapsedNgramLoss(tree)
    for power in (Loss, Curvature, Scaled):
        assert isinstance(loss, power)
    check_loss(loss)
    estimate = np.empty(tree.n_entries)
    loss.curvature_estimate(estimate)
    m = tree.entry_multiplicity.astype(float)
    np.testing.assert_array_equal(estimate, m * m * np.maximum(tree.trie.entry_count, 0.5))


def test_deep_trees():
    """A text of one word only is as deep as it is long."""
    text = Sentences(2, np.ones(3000, np.uint32), np.array([0, 3000]))
    tree = build_suffix_tree(text)
    assert tree.trie.order > 2900
    g = np.empty(tree.n_entries)
    value = CollapsedNgramLoss(tree).value_and_gradient(np.zeros(tree.n_entries), g)
    assert value == pytest.approx(3001 * np.log(2))
    assert np.all(np.isfinite(g))
