"""Online training of chains against twins that enumerate all labellings; the passes themselves, and bad arrays."""

import chains
import numpy as np
import pytest

from loglinear import _core
from loglinear.models.tagger.online import Arow, PassiveAggressive, Perceptron, Sgd, train_online

METHODS = [
    Perceptron(),
    PassiveAggressive(),
    PassiveAggressive(type=0, averaging=False),
    PassiveAggressive(type=2, c=0.2, error_sensitive=False),
    Arow(variance=2.0, gamma=0.5),
]


@pytest.fixture(scope="module")
def problem():
    """Return data, features and, per sequence, (features of every labelling, labellings, number of the gold one)."""
    rng = np.random.default_rng(5)
    data = chains.random_data(rng, [4, 1, 3, 4, 0], 3, 6, values=True)
    features = chains.random_features(rng, data)
    sequences = []
    for i in range(data.n_examples):
        units = np.eye(features.n_weights)
        all_ = [chains.Enumeration(data, features, unit, None, i) for unit in units]
        labellings = all_[0].labellings
        sequences.append((np.array([e.scores for e in all_]).T, labellings, labellings.index(all_[0].true())))
    return data, features, sequences


def best_of(scores, labellings):
    """Return the best labelling: the lowest labels among equals, from the last token back."""
    return max(range(len(scores)), key=lambda k: (scores[k].round(9), [-y for y in reversed(labellings[k])]))


def twin(sequences, method, orders):
    """Return the weights after passes in these orders."""
    n = sequences[0][0].shape[1]
    w, timed, variance, time = np.zeros(n), np.zeros(n), np.full(n, getattr(method, "variance", 1.0)), 1.0
    for i in np.concatenate(orders):
        F, labellings, gold = sequences[i]
        best = best_of(F @ w, labellings)
        delta, margin = F[gold] - F[best], (F[best] - F[gold]) @ w
        wrong = sum(a != b for a, b in zip(labellings[best], labellings[gold]))
        if wrong and isinstance(method, Arow):
            w = w + (margin + wrong) / (method.gamma + variance @ delta**2) * variance * delta
            variance = 1 / (1 / variance + delta**2 / method.gamma)
        elif wrong:
            step = 1.0
            if isinstance(method, PassiveAggressive):
                cost = margin + (np.sqrt(wrong) if method.error_sensitive else 1.0)
                step = cost / (delta @ delta + (0.5 / method.c if method.type == 2 else 0.0))
                step = min(step, method.c) if method.type == 1 else step
            w, timed = w + step * delta, timed + time * step * delta
        time += 1
    averaged = isinstance(method, Perceptron) or getattr(method, "averaging", False)
    return w - timed / time if averaged else w


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_updates_are_those_of_the_equations(problem, method):
    data, features, sequences = problem
    rng = np.random.default_rng(0)  # as train_online draws them
    orders = [rng.permutation(data.n_examples) for _ in range(5)]
    *_, last = train_online(data, features, method, max_iterations=5)
    np.testing.assert_allclose(last.weights, twin(sequences, method, orders), atol=1e-9)


def test_gradient_steps_are_those_of_the_equation(problem):
    data, features, sequences = problem
    chain = _core.OnlineChain(features.native, data.native, data.labels)
    w, time, strength, total = np.zeros(features.n_weights), 3.5, 0.2, 0.0
    order = np.array([2, 0, 3, 1, 0])
    loss = chain.sgd(order, strength, time)
    for i in order:
        F, _, gold = sequences[i]
        eta = 1 / (strength * time)
        w *= 1 - eta * strength
        scores = F @ w
        p = np.exp(scores - np.logaddexp.reduce(scores))
        total += np.logaddexp.reduce(scores) - scores[gold]
        w += eta * (F[gold] - p @ F)
        time += 1
    found = np.empty_like(w)
    chain.weights(found)
    np.testing.assert_allclose(found, w, atol=1e-9)
    assert loss == pytest.approx(total)


def test_a_step_that_forgets_everything(problem):
    data, features, _ = problem
    chain = _core.OnlineChain(features.native, data.native, data.labels)
    assert np.isfinite(chain.sgd(np.array([0, 1]), 0.5, 1.0))  # 1 - eta * strength is 0 at time 1
    found = np.empty(features.n_weights)
    chain.weights(found)
    assert np.all(np.isfinite(found))


def test_gradient_descent_comes_near_the_optimum(problem):
    data, features, _ = problem
    losses = [found.loss for found in train_online(data, features, Sgd(c2=0.5), max_iterations=200)]
    assert losses[-1] < losses[0]
    assert len(losses) < 200  # its criterion ends it


def test_an_epsilon_ends_training(problem):
    data, features, _ = problem
    assert len(list(train_online(data, features, Perceptron(epsilon=2.0), max_iterations=9))) == 1


def test_bad_arrays_are_refused(problem):
    data, features, _ = problem
    unknown = data.labels.copy()
    unknown[0] = -1
    with pytest.raises(ValueError, match="a label is unknown or out of range"):
        _core.OnlineChain(features.native, data.native, unknown)
    chain = _core.OnlineChain(features.native, data.native, data.labels)
    with pytest.raises(ValueError, match="the order of the pass names no sequence"):
        chain.perceptron(np.array([99]))
    with pytest.raises(ValueError, match="one entry per feature"):
        chain.average(np.empty(1))
    pairs = chains.random_features(np.random.default_rng(0), data, pairs=True)
    with pytest.raises(ValueError, match="features of single labels and of label pairs without attributes only"):
        _core.OnlineChain(pairs.native, data.native, data.labels)
