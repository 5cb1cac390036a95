"""Naive summation, unigram caching and the sweeps give the same numbers; each costs the terms it says."""

import functools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ngrams import reference_trie

from loglinear import _core
from loglinear.losses.baselines.ngram_normalisers import NaiveNgramLoss, UnigramCachingLoss, count_terms
from loglinear.losses.ngram_maxent import NgramMaxentLoss, native_histories
from loglinear.protocols import Expectations, SplitExpectations
from loglinear.testing import check_loss
from loglinear.threads import pool

WAYS = {
    "naive": NaiveNgramLoss,
    "caching": UnigramCachingLoss,
    "shared": functools.partial(UnigramCachingLoss, shared_products=True),
    "hierarchical": NgramMaxentLoss,
}


def sentences_of(seed, n_sentences=30, n_words=7, length=8):
    rng = np.random.default_rng(seed)
    return [rng.integers(1, n_words, rng.integers(0, length)).tolist() for _ in range(n_sentences)]


def cut_off(sentences, order, n_words, least):
    """A trie without the rare n-grams of order 2 and above, by leaving them out of the reference's tables."""
    full = reference_trie(sentences, order, n_words)
    entries = full.order_of_entries() == 1
    for e in range(full.n_words, full.n_entries):
        entries[e] = full.entry_count[e] >= least and entries[full.entry_parent[e]]
    n_own = [int(entries[full.context_entry[c] : full.context_entry[c + 1]].sum()) for c in range(full.n_contexts)]
    parent = np.repeat(np.arange(full.n_contexts), np.diff(full.context_child))
    contexts = np.array(n_own) > 0
    for c in range(1, full.n_contexts):
        contexts[c] &= contexts[parent[c - 1]]
    number = np.cumsum(entries) - 1
    children = np.bincount(parent[contexts[1:]], minlength=full.n_contexts)[contexts]
    u32 = np.uint32
    return type(full)(
        order,
        n_words,
        np.concatenate([[0], np.cumsum(contexts)])[full.context_start],
        np.concatenate([[0], np.cumsum(entries)])[full.entry_start],
        full.context_word[contexts],
        np.concatenate([[1], 1 + np.cumsum(children)]).astype(u32),
        np.concatenate([[0], np.cumsum(np.array(n_own)[contexts])]).astype(u32),
        full.context_count[contexts],
        full.entry_word[entries],
        np.where(np.arange(full.n_entries) < n_words, 0xFFFFFFFF, number[full.entry_parent.astype(np.int32)])[
            entries
        ].astype(u32),
        full.entry_count[entries],
    )


def paths(trie):
    """(tokens of its own, entries along its suffixes) of each context."""
    out = []

    def visit(c, path):
        path = [*path, range(trie.context_entry[c], trie.context_entry[c + 1])]
        children = range(trie.context_child[c], trie.context_child[c + 1])
        out.append((c, int(trie.context_count[c]) - sum(int(trie.context_count[k]) for k in children), path))
        for k in children:
            visit(k, path)

    visit(0, [])
    return out


def by_total_twin(trie, w):
    """Expectations by total by enumeration of all events."""
    out = np.zeros((trie.order, trie.n_entries))
    for _, own, path in paths(trie):
        active = [[e for part in path for e in part if trie.entry_word[e] == v] for v in range(trie.n_words)]
        scores = np.array([w[entries].sum() for entries in active])
        p = np.exp(scores - scores.max())
        for entries, probability in zip(active, p / p.sum()):
            out[len(entries) - 1, entries] += own * probability
    return out


tries = st.builds(
    lambda seed, order, least: cut_off(sentences_of(seed), order, 7, least),
    st.integers(0, 10**6),
    st.integers(1, 5),
    st.integers(1, 3),
)


@given(tries, st.integers(0, 10**6), st.floats(0, 2), st.integers(1, 3))
@settings(deadline=None, max_examples=60)
def test_all_ways_agree(trie, seed, scale, n_threads):
    w = np.random.default_rng(seed).normal(size=trie.n_entries) * scale
    values, gradients, sizes = [], [], max(1, int(trie.context_count[0]))
    for way in WAYS.values():
        gradients.append(np.empty(trie.n_entries))
        values.append(way(trie, n_threads=n_threads).value_and_gradient(w, gradients[-1]))
    for value, gradient in zip(values[1:], gradients[1:]):
        assert value == pytest.approx(values[0], rel=1e-10, abs=1e-10)
        np.testing.assert_allclose(gradient, gradients[0], atol=1e-10 * sizes)
    naive, caching = (WAYS[name](trie).log_normalisers(w) for name in ("naive", "caching"))
    np.testing.assert_allclose(caching, naive, rtol=1e-10, atol=1e-10)
    log_r = NgramMaxentLoss(trie).log_probabilities(w)[1]
    parent = np.repeat(np.arange(trie.n_contexts), np.diff(trie.context_child))
    for c in range(1, trie.n_contexts):
        log_r[c] += log_r[parent[c - 1]]
    known = ~np.isnan(naive)
    np.testing.assert_allclose(log_r[known], naive[known], rtol=1e-10, atol=1e-10)


@given(tries, st.integers(0, 10**6), st.integers(1, 200), st.booleans())
@settings(deadline=None, max_examples=40)
def test_pieces_of_any_size_agree(trie, seed, work, shared):
    w = np.random.default_rng(seed).normal(size=trie.n_entries)
    loss, log_z = UnigramCachingLoss(trie), np.full(trie.n_contexts, np.nan)
    expected, ours = np.empty(trie.n_entries), np.empty(trie.n_entries)
    loss.expectations(w, expected)
    assert native_histories(trie).unigram_caching(pool(3), w, log_z, ours, shared, work) == loss.terms
    np.testing.assert_allclose(ours, expected, atol=1e-9)
    np.testing.assert_allclose(log_z, loss.log_normalisers(w), atol=1e-12)


