"""Pruned models sum to one, stay closed, and lose what they should."""

from dataclasses import replace
from math import exp, expm1, log

import numpy as np
import pytest
from backoff_tables import log_probability, tables, worst_sum
from hypothesis import given, settings
from hypothesis import strategies as st
from ngrams import reference_trie

from loglinear.backoff.add_k import add_k
from loglinear.backoff.kneser_ney import KneserNey, kneser_ney
from loglinear.backoff.pruning import prune_by_entropy
from loglinear.backoff.witten_bell import witten_bell
from loglinear.features.word_vocabulary import WordVocabulary


def words(n):
    return WordVocabulary.from_words([f"w{i}" for i in range(n - 1)], is_open=False)


def corpus(n_sentences, n_words, seed):
    rng = np.random.default_rng(seed)
    return [
        list(map(int, 1 + np.minimum(rng.zipf(1.6, n) - 1, n_words - 2))) for n in rng.integers(0, 8, n_sentences)
    ]


def is_closed(t):
    kept = t.probability
    return all(not h or ((h[:-1], w) in kept and (h[0] == t.n_words or (h[1:], h[0]) in kept)) for h, w in kept)


@pytest.mark.parametrize("estimator", [kneser_ney, witten_bell, add_k])
@pytest.mark.parametrize("threshold", [0.0, 1e-6, 1e-4, 1e-2, 10.0])
def test_by_entropy(estimator, threshold):
    trie = reference_trie(corpus(200, 15, 2), 4, 15)
    small = prune_by_entropy(estimator(trie, words(15)), threshold)
    t = tables(small)
    assert worst_sum(t) < 1e-12
    assert is_closed(t)
    if threshold == 10.0:
        assert (small.n_entries, small.n_contexts) == (15, 1)
    if threshold == 1e-4:
        assert 15 < small.n_entries < trie.n_entries


def test_entropy_of_bigrams_by_enumeration():
    """Bigrams: leave out one at a time, renormalise, and compare the distributions word by word."""
    n_words = 7
    trie = reference_trie(corpus(60, n_words, 3), 2, n_words)
    model = kneser_ney(trie, words(n_words))
    t = tables(model)

    def rise(h, word):
        kept = [w for g, w in t.probability if g == h and w != word]
        left = 1 - sum(exp(t.probability[h, w]) for w in kept)
        below = 1 - sum(exp(t.probability[(), w]) for w in kept)
        new = {w: t.probability[h, w] for w in kept}
        new = [new.get(w, log(left / below) + t.probability[(), w]) for w in range(n_words)]
        old = [log_probability(t, h, w) for w in range(n_words)]
        history = exp(t.probability[(), h[0] if h[0] < n_words else 0])
        return expm1(history * sum(exp(p) * (p - q) for p, q in zip(old, new)))

    rises = {(h, w): rise(h, w) for h, w in t.probability if h}
    threshold = float(np.median(list(rises.values())))
    expected = {e for e, r in rises.items() if r >= threshold * (1 + 1e-9)}
    kept = {e for e in tables(prune_by_entropy(model, threshold * (1 + 1e-9))).probability if e[0]}
    assert kept == expected
    assert 0 < len(kept) < len(rises)


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.lists(st.integers(1, 3), max_size=7), max_size=12),
    st.integers(1, 4),
    st.sampled_from([0.0, 1e-5, 1e-3, 0.05]),
    st.integers(0, 3),
    st.booleans(),
)
def test_any_small_corpus(sentences, order, threshold, count, interpolate):
    trie = reference_trie(sentences, order, 4)
    model = kneser_ney(trie, words(4), interpolate=interpolate)
    small = kneser_ney(trie, words(4), interpolate=interpolate, prune=[0, count][:order])
    twice = prune_by_entropy(small, threshold)
    for pruned in (small, prune_by_entropy(model, threshold), twice):
        assert worst_sum(tables(pruned)) < 1e-12
        assert is_closed(tables(pruned))


def test_nearly_full_contexts_keep_their_digits():
    n_words = 30
    sentences = [[1, w] for w in range(2, n_words - 1)] * 400 + [[1, n_words - 1], [n_words - 1]]
    trie = reference_trie(sentences, 3, n_words)
    model = kneser_ney(trie, words(n_words), discounts=[1e-9, 1e-6, 1e-6])
    assert worst_sum(tables(model)) < 1e-12
    assert worst_sum(tables(prune_by_entropy(model, 1e-6))) < 1e-12


def test_entries_without_parents_are_allowed():
    """Models from elsewhere may lack the end of an n-gram."""
    trie = reference_trie(corpus(40, 6, 5), 3, 6)
    model = witten_bell(trie, words(6))
    small = prune_by_entropy(model, 1e-3)
    assert worst_sum(tables(small)) < 1e-12
    bare = next(
        e for e in range(int(model.entry_start[1]), int(model.entry_start[2])) if e in trie.entry_parent.tolist()
    )
    c = int(np.searchsorted(trie.context_entry, bare, side="right")) - 1
    fields = {name: np.delete(getattr(model, name), bare) for name in ("entry_word", "log_probability")}
    fields["context_entry"] = model.context_entry - (np.arange(model.n_contexts + 1) > c).astype(np.uint32)
    fields["entry_start"] = model.entry_start - np.array([0, 0, 1, 1])
    open_ended = replace(model, **fields)
    pruned = prune_by_entropy(open_ended, 0.0)
    assert all(np.isfinite(pruned.log_backoff))


def test_keeps_the_kind_of_model():
    trie = reference_trie(corpus(40, 6, 5), 3, 6)
    model = kneser_ney(trie, words(6))
    small = prune_by_entropy(model, 1e-2)
    assert isinstance(small, KneserNey)
    assert small.discounts == model.discounts


def test_threads_agree():
    trie = reference_trie(corpus(4000, 400, 6), 4, 400)
    model = kneser_ney(trie, words(400))
    one, three = (prune_by_entropy(model, 1e-7, n_threads=n) for n in (1, 3))
    assert one.n_entries < model.n_entries
    np.testing.assert_array_equal(one.entry_word, three.entry_word)
    np.testing.assert_array_equal(one.log_backoff, three.log_backoff)


def test_refusals():
    trie = reference_trie([[1, 2], [2]], 2, 3)
    model = kneser_ney(trie, words(3))
    with pytest.raises(ValueError, match="must not be negative"):
        prune_by_entropy(model, -1.0)
    with pytest.raises(ValueError, match="must not be negative"):
        prune_by_entropy(model, float("nan"))
    damaged = replace(model, entry_word=model.entry_word[::-1].copy())
    with pytest.raises(ValueError, match="do not ascend below 3"):
        prune_by_entropy(damaged, 0.1)
    with pytest.raises(ValueError, match="children or entries"):
        prune_by_entropy(replace(model, context_entry=model.context_entry[::-1].copy()), 0.1)
    with pytest.raises(ValueError, match="one logarithm per context"):
        prune_by_entropy(replace(model, log_backoff=model.log_backoff[:-1]), 0.1)
