"""Tree norms of v_i = w_i / alpha^depth: features multiplied by alpha^depth (Nelakanti et al. 2013, section 6)."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trees import cases, prox, prox_linf, random_parent, violation_l2

from loglinear.optimise.minimise import minimise
from loglinear.optimise.objective import Objective
from loglinear.penalties import TreeL2, TreeLinf
from loglinear.solvers.fista import Fista
from loglinear.structure.tree import Tree

KINDS = [TreeL2, partial(TreeL2, plain=True), TreeLinf]
ALPHAS = [0.5, 0.85, 1.1, 2.0]


def norms(kind, case, v, scale):
    """The norm of every group of v."""
    if kind is TreeLinf:
        return np.where(case.inside, np.abs(v), 0).max(1)
    s = scale if kind is TreeL2 else np.ones(case.n)
    return np.sqrt((case.inside * (s * v**2)).sum(1) / s)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=150, deadline=None)
@given(cases(), st.sampled_from(ALPHAS))
def test_value_is_that_of_the_features_weights(kind, case, alpha):
    v = case.z / alpha ** case.tree.depth.astype(float)
    penalty = kind(case.tree, scale=case.scale, feature_decay=alpha, **case.options)
    rest = case.thresholds @ norms(kind, case, v, case.scale)
    assert penalty.value(case.z) == pytest.approx(rest + case.l2 / 2 * np.sum(v**2), rel=1e-12, abs=1e-12)
    assert penalty.rest.value(case.z) == pytest.approx(rest, rel=1e-12, abs=1e-12)
    gradient = np.zeros(case.n)
    assert penalty.add_smooth_gradient(case.z, gradient) == pytest.approx(case.l2 / 2 * np.sum(v**2), rel=1e-12)
    curvature = np.zeros(case.n)
    penalty.add_curvature_diagonal(case.z, curvature)
    np.testing.assert_allclose(gradient, curvature * case.z, rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=200, deadline=None)
@given(cases(), st.sampled_from(ALPHAS))
def test_prox_is_optimal(kind, case, alpha):
    """Against the map of one group after the other (l-infinity) and the conditions of optimality (l2), both in v."""
    unit = alpha ** case.tree.depth.astype(float)
    penalty = kind(case.tree, scale=case.scale, feature_decay=alpha, **case.options)
    x = prox(penalty, case.z, case.steps)
    d = unit**2 / case.steps + case.l2
    centre = case.z * unit / case.steps / d
    centre = np.maximum(centre, 0) if case.nonnegative else centre
    if kind is TreeLinf:
        np.testing.assert_allclose(x / unit, prox_linf(case.parent, case.thresholds, centre, d), rtol=1e-9, atol=1e-11)
    else:
        root = np.sqrt(case.scale) if kind is TreeL2 else np.ones(case.n)
        size = 1 + np.abs(d * centre / root).max() + (case.thresholds / root).max()
        found = violation_l2(case.parent, case.thresholds / root, centre * root, d / root**2, x / unit * root)
        assert found <= 1e-9 * size
    size = 1 + np.abs(unit * case.z / case.steps).max()
    assert penalty.violation(x, (x - case.z) / case.steps) <= 1e-8 * size
    off = x + np.where(np.arange(case.n) == case.n // 2, 0.5, 0.0)
    assert penalty.violation(off, (off - case.z) / case.steps) > 1e-6


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=50, deadline=None)
@given(cases())
def test_one_is_no_decay_to_the_bit(kind, case):
    one = kind(case.tree, scale=case.scale, feature_decay=1.0, **case.options)
    none = kind(case.tree, scale=case.scale, **case.options)
    np.testing.assert_array_equal(prox(one, case.z, case.steps), prox(none, case.z, case.steps))
    assert one.value(case.z) == none.value(case.z)
    assert one.violation(case.z, case.z) == none.violation(case.z, case.z)
    assert one.max_strength(case.z) == none.max_strength(case.z)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("alpha", ALPHAS)
def test_of_single_weights_it_is_a_depth_growth(kind, alpha):
    """Only leaves are groups: norms of one weight each, as under l1, where 1 / alpha per level is the same."""
    star, z, steps = Tree([-1, 0, 0, 0]), np.array([2.0, 3.0, -1.0, 0.4]), np.array([0.5, 0.1, 0.2, 1.0])
    leaves = {"weights": [0.0, 1.0, 1.0, 1.0]}
    decayed, grown = kind(star, 0.6, feature_decay=alpha, **leaves), kind(star, 0.6, depth_growth=1 / alpha, **leaves)
    assert decayed.value(z) == pytest.approx(grown.value(z), rel=1e-14)
    np.testing.assert_allclose(prox(decayed, z, steps), prox(grown, z, steps), rtol=1e-12)
    assert decayed.max_strength(-z[::-1]) == pytest.approx(grown.max_strength(-z[::-1]), rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_of_several_weights_it_is_none(kind):
    """What the guide said before: the weights of a group lie at several depths."""
    chain, w = Tree([-1, 0]), np.array([1.0, 1.0])
    decayed, grown = kind(chain, 1.0, feature_decay=0.5), kind(chain, 1.0, depth_growth=2.0)
    top = 2.0 if kind is TreeLinf else np.sqrt(5.0)  # of (1, 2), where depth growth leaves (1, 1)
    assert decayed.value(w) == pytest.approx(top + 2.0)
    assert grown.value(w) == pytest.approx((1.0 if kind is TreeLinf else np.sqrt(2.0)) + 2.0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("nonnegative", [False, True])
def test_max_strength_is_where_zero_becomes_optimal(kind, nonnegative):
    rng = np.random.default_rng(3)
    tree, g, zero = Tree(random_parent(rng, 40)), rng.normal(size=40), np.zeros(40)
    options = {"feature_decay": 0.8, "scale": rng.uniform(0.1, 9, 40), "nonnegative": nonnegative}
    top = kind(tree, 1.0, **options).max_strength(g)
    assert kind(tree, top * (1 + 1e-9), **options).violation(zero, g) == 0
    assert kind(tree, top * (1 - 1e-9), **options).violation(zero, g) > 0


class SquareOfTheSum:
    """(sum of weights - 3)^2 / 2: as of n-grams that occur only together, only the sum of the weights matters."""

    n_weights = 4

    def value_and_gradient(self, w, out):
        out[:] = w.sum() - 3
        return 0.5 * (w.sum() - 3) ** 2


@pytest.mark.parametrize(("alpha", "shares"), [(1.1, 1.1 ** np.arange(4)), (0.85, [1, 0, 0, 0])])
def test_a_path_that_linf_would_collapse(alpha, shares):
    """Weights of a path have the ratio alpha where it is above 1; below, the top takes all."""
    penalty = TreeLinf(Tree([-1, 0, 1, 2]), 0.2, feature_decay=alpha)
    result = minimise(Objective(SquareOfTheSum(), penalty), Fista(), violation_tolerance=1e-10, max_iterations=5000)
    assert result.converged
    np.testing.assert_allclose(result.weights / result.weights.sum(), shares / np.sum(shares), atol=1e-6)


def test_refusals():
    for alpha in (0.0, -0.5, np.nan, np.inf):
        with pytest.raises(ValueError, match="feature_decay must be positive and finite"):
            TreeL2(Tree([-1, 0]), feature_decay=alpha)
    with pytest.raises(ValueError, match=r"feature_decay=0\.5 underflows at the depth of this tree, 9999"):
        TreeLinf(Tree(np.arange(-1, 9999)), feature_decay=0.5)
