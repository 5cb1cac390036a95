"""The tree-structured l2 norm, on the uncollapsed tree (Nelakanti et al. 2013, equation 8 and algorithm 2):

    strength * sum_g weight_g sqrt( sum_{i in subtree of g} (q_i / q_g) w_i^2 ) + l2 / 2 sum_i w_i^2,

with q = scale, or q = 1 where the norm is ``plain``, as in the paper. The prox is exact for any steps. It has a closed
form where 1 / step_i + l2 is the same multiple of q_i for all i (``TreeL2::prox``, native/tree/l2.hh): with counts as
the scale, steps may be measured by counts. Elsewhere, so for the plain norm in steps measured by counts, a few sweeps
of Newton's method find it (native/tree/l2_newton.hh).
"""

from __future__ import annotations

from typing import Any

from loglinear import _core
from loglinear.arrays import FloatArray
from loglinear.penalties.tree import TreePenalty
from loglinear.structure.tree import Tree


class TreeL2(TreePenalty):
    """strength * sum of the l2 norms of all subtrees: long contexts vanish before short ones."""

    def __init__(self, tree: Tree, strength: float = 1.0, *, plain: bool = False, **options: Any) -> None:
        self.plain = bool(plain)
        super().__init__(tree, strength, **options)

    def _make_native(self) -> _core.TreeL2:
        return _core.TreeL2(*self._native_arguments(None), plain=self.plain)

    @property
    def _native_scale(self) -> FloatArray | None:
        return super()._native_scale if self.plain else self.scale  # which weighs v in the norm

    def _options(self) -> dict[str, Any]:
        return super()._options() | {"plain": self.plain}

    # OwnMetric
    def own_metric(self, out: FloatArray) -> None:
        """Write the scale, or ones: the metric of the closed form, or the one that suits the loss where plain."""
        self._check(out)
        out[:] = 1.0 if self.scale is None else self.scale
