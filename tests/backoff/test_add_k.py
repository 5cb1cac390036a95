"""Additive smoothing against its formula, and by its sums."""

from math import exp

import numpy as np
import pytest
from backoff_tables import log_probability, tables, worst_sum
from ngrams import reference_trie

from loglinear.backoff.add_k import add_k
from loglinear.features.word_vocabulary import WordVocabulary

ABC = WordVocabulary.from_words("abc", is_open=False)
SENTENCES = [[1, 2, 1, 3], [1, 2], [], [2, 2, 1]]


@pytest.mark.parametrize("k", [1.0, 0.3, 1e-12, 1e12])
def test_unigrams_are_laplace(k):
    trie = reference_trie(SENTENCES, 1, 4)
    model = add_k(trie, ABC, k)
    counts = trie.entry_count.astype(float)
    np.testing.assert_allclose(np.exp(model.log_probability), (counts + k) / (counts.sum() + 4 * k), rtol=1e-12)


def test_higher_orders_add_what_the_lower_ones_predict():
    k = [1.0, 0.5, 0.1]
    t = tables(add_k(reference_trie(SENTENCES, 3, 4), ABC, k))

    def p(h, w):
        return exp(log_probability(t, h, w))

    # after "b a" (newest word a = 1): once </s>, once c
    for word, count in [(0, 1), (1, 0), (2, 0), (3, 1)]:
        assert p((1, 2), word) == pytest.approx((count + 0.1 * 4 * p((1,), word)) / (2 + 0.1 * 4), rel=1e-12)
    # after "a": b twice, c once, </s> once
    for word, count in [(0, 1), (1, 0), (2, 2), (3, 1)]:
        assert p((1,), word) == pytest.approx((count + 0.5 * 4 * p((), word)) / (4 + 0.5 * 4), rel=1e-12)
    assert worst_sum(t) < 1e-12


@pytest.mark.parametrize("sentences", [[], [[]], [[1]], [[1] * 30]])
def test_odd_corpora(sentences):
    assert worst_sum(tables(add_k(reference_trie(sentences, 4, 4), ABC, 0.5))) < 1e-12


@pytest.mark.parametrize(
    ("k", "message"),
    [
        (0.0, "k must be positive"),
        ([1.0, -1.0], "k must be positive"),
        (float("inf"), "k must be positive"),
        ([1.0], "k: 1 numbers for an order of 2"),
    ],
)
def test_refusals(k, message):
    with pytest.raises(ValueError, match=message):
        add_k(reference_trie(SENTENCES, 2, 4), ABC, k)
