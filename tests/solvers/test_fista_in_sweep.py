"""FISTA whose steps the loss takes: its passes against NumPy, the steps of the plain form, optima, threads."""

import numpy as np
import pytest
from ngrams import reference_trie

from loglinear import _core, penalties, solvers
from loglinear.arrays import vectors_made_by
from loglinear.losses.ngram_maxent import NgramMaxentLoss
from loglinear.optimise.minimise import minimise
from loglinear.optimise.objective import Objective
from loglinear.penalties import ByClass, SeparablePenalty
from loglinear.solvers.fista_in_sweep import SweepState
from loglinear.testing import check_solver
from loglinear.threads import pool

PENALTIES = {
    "l1": lambda n: penalties.make("l1", 0.7),
    "l2": lambda n: penalties.make("l2", 0.4, n_free=min(n, 3)),
    "elastic net": lambda n: SeparablePenalty(0.5, 0.3, nonnegative=True),
    "none": lambda n: penalties.make("none"),
    "classes": lambda n: ByClass(np.arange(n) // 700 % 3, [0.0, 0.4, 0.1], [0.2, 0.0, 0.3], [False, True, False]),
    "mixed classes": lambda n: ByClass(np.arange(n) % 3, [0.0, 0.4, 0.1], [0.2, 0.0, 0.3], [False, True, False]),
    "many classes": lambda n: ByClass(np.arange(max(n - 2, 0)) % 300, np.linspace(0, 1, 300), 0.1, n_free=min(n, 2)),
}


def random_path(n, penalty, kept=np.float64, seed=0):
    """Return (vectors, gradient, path): the weights satisfy the penalty's sign constraints."""
    rng = np.random.default_rng(seed)
    x, before, older, g_before, g_older, g = rng.normal(size=(6, n)) * (rng.random((6, n)) < 0.8)
    metric = rng.uniform(0.5, 3.0, size=n)
    for v in (x, before, older):
        penalty.prox(v.copy(), 1e-100, v)
    vectors = [x, *(v.astype(kept) for v in (before, older, g_before, g_older, metric))]
    path = (_core.AcceleratedPath if kept is np.float64 else _core.SingleAcceleratedPath)(*vectors)
    return vectors, g, path


@pytest.mark.parametrize("n", [0, 1, 13, 5003, 70_001])
@pytest.mark.parametrize("kept", [np.float64, np.float32])
@pytest.mark.parametrize("name", list(PENALTIES))
def test_passes_against_numpy(n, kept, name):
    penalty = PENALTIES[name](n)
    native = penalty.native(n)
    vectors, g, path = random_path(n, penalty, kept)
    x, before, older, g_before, g_older, d = (v.astype(np.float64) for v in vectors)
    m, following, lipschitz = 0.7, 0.6, 2.5
    sums = path.accelerate(pool(2), native, g, m, following, lipschitz)
    move, bent = x - before - m * (before - older), g - g_before - m * (g_before - g_older)
    step = 1.0 / (lipschitz * d)
    expected = np.empty(n)
    penalty.prox(
        x + following * (x - before) - step * (g + following * (g - g_before)), step if n else np.ones(1), expected
    )
    tests = (bent @ move, np.sum(d * move**2), -np.sum(d * move * (x - before)), penalty.value(x))
    single = kept is np.float32
    np.testing.assert_allclose(sums[:4], tests, rtol=1e-9, atol=(3e-7 if single else 1e-12) * (1.0 + n))
    np.testing.assert_allclose(sums[4], penalty.violation(x, g), rtol=1e-12)
    np.testing.assert_allclose(vectors[0], expected, rtol=1e-6 if single else 1e-12, atol=1e-6 if single else 1e-14)
    assert sums[5] == np.abs(vectors[0]).max(initial=0.0)
    assert np.array_equal(vectors[0], vectors[0].astype(kept))  # it is known exactly when it is kept
    np.testing.assert_array_equal(vectors[2], x.astype(kept))
    np.testing.assert_array_equal(vectors[4], g.astype(kept))
    # the same on one thread, to the bit, and once more from what is kept
    again, g, other = random_path(n, penalty, kept)
    assert other.accelerate(pool(1), native, g, m, following, lipschitz) == sums
    np.testing.assert_array_equal(again[0], vectors[0])
    path.turn()
    path.retake(pool(2), native, following, lipschitz)
    np.testing.assert_allclose(vectors[0], again[0], rtol=1e-5 if single else 1e-12, atol=1e-5 if single else 1e-14)


def test_a_gradient_that_is_not_finite_is_seen():
    penalty = penalties.make("l2", 1.0)
    _, g, path = random_path(20, penalty)
    g[7] = np.nan
    assert np.isnan(path.accelerate(pool(1), penalty.native(20), g, 0.0, 0.0, 1.0)[4])


def test_other_lengths_are_refused():
    a, b = np.zeros(4), np.zeros(3)
    native = penalties.make("l2", 1.0).native(4)
    for vectors in ([a, b, a, a, a, a], [a, a, a, a, a, b], [b, a, a, a, a, a]):
        with pytest.raises(ValueError, match="differ in length"):
            _core.AcceleratedPath(*(v.copy() for v in vectors)).accelerate(pool(1), native, a, 0.0, 0.0, 1.0)
    path = _core.AcceleratedPath(*(a.copy() for _ in range(6)))
    with pytest.raises(ValueError, match="differ in length"):
        path.accelerate(pool(1), native, b, 0.0, 0.0, 1.0)
    with pytest.raises(ValueError, match="more penalised weights than weights"):
        path.accelerate(pool(1), penalties.make("l2", 1.0).native(5), a, 0.0, 0.0, 1.0)
    loss = ngram_loss()
    with pytest.raises(ValueError, match="one number per n-gram"):
        loss.value_and_step(path, native, 0.0, 0.0, 1.0, 1.0)


def ngram_loss(order=4, n_words=12, n_sentences=60, offset=None, n_threads=None):
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 9, size=n_sentences)
    sentences = [(1 + rng.zipf(1.5, size=n) % (n_words - 1)).tolist() for n in lengths]
    trie = reference_trie(sentences, order, n_words)
    return NgramMaxentLoss(trie, offset=None if offset is None else offset(trie.n_entries), n_threads=n_threads)


