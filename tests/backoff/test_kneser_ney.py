"""Kneser-Ney against dictionaries and by its sums; corpora on which other builders stop."""

import gzip
import os
from collections import Counter, defaultdict
from math import exp, log
from pathlib import Path

import numpy as np
import pytest
from backoff_tables import log_probability, perplexity, search, tables, worst_sum
from hypothesis import given, settings
from hypothesis import strategies as st
from ngrams import reference_trie

from loglinear.backoff.kneser_ney import DEFAULT, choose_discounts, kneser_ney
from loglinear.data.ngram import NgramTrie, build_trie
from loglinear.data.sentences import Sentences
from loglinear.errors import IncompatibleError
from loglinear.features.word_vocabulary import WordVocabulary

DATA = Path(os.environ.get("LOGLINEAR_DATA", "/nonexistent")) / "ptb"


def words(n, *, is_open=False):
    return WordVocabulary.from_words([f"w{i}" for i in range(n - 1 - is_open)], is_open=is_open)


def zipf_corpus(n_sentences, n_words, seed, longest=9):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, longest, n_sentences)
    return [list(map(int, 1 + np.minimum(rng.zipf(1.5, n) - 1, n_words - 2))) for n in lengths]


def twin(sentences, order, n_words, discounts, cut=None):
    """Interpolated Kneser-Ney from dictionaries: p(history, word), history newest word first."""
    tokens, before = Counter(), defaultdict(set)
    for sentence in sentences:
        history = (n_words,)
        for word in [*sentence, 0]:
            for k in range(min(order, len(history) + 1)):
                tokens[history[:k], word] += 1
                if k:
                    before[history[: k - 1], word].add(history[k - 1])
            history = (word, *history)
    followers = defaultdict(dict)
    for (h, w), count in tokens.items():
        is_raw = len(h) == order - 1 or (h and h[-1] == n_words)
        followers[h][w] = count if is_raw else len(before[h, w])

    def probability(h, w):
        lower = 1 / n_words if h == () else probability(h[:-1], w)
        counts = followers.get(h)
        if not counts:
            return lower
        threshold = cut[len(h)] if cut else 0
        taken = {
            v: a if tokens[h, v] <= threshold else discounts[len(h)][min(a, 3) - 1] for v, a in counts.items()
        }
        total = sum(counts.values())
        return (counts.get(w, 0) - taken.get(w, 0) + sum(taken.values()) * lower) / total

    return probability


@pytest.mark.parametrize("order", [1, 2, 3, 5])
@pytest.mark.parametrize("cut", [None, [0, 0, 1, 1, 2]])
def test_equals_dictionaries(order, cut):
    sentences, n_words = zipf_corpus(60, 12, seed=order), 12
    cut = cut and cut[:order]
    trie = reference_trie(sentences, order, n_words)
    model = kneser_ney(trie, words(n_words), prune=cut)
    t, expected = tables(model), twin(sentences, order, n_words, [d.values for d in model.discounts], cut)
    histories = set(tables(kneser_ney(trie, words(n_words))).backoff) | {(3,), (5, 5, 5, 5)[: order - 1], ()}
    for h in histories:
        if len(h) < order:
            for w in range(n_words):
                assert exp(log_probability(t, h, w)) == pytest.approx(expected(h, w), rel=1e-12)
    assert worst_sum(t) < 1e-12


def test_discounts_by_hand():
    y = 100 / (100 + 2 * 40)
    d = choose_discounts([100, 40, 20, 10])
    assert d.source == "modified"
    assert d.values == pytest.approx((1 - 2 * y * 0.4, 2 - 3 * y * 0.5, 3 - 4 * y * 0.5))
    assert choose_discounts([100, 40, 20, 10], modified=False).values == pytest.approx((y, y, y))
    assert choose_discounts([100, 40, 20, 0]).values[2] == 3.0
    assert choose_discounts([100, 40, 20, 0], interpolate=False).source == "single"


@pytest.mark.parametrize(
    ("counts", "source"),
    [
        ([0, 0, 0, 0], "default"),
        ([0, 5, 5, 5], "default"),  # t_1 = 0
        ([5, 0, 5, 5], "default"),  # t_2 = 0
        ([5, 5, 0, 5], "single"),  # t_3 = 0
        ([1, 1, 100, 1], "single"),  # D_2 < 0
        ([1, 10**9, 1, 1], "modified"),  # D_1 next to 0
        ([10**9, 1, 1, 1], "single"),  # D_2 < 0, Y next to 1
    ],
)
def test_discounts_fall_back(counts, source):
    d = choose_discounts(counts)
    assert d.source == source
    assert all(0 < x <= k for k, x in enumerate(d.values, 1))
    assert source in str(d)


