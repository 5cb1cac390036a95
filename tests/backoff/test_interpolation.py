"""Mixtures: weights against their optimality, merged models against the mixture, weights of log-linear models."""

import math

import numpy as np
import pytest
from backoff_models import all_log_p, dictionaries, every_history, log_p, random_model
from hypothesis import given, settings
from hypothesis import strategies as st
from ngrams import reference_trie

from loglinear.backoff.interpolation import (
    interpolation_weights,
    log_probability_of,
    loglinear_weights,
    merge,
    renumber,
)
from loglinear.errors import IncompatibleError
from loglinear.features.word_vocabulary import WordVocabulary

SETTINGS = settings(deadline=None, max_examples=40)
SEEDS = st.integers(0, 10**6)


def sums(model):
    p = all_log_p(model)
    return [sum(math.exp(p[h, w]) for w in range(model.vocabulary.n_words))
            for h in every_history(model.vocabulary.n_words, model.order - 1)]  # fmt: skip


# ---- weights of a mixture ----------------------------------------------------------------------------------------
def log_likelihood(log_probs, weights):
    return np.mean(np.log(sum(w * np.exp(p) for w, p in zip(weights, log_probs))))


def gap(log_probs, weights):
    """Bound how much better the best weights can be, in nats per token: max_i mean_t p_i(t) / p(t) - 1."""
    p = np.exp(np.stack(log_probs, axis=1))
    return (p / (p @ weights)[:, None]).mean(axis=0).max() - 1


@pytest.mark.parametrize("seed", range(6))
def test_weights_are_the_best(seed):
    rng = np.random.default_rng(seed)
    n_models = 2 + seed % 3
    log_probs = list(np.log(rng.dirichlet(np.ones(4), size=500)[:, :n_models].T))
    weights = interpolation_weights(log_probs, tolerance=1e-9)
    assert weights.sum() == pytest.approx(1)
    assert (weights >= 0).all()
    assert gap(log_probs, weights) <= 1.01e-9
    best = log_likelihood(log_probs, weights)
    em = np.full(n_models, 1 / n_models)
    p = np.exp(np.stack(log_probs, axis=1))
    for _ in range(2000):  # the twin: EM alone
        em = (em * p / (p @ em)[:, None]).mean(axis=0)
    assert best == pytest.approx(log_likelihood(log_probs, em), abs=1e-8)
    np.testing.assert_allclose(weights, em, atol=1e-3)
    for other in rng.dirichlet(np.ones(n_models), size=50):
        assert log_likelihood(log_probs, other) - best <= 1e-9
        assert log_likelihood(log_probs, other) + gap(log_probs, other) >= best


def test_weights_at_the_corners_and_of_equal_models():
    good, bad = np.log(np.full(100, 0.5)), np.log(np.full(100, 0.1))
    weights = interpolation_weights([bad, good], tolerance=1e-8)
    assert weights[1] > 1 - 1e-7
    assert interpolation_weights([good, good, good]).sum() == pytest.approx(1)
    assert interpolation_weights([good]).tolist() == [1.0]
    never = np.full(100, -np.inf)
    assert interpolation_weights([good, never])[0] == pytest.approx(1, abs=1e-5)
    extreme = [np.array([-2000.0, -1.0]), np.array([-1.0, -2000.0])]
    np.testing.assert_allclose(interpolation_weights(extreme), [0.5, 0.5])


def test_refusals_of_weights():
    p = np.log(np.full(3, 0.5))
    with pytest.raises(IncompatibleError, match="same tokens"):
        interpolation_weights([p, p[:2]])
    with pytest.raises(IncompatibleError, match="at least one"):
        interpolation_weights([p[:0]])
    with pytest.raises(ValueError, match="at least one model"):
        interpolation_weights([])
    with pytest.raises(ValueError, match="NaN or positive"):
        interpolation_weights([p, p + 3])
    with pytest.raises(ValueError, match="token 1 has probability zero"):
        interpolation_weights([np.array([-1.0, -np.inf]), np.array([-1.0, -np.inf])])
    model = random_model(0)
    for weights in ([1.0], [0.5, 0.6], [-0.5, 1.5], [np.nan, 1.0]):
        with pytest.raises(ValueError, match="weight"):
            merge([model, model], weights)


# ---- one model of several ----------------------------------------------------------------------------------------
@SETTINGS
@given(SEEDS, st.integers(1, 4), st.integers(1, 4), st.booleans())
def test_a_merged_model_mixes_what_is_listed_and_sums_to_one(seed, order_a, order_b, is_open):
    a, b = random_model(seed, 4, order_a, 6, is_open), random_model(seed + 1, 4, order_b, 6, is_open)
    merged = merge([a, b], [0.3, 0.7])
    assert merged.order == max(order_a, order_b)
    listed = dictionaries(merged)[0]
    parts = [dictionaries(a), dictionaries(b)]
    assert set(listed) == set(parts[0][0]) | set(parts[1][0])
    for (h, w), value in listed.items():
        expected = sum(s * math.exp(log_p(*part, h, w)) for s, part in zip([0.3, 0.7], parts))
        assert math.exp(value) == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(sums(merged), 1, atol=1e-12)


