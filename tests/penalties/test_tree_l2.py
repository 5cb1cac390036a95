import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trees import (
    cases,
    gap_l2,
    prox,
    prox_l2,
    random_parent,
    violation_l2,
)

from loglinear import penalties
from loglinear.errors import IncompatibleError
from loglinear.penalties import L1, TreeL2, TreeLinf
from loglinear.protocols import Metric, OwnMetric, Split
from loglinear.structure.tree import Tree

BOTH = [TreeL2, TreeLinf]


def consistent(case, scale):
    """(L, steps) with 1 / step + l2 = L * scale."""
    lipschitz = (case.l2 + 1 / case.step) / scale.min()
    return lipschitz, 1 / (lipschitz * scale - case.l2)


@settings(max_examples=600, deadline=None)
@given(cases())
def test_prox_is_that_of_one_group_after_the_other(case):
    """Any order of nodes, size of units, weights, scale, ridge and sign."""
    for scale in (None, case.scale):
        s = np.ones(case.n) if scale is None else scale
        lipschitz, steps = consistent(case, s)
        centre = case.z / (1 + case.l2 * steps)
        centre = np.maximum(centre, 0) if case.nonnegative else centre
        expected = prox_l2(case.parent, case.thresholds, centre, s, lipschitz)
        found = prox(TreeL2(case.tree, scale=scale, **case.options), case.z, steps)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


@settings(max_examples=120, deadline=None)
@given(cases(n=9))
def test_prox_is_optimal_by_duality(case):
    """In y = sqrt(s) x the norm is the plain one with thresholds k / sqrt(s_g) and weights L on the squares."""
    lipschitz, steps = consistent(case, case.scale)
    root = np.sqrt(case.scale)
    centre = case.z / (1 + case.l2 * steps)
    centre = (np.maximum(centre, 0) if case.nonnegative else centre) * root
    y = prox(TreeL2(case.tree, scale=case.scale, **case.options), case.z, steps) * root
    d = np.full(case.n, lipschitz)
    value = 0.5 * np.sum(d * (y - centre) ** 2) + 1
    assert gap_l2(case.parent, case.thresholds / root, centre, d, y) <= 1e-7 * value


def in_plain_norms(case, scale, steps):
    """(centre, weights of the squares, thresholds, units) of the problem in y = units * x, whose norms are plain."""
    root = np.sqrt(scale)
    centre = case.z / (1 + case.l2 * steps)
    centre = (np.maximum(centre, 0) if case.nonnegative else centre) * root
    return centre, (1 / steps + case.l2) / scale, case.thresholds / root, root


@settings(max_examples=600, deadline=None)
@given(cases(), st.booleans(), st.sampled_from([1.0, 10.0, 1e3]))
def test_prox_is_optimal_in_any_metric(case, plain, spread):
    """Steps over up to six orders of magnitude, as counts of n-grams have them."""
    steps = case.steps**np.log10(spread) if spread > 1 else case.steps
    s = np.ones(case.n) if plain else case.scale
    centre, d, thresholds, root = in_plain_norms(case, s, steps)
    y = prox(TreeL2(case.tree, scale=case.scale, plain=plain, **case.options), case.z, steps) * root
    size = 1 + np.abs(d * centre).max() + thresholds.max()
    assert violation_l2(case.parent, thresholds, centre, d, y) <= 1e-9 * size


@settings(max_examples=60, deadline=None)
@given(cases(n=7), st.booleans())
def test_prox_in_any_metric_is_optimal_by_duality(case, plain):
    s = np.ones(case.n) if plain else case.scale
    centre, d, thresholds, root = in_plain_norms(case, s, case.steps)
    y = prox(TreeL2(case.tree, scale=case.scale, plain=plain, **case.options), case.z, case.steps) * root
    value = 0.5 * np.sum(d * (y - centre) ** 2) + 1
    assert gap_l2(case.parent, thresholds, centre, d, y) <= 1e-6 * value


@settings(max_examples=200, deadline=None)
@given(cases())
def test_the_closed_form_is_what_newton_finds(case):
    """Steps that miss the closed form's metric by 1e-6 give its result, to that precision."""
    _, steps = consistent(case, case.scale)
    penalty = TreeL2(case.tree, scale=case.scale, **case.options)
    beside = steps * (1 + 1e-6 * (-1.0) ** np.arange(case.n))
    np.testing.assert_allclose(prox(penalty, case.z, beside), prox(penalty, case.z, steps), rtol=0, atol=1e-4)


