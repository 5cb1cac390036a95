"""The tree-structured l2 norm, on the uncollapsed tree (Nelakanti et al. 2013, algorithm 2), in its own metric:

    strength * sum_g weight_g sqrt( sum_{i in subtree of g} (s_i / s_g) w_i^2 ) + l2 / 2 sum_i w_i^2,     s = scale.

Its prox has a closed form where 1 / step_i + l2 is the same multiple of s_i for all i, and only there
(``TreeL2::prox``, native/tree/l2.hh). With counts as the scale, steps may be measured by counts.
"""

from __future__ import annotations

from loglinear import _core
from loglinear.arrays import FloatArray
from loglinear.penalties.tree import TreePenalty


class TreeL2(TreePenalty):
    """strength * sum of the l2 norms of all subtrees: long contexts vanish before short ones."""

    def _make_native(self) -> _core.TreeL2:
        return _core.TreeL2(*self._native_arguments(None))

    # OwnMetric
    def own_metric(self, out: FloatArray) -> None:
        """Write the scale, or ones: steps must satisfy 1 / step + l2 = L * scale for one number L."""
        self._check(out)
        out[:] = 1.0 if self.scale is None else self.scale
