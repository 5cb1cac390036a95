"""Bounds by tangents at the points that L-BFGS remembers: never above the optimum, and near it."""

import numpy as np
import pytest
from problems import sparse_data

from loglinear import penalties
from loglinear.losses.multinomial import MultinomialLoss
from loglinear.optimise.bundle import best_mean, bundle_bound
from loglinear.optimise.minimise import minimise
from loglinear.optimise.objective import Objective
from loglinear.solvers.lbfgs import Lbfgs
from loglinear.solvers.owlqn import Owlqn


def problem(strength=1.0, penalty="l2", uneven=False):
    loss = MultinomialLoss(sparse_data(3), intercept=False)
    scale = {"scale": np.random.default_rng(2).uniform(0.2, 5.0, loss.n_weights)} if uneven else {}
    return Objective(loss, penalties.make(penalty, strength=strength, **scale))


def bounds(objective, solver, n_steps=60):
    """(objective, bound) after every step, and the optimum."""
    found = []

    def look(iteration, state, history):
        found.append((state.value, bundle_bound(objective, state)))

    minimise(objective, solver, tolerance=None, max_iterations=n_steps, callback=look)
    optimum = minimise(objective, Lbfgs(), tolerance=1e-13, max_iterations=2000).value
    return found, optimum


@pytest.mark.parametrize("metric", ["none", "curvature"])
@pytest.mark.parametrize("options", [{}, {"uneven": True}, {"strength": 0.01}], ids=str)
def test_bounds_are_below_the_optimum_and_near_it(options, metric):
    found, optimum = bounds(problem(**options), Lbfgs(metric=metric))
    told = [(value, lower) for value, lower in found if lower is not None]
    assert len(told) >= len(found) - 1
    assert all(lower <= optimum + 1e-11 * abs(optimum) for _, lower in told)
    middle = [(value - optimum, value - lower) for value, lower in told if value - optimum > 1e-9 * optimum][5:]
    assert middle
    assert np.median([bound / true for true, bound in middle]) < 6.0


@pytest.mark.parametrize("options", [{}, {"uneven": True}, {"strength": 0.1}], ids=str)
def test_bounds_of_the_elastic_net_are_below_the_optimum_and_near_it(options):
    objective, found = problem(penalty="elastic_net", **options), []
    minimise(
        objective, Owlqn(), tolerance=None, max_iterations=80,
        callback=lambda iteration, state, history: found.append((state.value, bundle_bound(objective, state))),
    )
    optimum = minimise(objective, Owlqn(), tolerance=1e-12, max_iterations=3000).value
    told = [(value, lower) for value, lower in found if lower is not None]
    assert len(told) >= len(found) - 2
    assert all(lower <= optimum + 1e-11 * abs(optimum) for _, lower in told)
    middle = [(value - optimum, value - lower) for value, lower in told if value - optimum > 1e-8 * optimum][5:]
    assert middle
    assert np.median([bound / true for true, bound in middle]) < 20.0


def test_points_after_a_refused_pair_do_not_reach_over_the_gap():
    objective = problem()
    solver = Lbfgs(memory=4)
    state = solver.init(objective, np.zeros(objective.n_weights))
    for _ in range(6):
        solver.step(objective, state)
    assert len(state.tangents().steps) == 5
    s, y = state.pair
    y[:] = -s  # negative curvature: refused
    solver.step(objective, state)
    assert len(state.tangents().steps) == 1
    assert bundle_bound(objective, state) <= minimise(objective, Lbfgs(), tolerance=1e-13).value


@pytest.mark.parametrize(
    "objective",
    [problem(0.0), Objective(MultinomialLoss(sparse_data(3)), penalties.make("l2", n_free=3))],
    ids=["no ridge", "free intercepts"],
)
def test_weights_without_a_ridge_have_none(objective):
    solver = Lbfgs()
    state = solver.init(objective, np.zeros(objective.n_weights))
    for _ in range(3):
        solver.step(objective, state)
    assert state.tangents() is not None
    assert bundle_bound(objective, state) is None


def test_pairs_in_single_precision_are_no_tangents():
    objective, solver = problem(), Lbfgs(single_precision=True)
    state = solver.init(objective, np.zeros(objective.n_weights))
    for _ in range(3):
        solver.step(objective, state)
    assert state.tangents() is None


def test_the_best_mean_is_that_of_a_grid():
    rng = np.random.default_rng(0)
    for _ in range(20):
        rows = rng.normal(size=(3, 5))
        constants, gram = rng.normal(size=3), rows @ rows.T
        grid = [(a / 60, b / 60, (60 - a - b) / 60) for a in range(61) for b in range(61 - a)]
        best = max(np.dot(s, constants) - 0.5 * s @ gram @ s for s in np.array(grid))
        assert best <= best_mean(constants, gram) + 1e-12
        assert best_mean(constants, gram) - best < 1e-2


def test_training_is_certified_by_its_tangents():
    objective = problem()
    result = minimise(objective, Lbfgs(), tolerance=1e-5)
    optimum = minimise(objective, Lbfgs(), tolerance=1e-13).value
    assert result.converged
    assert result.gap_is_bound
    assert (result.value - optimum) / result.value <= result.gap <= 1e-5
    assert result.history.passes[-1] < 60