ODD = {
    "no sentence": ([], 3),
    "empty sentences": ([[], [], []], 3),
    "one sentence": ([[1, 2, 3, 4, 5]], 7),
    "one word": ([[1]], 2),
    "one word repeated": ([[1] * 50], 2),
    "one word in many sentences": ([[1]] * 50, 2),
    "characters": (np.random.default_rng(3).integers(1, 4, (200, 30)).tolist(), 4),
    "all counts from 5": ([[1, 2, 3, 1, 2]] * 5 + [[3, 2, 1]] * 7, 5),
    "counts of 1 and 3": ([[1, 2]] + [[3, 4]] * 3, 6),
    "counts of 2 and 4": ([[1, 2]] * 2 + [[3, 4]] * 4, 6),
    "nothing but the end": ([[]], 1),
    "words never seen": ([[1, 2], [2, 1, 2]], 40),
}


@pytest.mark.parametrize("interpolate", [True, False])
@pytest.mark.parametrize("order", [1, 2, 4, 6])
@pytest.mark.parametrize("name", ODD)
def test_odd_corpora(name, order, interpolate):
    sentences, n_words = ODD[name]
    trie = reference_trie(sentences, order, n_words)
    for modified in (True, False):
        model = kneser_ney(trie, words(n_words), modified=modified, interpolate=interpolate)
        assert len(model.discounts) == order
        assert worst_sum(tables(model)) < 1e-12


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(st.integers(1, 4), max_size=7), max_size=12),
    st.integers(1, 5),
    st.booleans(),
    st.one_of(st.none(), st.lists(st.integers(0, 3), max_size=4).map(lambda cut: [0, *sorted(cut)])),
)
def test_always_sums_to_one(sentences, order, interpolate, cut):
    trie = reference_trie(sentences, order, 5)
    model = kneser_ney(trie, words(5), interpolate=interpolate, prune=cut and cut[:order])
    assert worst_sum(tables(model)) < 1e-12


def test_backing_off_uses_only_its_own_order():
    sentences = zipf_corpus(60, 12, seed=7)
    trie = reference_trie(sentences, 2, 12)
    discounts = [0.5, [0.4, 0.7, 0.9]]
    model = kneser_ney(trie, words(12), discounts=discounts, interpolate=False)
    t = tables(model)
    sizes = np.diff(trie.context_entry).astype(int)
    c = int(np.argmax(np.where(sizes < 12, sizes, 0)))  # the largest that lacks a word: others have nothing to back off
    assert sizes[c] > 3
    own = slice(int(trie.context_entry[c]), int(trie.context_entry[c + 1]))
    counts = trie.entry_count[own].astype(float)
    expected = (counts - np.array([0, 0.4, 0.7, 0.9])[np.minimum(counts, 3).astype(int)]) / counts.sum()
    np.testing.assert_allclose(np.exp(model.log_probability[own]), expected, rtol=1e-12)
    assert worst_sum(t) < 1e-12


def test_nearly_full_context_backs_off_exactly():
    """All but one rare word follow word 1: one minus the sum of the rest would keep few digits."""
    n_words = 30
    sentences = [[1, w] for w in range(2, n_words - 1)] * 400 + [[n_words - 1]]
    trie = reference_trie(sentences, 3, n_words)
    model = kneser_ney(trie, words(n_words), discounts=[1e-9, 0.5, 0.5], interpolate=False)
    assert worst_sum(tables(model)) < 1e-12


def test_unknown_word_has_its_share():
    vocabulary = words(6, is_open=True)  # </s> <unk> and four words
    sentences = [[2, 3, 4, 5], [2, 2, 3], [3, 2]]
    model = kneser_ney(reference_trie(sentences, 1, 6), vocabulary, discounts=[0.5])
    n_types, n_tokens = 5, 12
    assert model.log_probability[1] == pytest.approx(log(0.5 * n_types / n_tokens / 6))


def test_arrays_are_searchable():
    """Sorted as the layout promises: a binary search finds what enumeration finds."""
    sentences = zipf_corpus(50, 12, seed=8)
    model = kneser_ney(reference_trie(sentences, 4, 12), words(12), prune=[0, 0, 1])
    t = tables(model)
    for h in [*t.backoff, (3, 2, 1), (11, 11, 11)]:
        for w in range(12):
            assert search(model, h, w) == pytest.approx(log_probability(t, h, w), abs=1e-14)


def test_threads_agree():
    trie = reference_trie(zipf_corpus(4000, 500, seed=1), 4, 500)
    for settings_ in ({}, {"interpolate": False}, {"prune": [0, 0, 1, 1]}):
        one, three = (kneser_ney(trie, words(500), n_threads=n, **settings_) for n in (1, 3))
        assert one.discounts == three.discounts
        np.testing.assert_array_equal(one.log_probability, three.log_probability)
        np.testing.assert_array_equal(one.log_backoff, three.log_backoff)


