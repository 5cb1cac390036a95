"""Stochastic steps before L-BFGS: those of a twin, nearer to the optimum, and left out where they are not known."""

import chains
import numpy as np
import pytest

from loglinear import _core, penalties
from loglinear.data.chain_base import ChainBase
from loglinear.losses import chain_start
from loglinear.losses.chain import ChainLoss
from loglinear.optimise.minimise import minimise
from loglinear.optimise.objective import Objective
from loglinear.solvers.lbfgs import Lbfgs
from loglinear.threads import pool

BATCH = 4  # sequences of a step


@pytest.fixture(autouse=True)
def _few_tokens(monkeypatch):
    monkeypatch.setattr(chain_start, "FEW_TOKENS", 0)


def problem(values=False, n=60, n_labels=4, everything=False, order=1):
    rng = np.random.default_rng(3)
    data = chains.random_data(rng, rng.integers(0, 9, n), n_labels, 12, values=values)
    first = data.rows.indptr[:-1] % max(data.rows.indices.size, 1)
    data.labels[:] = np.where(rng.random(data.n_tokens) < 0.8, data.rows.indices[first] % n_labels, data.labels)
    return data, chains.random_features(rng, data, order=order, everything=everything)


def chain_of(data, features):
    return _core.StochasticChain(pool(1), features.native, data.native, data.labels)


@pytest.mark.parametrize("everything", [False, True], ids=["observed", "all"])
@pytest.mark.parametrize("values", [False, True], ids=["ones", "values"])
def test_steps_are_those_of_a_twin(values, everything):
    data, features = problem(values, everything=everything)
    chain, ridge, eta, after = chain_of(data, features), 0.7, 0.05, 40.0
    lengths = np.diff(data.sequence_ptr)
    by_length = [i for i in np.argsort(-lengths, kind="stable") if lengths[i]]
    batches = [by_length[i : i + BATCH] for i in range(0, len(by_length), BATCH)]
    assert chain.n_batches == len(batches)
    order = np.random.default_rng(1).permutation(len(batches)).astype(np.int64)
    chain.step_along(order[:5], eta, after, ridge, 10.0)
    found = np.empty(features.n_weights)
    chain.step_along(order[5:], eta, after, ridge, 10.0 + sum(len(batches[b]) for b in order[:5]))
    chain.weights(found)

    w, seen, gradient, n = np.zeros(features.n_weights), 10.0, np.empty(features.n_weights), len(by_length)
    for batch in (batches[b] for b in order):
        step = eta / (1.0 + seen / after)
        w *= 1.0 - step * ridge * len(batch) / n
        ChainLoss(data.take(np.sort(batch)), features).value_and_gradient(w, gradient)
        w -= step * gradient
        seen += len(batch)
    np.testing.assert_allclose(found, w, rtol=1e-9, atol=1e-12)


def test_the_loss_of_a_pass_is_that_before_each_step_and_clear_forgets():
    data, features = problem()
    chain, order = chain_of(data, features), np.arange(3, dtype=np.int64)
    first = chain.step_along(order, 0.1, 100.0, 1.0, 0.0)
    assert chain.step_along(order, 0.1, 100.0, 1.0, 12.0) < first
    chain.clear()
    assert chain.step_along(order, 0.1, 100.0, 1.0, 0.0) == first


@pytest.mark.parametrize("n_threads", [1, 3])
def test_training_begins_near_the_optimum_and_ends_there(n_threads):
    data, features = problem(n=400)
    objective = Objective(ChainLoss(data, features, n_threads=n_threads), penalties.make("l2", strength=1.0), n_threads)
    plain = minimise(objective, Lbfgs(stochastic_passes=0), tolerance=1e-9)
    result = minimise(objective, Lbfgs(), tolerance=1e-9)
    assert result.history.passes[0] == 6
    assert result.history.objective[0] - plain.value < 0.05 * (plain.history.objective[0] - plain.value)
    assert result.value == pytest.approx(plain.value, rel=2e-9)
    np.testing.assert_allclose(result.weights, plain.weights, atol=1e-3)


def test_weights_that_are_given_are_where_training_begins():
    data, features = problem()
    objective = Objective(ChainLoss(data, features), penalties.make("l2", strength=1.0))
    w = np.full(features.n_weights, 0.01)
    assert minimise(objective, Lbfgs(), w, max_iterations=1).history.passes[0] == 1


def test_large_values_make_short_steps_or_none():
    data, features = problem(values=True, n=200)
    data.rows.values[:] *= 1e4
    objective = Objective(ChainLoss(data, features), penalties.make("l2", strength=1.0))
    out = np.zeros(features.n_weights)
    if objective.loss.approach(1.0, 5, out):
        assert objective.value_and_gradient(out, np.empty_like(out)) < data.n_tokens * np.log(data.n_labels)
    else:
        assert not out.any()


def losses_without():
    data, features = problem()
    partly, _ = problem()
    partly.labels[3] = -1
    second = problem(order=2)
    return {
        "another loss": ChainLoss(data, features, "memm"),
        "a base": ChainLoss(data, features, base=ChainBase(start=np.zeros(4))),
        "unknown labels": ChainLoss(partly, features),
        "three labels": ChainLoss(*second),
    }


@pytest.mark.parametrize("name", losses_without())
def test_other_chains_begin_at_zero(name):
    loss = losses_without()[name]
    out = np.zeros(loss.n_weights)
    assert loss.approach(1.0, 5, out) == 0
    assert not out.any()


def test_the_kernel_refuses_what_it_does_not_know():
    data, features = problem()
    chain = chain_of(data, features)
    for order in ([-1], [chain.n_batches]):
        with pytest.raises(ValueError, match="names no batch"):
            chain.step_along(np.array(order, dtype=np.int64), 0.1, 1.0, 1.0, 0.0)
    with pytest.raises(ValueError, match="one entry per feature"):
        chain.weights(np.empty(3))
    data.labels[0] = -1
    with pytest.raises(ValueError, match="unknown or out of range"):
        chain_of(data, features)
    data, features = problem(order=2)
    with pytest.raises(ValueError, match="without attributes only"):
        chain_of(data, features)