def by_order(loss, l1=0.3, l2=0.1, nonnegative=True):
    trie = loss.trie
    orders = np.repeat(np.arange(trie.order), np.diff(trie.entry_start))
    above = np.arange(trie.order) > 0
    return ByClass(orders, np.where(above, l1, 0.0), np.where(above, l2, 0.01), above & nonnegative)


@pytest.mark.parametrize("scale", [0.5, 200.0], ids=["sweeps", "logarithms"])
@pytest.mark.parametrize("with_offset", [False, True])
@pytest.mark.parametrize("kept", [np.float64, np.float32])
def test_a_step_in_the_sweep_is_a_gradient_and_a_step(scale, with_offset, kept):
    rng = np.random.default_rng(3)
    loss = ngram_loss(offset=(lambda n: rng.normal(size=n)) if with_offset else None)
    penalty = by_order(loss, nonnegative=not with_offset)
    native = penalty.native(loss.n_weights)
    vectors, _, path = random_path(loss.n_weights, penalty, kept, seed=1)
    others, _, other = random_path(loss.n_weights, penalty, kept, seed=1)
    for v in (vectors[0], others[0]):
        v *= scale
    gradient = np.empty(loss.n_weights)
    value = loss.value_and_gradient(others[0], gradient)
    expected = other.accelerate(pool(1), native, gradient, 0.5, 0.4, 3.0)
    found, sums = loss.value_and_step(path, native, 0.5, 0.4, 3.0, np.inf)
    assert found == pytest.approx(value, rel=1e-13)
    np.testing.assert_allclose(sums, expected, rtol=1e-9)
    for a, b in zip(vectors, others):
        np.testing.assert_allclose(a, b, rtol=1e-6 if kept is np.float32 else 1e-11, atol=1e-9)


@pytest.mark.parametrize("nonnegative", [True, False])
def test_same_steps_as_the_plain_form(nonnegative):
    """Until a step is refused, which the plain form takes again with its momentum."""
    loss = ngram_loss()
    objective = Objective(loss, by_order(loss, nonnegative=nonnegative))
    runs = [
        minimise(objective, solvers.Fista(in_sweep=in_sweep, shrink=1.0), tolerance=0.0, max_iterations=12)
        for in_sweep in (False, True)
    ]
    plain, fused = (run.history.objective for run in runs)
    np.testing.assert_allclose(fused[:8], plain[:8], rtol=1e-9)
    assert runs[1].history.violation[4] == pytest.approx(runs[0].history.violation[4], rel=1e-6)


