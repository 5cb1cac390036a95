"""Comparisons against plain Python."""

from __future__ import annotations

import math

import numpy as np
import pytest

from loglinear.metrics.comparison import PairedScores, compare_scores


def paired(sentences, first, second, unknown=(), orders=None) -> PairedScores:
    words = np.array([w for s in sentences for w in [*s, 0]], dtype=np.int64)
    ptr = np.cumsum([0, *(len(s) + 1 for s in sentences)])
    marks = np.zeros(words.max() + 1, dtype=bool)
    marks[list(unknown)] = True
    lengths = np.ones(words.size, dtype=np.uint8) if orders is None else np.array(orders, dtype=np.uint8)
    return PairedScores(np.array(first, float), np.array(second, float), words, ptr, marks, (lengths, lengths))


def random_scores(n_sentences: int, shift: float) -> PairedScores:
    rng = np.random.default_rng(1)
    sentences = [rng.integers(1, 30, size=rng.integers(0, 9)).tolist() for _ in range(n_sentences)]
    n = sum(len(s) + 1 for s in sentences)
    first = -rng.exponential(3, size=n)
    return paired(sentences, first, first + shift + 0.5 * rng.standard_normal(n), orders=rng.integers(1, 4, size=n))


def compared(scores, **options):
    return compare_scores(scores, lambda w: f"w{w}", lambda i: f"s{i}", **options)


def test_perplexities_and_their_difference() -> None:
    found = compared(paired([[1, 2], [1]], [-1, -2, -3, -1, -3], [-1, -1, -3, -2, -1], orders=[1, 2, 2, 1, 1]))
    assert (found.n_sentences, found.n_tokens) == (2, 5)
    assert found.perplexity_first == pytest.approx(math.exp(10 / 5))
    assert found.perplexity_second == pytest.approx(math.exp(8 / 5))
    assert found.difference == pytest.approx(math.exp(1.6) - math.exp(2))
    assert [(p.name, p.n_tokens, p.difference) for p in found.words] == [("w0", 2, 2), ("w1", 2, -1), ("w2", 1, 1)]
    assert [(p.name, p.n_tokens, p.difference) for p in found.sentences] == [("s0", 3, 1), ("s1", 2, 1)]
    assert [(p.name, p.n_tokens, p.difference) for p in found.orders_first] == [("1-gram", 3, 1), ("2-gram", 2, 1)]
    assert [p.name for p in found.bands] == ["once", "2-9 times", "ends of sentences"]
    assert sum(p.difference for p in found.bands) == pytest.approx(2)
    assert found.words[1].perplexity_first == pytest.approx(math.exp(1))


def test_unknown_words_are_a_band_of_their_own() -> None:
    found = compared(paired([[1] * 12, [2]], [-1.0] * 15, [-2.0] * 15, unknown=[2]))
    assert [(p.name, p.n_tokens) for p in found.bands] == [
        ("10-99 times", 12), ("unknown words", 1), ("ends of sentences", 2)
    ]  # fmt: skip


def test_the_bootstrap_knows_chance_from_difference() -> None:
    clear, none = compared(random_scores(200, 0.2)), compared(random_scores(200, 0.0))
    assert clear.p_value == pytest.approx(2 / 1001)
    assert clear.interval[0] < clear.difference < clear.interval[1] < 0
    assert none.p_value > 0.05
    assert none.interval[0] < 0 < none.interval[1]
    assert compared(random_scores(200, 0.2)).interval == clear.interval
    assert compared(random_scores(200, 0.2), random_state=5).interval != clear.interval


def test_the_interval_is_that_of_a_plain_bootstrap() -> None:
    scores = random_scores(50, 0.1)
    rng = np.random.default_rng(7)
    sums = [
        (scores.first[a:b].sum(), scores.second[a:b].sum(), b - a)
        for a, b in zip(scores.sentence_ptr, scores.sentence_ptr[1:])
    ]
    found = []
    for _ in range(2000):
        x, y, n = np.sum([sums[i] for i in rng.integers(50, size=50)], axis=0)
        found.append(math.exp(-y / n) - math.exp(-x / n))
    interval = compared(scores, n_samples=2000).interval
    assert interval == pytest.approx(np.percentile(found, [2.5, 97.5]), rel=0.1)


def test_long_texts_draw_runs_of_sentences(monkeypatch) -> None:
    import loglinear.metrics.comparison as module

    scores = random_scores(200, 0.2)
    whole = compared(scores)
    monkeypatch.setattr(module, "_MOST_UNITS", 60)
    runs = compared(scores)
    assert runs.difference == whole.difference
    assert runs.interval == pytest.approx(whole.interval, rel=0.3)


def test_equal_models_do_not_differ() -> None:
    found = compared(paired([[1]], [-1, -2], [-1, -2]))
    assert found.difference == 0
    assert found.interval == (0, 0)
    assert found.p_value == 1
    assert found.words == found.sentences == []


def test_refusals() -> None:
    with pytest.raises(ValueError, match="second model gives 1 tokens no probability at all, the first of them 'w2'"):
        compared(paired([[1], [2]], [-1, -1, -1, -1], [-1, -1, -math.inf, -1]))
    with pytest.raises(ValueError, match="number of samples"):
        compared(paired([[1]], [-1, -2], [-1, -2]), n_samples=0)
