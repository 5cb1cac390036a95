"""Bounds of the gap: never below the truth, and tight where a ridge holds the weights."""


import numpy as np
import pytest
from chains import Enumeration, random_data, random_features
from problems import dense_data, sparse_data

from loglinear import penalties, solvers
from loglinear.data.matrix import DenseRows
from loglinear.data.multiclass import MulticlassData
from loglinear.losses.chain import ChainLoss
from loglinear.losses.multinomial import MultinomialLoss
from loglinear.optimise.certificate import assess, divergence_factor
from loglinear.optimise.minimise import minimise
from loglinear.optimise.objective import Objective
from loglinear.penalties import Blocks, ByClass, TreeL2, TreeLinf
from loglinear.protocols import FreeWeights, Spread
from loglinear.structure.tree import Tree

RNG = np.random.default_rng


# ---- the pieces -----------------------------------------------------------------------------------------------------
def test_the_divergence_factor_bounds_the_divergence():
    for r in (1e-6, 1e-3, 0.1, 0.5, 0.9, 0.99):
        x = np.linspace(-r, r, 1001)
        assert np.all((1 + x) * np.log1p(x) - x <= 0.5 * divergence_factor(r) * x**2 * (1 + 1e-9) + 1e-18)
    assert divergence_factor(1.0) == np.inf


@pytest.mark.parametrize("nonnegative", [False, True])
def test_the_dual_of_a_sum_over_weights_against_numpy(nonnegative):
    rng = RNG(1)
    classes = rng.integers(0, 4, 3000).astype(np.uint8)
    a, b = np.array([0.0, 0.5, 0.7, 0.0]), np.array([0.2, 0.3, 0.0, 0.0])
    signs = np.array([nonnegative, False, nonnegative, False])
    penalty, g = ByClass(classes, a, b, signs, n_free=2), rng.normal(size=3002)
    for scale in (1.0, 0.3):
        A, B = np.append(a[classes], [0, 0]), np.append(b[classes], [0, 0])
        held = np.append(signs[classes], [False, False])
        size = np.where(held, np.maximum(-scale * g, 0), np.abs(scale * g))
        ridge, linear, free = B > 0, (B == 0) & (A > 0), (B == 0) & (A == 0)
        expected = (
            (np.maximum(size - A, 0)[ridge] ** 2 / (2 * B[ridge])).sum(),
            (size[linear] / A[linear]).max(),
            size[free].sum(),
        )
        assert penalty.dual(g, scale) == pytest.approx(expected, rel=1e-12)


def test_the_conjugate_of_a_tree_is_no_smaller_than_what_any_weights_reach():
    rng = RNG(2)
    tree = Tree(np.array([-1, 0, 0, 1, 1, -1, 5], np.int32))
    for kind in (TreeL2, TreeLinf):
        for l2 in (0.0, 0.3):
            penalty = kind(tree, 0.8, l2=l2)
            g = rng.normal(size=7)
            ridge, ratio, _ = penalty.dual(g, 0.4)
            reached = [float(-0.4 * g @ u - penalty.value(u)) for u in rng.normal(size=(500, 7)) * 3]
            if ratio <= 1.0:
                assert max(reached) <= ridge + 1e-12
            else:  # the excess over the norm alone
                values = np.array([penalty.value(u) for u in rng.normal(size=(500, 7))])
                assert l2 == 0.0
                assert np.all(values >= 0)


# With seeds other than 0 the last steps change the value by less than its rounding error.
@pytest.mark.parametrize(("n_classes", "seed"), [(2, 0), (4, 0), (2, 12), (4, 20), (4, 23)])
def test_free_weights_are_solved_for(n_classes, seed):
    loss = MultinomialLoss(sparse_data(n_classes, seed=seed))
    assert isinstance(loss, FreeWeights)
    rng = RNG(3)
    w, gradient = rng.normal(size=loss.n_weights), np.empty(loss.n_weights)
    solved = w.copy()
    loss.solve_free(solved)
    K = loss.n_columns
    np.testing.assert_array_equal(solved[:-K], w[:-K])
    loss.value_and_gradient(solved, gradient)
    assert np.abs(gradient[-K:]).max() < 1e-8
    step, product = np.zeros_like(w), np.empty_like(w)
    target = rng.normal(size=w.size)
    target[-K:] -= target[-K:].mean() if K > 1 else 0.0  # equal shifts of all intercepts change nothing
    loss.correct_free(w, target, step)
    loss.hessian(w).product(step, product)
    np.testing.assert_allclose(product[-K:], -target[-K:], atol=1e-9)
    assert not step[:-K].any()


def test_the_spread_of_a_chain_bounds_every_two_labellings():
    rng = RNG(4)
    data = random_data(rng, [3, 1, 4], 3, 6, values=True)
    features = random_features(rng, data, pairs=True, order=2)
    loss = ChainLoss(data, features, n_threads=1)
    assert isinstance(loss, Spread)
    for _ in range(5):
        step = rng.normal(size=loss.n_weights)
        true = max(float(np.ptp(Enumeration(data, features, step, None, i).scores)) for i in range(3))
        assert true <= loss.spread(step) * (1 + 1e-12)


# ---- bounds ---------------------------------------------------------------------------------------------------------
CASES = {
    "l2": ("l2", {}),
    "weak l2": ("l2", {"strength": 1e-3}),
    "l1": ("l1", {}),
    "elastic net": ("elastic_net", {}),
    "nonnegative": ("elastic_net", {"nonnegative": True}),
}


@pytest.mark.parametrize("penalty", CASES)
@pytest.mark.parametrize("data", ["dense3", "text2", "text4"])
def test_the_bound_is_never_above_the_optimum(data, penalty):
    examples = dense_data() if data == "dense3" else sparse_data(int(data[-1]))
    loss = MultinomialLoss(examples)
    name, options = CASES[penalty]
    objective = Objective(loss, penalties.make(name, **{"strength": 0.5, **options}, n_free=loss.n_columns))
    solver = solvers.Newton() if name == "l2" else solvers.Owlqn()
    points = []
    best = minimise(
        objective, solver, tolerance=0.0, max_iterations=1500,
        callback=lambda i, state, history: points.append(state.weights.copy()) if i % 7 == 1 else None,
    )
    rounding = 1e-11 * best.value
    for w in [RNG(6).normal(size=loss.n_weights) * 0.1, *points[:12]]:
        objective.make_feasible(w)
        assert assess(objective, w).lower <= best.value + rounding
    at_optimum = assess(objective, best.weights).lower
    assert best.value - at_optimum <= (1e-6 if name != "l1" else 1e-3) * best.value


def test_the_bound_of_tree_norms_is_never_above_the_optimum():
    rng = RNG(7)
    X, y = rng.normal(size=(60, 7)), rng.integers(0, 2, 60)
    loss = MultinomialLoss(MulticlassData(DenseRows(X), y.astype(np.int32), 2), intercept=False)
    tree = Tree(np.array([-1, 0, 0, 1, 1], np.int32))
    for kind in (TreeL2, TreeLinf):
        for l2 in (0.0, 0.5):
            penalty = Blocks([(2, penalties.make("l2", 0.1)), (5, kind(tree, 1.0, l2=l2))])
            objective = Objective(loss, penalty)
            best = minimise(objective, solvers.Fista(), tolerance=0.0, max_iterations=3000)
            for w in (np.zeros(7), rng.normal(size=7), best.weights):
                assert assess(objective, w).lower <= best.value * (1 + 1e-12)
            assert best.value - assess(objective, best.weights).lower <= 1e-5 * best.value
