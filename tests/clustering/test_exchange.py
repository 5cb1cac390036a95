"""Exchange clustering against NumPy: the likelihood, local optimality, and that threads change nothing."""

import itertools

import numpy as np
import pytest

from loglinear import _core
from loglinear.clustering import WordBigrams, cluster_words, exchange
from loglinear.data.sentences import Sentences
from loglinear.status import Status


def random_sentences(seed, n_words=40, n_sentences=60):
    """Return sentences of words that follow each other by their kind, so that there are classes to find."""
    rng = np.random.default_rng(seed)
    kinds = rng.integers(0, 4, n_words)
    words = []
    for _ in range(n_sentences):
        kind, sentence = rng.integers(0, 4), []
        for _ in range(rng.integers(0, 9)):
            sentence.append(rng.choice(np.flatnonzero(kinds[1:] == kind) + 1))
            kind = (kind + rng.choice(4, p=[0.1, 0.7, 0.1, 0.1])) % 4
        words.append(sentence)
    ptr = np.cumsum([0, *map(len, words)])
    return Sentences(n_words, np.concatenate(words).astype(np.uint32), ptr.astype(np.int64))


def log_likelihood(sentences, labels):
    """Return the log-likelihood of the class bigram model, boundaries included, by its counts."""
    ptr = sentences.sentence_ptr
    pairs = [(v, w) for a, b in itertools.pairwise(ptr) for s in [[0, *sentences.words[a:b], 0]]
             for v, w in itertools.pairwise(s)]  # fmt: skip
    n = int(labels.max()) + 1
    bigrams, words = np.zeros((n, n)), np.bincount([w for _, w in pairs])
    for v, w in pairs:
        bigrams[labels[v], labels[w]] += 1
    classes = bigrams.sum(axis=0)
    return sum(np.log(bigrams[labels[v], labels[w]] / bigrams[labels[v]].sum() * words[w] / classes[labels[w]])
               for v, w in pairs)  # fmt: skip


@pytest.mark.parametrize("seed", range(4))
def test_the_log_likelihood_is_that_of_the_model(seed):
    sentences = random_sentences(seed)
    bigrams = WordBigrams(sentences)
    start = np.random.default_rng(seed).integers(0, 5, sentences.n_words).astype(np.uint32)
    labels = start.copy()
    labels[0] = 5
    assert _core.Exchange(bigrams.native, 5, start).objective == pytest.approx(log_likelihood(sentences, labels))
    found = exchange(bigrams, 5, start=start)
    assert found.log_likelihood == pytest.approx(log_likelihood(sentences, found.labels), rel=1e-12)
    assert found.log_likelihood > log_likelihood(sentences, labels)


@pytest.mark.parametrize("seed", range(3))
def test_no_word_gains_by_another_class(seed):
    sentences = random_sentences(seed)
    found = exchange(WordBigrams(sentences), 4)
    assert found.status == Status.CONVERGED
    for word in range(1, sentences.n_words):
        for other in range(4):
            labels = found.labels.copy()
            labels[word] = other
            assert log_likelihood(sentences, labels) <= found.log_likelihood + 1e-4


def test_every_pass_gains():
    values = []
    found = exchange(WordBigrams(random_sentences(7, 200, 400)), 8, report=lambda *told: values.append(told))
    assert [told[0] for told in values] == list(range(1, found.n_passes + 1))
    assert all(np.diff([told[2] for told in values]) >= 0)
    assert values[-1][1] == 0


def test_threads_change_nothing():
    sentences = random_sentences(3, 500, 2000)
    one, two, three = (exchange(WordBigrams(sentences, n), 20, n_threads=n) for n in (1, 2, 3))
    assert one.log_likelihood == two.log_likelihood == three.log_likelihood
    assert np.array_equal(one.labels, two.labels)
    assert np.array_equal(one.labels, three.labels)


def test_classes_are_numbered_by_count_and_the_boundary_is_last():
    sentences = random_sentences(1)
    labels = cluster_words(sentences, 6)
    counts = np.bincount(labels[sentences.words], minlength=6)
    assert labels.dtype == np.uint32
    assert labels[0] == 6
    assert np.all(np.diff(counts) <= 0)
    assert np.all(counts > 0)


def test_words_that_do_not_occur_have_a_class():
    sentences = Sentences(6, np.array([1, 2, 1, 3], np.uint32), np.array([0, 4], np.int64))
    labels = cluster_words(sentences, 2)
    assert labels[4] == labels[5] < 2


def test_as_many_classes_as_words_is_the_bigram_model():
    sentences = random_sentences(2)
    n_types = np.unique(sentences.words).size
    found = exchange(WordBigrams(sentences), n_types)
    assert np.unique(found.labels[np.unique(sentences.words)]).size == n_types


@pytest.mark.parametrize(("n_classes", "told"), [(0, "whole number from 1"), (99, "only 39 different words")])
def test_impossible_numbers_of_classes_are_refused(n_classes, told):
    with pytest.raises(ValueError, match=told):
        cluster_words(random_sentences(0), n_classes)


def test_wrong_numbers_are_refused():
    with pytest.raises(ValueError, match=r"word number 0 is outside \[1, 3\)"):
        WordBigrams(Sentences(3, np.array([0], np.uint32), np.array([0, 1], np.int64)))
    with pytest.raises(ValueError, match="word 2 has class 9 of 3"):
        _core.Exchange(WordBigrams(random_sentences(0)).native, 3, np.array([0, 0, 9] + [0] * 37, np.uint32))


def test_interruption_keeps_the_classes_so_far():
    def stop(n_passes, n_moved, value):
        raise KeyboardInterrupt

    found = exchange(WordBigrams(random_sentences(5)), 5, report=stop)
    assert (found.status, found.n_passes) == (Status.INTERRUPTED, 1)
    assert found.log_likelihood == pytest.approx(log_likelihood(random_sentences(5), found.labels))
