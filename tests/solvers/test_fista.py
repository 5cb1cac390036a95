"""FISTA: its two vector passes against NumPy, one evaluation per step, and optima under tree-structured norms."""

import numpy as np
import pytest
from ngrams import reference_trie
from problems import dense_data, sparse_data

from loglinear import _core, penalties, solvers
from loglinear.errors import IncompatibleError
from loglinear.losses.multinomial import MultinomialLoss
from loglinear.losses.ngram_maxent import NgramMaxentLoss
from loglinear.optimise.minimise import minimise
from loglinear.optimise.objective import Objective
from loglinear.penalties import L2, Blocks, TreeL2, TreeLinf
from loglinear.structure.tree import Tree
from loglinear.testing import check_solver
from loglinear.threads import pool


@pytest.mark.parametrize("n", [0, 1, 13, 100_003])
@pytest.mark.parametrize("metric", [False, True])
def test_passes_against_numpy(n, metric):
    rng = np.random.default_rng(n)
    x, before, g, g_before, to, g_to = rng.normal(size=(6, n))
    d = rng.uniform(0.5, 3.0, size=n) if metric else None
    z, step = np.empty(n), np.empty(n) if metric else None
    origin = (x, before, g, g_before, 0.7, d)
    _core.forward_step(pool(2), *origin, 4.0, step, z)
    scale = np.ones(n) if d is None else d
    y, h = x + 0.7 * (x - before), g + 0.7 * (g - g_before)
    np.testing.assert_allclose(z, y - h / (4.0 * scale), rtol=1e-12, atol=1e-12)
    if step is not None:
        np.testing.assert_allclose(step, 1.0 / (4.0 * scale))
    found = _core.test_step(pool(2), *origin, to, g_to)
    assert found == _core.test_step(pool(1), *origin, to, g_to)  # to the bit
    move = to - y
    expected = ((g_to - h) @ move, np.sum(scale * move**2), np.sum(scale * (y - to) * (to - x)))
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_passes_refuse_other_lengths():
    a, b = np.zeros(4), np.zeros(3)
    for origin in ((a, b, a, a, 0.0, None), (a, a, a, b, 0.0, None), (a, a, a, a, 0.0, b)):
        with pytest.raises(ValueError, match="extrapolation"):
            _core.test_step(pool(1), *origin, a, a)
    with pytest.raises(ValueError, match="steps are written where there is a metric"):
        _core.forward_step(pool(1), a, a, a, a, 0.0, np.ones(4), 1.0, None, a.copy())
    with pytest.raises(ValueError, match="differ in length"):
        _core.test_step(pool(1), a, a, a, a, 0.0, None, b, b)


def ngram_loss(order=4, n_words=12, n_sentences=60, seed=0):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 9, size=n_sentences)
    sentences = [(1 + rng.zipf(1.5, size=n) % (n_words - 1)).tolist() for n in lengths]
    return NgramMaxentLoss(reference_trie(sentences, order, n_words))


def ngram_problem(kind, l2=0.0, scaled=True, **options):
    """Unigrams signed under a ridge, longer n-grams nonnegative under a tree."""
    loss = ngram_loss()
    trie, n = loss.trie, loss.trie.n_words
    parent = trie.entry_parent[n:].astype(np.int64) - n
    parent[: trie.entry_start[2] - n] = -1
    scale = np.maximum(trie.entry_count[n:], 0.5) + l2 if scaled else None
    tree = kind(Tree(parent), 0.3, scale=scale, l2=l2, nonnegative=True, **options)
    return Objective(loss, Blocks([(n, L2(0.01)), (trie.n_entries - n, tree)]))


def residual(objective, w):
    """Largest |D (w - prox(w - gradient / D))| over the tree's weights, D their scale, and the unigrams' gradient."""
    gradient = np.empty_like(w)
    objective.loss.value_and_gradient(w, gradient)
    (n, ridge), (_, tree) = objective.penalty.blocks
    d = np.ones(w.size - n) if tree.scale is None else tree.scale
    total = gradient[n:] + tree.l2 * w[n:]
    x = np.empty(w.size - n)
    tree.rest.prox(w[n:] - total / d, 1.0 / d, x)
    return max(np.max(np.abs(d * (w[n:] - x))), np.max(np.abs(gradient[:n] + ridge.l2 * w[:n])))


@pytest.mark.parametrize("kind", [TreeL2, TreeLinf])
@pytest.mark.parametrize("l2", [0.0, 0.2])
@pytest.mark.parametrize("scaled", [False, True])
def test_trees_of_ngrams(kind, l2, scaled):
    objective = ngram_problem(kind, l2, scaled, depth_growth=1.2)
    result = minimise(objective, solvers.Fista(), violation_tolerance=1e-10, max_iterations=50_000)
    assert result.status == "converged"
    assert residual(objective, result.weights) <= 1e-8 * objective.gradient_scale()
    assert np.all(result.weights[objective.loss.trie.n_words :] >= 0)
    assert np.any(result.weights[objective.loss.trie.n_words :] == 0)
    check_solver(solvers.Fista(metric="none"), objective, result.weights)
    rng = np.random.default_rng(1)
    for scale in (1e-4, 1e-2, 1.0):  # no point nearby is better
        other = result.weights + rng.normal(size=result.weights.size) * scale
        other[objective.loss.trie.n_words :] = np.abs(other[objective.loss.trie.n_words :])
        value = objective.value_and_loss_gradient(other, np.empty_like(other))
        assert value >= result.value - 1e-9 * abs(result.value)


