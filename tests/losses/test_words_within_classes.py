"""Words within their classes: against enumeration, differences and the plain n-gram loss."""

from __future__ import annotations

import numpy as np
import pytest

from loglinear.data.ngram import build_trie
from loglinear.data.sentences import Sentences
from loglinear.losses.ngram_maxent import NgramMaxentLoss
from loglinear.losses.words_within_classes import WordsWithinClassesLoss
from loglinear.testing import check_loss

V = 9
STARTS = np.array([0, 1, 4, 5, 9], np.uint32)


def text(seed: int, n: int = 40) -> Sentences:
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 6, n)
    words = rng.integers(1, V, int(lengths.sum())).astype(np.uint32)
    return Sentences(V, words, np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64))


def enumerated(trie, entry, sentences, starts, w):
    """Sum - log p(w | class, h) over the words of each class, event by event."""
    theta = dict(zip(entry.tolist(), w.tolist()))
    total = 0.0
    for a, b in zip(sentences.sentence_ptr[:-1], sentences.sentence_ptr[1:]):
        line = [V, *sentences.words[a:b].tolist(), 0]
        for i in range(1, len(line)):
            first = int(np.searchsorted(starts, line[i], side="right")) - 1
            scores = {}
            for word in range(int(starts[first]), int(starts[first + 1])):
                context, scores[word] = 0, theta.get(word, 0.0)
                for older in reversed(line[max(i - trie.order + 1, 0) : i]):
                    c = slice(trie.context_child[context], trie.context_child[context + 1])
                    found = np.flatnonzero(trie.context_word[c] == older)
                    if found.size == 0:
                        break
                    context = int(trie.context_child[context]) + int(found[0])
                    e = slice(trie.context_entry[context], trie.context_entry[context + 1])
                    at = np.flatnonzero(trie.entry_word[e] == word)
                    if at.size:
                        scores[word] += theta.get(int(trie.context_entry[context]) + int(at[0]), 0.0)
            total -= scores[line[i]] - np.logaddexp.reduce(list(scores.values()))
    return total


@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("min_counts", [(1,), (1, 1, 2)])
def test_equals_enumeration_on_its_own_and_on_other_text(order, min_counts):
    sentences, other = text(order), text(100 + order, 15)
    trie = build_trie(sentences, order)
    loss = WordsWithinClassesLoss(trie, STARTS, min_counts=min_counts[:order])
    rng = np.random.default_rng(5)
    w, g = rng.normal(0, 2, loss.n_weights), np.empty(loss.n_weights)
    value = loss.value_and_gradient(w, g)
    assert value == pytest.approx(enumerated(trie, loss.entry, sentences, STARTS, w), rel=1e-11)
    found = loss.on(other).value_and_gradient(w, g)
    assert found == pytest.approx(enumerated(trie, loss.entry, other, STARTS, w), rel=1e-11)


def test_derivatives():
    check_loss(WordsWithinClassesLoss(build_trie(text(3), 3), STARTS))


def test_one_class_is_the_plain_ngram_model():
    trie = build_trie(text(1), 3)
    one = WordsWithinClassesLoss(trie, np.array([0, V], np.uint32))
    plain = NgramMaxentLoss(trie)
    w = np.random.default_rng(0).normal(size=trie.n_entries)
    a, b = np.empty(trie.n_entries), np.empty(trie.n_entries)
    assert one.value_and_gradient(w[one.entry], a) == pytest.approx(plain.value_and_gradient(w, b), rel=1e-13)
    np.testing.assert_allclose(a, b[one.entry], atol=1e-12)


def test_a_word_alone_in_its_class_has_no_ngrams_and_threads_agree():
    trie = build_trie(text(2), 3)
    losses = [WordsWithinClassesLoss(trie, STARTS, n_threads=n) for n in (1, 2, 3)]
    alone = trie.entry_word[losses[0].entry[losses[0].order > 1]]
    assert 0 not in alone
    assert 4 not in alone
    w, gradients = np.random.default_rng(1).normal(size=losses[0].n_weights), []
    for loss in losses:
        gradients.append(np.empty(loss.n_weights))
        loss.value_and_gradient(w, gradients[-1])
    assert all(np.array_equal(gradients[0], g) for g in gradients[1:])


@pytest.mark.parametrize("starts", [[0, 4], [0, 4, 4, 9], [1, 9], [0, 9, 5]])
def test_classes_that_are_no_partition_are_refused(starts):
    with pytest.raises(ValueError, match="every class needs a word"):
        WordsWithinClassesLoss(build_trie(text(2), 2), np.array(starts, np.uint32))