@settings(max_examples=200, deadline=None)
@given(cases(), st.sampled_from([0.25, 1.0, 8.0]))
def test_plain_and_scaled_norms_agree_where_the_scale_is_constant(case, level):
    plain, scaled = (TreeL2(case.tree, scale=np.full(case.n, level), plain=p, **case.options) for p in (True, False))
    assert plain.value(case.z) == pytest.approx(scaled.value(case.z), rel=1e-14)
    np.testing.assert_allclose(prox(plain, case.z, case.steps), prox(scaled, case.z, case.steps), rtol=0, atol=1e-12)
    gradient = case.z[::-1].copy()
    assert plain.violation(case.z, gradient) == pytest.approx(scaled.violation(case.z, gradient), rel=1e-9, abs=1e-12)
    assert plain.max_strength(gradient) == pytest.approx(scaled.max_strength(gradient), rel=1e-12)


@settings(max_examples=200, deadline=None)
@given(cases())
def test_value_and_violation_of_the_plain_norm(case):
    penalty = TreeL2(case.tree, scale=case.scale, plain=True, **case.options)
    expected = case.thresholds @ np.sqrt((case.inside * case.z**2).sum(1)) + case.l2 / 2 * np.sum(case.z**2)
    assert penalty.value(case.z) == pytest.approx(expected, rel=1e-12, abs=1e-12)
    x = prox(penalty, case.z, case.steps)
    size = 1 + np.abs(case.z / case.steps).max()
    assert penalty.violation(x, (x - case.z) / case.steps) <= 1e-9 * size
    off = x + np.where(np.arange(case.n) == case.n // 2, 0.5, 0.0)
    assert penalty.violation(off, (off - case.z) / case.steps) > 1e-3


@settings(max_examples=300, deadline=None)
@given(cases(), st.integers(0, 2**32 - 1))
def test_three_points(case, seed):
    penalty = TreeL2(case.tree, scale=case.scale, **case.options)
    _, steps = consistent(case, case.scale)
    x = prox(penalty, case.z, steps)
    best = np.sum((x - case.z) ** 2 / (2 * steps)) + penalty.value(x)
    rng = np.random.default_rng(seed)
    for spread in (1e-3, 0.1, 3.0):
        y = x + rng.normal(size=case.n) * spread
        y = np.maximum(y, 0) if case.nonnegative else y
        other = np.sum((y - case.z) ** 2 / (2 * steps)) + penalty.value(y)
        assert best + np.sum((y - x) ** 2 / (2 * steps)) <= other + 1e-9 * (1 + abs(other))


@settings(max_examples=300, deadline=None)
@given(cases())
def test_value_and_violation(case):
    for scale in (None, case.scale):
        s = np.ones(case.n) if scale is None else scale
        penalty = TreeL2(case.tree, scale=scale, **case.options)
        norms = np.sqrt((case.inside * (s * case.z**2)).sum(1) / s)
        expected = case.thresholds @ norms + case.l2 / 2 * np.sum(case.z**2)
        assert penalty.value(case.z) == pytest.approx(expected, rel=1e-12, abs=1e-12)
        _, steps = consistent(case, s)
        x = prox(penalty, case.z, steps)
        assert penalty.violation(x, (x - case.z) / steps) <= 1e-10 * (1 + np.abs(case.z / steps).max())
        off = x + np.where(np.arange(case.n) == case.n // 2, 0.5, 0.0)
        assert penalty.violation(off, (off - case.z) / steps) > 1e-3


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=8), st.floats(0, 2), st.booleans())
def test_singletons_are_l1(z, strength, nonnegative):
    tree = Tree(np.full(len(z), -1))
    tree_norm, l1 = TreeL2(tree, strength, nonnegative=nonnegative), L1(strength, nonnegative=nonnegative)
    steps = np.geomspace(0.01, 10, len(z))
    np.testing.assert_allclose(prox(tree_norm, z, 0.7), prox(l1, z, 0.7), atol=1e-14)
    np.testing.assert_allclose(prox(tree_norm, z, steps), prox(l1, z, steps), atol=1e-12)
    assert tree_norm.value(np.array(z)) == pytest.approx(l1.value(np.array(z)))


