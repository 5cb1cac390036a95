import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trees import (
    cases,
    gap_linf,
    level,
    prox,
    prox_linf,
    random_parent,
)

from loglinear import penalties
from loglinear.errors import IncompatibleError
from loglinear.penalties import L1, TreeLinf
from loglinear.protocols import Metric, OwnMetric, Split
from loglinear.structure.tree import Tree


def quadratic(case, step):
    """(centre, weights d, thresholds) of sum d (x - centre)^2 / 2 + sum_g k_g max |x_g|, the ridge taken in."""
    times = np.ones(case.n) if case.multiplicity is None else case.multiplicity
    d = 1 / step + case.l2 * times
    centre = case.z / step / d
    return np.maximum(centre, 0) if case.nonnegative else centre, d * np.ones(case.n), case.thresholds * times


def make(case, **options):
    return TreeLinf(case.tree, multiplicity=case.multiplicity, **{**case.options, **options})


@settings(max_examples=600, deadline=None)
@given(cases())
def test_prox_is_that_of_one_group_after_the_other(case):
    """Any order of nodes, size of units, weights, multiplicities, metric, ridge and sign; by heap and by pivot."""
    for step in (case.step, case.steps):
        centre, d, thresholds = quadratic(case, step)
        expected = prox_linf(case.parent, thresholds, centre, d)
        np.testing.assert_allclose(prox(make(case), case.z, step), expected, rtol=0, atol=1e-12)
        pivot = make(case, method="pivot", random_state=case.n)
        np.testing.assert_allclose(prox(pivot, case.z, step), expected, rtol=0, atol=1e-12)


@settings(max_examples=120, deadline=None)
@given(cases(n=9))
def test_prox_is_optimal_by_duality(case):
    centre, d, thresholds = quadratic(case, case.steps)
    x = prox(make(case), case.z, case.steps)
    value = 0.5 * np.sum(d * (x - centre) ** 2) + 1
    assert gap_linf(case.parent, thresholds, centre, d, x) <= 1e-7 * value


@settings(max_examples=300, deadline=None)
@given(cases(), st.integers(0, 2**32 - 1))
def test_three_points(case, seed):
    """No point, near or far, does better than prox by strong convexity's margin."""
    penalty = make(case)
    x = prox(penalty, case.z, case.steps)
    best = np.sum((x - case.z) ** 2 / (2 * case.steps)) + penalty.value(x)
    rng = np.random.default_rng(seed)
    for spread in (1e-3, 0.1, 3.0):
        y = x + rng.normal(size=case.n) * spread
        y = np.maximum(y, 0) if case.nonnegative else y
        other = np.sum((y - case.z) ** 2 / (2 * case.steps)) + penalty.value(y)
        assert best + np.sum((y - x) ** 2 / (2 * case.steps)) <= other + 1e-9 * (1 + abs(other))


@settings(max_examples=300, deadline=None)
@given(cases())
def test_value_and_violation(case):
    penalty = make(case)
    times = np.ones(case.n) if case.multiplicity is None else case.multiplicity
    largest = np.where(case.inside, np.abs(case.z), 0).max(1)
    expected = (case.thresholds * times) @ largest + case.l2 / 2 * np.sum(times * case.z**2)
    assert penalty.value(case.z) == pytest.approx(expected, rel=1e-12, abs=1e-12)
    for scale in (None, case.scale):
        x = prox(penalty, case.z, case.steps)
        at = make(case, scale=scale)
        assert at.violation(x, (x - case.z) / case.steps) <= 1e-10 * (1 + np.abs(case.z / case.steps).max())
        off = x + np.where(np.arange(case.n) == case.n // 2, 0.5, 0.0)
        assert at.violation(off, (off - case.z) / case.steps) > 1e-3


@settings(max_examples=300, deadline=None)
@given(cases(n=12), st.integers(0, 2**32 - 1))
def test_the_collapsed_tree_has_the_prox_of_the_whole(case, seed):
    """Every node of T becomes a path of equal nodes of S; weights of groups are those of the path's node."""
    rng = np.random.default_rng(seed)
    times = rng.integers(1, 5, size=case.n)
    node_of = np.repeat(np.arange(case.n), times)  # of S in T
    last = np.cumsum(times) - 1
    first = last - times + 1
    parent = np.arange(-1, len(node_of) - 1)
    for i in range(case.n):
        parent[first[i]] = -1 if case.parent[i] < 0 else last[case.parent[i]]
    weights = rng.uniform(0, 2, size=case.n)
    options = {"strength": case.options["strength"], "l2": case.l2, "nonnegative": case.nonnegative}
    small = TreeLinf(case.tree, weights=weights, multiplicity=times, **options)
    whole = TreeLinf(Tree(parent), weights=weights[node_of], **options)
    expected = prox(whole, case.z[node_of], 0.7)
    np.testing.assert_allclose(prox(small, case.z, 0.7 / times)[node_of], expected, atol=1e-12)
    assert small.value(case.z) == pytest.approx(whole.value(case.z[node_of]), rel=1e-12)


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=8), st.floats(0, 2), st.booleans())
def test_singletons_are_l1(z, strength, nonnegative):
    tree = Tree(np.full(len(z), -1))
    tree_norm = TreeLinf(tree, strength, nonnegative=nonnegative)
    l1 = L1(strength, nonnegative=nonnegative)
    np.testing.assert_allclose(prox(tree_norm, z, 0.7), prox(l1, z, 0.7), atol=1e-14)
    assert tree_norm.value(np.array(z)) == pytest.approx(l1.value(np.array(z)))


