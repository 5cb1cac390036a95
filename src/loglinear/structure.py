"""Groups of weights as flat arrays; no statistics here."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loglinear import _core
from loglinear.threads import pool

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Tying:
    """Weights that share a value, as an orthonormal map between n weights and fewer shared ones.

    ``w = up(u)`` copies ``u[g] / sqrt(m_g)`` to the ``m_g`` members of group g; ``u = down(w)`` is its transpose,
    ``sum of members / sqrt(m_g)``. Because the columns are orthonormal, ``down`` is at once the projection of weights
    (the mean, in shared units) and the map of gradients, norms are kept, and a solver on ``u`` takes the very steps a
    solver restricted to tied weights would take. (Plain means would weigh a group of a thousand like a
    group of one; the square root removes that distortion.)
    """

    groups: IntArray  # [n_weights]
    n_groups: int
    n_threads: int | None = None
    counts: NDArray[np.int64] = field(init=False)  # [n_groups]
    scale: FloatArray = field(init=False)  # [n_groups] = 1 / sqrt(counts)

    def __post_init__(self) -> None:
        groups = np.ascontiguousarray(self.groups, dtype=np.int32).ravel()
        _core.check_groups(groups, self.n_groups)
        counts = np.bincount(groups, minlength=self.n_groups)
        object.__setattr__(self, "groups", groups)
        object.__setattr__(self, "counts", counts)
        object.__setattr__(self, "scale", 1.0 / np.sqrt(np.maximum(counts, 1)))

    @property
    def n_weights(self) -> int:
        """Number of weights that are tied."""
        return self.groups.size

    def down(self, w: FloatArray) -> FloatArray:
        """[n_weights] -> [n_groups]: weights or gradients."""
        out = np.empty(self.n_groups)
        _core.sum_groups(pool(self.n_threads), w, self.groups, self.scale, out)
        return out

    def up(self, u: FloatArray) -> FloatArray:
        """[n_groups] -> [n_weights]: copy."""
        out = np.empty(self.n_weights)
        _core.copy_groups(pool(self.n_threads), u, self.groups, self.scale, out)
        return out

    def per_class(self, n_classes: int, intercept: bool) -> Tying:
        """From groups of features to groups of (feature, class) weights laid out [feature][class], intercepts last."""
        k = np.arange(n_classes, dtype=np.int32)
        groups = (self.groups[:, None] * np.int32(n_classes) + k).ravel()
        n_groups = self.n_groups * n_classes
        if intercept:
            groups = np.concatenate([groups, n_groups + k])
            n_groups += n_classes
        return Tying(groups, n_groups, self.n_threads)


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

    Groups of weights are subtrees. What is no such forest is refused by name: cyclic, disconnected, or unordered
    (``Tree.sort`` puts it in order).
    """

    def __init__(self, parent: Any) -> None:
        self.parent = _parents(parent)  # [n_nodes]
        self.native = _core.Tree(self.parent)

    @classmethod
    def sort(cls, parent: Any) -> tuple[IntArray, Tree]:
        """``(order, tree)``: the forest numbered depth first, whose node k is node ``order[k]`` of ``parent``."""
        array = _parents(parent)
        order, sorted_parent = np.empty_like(array), np.empty_like(array)
        _core.sort_forest(array, order, sorted_parent)
        return order, cls(sorted_parent)

    def __repr__(self) -> str:
        return f"Tree({self.n_nodes} nodes)"

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return self.parent.size

    @cached_property
    def depth(self) -> NDArray[np.uint32]:
        """Edges between each node and its root: [n_nodes]."""
        depth = np.empty(self.n_nodes, dtype=np.uint32)
        _core.forest_depths(self.parent, depth)
        depth.setflags(write=False)
        return depth

    @cached_property
    def height(self) -> int:
        """The largest depth."""
        return int(self.depth.max())


def growth_by_depth(tree: Tree, growth: float, strength: float = 1.0) -> FloatArray:
    """growth ** depth for the depths of the tree: [height + 1]; refused where doubles end before the tree does.

    With ``strength``, its multiples must be normal numbers too.
    """
    if not (math.isfinite(growth) and growth > 0):
        raise ValueError(f"depth_growth must be positive and finite, not {growth!r}")
    with np.errstate(over="ignore", under="ignore"):
        table = np.asarray(growth, dtype=np.float64) ** np.arange(tree.height + 1)
        last = float(table[-1] * (strength or 1.0))
    if not np.finfo(np.float64).tiny <= min(last, float(table[-1])) <= max(last, float(table[-1])) < math.inf:
        ends = "overflows" if growth > 1 else "underflows"
        raise ValueError(
            f"depth_growth={growth:g} {ends} at the depth of this tree, {tree.height}: choose one nearer to 1"
        )
    return table


def depth_weights(tree: Tree, growth: float) -> FloatArray:
    """growth ** depth of every node, for the ``scale`` of l1, l2 and elastic_net: [n_nodes]."""
    weights: FloatArray = growth_by_depth(tree, growth)[tree.depth]
    return weights