def test_a_star_without_weights_at_its_leaves_is_one_group():
    star = Tree([-1, 0, 0])
    z = np.array([3.0, -4.0, 12.0])
    np.testing.assert_allclose(prox(TreeL2(star, 1.0, weights=[6.5, 0, 0]), z), z / 2)
    np.testing.assert_allclose(prox(TreeL2(star, 1.0, weights=[13.0, 0, 0]), z), np.zeros(3))


def test_a_chain_in_closed_form():
    """3 at the root, 5 below it, strength 1: the leaf keeps 4, the two together have norm 5 and keep 4 / 5."""
    np.testing.assert_allclose(prox(TreeL2(Tree([-1, 0]), 1.0), [3.0, -5.0]), [2.4, -3.2])


def test_a_chain_in_two_step_lengths():
    """x = (3, 4) has norms 5 and 4: groups of weights 5 and 8 pull with 1 x and 2 x, against squares of 1 and 4."""
    chain, steps = Tree([-1, 0]), np.array([1.0, 0.25])
    np.testing.assert_allclose(prox(TreeL2(chain, 1.0, weights=[5.0, 0.0]), [6.0, -5.0], steps), [3, -4], rtol=1e-12)
    np.testing.assert_allclose(prox(TreeL2(chain, 1.0, weights=[5.0, 8.0]), [6.0, 7.0], steps), [3, 4], rtol=1e-12)


@pytest.mark.parametrize("n_nodes", [1, 7, 100])
@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("kind", BOTH)
def test_max_strength_is_where_zero_becomes_optimal(kind, n_nodes, nonnegative):
    rng = np.random.default_rng(n_nodes)
    tree, g, zero = Tree(random_parent(rng, n_nodes)), rng.normal(size=n_nodes), np.zeros(n_nodes)
    g[0] = -abs(g[0])
    each = {"scale": rng.uniform(0.1, 9, n_nodes)} if kind is TreeL2 else {"multiplicity": rng.integers(1, 4, n_nodes)}
    options = {"depth_growth": 0.9, "nonnegative": nonnegative, **each}
    top = kind(tree, 1.0, **options).max_strength(g)
    assert kind(tree, top * (1 + 1e-9), **options).violation(zero, g) == 0
    assert kind(tree, top * (1 - 1e-9), **options).violation(zero, g) > 0
    assert kind(tree, 2.0, **options).max_strength(g) == pytest.approx(top / 2, rel=1e-12)
    assert kind(tree, 1.0, **options).max_strength(zero) == 0
    assert kind(tree, 0.0, **options).max_strength(g) == np.inf


def test_powers():
    tree = Tree([-1, 0, 0])
    penalty = TreeL2(tree, 0.5, l2=2.0, scale=[1.0, 2.0, 3.0], depth_growth=1.5)
    for power in (Metric, OwnMetric, Split):
        assert isinstance(penalty, power)
    w, gradient, own = np.array([1.0, -1.0, 2.0]), np.zeros(3), np.empty(3)
    assert penalty.add_smooth_gradient(w, gradient) == pytest.approx(6.0)
    assert gradient.tolist() == [2.0, -2.0, 4.0]
    penalty.own_metric(own)
    assert own.tolist() == [1.0, 2.0, 3.0]
    TreeL2(tree).own_metric(own)
    assert own.tolist() == [1.0, 1.0, 1.0]
    assert penalty.rest.l2 == 0.0
    assert penalty.value(w) == pytest.approx(penalty.rest.value(w) + 6.0)
    assert penalty.rest.depth_growth == 1.5