def test_pruned_model_is_smaller_and_closed():
    trie = reference_trie(zipf_corpus(300, 20, seed=2), 4, 20)
    whole, small = (kneser_ney(trie, words(20), prune=cut) for cut in ([0], [0, 0, 1, 2]))
    assert whole.n_entries == trie.n_entries
    assert small.n_entries < whole.n_entries
    assert small.n_contexts < whole.n_contexts
    assert whole.discounts == small.discounts
    kept = tables(small).probability
    for h, w in kept:
        assert not h or (h[:-1], w) in kept  # the end of an n-gram
        assert not h or h[0] == 20 or (h[1:], h[0]) in kept  # its beginning
    assert len({h for h, _ in kept}) == small.n_contexts


def test_refusals():
    trie = reference_trie([[1, 2], [2]], 2, 3)
    with pytest.raises(IncompatibleError, match="n-grams are of 3 words, the vocabulary has 4"):
        kneser_ney(trie, words(4))
    for discounts, message in [
        ([0.5], "discounts of 1 orders for an order of 2"),
        ([0.5, [0.5, 0.5]], "discounts of order 2: one number or three, not 2"),
        ([0.5, [0.5, 2.5, 1]], "discounts of order 2 must be positive and at most 1, 2 and 3"),
        ([0.0, 0.5], "discounts of order 1 must be positive"),
        ([0.5, float("nan")], "discounts of order 2 must be positive"),
    ]:
        with pytest.raises(ValueError, match=message):
            kneser_ney(trie, words(3), discounts=discounts)
    with pytest.raises(ValueError, match="below 1, 2 and 3"):
        kneser_ney(trie, words(3), discounts=[0.5, 1.0], interpolate=False)
    for prune, message in [
        ([1, 1], "threshold of unigrams must be 0"),
        ([0, 1, 2], "3 count thresholds for an order of 2"),
        ([0, -1], "must be whole numbers that are not negative"),
        ([0, 0.5], "must be whole numbers"),
        ([], "0 count thresholds"),
    ]:
        with pytest.raises(ValueError, match=message):
            kneser_ney(trie, words(3), prune=prune)
    with pytest.raises(ValueError, match="must not decrease"):
        kneser_ney(reference_trie([[1, 2]], 3, 3), words(3), prune=[0, 2, 1])


@pytest.mark.parametrize(
    ("field", "change", "message"),
    [
        ("entry_parent", lambda a: a[:-1], "one parent and one count per entry"),
        ("entry_parent", lambda a: np.where(np.arange(a.size) == a.size - 1, 4 * 10**9, a), "parent of entry"),
        ("context_entry", lambda a: a[::-1], "do not ascend"),
        ("context_child", lambda a: a + 1, "do not ascend to the end"),
        ("context_start", lambda a: a[:-1], "order \\+ 1 numbers"),
        ("entry_start", lambda a: a + 1, "do not ascend from the empty context"),
        ("context_count", lambda a: a[:-1], "one count per context"),
    ],
)
def test_damaged_trie_is_refused(field, change, message):
    trie = reference_trie([[1, 2], [2]], 3, 3)
    fields = dict(vars(trie))
    fields[field] = np.ascontiguousarray(change(fields[field])).astype(fields[field].dtype)
    with pytest.raises(ValueError, match=message):
        kneser_ney(NgramTrie(**fields), words(3))


def test_default_is_what_characters_get():
    trie = reference_trie([[1, 2, 1]] * 20, 2, 3)
    assert kneser_ney(trie, words(3)).discounts[1].values == DEFAULT


@pytest.mark.skipif(not DATA.exists(), reason="LOGLINEAR_DATA has no ptb")
def test_penn_treebank():
    def read(part):
        with gzip.open(DATA / f"ptb.{part}.txt.gz", "rt", encoding="utf-8") as file:
            return [line.split() for line in file]

    train, test = read("train"), read("test")
    vocabulary = WordVocabulary.from_words(dict.fromkeys(w for line in train for w in line))
    number = {w: i for i, w in enumerate(vocabulary)}
    numbered = [[[number[w] for w in line] for line in part] for part in (train, test)]
    ptr = np.cumsum([0, *map(len, numbered[0])])
    ids = np.array([w for line in numbered[0] for w in line], dtype=np.uint32)
    trie = build_trie(Sentences(vocabulary.n_words, ids, ptr), 5)
    model = kneser_ney(trie, vocabulary)
    assert [d.source for d in model.discounts] == ["modified"] * 5
    assert perplexity(model, numbered[1]) == pytest.approx(141.2, abs=0.1)