@given(tries, st.integers(0, 10**6), st.sampled_from([30.0, 300.0, 700.0]))
@settings(deadline=None, max_examples=30)
def test_extreme_weights_are_summed_word_by_word(trie, seed, extent):
    w = np.random.default_rng(seed).uniform(-extent, extent, size=trie.n_entries)
    naive, caching = np.empty(trie.n_entries), np.empty(trie.n_entries)
    value = NaiveNgramLoss(trie).value_and_gradient(w, naive)
    for way in ("caching", "shared"):
        assert WAYS[way](trie).value_and_gradient(w, caching) == pytest.approx(value, rel=1e-6)
        np.testing.assert_allclose(caching, naive, atol=1e-6)


@given(tries, st.integers(0, 10**6))
@settings(deadline=None, max_examples=30)
def test_expectations_by_total_equal_enumeration(trie, seed):
    w = np.random.default_rng(seed).normal(size=trie.n_entries)
    loss = NgramMaxentLoss(trie, n_threads=2)
    split, whole, count = np.empty((trie.order, trie.n_entries)), np.empty(trie.n_entries), np.empty(trie.n_entries)
    value = loss.expectations_by_total(w, split)
    np.testing.assert_allclose(split, by_total_twin(trie, w), atol=1e-9)
    assert loss.expectations(w, whole) == pytest.approx(value, rel=1e-10)
    np.testing.assert_allclose(split.sum(axis=0), whole, atol=1e-9)
    loss.empirical(count)
    np.testing.assert_array_equal(count, trie.entry_count)


@given(tries)
@settings(deadline=None, max_examples=40)
def test_terms_by_brute_force(trie):
    histories = [(c, path) for c, own, path in paths(trie) if own > 0]
    conditional = sum(
        sum(any(trie.entry_word[e] == v for part in path[1:] for e in part) for v in range(trie.n_words))
        for _, path in histories
    )
    count = count_terms(trie)
    assert count.histories == len(histories)
    assert count.naive == len(histories) * trie.n_words
    assert count.unigram_caching == conditional
    assert count.hierarchical == trie.n_entries
    naive, caching = NaiveNgramLoss(trie), UnigramCachingLoss(trie)
    assert naive.histories().tolist() == sorted(c for c, _ in histories)
    for loss, terms in ((naive, count.naive), (caching, count.unigram_caching)):
        loss.log_normalisers(np.zeros(trie.n_entries))
        assert loss.terms == terms
        loss.value_and_gradient(np.zeros(trie.n_entries), np.empty(trie.n_entries))
        assert loss.terms == terms


def test_trigrams_of_a_known_corpus():
    """Histories of two words or <s> alone: what the paper counts."""
    trie = reference_trie([[1, 2], [1, 2], [2]], 3, 3)
    # <s> | <s> 1 | 1 2 | <s> 2; after 1: 2; after 2: </s>; after <s>: 1, 2.
    count = count_terms(trie)
    assert (count.histories, count.naive) == (4, 12)
    assert count.unigram_caching == 2 + 1 + 1 + 1
    assert count.hierarchical == 3 + 4 + 3
    assert count.nominal_speed_up == pytest.approx(0.5)


@pytest.mark.parametrize("way", ["naive", "caching", "shared"])
def test_is_a_loss(way):
    loss = WAYS[way](reference_trie(sentences_of(1), 4, 7))
    assert isinstance(loss, Expectations)
    assert not isinstance(loss, SplitExpectations)
    check_loss(loss)


@pytest.mark.parametrize("way", ["naive", "caching", "shared"])
def test_threads_give_the_same_bits(way):
    trie = reference_trie(sentences_of(3, 400, 40, 20), 4, 40)
    w = np.random.default_rng(0).normal(size=trie.n_entries)
    out = []
    for n_threads in (1, 2, 5):
        gradient = np.empty(trie.n_entries)
        out.append((WAYS[way](trie, n_threads=n_threads).value_and_gradient(w, gradient), gradient.tobytes()))
    assert out[0] == out[1] == out[2]


def test_a_sample_of_histories():
    trie = reference_trie(sentences_of(4), 3, 7)
    loss = NaiveNgramLoss(trie)
    w = np.random.default_rng(0).normal(size=trie.n_entries)
    whole, part = loss.log_normalisers(w), np.full(trie.n_contexts, np.nan)
    some = loss.histories()[::3].copy()
    assert loss.sum_histories(w, some, part) == some.size * trie.n_words
    np.testing.assert_array_equal(part[some], whole[some])
    assert np.isnan(part).sum() == trie.n_contexts - some.size
    with pytest.raises(ValueError, match="no such context"):
        loss.sum_histories(w, np.array([trie.n_contexts], np.uint32), part)


def test_lengths_are_checked():
    trie = reference_trie(sentences_of(5), 3, 7)
    loss = UnigramCachingLoss(trie)
    with pytest.raises(ValueError, match="one weight per entry"):
        loss.log_normalisers(np.zeros(3))
    with pytest.raises(ValueError, match="one expectation per entry"):
        loss.expectations(np.zeros(trie.n_entries), np.empty(3))
    with pytest.raises(ValueError, match="seven arrays"):
        _core.NgramHistories(7, trie.context_start, trie.entry_start, [])
