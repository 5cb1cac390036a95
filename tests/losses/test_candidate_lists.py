"""Losses of lists against enumeration, differences and each other; every batch solver and penalty works on them."""

import itertools

import numpy as np
import pytest
from candidate_problems import dense_differences, random_data

from loglinear import penalties, solvers
from loglinear.errors import IncompatibleError
from loglinear.losses.candidate_lists import LIST_LOSSES, ExpectedErrorLoss, ExponentialMarginLoss, ListLogLoss
from loglinear.optimise.minimise import minimise
from loglinear.optimise.objective import Objective
from loglinear.protocols import FreeWeights
from loglinear.structure.tying import Tying
from loglinear.testing import check_loss, check_solver

LOSSES = {
    "exponential": lambda data, **o: ExponentialMarginLoss(data, **o),
    "exponential by errors": lambda data, **o: ExponentialMarginLoss(data, by_errors=True, **o),
    "log": lambda data, **o: ListLogLoss(data, **o),
    "log by errors": lambda data, **o: ListLogLoss(data, by_errors=True, **o),
    "expected error": lambda data, **o: ExpectedErrorLoss(data, **o),
}
CONVEX = [name for name in LOSSES if name != "expected error"]


def lists_of(data):
    return [slice(a, b) for a, b in zip(data.list_ptr, data.list_ptr[1:])]