def test_threads_agree_to_the_bit():
    rng = np.random.default_rng(0)
    n = 200_000
    for parent in ((np.arange(n) - 1) // 3, np.r_[-1, (rng.random(n - 1) * np.arange(1, n)).astype(int)]):
        parent[0] = -1
        tree, z, scale = Tree(parent), rng.normal(size=n) * 3, rng.uniform(0.1, 1, n)
        one, two = (TreeL2(tree, 0.4, scale=scale, depth_growth=1.02, n_threads=k) for k in (1, 2))
        np.testing.assert_array_equal(prox(one, z, 1 / scale), prox(two, z, 1 / scale))
        np.testing.assert_array_equal(prox(one, z, scale), prox(two, z, scale))
        assert one.value(z) == two.value(z)
        assert one.violation(z, z) == two.violation(z, z)
        assert one.max_strength(z) == two.max_strength(z)


def test_out_may_be_z():
    rng = np.random.default_rng(1)
    penalty, z = TreeL2(Tree(random_parent(rng, 50)), 0.3), rng.normal(size=50)
    for step in (1.0, rng.uniform(0.1, 1.0, 50)):
        expected = prox(penalty, z, step)
        penalty.prox(z, step, z)
        np.testing.assert_array_equal(z, expected)


def test_deep_and_wide():
    """A chain of a million nodes and a star of ten million: closed forms, no stack."""
    n = 10**6
    only_top = np.zeros(n)
    only_top[0] = 1.0
    chain = TreeL2(Tree(np.arange(-1, n - 1)), 500.0, weights=only_top)
    np.testing.assert_allclose(prox(chain, np.ones(n)), np.full(n, 0.5), rtol=1e-9)
    n = 10**7
    parent = np.zeros(n, dtype=np.int32)
    parent[0] = -1
    z = np.full(n, 2.0)
    z[0] = 0.0
    x = prox(TreeL2(Tree(parent), 1.0), z)
    np.testing.assert_allclose(x[1:], 1.0 - 1.0 / np.sqrt(n - 1), rtol=1e-9)


@pytest.mark.parametrize("kind", BOTH)
def test_refusals(kind):
    tree = Tree([-1, 0, 0])
    with pytest.raises(ValueError, match=r"weights must be finite and not negative; that of node 2 is -1\.0"):
        kind(tree, weights=[1.0, 0.0, -1.0])
    with pytest.raises(ValueError, match="weights must be finite and not negative; that of node 0 is nan"):
        kind(tree, weights=[np.nan, 0.0, 1.0])
    with pytest.raises(ValueError, match="weights must have one entry per node: 2 for a tree of 3 nodes"):
        kind(tree, weights=[1.0, 1.0])
    with pytest.raises(ValueError, match=r"scale must be finite and positive; that of node 1 is 0\.0"):
        kind(tree, scale=[1.0, 0.0, 1.0])
    for strength in (-1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="strength of a penalty must be finite and not negative"):
            kind(tree, strength)
        with pytest.raises(ValueError, match="strength of a penalty must be finite and not negative; l2"):
            kind(tree, l2=strength)
    with pytest.raises(ValueError, match="the tree of the penalty has 3 nodes for 5 weights"):
        kind(tree).value(np.zeros(5))
    for call in (lambda p: prox(p, np.zeros(4)), lambda p: p.violation(np.zeros(4), np.zeros(4)),
                 lambda p: p.max_strength(np.zeros(4))):  # fmt: skip
        with pytest.raises(ValueError, match="the tree of the penalty has 3 nodes for 4 weights"):
            call(kind(tree))
    with pytest.raises(ValueError, match="gradient does not have one entry per weight"):
        kind(tree).violation(np.zeros(3), np.zeros(4))
    with pytest.raises(ValueError, match="output does not have one entry per weight"):
        kind(tree).prox(np.zeros(3), 1.0, np.zeros(4))
    with pytest.raises(TypeError, match=r"loglinear\.structure\.Tree, not list"):
        kind([-1, 0, 0])
    with pytest.raises(ValueError, match="overflows at the depth of this tree"):
        kind(Tree(np.arange(-1, 9999)), depth_growth=1.2)


def test_not_a_number_stays_one():
    penalty = TreeL2(Tree([-1, 0, 0, 1]), 0.3)
    for step in (1.0, np.array([1.0, 0.5, 2.0, 0.1])):
        assert np.isnan(prox(penalty, [1.0, np.nan, 2.0, 1.0], step)).any()


def test_refuses_a_penalty_without_a_tree():
    with pytest.raises(IncompatibleError, match="TreeL2 needs tree="):
        penalties.make("tree-l2", 1.0)
