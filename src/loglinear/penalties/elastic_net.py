"""Elastic net: strength * ( l1_ratio * |w|_1 + (1 - l1_ratio) * |w|^2 / 2 ), as in scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np

from loglinear.penalties.separable import SeparablePenalty


class ElasticNet(SeparablePenalty):
    """strength * (l1_ratio * sum |w| + (1 - l1_ratio) * sum w^2 / 2)."""

    def __init__(self, strength: float = 1.0, *, l1_ratio: float = 0.5, scale: Any = None, **options: Any) -> None:
        super().__init__(*self.l1_and_l2(strength, l1_ratio), l1_scale=scale, l2_scale=scale, **options)

    @classmethod
    def from_settings(cls, strength: float, *, l1_ratio: float = 0.5, **options: Any) -> SeparablePenalty:
        """Return the elastic net of these settings."""
        return cls(strength, l1_ratio=l1_ratio, **options)

    @staticmethod
    def l1_and_l2(strength: Any, l1_ratio: Any) -> tuple[Any, Any]:
        """Return strength times (l1_ratio, 1 - l1_ratio)."""
        share = np.asarray(l1_ratio, dtype=np.float64)
        if not np.all((share >= 0) & (share <= 1)):
            raise ValueError(f"l1_ratio must be between 0 and 1, not {l1_ratio!r}")
        return strength * share, strength * (1.0 - share)