def test_a_star_sinks_its_largest_to_one_level():
    """Leaves without weight: the projection on the l1 ball, in closed form."""
    star = Tree([-1, 0, 0, 0])
    penalty = TreeLinf(star, 1.0, weights=[2.0, 0.0, 0.0, 0.0])
    # (5 - r) + (4 - r) = 2 and r > 3
    np.testing.assert_allclose(prox(penalty, [1.0, -5.0, 4.0, 3.0]), [1.0, -3.5, 3.5, 3.0])
    # Weights of 3 and 1 on the squares: 3 (5 - r) + (4.5 - r) = 2, r = 4.375
    steps = np.array([1.0, 1 / 3, 1.0, 1.0])
    np.testing.assert_allclose(prox(penalty, [1.0, -5.0, 4.5, 3.0], steps), [1.0, -4.375, 4.375, 3.0])


def test_a_chain_of_falling_values_loses_one_threshold_each():
    """z falls so steeply that no two groups meet: each group takes its threshold off its own node."""
    z = np.array([10.0, 6.0, 3.0, 1.5])
    np.testing.assert_allclose(prox(TreeLinf(Tree([-1, 0, 1, 2]), 1.0), z), z - 1.0)
    np.testing.assert_allclose(prox(TreeLinf(Tree([-1, 0, 1, 2]), 2.0), z), [8.0, 4.0, 1.0, 0.0])


def test_a_chain_of_equal_values_stays_equal():
    z = np.full(6, 2.0)
    np.testing.assert_allclose(prox(TreeLinf(Tree(np.arange(-1, 5)), 0.5), z), np.full(6, 1.5))


def test_pivot_counts():
    star = Tree([-1, 0, 0, 0])
    penalty = TreeLinf(star, 1.0, weights=[2.0, 0.0, 0.0, 0.0])
    assert penalty.pivot_counts(np.array([1.0, -5.0, 4.0, 3.0]), 1.0).tolist() == [3, 0, 1]
    # From the leaf up: 2 sinks to 1.5; 2 and 1.5 to 0.75 as one block; 2 and that block to 1 / 3.
    chain, z = TreeLinf(Tree([-1, 0, 1]), 0.5, weights=[5.0, 4.0, 1.0]), np.full(3, 2.0)
    np.testing.assert_allclose(prox(chain, z), np.full(3, 1 / 3))
    assert chain.pivot_counts(z, 1.0).tolist() == [0, 1, 1, 1]
    assert chain.pivot_counts(z, 1.0, merged=True).tolist() == [0, 1, 2]


@settings(max_examples=100, deadline=None)
@given(cases())
def test_pivot_counts_are_the_values_above_the_level(case):
    centre, d, thresholds = quadratic(case, case.steps)
    u, expected = np.abs(centre), []
    for g in range(case.n - 1, -1, -1):
        own = case.inside[g]
        before = u[own].copy()
        alive = thresholds[g] > 0 and (d[own] * before).sum() > thresholds[g] * (1 + 1e-12)
        u[own] = np.minimum(before, level(before, d[own], thresholds[g]))
        expected.append(int((before > u[own] + 1e-12).sum()) if alive else 0)
    found = make(case).pivot_counts(case.z, case.steps)
    assert np.sum(found * np.arange(len(found))) == pytest.approx(sum(expected), abs=2)  # ties are told by rounding
    assert found.sum() == case.n


