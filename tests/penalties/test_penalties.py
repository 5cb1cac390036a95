import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loglinear import penalties
from loglinear.errors import IncompatibleError
from loglinear.structure.tree import Tree
from loglinear.structure.tying import Tying
from loglinear.testing import check_penalty

CASES = [
    {"name": "none"},
    {"name": "none", "nonnegative": True},
    {"name": "l1", "strength": 0.7},
    {"name": "l1", "strength": 0.7, "nonnegative": True},
    {"name": "l2", "strength": 1.3},
    {"name": "l2", "strength": 1.3, "nonnegative": True},
    {"name": "elastic_net", "strength": 0.9, "l1_ratio": 0.3},
    {"name": "elastic-net", "strength": 0.9, "l1_ratio": 0.3, "nonnegative": True},
    {"name": "l1", "strength": 0.5, "scale": np.array([1, 0.5, 2, 0, 1]), "n_free": 1},
    {"name": "l2", "strength": 0.5, "scale": np.array([1, 0.5, 2, 0, 1]), "n_free": 1},
    {"name": "elastic_net", "strength": 0.5, "scale": np.array([1, 0.5, 2, 0, 1.0, 3.0])},
    {"name": "l1", "strength": [0.7, 0.2], "classes": [0, 1, 1, 0, 0, 1]},
    {"name": "l2", "strength": [0.7, 0.2, 0.0], "classes": [0, 1, 1, 2, 0], "n_free": 1},
    {"name": "none", "nonnegative": [False, True], "classes": [0, 1, 1, 0, 0, 1]},
    {
        "name": "elastic_net",
        "strength": [0.9, 1.5, 0.4],
        "l1_ratio": [0.0, 0.3, 1.0],
        "nonnegative": [False, True, True],
        "classes": [0, 1, 1, 2, 2],
        "n_free": 1,
    },
]
_TREE = Tree([-1, 0, 0, 1, 1, -1])
TREES = [
    {"name": name, "strength": 0.4, "tree": _TREE, **options}
    for name in ("tree_l2", "tree-linf")
    for options in (
        {},
        {"nonnegative": True, "l2": 0.3},
        {"depth_growth": 1.2, "weights": [1, 0.5, 0, 2, 1, 1], "scale": [1, 2, 0.5, 3, 1, 0.7], "l2": 0.2},
        {"feature_decay": 0.8, "nonnegative": True, "l2": 0.2},
        {"feature_decay": 1.2, "scale": [1, 2, 0.5, 3, 1, 0.7], "l2": 0.2},
    )
] + [
    {"name": "tree_linf", "strength": 0.4, "tree": _TREE, "multiplicity": [1, 2, 1, 3, 1, 1], "l2": 0.1},
    {"name": "tree_linf", "strength": 0.4, "tree": _TREE, "method": "pivot", "nonnegative": True},
    {"name": "tree_l2", "strength": 0.4, "tree": _TREE, "plain": True, "scale": [1, 2, 0.5, 3, 1, 0.7], "l2": 0.2},
    {"name": "tree_l2", "strength": 0.4, "tree": _TREE, "plain": True, "scale": [1, 2, 0.5, 3, 1, 0.7],
     "feature_decay": 1.1, "nonnegative": True},
]


def constrained(penalty, j, n=6):
    """Whether weight j of n must not be negative."""
    if j >= n - penalty.n_free:
        return False
    return penalty.nonnegative[penalty.classes[j]] if isinstance(penalty, penalties.ByClass) else penalty.nonnegative


@pytest.mark.parametrize("case", CASES + TREES, ids=str)
def test_checks(case):
    check_penalty(penalties.make(**case), 6)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_prox_against_grid(case):
    """One weight at a time, against a fine grid."""
    penalty = penalties.make(**case)
    z = np.array([1.7, -2.2, 0.3, -0.1, 0.0, 5.0])
    x = np.empty(6)
    penalty.prox(z, 0.8, x)
    grid = np.linspace(-6, 6, 24001)
    for j in range(6):
        w = np.zeros(6)
        costs = []
        for value in grid[:: 1 if j == 0 else 40]:
            w[j] = value
            feasible = value >= 0 or not constrained(penalty, j)
            costs.append((value - z[j]) ** 2 / 1.6 + penalty.value(w) if feasible else np.inf)
        assert x[j] == pytest.approx(grid[:: 1 if j == 0 else 40][int(np.argmin(costs))], abs=1e-3 if j == 0 else 0.021)


@pytest.mark.parametrize("case", [c for c in CASES if "scale" not in c and "classes" not in c], ids=str)
@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 3), min_size=7, max_size=7), st.lists(st.floats(-3, 3), min_size=4, max_size=4))
def test_tied_is_exact(case, groups, u):
    penalty = penalties.make(**case)
    tying = Tying(np.array(groups), 4)
    u = np.array(u)
    assert penalty.tied(tying).value(u) == pytest.approx(penalty.value(tying.up(u)), rel=1e-12, abs=1e-12)


def test_tied_keeps_scales_and_free_weights():
    penalty = penalties.make("elastic_net", 2.0, scale=np.array([1.0, 2, 3, 4]), n_free=1)
    tying = Tying(np.array([0, 0, 1, 0, 2]), 3)
    u = np.array([1.5, -2.0, 7.0])
    assert penalty.tied(tying).value(u) == pytest.approx(penalty.value(tying.up(u)))
    with pytest.raises(ValueError, match="stay untied"):
        penalty.tied(Tying(np.array([0, 0, 1, 2, 2]), 3))


def test_max_strength_is_where_zero_becomes_optimal():
    g = np.array([0.5, -2.0, 1.0, 9.0])
    for nonnegative in (False, True):
        penalty = penalties.make("l1", 1.0, n_free=1, nonnegative=nonnegative)
        top = penalty.max_strength(g)
        for factor, optimal in ((1.0001, True), (0.9999, False)):
            at = penalties.make("l1", top * factor, n_free=1, nonnegative=nonnegative)
            assert (at.violation(np.zeros(4), np.where(np.arange(4) < 3, g, 0)) == 0) is optimal
    assert penalties.make("l2").max_strength(g) == np.inf


@pytest.mark.parametrize("strength", [-1.0, np.nan, np.inf])
def test_refuses_bad_strengths(strength):
    with pytest.raises(ValueError, match="must be finite and not negative"):
        penalties.make("l2", strength)


def test_refuses_unknown_name_with_a_hint():
    with pytest.raises(IncompatibleError, match="did you mean 'elastic_net'"):
        penalties.make("elasticnet")


def test_refuses_scales_of_wrong_length():
    with pytest.raises(ValueError, match="3 strengths for 4 penalised weights"):
        penalties.make("l1", scale=np.ones(3)).value(np.zeros(4))
    with pytest.raises(ValueError, match="finite, nonnegative"):
        penalties.make("l1", scale=np.array([1.0, -1.0]))


def test_threads_agree_to_the_bit():
    w = np.random.default_rng(0).normal(size=200_001)
    one, two = (penalties.make("elastic_net", 0.3, n_threads=n) for n in (1, 2))
    assert one.value(w) == two.value(w)
    a, b = np.empty_like(w), np.empty_like(w)
    one.prox(w, 0.5, a)
    two.prox(w, 0.5, b)
    np.testing.assert_array_equal(a, b)
