"""Iterative scaling: the optimum of the gradient solvers, and no step that makes the objective worse."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ngrams import reference_trie
from problems import sparse_data
from scipy.optimize import brentq

from loglinear import _core, penalties, solvers
from loglinear.errors import IncompatibleError
from loglinear.losses.baselines.ngram_normalisers import NaiveNgramLoss, UnigramCachingLoss
from loglinear.losses.multinomial import MultinomialLoss
from loglinear.losses.ngram_maxent import NgramMaxentLoss
from loglinear.optimise.minimise import minimise
from loglinear.optimise.objective import Objective
from loglinear.testing import check_solver
from loglinear.threads import pool

SCALING = {"gis": solvers.Gis(), "iis": solvers.Iis()}


def trie(seed=0, order=3, n_sentences=40, n_words=9):
    rng = np.random.default_rng(seed)
    words = np.minimum(rng.zipf(1.6, size=(n_sentences, 12)), n_words - 1)
    return reference_trie([s[: rng.integers(1, 12)].tolist() for s in words], order, n_words)


@pytest.mark.parametrize("name", SCALING)
@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_same_optimum_as_lbfgs(name, order):
    loss = NgramMaxentLoss(trie(order=order))
    objective = Objective(loss, penalties.make("l2", 0.5))
    reference = minimise(objective, solvers.Lbfgs(), violation_tolerance=1e-9)
    check_solver(SCALING[name], objective, reference.weights)
    result = minimise(objective, SCALING[name], violation_tolerance=1e-8, max_iterations=5000)
    assert result.converged
    np.testing.assert_allclose(result.weights, reference.weights, atol=1e-4)


@pytest.mark.parametrize("name", SCALING)
@pytest.mark.parametrize("strength", [0.0, 0.1, 30.0])
def test_no_step_makes_it_worse(name, strength):
    loss = NgramMaxentLoss(trie(1))
    start = np.random.default_rng(0).normal(size=loss.n_weights)
    objective = Objective(loss, penalties.make("l2" if strength else "none", strength))
    result = minimise(objective, SCALING[name], start, tolerance=0.0, max_iterations=200)
    values = np.array(result.history.objective)
    assert np.all(np.diff(values) <= 1e-12 * np.abs(values[1:]))
    assert values[-1] < values[0]


def test_improved_scaling_takes_longer_steps():
    objective = Objective(NgramMaxentLoss(trie(2, order=4)), penalties.make("l2", 0.5))
    options = {"violation_tolerance": 1e-5, "max_iterations": 5000}
    gis, iis = (minimise(objective, solver, **options) for solver in SCALING.values())
    assert iis.n_iterations < gis.n_iterations


def test_the_way_of_normalising_does_not_matter():
    """Same steps with naive sums, unigram caching and the sweeps."""
    runs = []
    for way in (NaiveNgramLoss, UnigramCachingLoss, NgramMaxentLoss):
        objective = Objective(way(trie(3)), penalties.make("l2", 1.0))
        runs.append(minimise(objective, solvers.Gis(), tolerance=0.0, max_iterations=20).history.objective)
    np.testing.assert_allclose(runs[1], runs[0], rtol=1e-11)
    np.testing.assert_allclose(runs[2], runs[0], rtol=1e-11)


def test_without_a_penalty_the_likelihood_approaches_the_empirical_one():
    """Unigrams alone: one step is exact, p(w) = count(w) / tokens, unseen words aside."""
    corpus = trie(4, order=1, n_words=6)
    loss = NgramMaxentLoss(corpus)
    objective = Objective(loss, penalties.make("none"))
    result = minimise(objective, solvers.Gis(), violation_tolerance=1e-9, max_iterations=100)
    p = corpus.entry_count / corpus.entry_count.sum()
    best = -float(np.sum(corpus.entry_count * np.log(p, where=p > 0, out=np.zeros_like(p))))
    assert result.value == pytest.approx(best, rel=1e-6)


@given(
    st.lists(st.floats(0, 1e6), min_size=1, max_size=4),
    st.floats(0, 1e6),
    st.sampled_from([0.0, 1e-6, 0.3, 50.0]),
    st.floats(-8, 8),
)
@settings(deadline=None, max_examples=300)
def test_the_equation_of_a_step(masses, count, ridge, w):
    """Against a bracketing root finder."""
    m = np.arange(1.0, len(masses) + 1)
    step = np.empty(1)
    one = np.array
    _core.scaling_step(pool(1), one(masses).reshape(-1, 1), m, one([count]), one([ridge]), one([w]), 20.0, step)

    def g(delta):
        return float(np.sum(masses * np.exp(m * delta)) + ridge * (w + delta) - count)

    assert -20.0 <= step[0] <= 20.0
    low, high = g(-20.0), g(20.0)
    if low >= 0:
        assert step[0] == -20.0 or abs(g(step[0])) <= 1e-9 * max(count, 1.0)
    elif high <= 0:
        assert step[0] == 20.0 or abs(g(step[0])) <= 1e-9 * max(count, 1.0)
    else:
        root = brentq(g, -20.0, 20.0, xtol=1e-13)
        assert step[0] == pytest.approx(root, abs=1e-8) or abs(g(step[0])) <= 1e-9 * max(count, *masses, 1.0)


def test_refusals_name_the_power():
    loss = NgramMaxentLoss(trie())
    for penalty in ({"name": "l1"}, {"name": "l2", "nonnegative": True}, {"name": "elastic_net"}):
        with pytest.raises(IncompatibleError, match="solver 'gis' needs the power Smooth"):
            minimise(Objective(loss, penalties.make(**penalty)), solvers.Gis())
    with pytest.raises(IncompatibleError, match="needs the power Expectations, which MultinomialLoss lacks"):
        minimise(Objective(MultinomialLoss(sparse_data(2)), penalties.make("none")), solvers.make("gis"))
    with pytest.raises(IncompatibleError, match="needs the power SplitExpectations, which UnigramCachingLoss lacks"):
        minimise(Objective(UnigramCachingLoss(trie()), penalties.make("none")), solvers.make("iis"))


def test_lengths_are_checked():
    with pytest.raises(ValueError, match="vectors differ in length"):
        _core.scaling_step(
            pool(1), np.ones((2, 3)), np.ones(1), np.ones(3), np.ones(3), np.ones(3), 1.0, np.ones(3)
        )
