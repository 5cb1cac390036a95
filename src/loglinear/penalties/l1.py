"""The lasso: strength * sum_j scale_j |w_j|. Exact zeros. (Wapiti's rho1 and CRFsuite's c1 are the strength.)"""

from __future__ import annotations

from typing import Any

from loglinear.penalties.separable import SeparablePenalty


class L1(SeparablePenalty):
    """strength * sum |w|: sparse weights, exact zeros."""

    def __init__(self, strength: float = 1.0, *, scale: Any = None, **options: Any) -> None:
        super().__init__(strength, 0.0, l1_scale=scale, **options)

    @staticmethod
    def l1_and_l2(strength: Any, l1_ratio: Any) -> tuple[Any, Any]:
        """Return (strength, 0)."""
        return strength, 0.0
