"""Blocks of weights: everything is that of the blocks, one by one."""

import numpy as np
import pytest

from loglinear.penalties import L1, L2, Blocks, ByClass, ElasticNet, TreeL2, TreeLinf
from loglinear.protocols import Metric, OwnMetric, Split
from loglinear.structure.tree import Tree
from loglinear.testing import check_penalty

PARENT = np.array([-1, 0, 0, 1, -1, 4])
SCALE = np.array([5.0, 3.0, 2.0, 1.0, 4.0, 1.5])


class OnlyProx:
    """A ridge that takes one step for all."""

    def value(self, w):
        return 0.5 * float(w @ w)

    def prox(self, z, step, out):
        out[:] = z / (1.0 + float(step))

    def violation(self, w, gradient):
        return float(np.max(np.abs(gradient + w), initial=0.0))

    def max_strength(self, gradient_at_zero):
        return np.inf


def tree_block(l2=0.0):
    return TreeL2(Tree(PARENT), 0.7, scale=SCALE + l2, l2=l2, nonnegative=True)


@pytest.mark.parametrize(
    "blocks",
    [
        [(6, L1(0.7))],
        [(2, L2(0.3)), (3, ElasticNet(0.9, l1_ratio=0.3, nonnegative=True)), (1, L1(0.5))],
        [(2, ByClass([0, 1], [0.1, 0.3], 0.5)), (0, L1(1.0)), (4, TreeLinf(Tree([-1, 0, 1, 1]), 0.4, l2=0.2))],
        [(1, L2(0.3)), (5, OnlyProx())],
        [(2, L1(0.3)), (4, TreeL2(Tree([-1, 0, 1, 1]), 0.4, l2=0.2, scale=SCALE[:4]))],
    ],
    ids=["one", "separable", "tree", "scalar", "own metric"],
)
def test_checks(blocks):
    penalty = Blocks(blocks)
    check_penalty(penalty, 6)
    rng = np.random.default_rng(0)
    w, gradient = rng.normal(size=(2, 6))
    ends = np.cumsum([n for n, _ in blocks])
    parts = [(p, slice(end - n, end)) for (n, p), end in zip(blocks, ends)]
    assert penalty.value(w) == pytest.approx(sum(p.value(w[s]) for p, s in parts))
    assert penalty.violation(w, gradient) == max(p.violation(w[s], gradient[s]) for p, s in parts)
    assert penalty.max_strength(gradient) == max(p.max_strength(gradient[s]) for p, s in parts)
    if isinstance(penalty, OwnMetric):  # takes no single step
        return
    out, own = np.empty(6), np.empty(6)
    penalty.prox(w, 0.4, out)
    for p, s in parts:
        p.prox(w[s], 0.4, own[s])
    np.testing.assert_array_equal(out, own)


def test_powers_are_those_of_the_blocks():
    assert isinstance(Blocks([(2, L2(1.0)), (6, tree_block())]), Metric)
    assert not isinstance(Blocks([(2, L2(1.0)), (6, OnlyProx())]), Metric)
    plain = Blocks([(2, L2(1.0)), (3, L1(1.0))])
    assert not isinstance(plain, OwnMetric)
    assert isinstance(Blocks([(2, L2(1.0)), (6, tree_block())]), OwnMetric)
    assert isinstance(plain, Split)
    w, gradient = np.arange(5.0), np.zeros(5)
    assert plain.add_smooth_gradient(w, gradient) == 0.0
    assert not gradient.any()
    assert plain.rest.value(w) == plain.value(w)


def test_own_metric_and_split_reach_the_blocks():
    penalty = Blocks([(2, L2(0.01)), (6, tree_block(0.4))])
    d = np.full(8, 9.0)
    penalty.own_metric(d)
    np.testing.assert_array_equal(d, [9.0, 9.0, *(SCALE + 0.4)])
    curvature = np.zeros(8)
    penalty.add_curvature_diagonal(np.zeros(8), curvature)
    np.testing.assert_allclose(curvature, [0.01] * 2 + [0.4] * 6)
    w, gradient = np.abs(np.random.default_rng(1).normal(size=8)), np.ones(8)
    ridge = penalty.add_smooth_gradient(w, gradient)  # that of the tree alone: the other stays in its prox
    np.testing.assert_allclose(gradient, 1.0 + np.where(np.arange(8) < 2, 0.0, 0.4) * w)
    assert penalty.rest.value(w) + ridge == pytest.approx(penalty.value(w))
    assert penalty.rest.rest.value(w) == penalty.rest.value(w)
    out, own = np.empty(8), np.empty(6)
    penalty.rest.prox(w, 1.0 / (3.0 * d), out)
    tree_block(0.4).rest.prox(w[2:], 1.0 / (3.0 * d[2:]), own)
    np.testing.assert_array_equal(out[2:], own)


def test_refusals():
    with pytest.raises(ValueError, match="no blocks: give a list of"):
        Blocks([])
    with pytest.raises(ValueError, match="block 1 has -2 weights"):
        Blocks([(1, L1(1.0)), (-2, L1(1.0))])
    with pytest.raises(TypeError, match="block 0 is 'l1', which is no penalty"):
        Blocks([(1, "l1")])
    with pytest.raises(ValueError, match="the blocks have 3 weights together, not 4"):
        Blocks([(1, L1(1.0)), (2, L1(1.0))]).value(np.zeros(4))
    with pytest.raises(ValueError, match="the blocks have 3 weights together, not 2"):
        Blocks([(1, L1(1.0)), (2, L1(1.0))]).prox(np.zeros(3), np.ones(2), np.zeros(3))