def random_tree(n, seed=0):
    rng = np.random.default_rng(seed)
    return Tree(np.array([rng.integers(-1, i) if i else -1 for i in range(n)]))


@pytest.mark.parametrize("kind", [TreeL2, TreeLinf])
@pytest.mark.parametrize("options", [{}, {"l2": 0.3}, {"nonnegative": True}], ids=["norm", "ridge", "nonnegative"])
def test_trees_of_features(kind, options):
    loss = MultinomialLoss(dense_data())
    objective = Objective(loss, kind(random_tree(loss.n_weights), 0.5, **options))
    result = minimise(objective, solvers.Fista(), violation_tolerance=1e-9, max_iterations=50_000)
    assert result.status == "converged"
    check_solver(solvers.Fista(metric="none"), objective, result.weights)


@pytest.mark.parametrize("kind", [TreeL2, TreeLinf])
def test_trees_of_words(kind):
    loss = MultinomialLoss(sparse_data(2))
    objective = Objective(loss, kind(random_tree(loss.n_weights), 2.0))
    result = minimise(objective, solvers.Fista(), violation_tolerance=1e-6, max_iterations=5000)
    assert result.converged
    assert 0 < np.count_nonzero(result.weights) < loss.n_weights


@pytest.mark.parametrize("kind", [TreeL2, TreeLinf])
def test_a_tree_of_roots_is_l1(kind):
    loss = MultinomialLoss(sparse_data(2))
    ours = Objective(loss, kind(Tree(np.full(loss.n_weights, -1)), 0.8))
    l1 = Objective(loss, penalties.make("l1", 0.8))
    expected = minimise(l1, solvers.Owlqn(), violation_tolerance=1e-9, max_iterations=20_000)
    check_solver(solvers.Fista(), ours, expected.weights)


@pytest.mark.parametrize("kind", [TreeL2, TreeLinf])
def test_one_evaluation_per_step_and_never_uphill(kind):
    result = minimise(ngram_problem(kind), solvers.Fista(), tolerance=0.0, max_iterations=100)
    assert result.history.passes[-1] <= 1.3 * result.n_iterations
    values = np.array(result.history.objective)
    assert np.all(np.diff(values) <= 1e-12 * values[0])


def test_violation_is_taken_where_it_is_due():
    """A tree's costs a prox: every few steps, and at the end whatever stopped the run."""
    objective = ngram_problem(TreeLinf)
    result = minimise(objective, solvers.Fista(certify_every=4), tolerance=0.0, max_iterations=11)
    finite = np.isfinite(result.history.violation)
    np.testing.assert_array_equal(np.flatnonzero(finite), [0, 4, 8])
    assert result.violation == pytest.approx(residual(objective, result.weights), rel=1e-6)
    with pytest.raises(ValueError, match="certify_every must be at least 1"):
        minimise(objective, solvers.Fista(certify_every=0))
    with pytest.raises(IncompatibleError, match="metric must be 'none' or 'curvature', not 'count'"):
        minimise(objective, solvers.Fista(metric="count"))


def test_stopped_runs_end_with_the_best_weights():
    objective = ngram_problem(TreeL2, 0.1)
    seen = []

    def stop(iteration, state, history):
        seen.append((state.value, state.weights.copy()))
        return iteration == 7

    result = minimise(objective, solvers.Fista(), tolerance=0.0, callback=stop)
    value, weights = min(seen, key=lambda pair: pair[0])
    assert result.value == value
    np.testing.assert_array_equal(result.weights, weights)
    assert objective.value_and_loss_gradient(weights, np.empty_like(weights)) == pytest.approx(value, rel=1e-12)


class FirstOrder:
    """A loss without second derivatives."""

    def __init__(self, loss):
        self.loss, self.n_weights = loss, loss.n_weights

    def value_and_gradient(self, w, out):
        return self.loss.value_and_gradient(w, out)


def test_own_metric_without_curvature():
    objective = ngram_problem(TreeL2, 0.1)
    expected = minimise(objective, solvers.Fista(), violation_tolerance=1e-9, max_iterations=20_000)
    other = Objective(FirstOrder(objective.loss), objective.penalty)
    check_solver(solvers.Fista(), other, expected.weights)


def test_infeasible_start_is_projected():
    objective = ngram_problem(TreeL2, 0.1)
    start = np.full(objective.n_weights, -1.0)
    result = minimise(objective, solvers.Fista(), start, max_iterations=0)
    n = objective.loss.trie.n_words
    assert np.all(result.weights[n:] == 0)
    np.testing.assert_allclose(result.weights[:n], -1.0)
