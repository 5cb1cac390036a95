"""Brown's merges against enumeration, bits of trees, and the bidirectional exchange against its own formula."""

import itertools

import numpy as np
import pytest
from test_exchange import random_sentences

from loglinear import _core, threads
from loglinear.clustering import WordBigrams, bidirectional, brown, class_bits, log_likelihood
from loglinear.clustering.merge import bits_of_tree
from loglinear.status import Status


def cheapest(bigrams, labels, names):
    """Return the pair of classes whose merge costs the least, by trying all."""
    values = {}
    for a, b in itertools.combinations(names, 2):
        values[a, b] = log_likelihood(bigrams, np.where(labels == b, a, labels), int(labels.max()) + 1)
    return max(values, key=values.get), values


@pytest.mark.parametrize("seed", range(3))
def test_the_tree_merges_the_cheapest_pair(seed):
    sentences = random_sentences(seed, 30, 50)
    bigrams, pool = WordBigrams(sentences), threads.pool(2)
    labels = np.random.default_rng(seed).integers(0, 6, 30).astype(np.uint32)
    labels[:6] = range(6)
    merges = _core.Merger(pool, bigrams.native, 6, labels).tree(pool).reshape(-1, 2)
    nodes = {n: n for n in range(6)}  # label -> node
    for step, pair in enumerate(merges.tolist()):
        (a, b), values = cheapest(bigrams, labels, list(nodes))
        merged = next((x, y) for x, y in values if {nodes[x], nodes[y]} == set(pair))
        assert values[merged] == pytest.approx(values[a, b], abs=1e-6)
        labels = np.where(labels == merged[1], merged[0], labels)
        del nodes[merged[1]]
        nodes[merged[0]] = 6 + step
    assert len(merges) == 5


def test_words_join_by_cheapest_merges():
    # Each word becomes a class, words to come are one class, and the two classes merge that cost the least.
    sentences = random_sentences(4, 16, 60)
    bigrams, k = WordBigrams(sentences), 4
    order = bigrams.by_count.tolist()
    labels = np.full(16, 99, np.uint32)
    labels[order[:k]] = range(k)
    for word in order[k:]:
        labels[word] = next(n for n in range(k + 1) if n not in labels)
        compact = np.where(labels == 99, k + 1, labels)
        pair, _ = cheapest(bigrams, compact, range(k + 1))
        labels = np.where(labels == pair[1], pair[0], labels)
    names = np.unique(labels[order], return_inverse=True)[1]
    found = brown(bigrams, k)
    assert log_likelihood(bigrams, found.labels, k) == pytest.approx(found.log_likelihood)
    pairs = {(a, b) for a, b in zip(names.tolist(), found.labels[order].tolist())}
    assert len(pairs) == k  # the same partition


def test_threads_change_nothing():
    sentences = random_sentences(3, 300, 800)
    for run in (brown, bidirectional):
        one, three = (run(WordBigrams(sentences), 12, n_threads=n) for n in (1, 3))
        assert np.array_equal(one.labels, three.labels)
    bigrams = WordBigrams(sentences)
    assert class_bits(bigrams, one.labels, 12, n_threads=1) == class_bits(bigrams, one.labels, 12, n_threads=3)


def test_bits_are_those_of_the_tree():
    assert bits_of_tree(np.array([0, 2, 3, 1], np.uint32), 3) == ["00", "1", "01"]
    assert bits_of_tree(np.zeros(0, np.uint32), 1) == ["0"]
    bigrams = WordBigrams(random_sentences(6, 60, 90))
    bits = class_bits(bigrams, brown(bigrams, 9).labels, 9)
    assert len(set(bits)) == 9
    assert sum(2.0 ** -len(b) for b in bits) == 1.0  # a full binary tree


def test_interrupted_merges_keep_as_many_classes(monkeypatch):
    monkeypatch.setattr("loglinear.clustering.merge._WORDS_PER_CALL", 3)

    def stop(n_passes, left, value):
        raise KeyboardInterrupt

    sentences = random_sentences(5)
    found = brown(WordBigrams(sentences), 5, report=stop)
    assert found.status == Status.INTERRUPTED
    assert np.unique(found.labels[np.unique(sentences.words)]).tolist() == list(range(5))


def both_sides(sentences, labels):
    """Return the objective of the bidirectional exchange by its counts."""
    g = lambda x: np.sum(x[x > 0] * np.log(x[x > 0]))  # noqa: E731
    ptr, n, k = sentences.sentence_ptr, sentences.n_words, int(labels.max()) + 1
    after, before, totals = np.zeros((n, k)), np.zeros((n, k)), np.zeros(k)
    for a, b in itertools.pairwise(ptr):
        for v, w in itertools.pairwise([0, *sentences.words[a:b], 0]):
            after[v, labels[w]] += 1
            before[w, labels[v]] += 1
            totals[labels[w]] += 1
    return g(after) + g(before) - 2 * g(totals)


@pytest.mark.parametrize(("seed", "n_classes"), [(0, 4), (1, 6), (2, 30)])
def test_bidirectional_classes_are_locally_best(seed, n_classes):
    sentences = random_sentences(seed, 40, 80)
    bigrams = WordBigrams(sentences)
    found = bidirectional(bigrams, n_classes, max_passes=100)
    start = found.labels.copy()
    start[0] = 0
    value = _core.Bidirectional(bigrams.native, n_classes, start).objective
    assert value == pytest.approx(both_sides(sentences, found.labels))
    assert found.status == Status.CONVERGED
    for word in range(1, 40, 3):
        for other in range(min(n_classes, 6)):
            labels = found.labels.copy()
            labels[word] = other
            assert both_sides(sentences, labels) <= value + 1e-4


def test_bidirectional_with_words_that_have_rows_and_words_that_have_none():
    sentences = random_sentences(8, 300, 300)  # 120 classes: a word with fewer than 8 neighbours has no row
    found = bidirectional(WordBigrams(sentences), 120)
    start = found.labels.copy()
    start[0] = 0
    value = _core.Bidirectional(WordBigrams(sentences).native, 120, start).objective
    assert value == pytest.approx(both_sides(sentences, found.labels))
