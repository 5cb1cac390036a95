"""Elastic net: strength * ( l1_ratio * |w|_1 + (1 - l1_ratio) * |w|^2 / 2 ), as in scikit-learn."""

from __future__ import annotations

from typing import Any

from loglinear.penalties.separable import SeparablePenalty


class ElasticNet(SeparablePenalty):
    """strength * (l1_ratio * sum |w| + (1 - l1_ratio) * sum w^2 / 2)."""

    def __init__(self, strength: float = 1.0, *, l1_ratio: float = 0.5, scale: Any = None, **options: Any) -> None:
        if not 0.0 <= l1_ratio <= 1.0:
            raise ValueError(f"l1_ratio must be between 0 and 1, not {l1_ratio!r}")
        super().__init__(strength * l1_ratio, strength * (1.0 - l1_ratio), l1_scale=scale, l2_scale=scale, **options)
