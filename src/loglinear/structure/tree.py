"""Forests over the weights, whose subtrees are the groups of tree-structured penalties."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loglinear import _core
from loglinear.arrays import FloatArray, IntArray


def _parents(parent: Any) -> IntArray:
    array = np.asarray(parent)
    if array.ndim != 1 or array.size == 0:
        raise ValueError(f"parent must be a vector with one entry per node, at least one; its shape is {array.shape}")
    if array.dtype.kind not in "ui":
        raise ValueError(f"parent must hold whole numbers (-1 at roots), not {array.dtype}")
    lowest, highest = int(array.min()), int(array.max())
    if lowest < -1 or highest >= array.size:  # before the numbers are narrowed, which could hide it
        at = int(np.flatnonzero((array < -1) | (array >= array.size))[0])
        raise ValueError(
            f"the tree is disconnected: the parent of node {at} is {int(array[at])}, which is no node "
            f"(0 to {array.size - 1}, or -1 at a root)"
        )
    own: IntArray = np.array(array, dtype=np.int32)  # a copy: what was checked does not change
    own.setflags(write=False)
    return own


class Tree:
    """A forest over the weights from an array of parents, -1 at roots; parents come before their children.

    Groups of weights are subtrees. ValueError says what is wrong with other arrays: cyclic, disconnected, or unordered
    (``Tree.sort`` sorts them).
    """

    def __init__(self, parent: Any) -> None:
        self.parent = _parents(parent)  # [n_nodes]
        self.native = _core.Tree(self.parent)

    @classmethod
    def sort(cls, parent: Any) -> tuple[IntArray, Tree]:
        """Return (order, tree): the forest numbered depth first, whose node k is node ``order[k]`` of ``parent``."""
        array = _parents(parent)
        order, sorted_parent = np.empty_like(array), np.empty_like(array)
        _core.sort_forest(array, order, sorted_parent)
        return order, cls(sorted_parent)

    def __repr__(self) -> str:
        return f"Tree({self.n_nodes} nodes)"

    @property
    def n_nodes(self) -> int:
        """Return the number of nodes."""
        return self.parent.size

    @cached_property
    def depth(self) -> NDArray[np.uint32]:
        """Return the number of edges between each node and its root: [n_nodes]."""
        depth = np.empty(self.n_nodes, dtype=np.uint32)
        _core.forest_depths(self.parent, depth)
        depth.setflags(write=False)
        return depth

    @cached_property
    def height(self) -> int:
        """Return the largest depth."""
        return int(self.depth.max())


def growth_by_depth(tree: Tree, growth: float, strength: float = 1.0, *, name: str = "depth_growth") -> FloatArray:
    """Return growth ** depth for the depths of the tree: [height + 1].

    ValueError is raised where these numbers, or their multiples of ``strength``, leave the range of normal doubles.
    ``name`` is what it calls the growth.
    """
    if not (math.isfinite(growth) and growth > 0):
        raise ValueError(f"{name} must be positive and finite, not {growth!r}")
    with np.errstate(over="ignore", under="ignore"):
        table = np.asarray(growth, dtype=np.float64) ** np.arange(tree.height + 1)
        last = float(table[-1] * (strength or 1.0))
    if not np.finfo(np.float64).tiny <= min(last, float(table[-1])) <= max(last, float(table[-1])) < math.inf:
        ends = "overflows" if growth > 1 else "underflows"
        raise ValueError(
            f"{name}={growth:g} {ends} at the depth of this tree, {tree.height}: choose one nearer to 1"
        )
    return table