def twin(name, data, w):
    """The definitions, list by list."""
    X, e = dense_differences(data), data.errors
    m = X @ w
    if name.startswith("exponential"):
        return np.sum((e if "errors" in name else 1.0) * np.exp(-m))
    if name.startswith("log"):
        cost = e if "errors" in name else 0.0 * e
        return sum(np.log1p(np.exp(cost[s] - m[s]).sum()) for s in lists_of(data))
    return sum((e[s] * np.exp(-m[s])).sum() / (1 + np.exp(-m[s]).sum()) for s in lists_of(data))


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("scores", [("score",), (), ("am", "lm")])
def test_values_and_gradients(name, scores):
    data = random_data(25, scores=scores)
    loss = LOSSES[name](data)
    rng = np.random.default_rng(0)
    for w in (rng.normal(size=loss.n_weights) * 0.5, np.zeros(loss.n_weights)):
        g, scratch = np.empty(w.size), np.empty(w.size)
        assert loss.value_and_gradient(w, g) == pytest.approx(twin(name, data, w), rel=1e-12)
        for j in range(w.size):
            step = np.zeros(w.size)
            step[j] = 1e-5
            slope = (loss.value_and_gradient(w + step, scratch) - loss.value_and_gradient(w - step, scratch)) / 2e-5
            assert g[j] == pytest.approx(slope, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("name", CONVEX)
def test_checks(name):
    check_loss(LOSSES[name](random_data(20)), scale=0.3)


@pytest.mark.parametrize("name", LOSSES)
def test_extreme_weights_stay_finite(name):
    loss = LOSSES[name](random_data(20))
    for scale in (1e3, 1e8):
        w = np.random.default_rng(0).choice([-scale, scale], size=loss.n_weights)
        g = np.empty(w.size)
        assert np.isfinite(loss.value_and_gradient(w, g))
        assert np.all(np.isfinite(g))


def test_the_tangent_is_convex_and_smooth():
    data = random_data(12)
    loss = ExponentialMarginLoss(data)
    w = np.zeros(loss.n_weights)
    w[0] = 1.0
    g = np.empty(w.size)
    scale = 200.0 / np.max(-data.margins(w))
    points = np.linspace(0.9 * scale, 1.1 * scale, 50)
    values, slopes = [], []
    for t in points:
        values.append(loss.value_and_gradient(t * w, g))
        slopes.append(g[0])
    assert np.all(np.diff(slopes) >= 0)
    between = np.diff(values) / np.diff(points)
    assert np.all(between <= np.asarray(slopes[1:]) * (1 + 1e-12))
    assert np.all(between >= np.asarray(slopes[:-1]) * (1 - 1e-12))


def test_threads_do_not_matter():
    data = random_data(900)
    w = np.random.default_rng(0).normal(size=data.n_weights)
    for make in LOSSES.values():
        results = []
        for n_threads in (1, 2, 3):
            g = np.empty(w.size)
            results.append((make(data, n_threads=n_threads).value_and_gradient(w, g), g))
        assert results[0][0] == results[1][0] == results[2][0]
        np.testing.assert_array_equal(results[0][1], results[1][1])
        np.testing.assert_array_equal(results[0][1], results[2][1])


def test_probabilities_are_of_the_candidates_beside_the_reference():
    data = random_data(20)
    w = np.random.default_rng(0).normal(size=data.n_weights)
    m, q = data.margins(w), ListLogLoss(data).probabilities(data.margins(w))
    for s in lists_of(data):
        np.testing.assert_allclose(q[s], np.exp(-m[s]) / (1 + np.exp(-m[s]).sum()), rtol=1e-12)


@pytest.mark.parametrize("name", LOSSES)
def test_parts_add_up_and_restrictions_agree(name):
    data = random_data(25)
    loss = LOSSES[name](data)
    rng = np.random.default_rng(0)
    w, g, part = rng.normal(size=loss.n_weights) * 0.3, np.empty(loss.n_weights), np.empty(loss.n_weights)
    value = loss.value_and_gradient(w, g)
    pieces = loss.partition(4, rng)
    assert sum(piece.value_and_gradient(w, part) for piece in pieces) == pytest.approx(value, rel=1e-10)
    active = rng.random(w.size) < 0.3
    small, kept = loss.restrict(active)
    assert 0 in kept
    held = np.zeros(w.size)
    held[kept] = w[kept]
    few = np.empty(kept.size)
    value = loss.value_and_gradient(held, g)
    assert small.value_and_gradient(w[kept], few) == pytest.approx(value, rel=1e-10)
    np.testing.assert_allclose(few, g[kept], atol=1e-10)


@pytest.mark.parametrize("name", LOSSES)
def test_tied_weights(name):
    loss = LOSSES[name](random_data(25))
    rng = np.random.default_rng(0)
    tying = Tying(rng.integers(0, 6, size=loss.n_weights), 6)
    u, g, small = rng.normal(size=6) * 0.3, np.empty(loss.n_weights), np.empty(6)
    value = loss.value_and_gradient(tying.up(u), g)
    assert loss.tied(tying).value_and_gradient(u, small) == pytest.approx(value, rel=1e-10)
    np.testing.assert_allclose(small, tying.down(g), atol=1e-9)


@pytest.mark.parametrize("name", LOSSES)
def test_curvature_estimates_are_positive(name):
    loss = LOSSES[name](random_data(25))
    out = np.empty(loss.n_weights)
    loss.curvature_estimate(out)
    assert np.all(out > 0)


# ---- solvers and penalties ------------------------------------------------------------------------------------------
SMOOTH = {"lbfgs": solvers.Lbfgs(), "newton": solvers.Newton()}
ANY = {
    "owlqn": solvers.Owlqn(),
    "owlqn metric": solvers.Owlqn(metric="curvature"),
    "fista": solvers.Fista(),
    "working_set": solvers.WorkingSet(first_size=5),
    "stochastic": solvers.StochasticProximal(n_parts=4),
    "clustered": solvers.Clustered(cluster_factor=4),
}
PENALTIES = {
    "l2": {"name": "l2", "strength": 0.5},
    "l1": {"name": "l1", "strength": 0.5},
    "elastic net": {"name": "elastic_net", "strength": 0.5},
    "nonnegative l1": {"name": "l1", "strength": 0.3, "nonnegative": True},
}
_optimum = {}


def problem(name, penalty):
    loss = LOSSES[name](random_data(40))
    classes = np.ones(loss.n_weights, dtype=int)
    classes[0] = 0  # the base score: hardly penalised
    options = dict(PENALTIES[penalty])
    strength = options.pop("strength")
    objective = Objective(loss, penalties.make(**options, strength=[0.01, strength], classes=classes))
    if (name, penalty) not in _optimum:
        strict = solvers.Newton(forcing=1e-3) if penalty == "l2" else solvers.Fista()
        result = minimise(objective, strict, violation_tolerance=1e-10, max_iterations=50_000)
        assert result.violation <= 1e-7 * objective.gradient_scale()
        _optimum[name, penalty] = result.weights
    return objective, _optimum[name, penalty]


def cases():
    for name in CONVEX:
        for penalty in PENALTIES:
            for solver_name, solver in ({**ANY, **SMOOTH} if penalty == "l2" else ANY).items():
                yield pytest.param(name, penalty, solver, id=f"{name}-{penalty}-{solver_name}")


@pytest.mark.parametrize(("name", "penalty", "solver"), list(cases()))
def test_every_solver_finds_the_optimum(name, penalty, solver):
    check_solver(solver, *problem(name, penalty))


@pytest.mark.parametrize("solver", [solvers.Lbfgs(), solvers.Owlqn()], ids=["lbfgs", "owlqn"])
def test_expected_errors_fall_to_a_stationary_point(solver):
    loss = ExpectedErrorLoss(random_data(40))
    objective = Objective(loss, penalties.make("l2", 0.05))
    g = np.empty(loss.n_weights)
    start = loss.value_and_gradient(np.zeros(loss.n_weights), g)
    result = minimise(objective, solver, violation_tolerance=1e-6, max_iterations=500)
    assert loss.value_and_gradient(result.weights, g) < 0.8 * start
    assert result.violation <= 1e-4 * objective.gradient_scale()


def test_the_optimum_beats_all_points_of_a_grid():
    data = random_data(30, scores=("am", "lm"), words=())
    assert data.n_weights == 2
    for name in CONVEX:
        objective = Objective(LOSSES[name](data), penalties.make("l1", 0.2))
        best = minimise(objective, solvers.Owlqn(), violation_tolerance=1e-9)
        g = np.empty(2)
        value = objective.value_and_loss_gradient(best.weights, g)
        grid = np.linspace(-3, 3, 61)
        others = [objective.value_and_loss_gradient(np.asarray(w), g) for w in itertools.product(grid, grid)]
        assert value <= min(others) + 1e-9
        assert min(others) <= value + 0.05 * abs(value)


def test_names_and_refusals():
    data = random_data(5)
    assert set(LIST_LOSSES) == {"exponential", "log", "expected_error"}
    assert isinstance(LIST_LOSSES["log"](data), ListLogLoss)
    with pytest.raises(IncompatibleError, match="did you mean 'exponential'"):
        LIST_LOSSES["exponentail"]
    with pytest.raises(ValueError, match="by_errors must be true"):
        ExpectedErrorLoss(data, by_errors=False)
    with pytest.raises(IncompatibleError, match="newton"):
        minimise(Objective(ExpectedErrorLoss(data), penalties.make("l2", 1.0)), solvers.Newton())
    with pytest.raises(IncompatibleError, match="2 weights for lists"):
        ListLogLoss(data).value_and_gradient(np.zeros(2), np.zeros(2))


@pytest.mark.parametrize("name", CONVEX)
def test_base_scores_are_solved_for(name):
    loss = LOSSES[name](random_data(40))
    assert isinstance(loss, FreeWeights)
    rng, n = np.random.default_rng(1), loss.data.n_base
    w, gradient = rng.normal(size=loss.n_weights) * 0.1, np.empty(loss.n_weights)
    solved = w.copy()
    loss.solve_free(solved)
    np.testing.assert_array_equal(solved[n:], w[n:])
    loss.value_and_gradient(solved, gradient)
    assert np.abs(gradient[:n]).max() < 1e-8
    target, step, product = rng.normal(size=w.size), np.zeros_like(w), np.empty_like(w)
    loss.correct_free(w, target, step)
    loss.hessian(w).product(step, product)
    np.testing.assert_allclose(product[:n], -target[:n], atol=1e-9)
    assert not step[n:].any()