@pytest.mark.parametrize("l1", [0.3, 0.0])
@pytest.mark.parametrize("nonnegative", [True, False])
def test_same_optimum(l1, nonnegative):
    loss = ngram_loss()
    objective = Objective(loss, by_order(loss, l1=l1, nonnegative=nonnegative))
    expected = minimise(objective, solvers.Fista(in_sweep=False), violation_tolerance=1e-9, max_iterations=50_000)
    assert expected.converged
    check_solver(solvers.Fista(), objective, expected.weights)
    if l1 or nonnegative:
        result = minimise(objective, solvers.Owlqn(metric="curvature"), violation_tolerance=1e-7, max_iterations=5000)
        assert result.value == pytest.approx(expected.value, rel=1e-10)
    assert np.any(expected.weights == 0.0) == bool(l1 or nonnegative)


def test_single_precision_ends_at_the_same_objective():
    loss = ngram_loss()
    objective = Objective(loss, by_order(loss))
    runs = [
        minimise(objective, solvers.Fista(single_precision=single), tolerance=1e-6, max_iterations=2000)
        for single in (False, True)
    ]
    assert all(run.converged and run.gap_is_bound for run in runs)
    assert runs[0].value == pytest.approx(runs[1].value, rel=2e-6)
    value = objective.value_and_loss_gradient(runs[1].weights, np.empty(loss.n_weights))
    assert runs[1].weights.dtype == np.float64
    assert value == pytest.approx(runs[1].value, rel=1e-14)


def test_threads_agree_to_the_bit_and_no_step_goes_uphill():
    runs = []
    for n_threads in (1, 2, 3):
        loss = ngram_loss(n_words=60, n_sentences=3000, n_threads=n_threads)
        runs.append(minimise(Objective(loss, by_order(loss), n_threads), solvers.Fista(), tolerance=1e-5))
    for run in runs[1:]:
        np.testing.assert_array_equal(run.weights, runs[0].weights)
        assert run.history.objective == runs[0].history.objective
    values = np.array(runs[0].history.objective)
    assert np.all(np.diff(values) <= 1e-12 * values[0])
    assert runs[0].history.passes[-1] <= 1.3 * len(values)


def test_adaptation_has_the_same_optimum():
    """Weights of a base model are added to the weights, which have either sign."""
    rng = np.random.default_rng(5)
    offset = rng.normal(size=100_000)
    loss = ngram_loss(offset=lambda n: offset[:n])
    objective = Objective(loss, by_order(loss, nonnegative=False))
    expected = minimise(objective, solvers.Fista(in_sweep=False), violation_tolerance=1e-8, max_iterations=50_000)
    check_solver(solvers.Fista(), objective, expected.weights)


def test_the_point_of_single_precision_lives_where_vectors_do():
    state, made = SweepState(np.arange(3, dtype=np.float32), 0.0, 0.0), []

    def maker(size, dtype):
        made.append((size, dtype))
        return np.empty(size, dtype)

    with vectors_made_by(maker):
        point = state.point()
    assert (point.tolist(), point.dtype, made) == ([0.0, 1.0, 2.0], np.float64, [(3, np.float64)])


@pytest.mark.parametrize("single", [False, True])
def test_training_goes_on_under_another_strength(single):
    loss = ngram_loss()
    before, objective = (Objective(loss, by_order(loss, l1=l1)) for l1 in (0.3, 0.6))
    solver = solvers.Fista(single_precision=single)
    state = solver.init(before, np.zeros(loss.n_weights))
    for _ in range(6):
        solver.step(before, state)
    assert state.under(before, objective)
    gradient = np.empty(loss.n_weights)
    assert state.value == pytest.approx(objective.value_and_loss_gradient(state.point(), gradient), rel=1e-12)
    passes, metric = state.passes, state.path
    for _ in range(300):
        solver.step(objective, state)
    assert (passes, state.path) == (0.0, metric)
    expected = minimise(objective, solvers.Fista(in_sweep=False), violation_tolerance=1e-9, max_iterations=50_000)
    assert state.value == pytest.approx(expected.value, rel=1e-6)
