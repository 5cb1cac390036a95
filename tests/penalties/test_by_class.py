import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import dense_data, sparse_data

from loglinear import penalties, solvers
from loglinear.errors import IncompatibleError
from loglinear.losses.multinomial import MultinomialLoss
from loglinear.optimise.minimise import minimise
from loglinear.optimise.objective import Objective
from loglinear.optimise.solver_choice import choose_solver
from loglinear.penalties import ByClass
from loglinear.protocols import Metric, Orthant, Separable, Smooth, Tunable
from loglinear.structure.tying import Tying
from loglinear.testing import check_solver

TABLES = {"l1": [0.0, 0.5, 1.2], "l2": [0.3, 0.0, 2.0], "nonnegative": [False, True, False]}


def by_class(n=40, seed=0, **options):
    classes = np.random.default_rng(seed).integers(0, 3, size=n)
    return ByClass(classes, **{**TABLES, **options})


@pytest.mark.parametrize("width", [3, 300])
def test_equals_numpy(width):
    """A twin in NumPy of every loop, with classes of one byte and of two."""
    rng = np.random.default_rng(1)
    n = 100_003
    classes = rng.integers(0, width, size=n - 2)
    l1, l2, signed = rng.uniform(0, 2, width), rng.uniform(0, 2, width), rng.random(width) < 0.5
    l1[0] = l2[1] = 0.0
    penalty = ByClass(classes, l1, l2, signed, n_free=2)
    assert penalty.classes.itemsize == (1 if width == 3 else 2)
    a, b, c = (np.concatenate([table[classes], [0, 0]]) for table in (l1, l2, signed))
    w, g, v = rng.normal(size=(3, n))
    w[rng.random(n) < 0.5] = 0.0
    w = np.where(c > 0, np.abs(w), w)
    assert penalty.value(w) == pytest.approx(np.sum(a * np.abs(w) + b * w * w / 2), rel=1e-12)
    diagonal = np.ones(n)
    penalty.add_curvature_diagonal(w, diagonal)
    np.testing.assert_array_equal(diagonal, 1 + b)
    corner = (w == 0) & ((a > 0) | (c > 0))
    left = np.where((w == 0) & (c > 0), np.minimum(g + a, 0), np.where(w < 0, g - a, g + a))
    at_zero = np.minimum(g + a, 0) + np.where(c > 0, 0, np.maximum(g - a, 0))
    expected = np.where(w == 0, at_zero, left)
    pseudo = np.empty(n)
    penalty.pseudo_gradient(w, g, pseudo)
    np.testing.assert_array_equal(pseudo, expected)
    held = v.copy()
    penalty.hold(w, held)
    np.testing.assert_array_equal(held, np.where(corner, 0, v))
    parts = [np.where(np.arange(n) < n - 2, x, 0) for x in (a * np.sign(w), b * w)]
    d = np.concatenate([[np.bincount(classes, x[:-2] * v[:-2], width)] for x in parts]).ravel()
    np.testing.assert_allclose(penalty.strength_sums(w, v), d, atol=1e-9)
    products = penalty.strength_products(w, v)
    for i, j in ((0, 0), (0, 1), (1, 1)):
        block = np.bincount(classes, (v * parts[i] * parts[j])[:-2], width)
        np.testing.assert_allclose(products[i * width :, j * width :][:width, :width], np.diag(block), atol=1e-9)
    np.testing.assert_array_equal(products, products.T)


def test_one_class_is_the_plain_penalty():
    rng = np.random.default_rng(2)
    w, g = rng.normal(size=(2, 50))
    plain = penalties.make("elastic_net", 0.7, l1_ratio=0.4, n_free=3)
    classed = penalties.make("elastic_net", 0.7, l1_ratio=0.4, n_free=3, classes=np.zeros(47, dtype=int))
    assert classed.value(w) == plain.value(w)
    assert classed.violation(w, g) == plain.violation(w, g)
    assert classed.max_strength(g) == pytest.approx(plain.max_strength(g))
    assert classed.strengths.tolist() == plain.strengths.tolist()
    np.testing.assert_allclose(classed.strength_sums(w, g), plain.strength_sums(w, g), rtol=1e-12)


def test_powers():
    penalty = by_class()
    for power in (Metric, Orthant, Separable, Tunable):
        assert isinstance(penalty, power)
    assert not isinstance(penalty, Smooth)
    assert isinstance(by_class(l1=0.0, nonnegative=False), Smooth)
    assert not isinstance(by_class(l1=0.0, nonnegative=[False, False, True]), Smooth)
    halved = penalty.with_strengths(penalty.strengths / 2)
    assert halved.l1.tolist() == [0.0, 0.25, 0.6]
    with pytest.raises(ValueError, match="zero where they were zero"):
        penalty.with_strengths(penalty.strengths + 1)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 3), min_size=7, max_size=7), st.lists(st.floats(-3, 3), min_size=4, max_size=4))
