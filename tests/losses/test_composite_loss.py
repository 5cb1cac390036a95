import numpy as np
import pytest

from loglinear import penalties
from loglinear.losses.composite import CompositeLoss
from loglinear.optimise.minimise import minimise
from loglinear.optimise.objective import Objective
from loglinear.optimise.solver_choice import choose_solver
from loglinear.sources.normalisers import make_normaliser
from loglinear.testing import check_loss
from tests.composite_problems import random_problem


def loss_of(seed, method="sharing", **options):
    problem, rng = random_problem(seed, **options)
    return CompositeLoss(problem, make_normaliser(problem, method, partition=len(problem.tables) - 1)), rng


class WithoutCurvature:
    """A composite loss whose second derivatives are not looked at: their diagonal is an estimate."""

    floor = 0.0

    def __init__(self, loss):
        self.n_weights, self.value_and_gradient, self.spread = loss.n_weights, loss.value_and_gradient, loss.spread


@pytest.mark.parametrize("real", [False, True])
def test_the_gradient_is_that_of_the_value(real):
    for seed in range(3):
        loss, _ = loss_of(seed, real=real)
        check_loss(WithoutCurvature(loss))


def test_products_with_the_hessian():
    loss, rng = loss_of(4)
    w, v = rng.normal(size=(2, loss.n_weights))
    found, ahead, behind = np.empty((3, w.size))
    loss.hessian(w).product(v, found)
    loss.value_and_gradient(w + 1e-5 * v, ahead)
    loss.value_and_gradient(w - 1e-5 * v, behind)
    np.testing.assert_allclose(found, (ahead - behind) / 2e-5, atol=1e-6 * np.abs(found).max())


def test_expected_totals_are_the_observed_ones_at_the_optimum():
    loss, _ = loss_of(5)
    objective = Objective(loss, penalties.make("l2", 1e-3))
    solver, reason = choose_solver(objective)
    assert solver.name == "lbfgs"
    assert "curvature" in reason
    result = minimise(objective, solver, tolerance=1e-10, max_iterations=2000)
    expected, observed = np.empty((2, loss.n_weights))
    loss.expectations(result.weights, expected)
    loss.empirical(observed)
    np.testing.assert_allclose(expected, observed, atol=0.05)
    assert loss.features_per_event == 1 + len(loss.problem.patterns)