def test_merging_one_model_changes_nothing():
    model = random_model(2, 5, 3, 20)
    for merged in (merge([model], [1]), merge([model, model], [0.5, 0.5]), merge([model, random_model(9, 5)], [1, 0])):
        for key, value in all_log_p(model).items():
            assert all_log_p(merged)[key] == pytest.approx(value, abs=1e-12)


def test_threads_agree_to_the_bit():
    a, b = random_model(1, 6, 4, 80), random_model(2, 6, 4, 80)
    one, three = (merge([a, b], [0.5, 0.5], n_threads=n) for n in (1, 3))
    np.testing.assert_array_equal(one.log_probability, three.log_probability)
    np.testing.assert_array_equal(one.log_backoff, three.log_backoff)


def test_different_vocabularies_are_united():
    a, b = random_model(1, 4, 3, 8), random_model(2, 6, 2, 5)
    merged = merge([a, b], [0.25, 0.75])
    assert list(merged.vocabulary) == ["</s>", "<unk>", "w0", "w1", "w2", "w3"]
    np.testing.assert_allclose(sums(merged), 1, atol=1e-12)
    listed, _ = dictionaries(merged)
    assert math.exp(listed[(), 5]) == pytest.approx(0.75 * math.exp(dictionaries(b)[0][(), 5]))
    closed = merge([random_model(3, 3, 2, 4, is_open=False), a], [0.5, 0.5])
    assert closed.vocabulary.is_open
    np.testing.assert_allclose(sums(closed), 1, atol=1e-12)


@SETTINGS
@given(SEEDS, st.integers(1, 4))
def test_renumbered_models_say_the_same(seed, order):
    model = random_model(seed, 5, order, 8)
    wider = WordVocabulary.from_words(["new", "w2", "w0", "w1"])
    other = renumber(model, wider)
    number = [wider.words.ids([word])[0] for word in model.vocabulary] + [wider.begin]
    expected = all_log_p(model)
    entries, backoffs = dictionaries(other)
    for (h, w), value in expected.items():
        assert log_p(entries, backoffs, tuple(number[x] for x in h), number[w]) == pytest.approx(value)
    assert entries[(), wider.words.ids(["new"])[0]] == -math.inf
    with pytest.raises(IncompatibleError, match="lacks the word 'new'"):
        renumber(other, model.vocabulary)


# ---- back-off models as log-linear ones --------------------------------------------------------------------------
@SETTINGS
@given(SEEDS, st.integers(1, 4))
def test_weights_of_the_loglinear_model_give_the_probabilities_back(seed, order):
    """p(w | h) is proportional to exp(sum of theta over all that h ends in)."""
    model = random_model(seed, 4, order, 7)
    theta = dict(zip(dictionaries(model)[0], loglinear_weights(model)))
    p = all_log_p(model)
    for h in every_history(4, order - 1):
        scores = [sum(theta.get((h[:k], w), 0.0) for k in range(len(h) + 1)) for w in range(4)]
        log_z = np.logaddexp.reduce(scores)
        np.testing.assert_allclose([p[h, w] for w in range(4)], np.array(scores) - log_z, atol=1e-9)


@SETTINGS
@given(SEEDS, st.integers(1, 4), st.integers(1, 4))
def test_probabilities_at_the_ngrams_of_a_trie(seed, order, trie_order):
    model = random_model(seed, 4, order, 7)
    rng = np.random.default_rng(seed)
    sentences = [rng.integers(1, 4, size=rng.integers(0, 6)).tolist() for _ in range(4)]
    trie = reference_trie(sentences, trie_order, 4)
    entries, backoffs = dictionaries(model)
    histories = [()] * trie.n_contexts
    expected = []
    for c in range(trie.n_contexts):
        for child in range(trie.context_child[c], trie.context_child[c + 1]):
            histories[child] = (*histories[c], int(trie.context_word[child]))
        words = trie.entry_word[trie.context_entry[c] : trie.context_entry[c + 1]]
        expected += [log_p(entries, backoffs, histories[c][: order - 1], int(w)) for w in words]
    for n_threads in (1, 2):
        np.testing.assert_allclose(log_probability_of(model, trie, n_threads=n_threads), expected, atol=1e-12)
    np.testing.assert_array_equal(log_probability_of(model, model), model.log_probability)


def test_refusals_of_shapes():
    model = random_model(0, 4, 3)
    with pytest.raises(IncompatibleError, match="over 5 words and the model over 4"):
        log_probability_of(model, random_model(0, 5, 3))
    damages = {
        "context_start": lambda a: a + 1,
        "entry_start": lambda a: a[:-1],
        "context_word": lambda a: a + 9,
        "context_child": lambda a: a[::-1],
        "context_entry": lambda a: a * 2,
        "entry_word": lambda a: a[::-1],
        "log_backoff": lambda a: a[:-1],
        "log_probability": lambda a: a * np.nan,
    }
    for name, damage in damages.items():
        damaged = type(model)(**{**vars(model), name: damage(getattr(model, name))})
        with pytest.raises(ValueError, match=r"n-gram arrays|back-off model"):
            loglinear_weights(damaged)
