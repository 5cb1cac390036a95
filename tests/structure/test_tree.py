import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trees import random_parent

from loglinear import _core, penalties
from loglinear.structure.tree import Tree, growth_by_depth


def test_a_tree_knows_its_size_and_depths():
    tree = Tree([-1, 0, 0, 1, -1])
    assert tree.n_nodes == 5
    assert tree.height == 2
    assert tree.depth.tolist() == [0, 1, 1, 2, 0]
    assert tree.parent.dtype == np.int32
    assert tree.depth.dtype == np.uint32
    assert not tree.parent.flags.writeable


def test_the_callers_array_is_left_alone():
    parent = np.array([-1, 0, 1], dtype=np.int32)
    tree = Tree(parent)
    parent[2] = 7
    assert tree.parent.tolist() == [-1, 0, 1]


@pytest.mark.parametrize(
    ("parent", "message"),
    [
        ([], "at least one"),
        ([[-1, 0]], "must be a vector"),
        ([-1.0, 0.0], "must hold whole numbers"),
        ([-1, 5], "disconnected: the parent of node 1 is 5, which is no node"),
        ([-1, -2], "disconnected: the parent of node 1 is -2"),
        (np.array([-1, 2**32], dtype=np.int64), "disconnected: the parent of node 1 is 4294967296"),
        ([0], "cyclic: node 0"),
        ([-1, 2, 3, 1], "cyclic: node [123] is its own ancestor"),
        ([1, -1], r"unordered: node 0 comes before its parent 1; Tree.sort"),
    ],
)
def test_refuses_what_is_no_tree_in_order(parent, message):
    with pytest.raises(ValueError, match=message):
        Tree(parent)


@pytest.mark.parametrize("parent", [[0], [-1, 2, 3, 1], [-1, 5], [-1, -2], []])
def test_sort_refuses_what_is_no_tree(parent):
    with pytest.raises(ValueError, match=r"cyclic|disconnected|at least one"):
        Tree.sort(parent)


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 60), st.integers(0, 2**32 - 1))
def test_sort_keeps_the_forest_and_makes_subtrees_contiguous(n, seed):
    rng = np.random.default_rng(seed)
    parent = random_parent(rng, n)
    shuffled = rng.permutation(n)  # node i is now shuffled[i]
    mixed = np.empty(n, dtype=int)
    mixed[shuffled] = np.where(parent < 0, -1, shuffled[parent])
    order, tree = Tree.sort(mixed)
    assert sorted(order) == list(range(n))
    for k in range(n):
        above = tree.parent[k]
        assert mixed[order[k]] == (-1 if above < 0 else order[above])
        # Depth first: the parent is the node before or one of its ancestors.
        path = k - 1
        while path != above and path >= 0:
            path = tree.parent[path]
        assert path == above


@settings(max_examples=300, deadline=None)
@given(
    st.integers(1, 200),
    st.integers(1, 50),
    st.sampled_from(["any", "levels", "depth", "chain", "star"]),
    st.integers(0, 2**32 - 1),
)
def test_units_cover_the_tree(n, unit, shape, seed):
    """However small the units, sums over subtrees are what they are; see also the penalties' tests."""
    parent = random_parent(np.random.default_rng(seed), n, shape)
    tree = Tree(parent)
    tree.native = _core.Tree(tree.parent, unit)
    sizes = np.ones(n)
    for i in range(n - 1, -1, -1):
        if parent[i] >= 0:
            sizes[parent[i]] += sizes[i]
    assert penalties.TreeL2(tree).value(np.ones(n)) == pytest.approx(np.sqrt(sizes).sum(), rel=1e-12)
    assert tree.native.crown_size <= n


def test_a_trie_numbered_by_levels_is_cut_into_long_runs():
    """Every node of a level has three children, the first of all, then the second of all, ... within their hundred."""
    levels = [np.full(1000, -1)]
    start = 0
    for _ in range(3):
        size = len(levels[-1])
        blocks = start + np.arange(size).reshape(-1, 100)
        levels.append(np.concatenate([np.tile(block, 3) for block in blocks]))
        start += size
    tree = Tree(np.concatenate(levels))
    assert tree.native.n_units > 1
    assert tree.native.n_runs <= 4 * tree.native.n_units
    assert tree.native.crown_size == 0


@pytest.mark.parametrize("growth", [0.0, -1.0, np.nan, np.inf])
def test_refuses_growth_that_is_no_positive_number(growth):
    with pytest.raises(ValueError, match="depth_growth must be positive and finite"):
        growth_by_depth(Tree([-1, 0]), growth)


@pytest.mark.parametrize(("growth", "word"), [(1.18, "overflows"), (0.85, "underflows")])
def test_refuses_growth_that_leaves_the_doubles(growth, word):
    chain = Tree(np.arange(-1, 9999))
    with pytest.raises(ValueError, match=f"{word} at the depth of this tree, 9999"):
        growth_by_depth(chain, growth)
    with pytest.raises(ValueError, match=f"{word} at the depth of this tree, 9999"):
        penalties.TreeLinf(chain, depth_growth=growth)
