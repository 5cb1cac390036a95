"""The ridge (Gaussian prior): strength * sum_j scale_j w_j^2 / 2.

scikit-learn's C is 1 / strength, Wapiti's rho2 is the strength, CRFsuite's c2 is strength / 2, and the prior's variance
sigma^2 of the papers is 1 / strength.
"""

from __future__ import annotations

from typing import Any

from loglinear.penalties.separable import SmoothSeparable


class L2(SmoothSeparable):
    """strength * sum w^2 / 2: small weights, shared among redundant features."""

    def __init__(self, strength: float = 1.0, *, scale: Any = None, **options: Any) -> None:
        super().__init__(0.0, strength, l2_scale=scale, **options)

    @staticmethod
    def l1_and_l2(strength: Any, l1_ratio: Any) -> tuple[Any, Any]:
        """Return (0, strength)."""
        return 0.0, strength