def test_powers():
    tree = Tree([-1, 0, 0])
    penalty = TreeLinf(tree, 0.5, l2=2.0, multiplicity=[1.0, 2.0, 3.0], method="pivot", depth_growth=1.5)
    assert isinstance(penalty, Metric)
    assert isinstance(penalty, Split)
    assert not isinstance(penalty, OwnMetric)
    w, gradient, diagonal = np.array([1.0, -1.0, 2.0]), np.zeros(3), np.zeros(3)
    assert penalty.add_smooth_gradient(w, gradient) == pytest.approx(1 + 2 + 12)
    assert gradient.tolist() == [2.0, -4.0, 12.0]
    penalty.add_curvature_diagonal(w, diagonal)
    assert diagonal.tolist() == [2.0, 4.0, 6.0]
    assert penalty.rest.l2 == 0.0
    assert penalty.rest.method == "pivot"
    assert penalty.value(w) == pytest.approx(penalty.rest.value(w) + 15)
    assert penalty.rest.rest is penalty.rest


def test_threads_agree_to_the_bit():
    rng = np.random.default_rng(0)
    n = 200_000
    for parent in ((np.arange(n) - 1) // 3, np.r_[-1, (rng.random(n - 1) * np.arange(1, n)).astype(int)]):
        parent[0] = -1
        tree, z, steps = Tree(parent), rng.normal(size=n) * 3, rng.uniform(0.1, 1, n)
        assert tree.native.n_units > 1
        one, two = (TreeLinf(tree, 0.4, l2=0.1, depth_growth=1.02, n_threads=k) for k in (1, 2))
        np.testing.assert_array_equal(prox(one, z, steps), prox(two, z, steps))
        assert one.value(z) == two.value(z)
        assert one.violation(z, z) == two.violation(z, z)
        assert one.max_strength(z) == two.max_strength(z)
        a, b = (TreeLinf(tree, 0.4, l2=0.1, depth_growth=1.02, n_threads=k, method="pivot") for k in (1, 2))
        np.testing.assert_array_equal(prox(a, z, steps), prox(b, z, steps))
        np.testing.assert_allclose(prox(a, z, steps), prox(one, z, steps), atol=1e-12)


def test_out_may_be_z():
    rng = np.random.default_rng(1)
    for method in ("heap", "pivot"):
        penalty = TreeLinf(Tree(random_parent(rng, 50)), 0.3, method=method)
        z = rng.normal(size=50)
        expected = prox(penalty, z)
        penalty.prox(z, 1.0, z)
        np.testing.assert_array_equal(z, expected)


def test_deep_and_wide():
    """A chain of a million nodes and a star of ten million: closed forms, no stack."""
    n = 10**6
    chain = TreeLinf(Tree(np.arange(-1, n - 1)), 0.5)
    np.testing.assert_allclose(prox(chain, np.full(n, 2.0)), np.full(n, 1.5), rtol=1e-9)
    falling = 1.0 + np.arange(n, 0.0, -1.0)
    np.testing.assert_allclose(prox(chain, falling), falling - 0.5, rtol=1e-12)
    n = 10**7
    parent = np.zeros(n, dtype=np.int32)
    parent[0] = -1
    star = TreeLinf(Tree(parent), 0.5)
    z = np.full(n, 2.0)
    z[0] = 5.0
    x = prox(star, z)
    assert x[0] == 4.5
    assert np.all(x[1:] == 1.5)


def test_refusals():
    tree = Tree([-1, 0, 0])
    with pytest.raises(IncompatibleError, match="unknown method 'sort' of tree_linf; known: heap, pivot"):
        TreeLinf(tree, method="sort")
    with pytest.raises(ValueError, match=r"multiplicity must be finite and positive; that of node 1 is 0\.0"):
        TreeLinf(tree, multiplicity=[1, 0, 1])
    with pytest.raises(ValueError, match="steps must be positive and finite"):
        prox(TreeLinf(tree), np.zeros(3), np.array([1.0, 0.0, 1.0]))
    with pytest.raises(ValueError, match="steps must be one number, or one per weight"):
        prox(TreeLinf(tree), np.zeros(3), np.ones(2))
    with pytest.raises(IncompatibleError, match="TreeLinf needs tree="):
        penalties.make("tree-linf", 1.0)
