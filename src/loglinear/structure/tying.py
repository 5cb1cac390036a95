"""Weights that share a value."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from loglinear import _core
from loglinear.arrays import FloatArray, IntArray
from loglinear.threads import pool


@dataclass(frozen=True, eq=False)
class Tying:
    """Weights that share a value, as an orthonormal map between n weights and fewer shared ones.

    ``w = up(u)`` copies ``u[g] / sqrt(m_g)`` to the ``m_g`` members of group g; ``u = down(w)`` is its transpose,
    ``sum of members / sqrt(m_g)``. Because the columns are orthonormal, ``down`` is at once the projection of weights
    (the mean, in shared units) and the map of gradients, norms are kept, and a solver on ``u`` takes the same steps as
    a solver restricted to tied weights. (Plain means would weight a group of a thousand like a group of one; the square
    root removes that distortion.)
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
        """Return the number of weights that are tied."""
        return self.groups.size

    def down(self, w: FloatArray) -> FloatArray:
        """Project weights or gradients: [n_weights] -> [n_groups]."""
        out = np.empty(self.n_groups)
        _core.sum_groups(pool(self.n_threads), w, self.groups, self.scale, out)
        return out

    def up(self, u: FloatArray) -> FloatArray:
        """Copy shared weights to their members: [n_groups] -> [n_weights]."""
        out = np.empty(self.n_weights)
        _core.copy_groups(pool(self.n_threads), u, self.groups, self.scale, out)
        return out

    def per_class(self, n_classes: int, intercept: bool) -> Tying:
        """Return groups of weights laid out [feature][class], intercepts last, from these groups of features."""
        k = np.arange(n_classes, dtype=np.int32)
        groups = (self.groups[:, None] * np.int32(n_classes) + k).ravel()
        n_groups = self.n_groups * n_classes
        if intercept:
            groups = np.concatenate([groups, n_groups + k])
            n_groups += n_classes
        return Tying(groups, n_groups, self.n_threads)