def test_tied_is_exact_across_classes(groups, u):
    penalty = by_class(7)
    tying = Tying(np.array([*groups, 4]), 5)
    penalty.n_free = 1
    u = np.array([*u, 1.0])
    tied = penalty.tied(tying)
    assert tied.value(u) == pytest.approx(penalty.value(tying.up(u)), rel=1e-12, abs=1e-12)
    members = [penalty.nonnegative[penalty.classes[np.array(groups) == g]].any() for g in range(4)]
    assert tied.nonnegative[tied.classes].tolist() == members


def test_tied_with_too_many_classes():
    n = 70_000
    groups = np.tile(np.arange(n, dtype=np.int32), 2)
    tying = Tying(groups, n)
    tables = np.random.default_rng(0).uniform(0.1, 1, 60_000)
    classes = np.random.default_rng(1).integers(0, 60_000, size=2 * n)
    u = np.random.default_rng(2).normal(size=n)
    penalty = ByClass(classes, tables, 1.0)
    assert penalty.tied(tying).value(u) == pytest.approx(penalty.value(tying.up(u)), rel=1e-10)
    assert isinstance(ByClass(classes, 0.0, tables).tied(tying), Smooth)
    with pytest.raises(ValueError, match="tie within classes"):
        ByClass(classes, tables, 1.0, np.arange(60_000) < 10).tied(tying)


def test_restrict():
    penalty = by_class()
    kept = np.array([3, 5, 8, 39])
    w = np.zeros(40)
    w[kept] = [1, 2, -3, 4]
    assert penalty.restrict(kept).value(w[kept]) == pytest.approx(penalty.value(w))


SOLVERS = [
    solvers.Owlqn(),
    solvers.Fista(),
    solvers.StochasticProximal(n_parts=8),
    solvers.WorkingSet(first_size=20),
    solvers.Clustered(cluster_factor=4),
]


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda s: s.name)
@pytest.mark.parametrize("make_data", [lambda: dense_data(n_classes=2), lambda: sparse_data(2)], ids=["dense", "text"])
def test_solvers_reach_the_same_optimum(solver, make_data):
    loss = MultinomialLoss(make_data())
    objective = Objective(loss, by_class(loss.n_weights - 1, n_free=1))
    reference = minimise(objective, solvers.Fista(), violation_tolerance=1e-10, max_iterations=50_000)
    check_solver(solver, objective, reference.weights)
    found = objective.penalty
    assert np.all(reference.weights[:-1][found.nonnegative[found.classes]] >= 0)


def test_auto_solver_knows_classes():
    loss = MultinomialLoss(sparse_data(8))
    assert choose_solver(Objective(loss, by_class(loss.n_weights)))[0].name == "working_set"
    assert choose_solver(Objective(loss, by_class(loss.n_weights, l1=0.0, nonnegative=False)))[0].name == "newton"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0, 1, 3], [1.0, 2.0]), r"classes run from 0 to 3, but there are strengths for 2 \(0 to 1\)"),
        (([0, -1], [1.0, 2.0]), "classes run from -1 to 0"),
        (([0.0, 1.0], [1.0, 2.0]), "vector of whole numbers"),
        (([0, 1], [1.0, np.nan]), "must be finite and not negative; l1"),
        (([0, 1], [1.0, 2.0], [-1.0, 0.0]), "must be finite and not negative; l2"),
        (([0, 1], [1.0, 2.0, 3.0], [1.0, 0.0]), "l2 must be one number or one per class: 2 for 3 classes"),
    ],
)
def test_refusals(arguments, message):
    with pytest.raises(ValueError, match=message):
        ByClass(*arguments)


def test_more_refusals():
    with pytest.raises(ValueError, match="40 classes for 39 penalised weights"):
        by_class().value(np.zeros(39))
    with pytest.raises(ValueError, match="only 1 weights"):
        by_class(n_free=2).value(np.zeros(1))
    with pytest.raises(IncompatibleError, match="without scale"):
        penalties.make("l1", [1.0], classes=[0], scale=np.ones(1))


def test_threads_agree_to_the_bit():
    w, v = np.random.default_rng(0).normal(size=(2, 200_001))
    one, two = (by_class(w.size, n_threads=n) for n in (1, 2))
    assert one.value(w) == two.value(w)
    np.testing.assert_array_equal(one.strength_sums(w, v), two.strength_sums(w, v))
