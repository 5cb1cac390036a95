"""The tree-structured l-infinity norm, on the tree or its collapsed form (Nelakanti et al. 2013, algorithms 3 and 4):

    strength * sum_g m_g weight_g max_{i in subtree of g} |w_i| + l2 / 2 sum_i m_i w_i^2,     m = multiplicity.

Node g may stand for a path of m_g nodes of an uncollapsed tree S that share a value. The prox of S is then
``prox(z, step / multiplicity)`` here: a path of m equal weights has m squares. The prox is exact in any diagonal
metric: mergeable heaps of values from the leaves to the roots, then caps from the roots to the leaves
(``TreeLinf::prox``, native/tree/linf.hh). ``scale`` is no part of the norm: it is the metric of ``violation``.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loglinear import _core
from loglinear.arrays import FloatArray
from loglinear.errors import IncompatibleError
from loglinear.penalties.tree import TreePenalty, per_node
from loglinear.structure.tree import Tree
from loglinear.threads import pool

METHODS = ("heap", "pivot")


class TreeLinf(TreePenalty):
    """strength * sum of the largest weights of all subtrees: long contexts vanish first or share a value."""

    def __init__(
        self,
        tree: Tree,
        strength: float = 1.0,
        *,
        multiplicity: Any = None,
        method: str = "heap",
        random_state: int = 0,
        **options: Any,
    ) -> None:
        if method not in METHODS:
            raise IncompatibleError(f"unknown method {method!r} of tree_linf; known: {', '.join(METHODS)}")
        self.method, self.random_state = method, int(random_state)
        self.multiplicity = per_node(tree, "multiplicity", multiplicity, positive=True)
        super().__init__(tree, strength, **options)

    def _make_native(self) -> _core.TreeLinf:
        return _core.TreeLinf(*self._native_arguments(self.multiplicity))

    def _options(self) -> dict[str, Any]:
        own = {"multiplicity": self.multiplicity, "method": self.method, "random_state": self.random_state}
        return super()._options() | own

    @cached_property
    def _ridge(self) -> float | FloatArray:
        """The second derivatives of the ridge."""
        ridge = super()._ridge
        return ridge if self.multiplicity is None or self.l2 == 0.0 else ridge * self.multiplicity

    def _native_prox(self, z: FloatArray, steps: FloatArray, out: FloatArray) -> None:
        if self.method == "heap":
            self._native.prox(pool(self.n_threads), z, steps, out)
        else:
            self._native.prox_pivot(pool(self.n_threads), z, steps, self.random_state, out)

    def pivot_counts(self, z: FloatArray, step: float | FloatArray, *, merged: bool = False) -> NDArray[np.int64]:
        """Return a histogram of the prox at ``z``: ``counts[k]`` groups have k values above the level they sink to.

        Groups that vanish or have no weight count as k = 0. ``merged`` counts the blocks taken off the heap, in which
        values that sank together before are one.
        """
        self._check(z)
        z, steps = self._of_features(z, step)
        counts: NDArray[np.int64] = self._native.pivot_counts(pool(self.n_threads), z, steps, merged)
        return counts
