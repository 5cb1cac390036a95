"""No penalty: maximum likelihood. The optimum may lie at infinity (separable classes)."""

from __future__ import annotations

from typing import Any

from loglinear.penalties.separable import SmoothSeparable


class NoPenalty(SmoothSeparable):
    """No penalty: maximum likelihood."""

    def __init__(self, strength: float = 0.0, **options: Any) -> None:
        options.pop("scale", None)
        super().__init__(0.0, 0.0, **options)

    @staticmethod
    def l1_and_l2(strength: Any, l1_ratio: Any) -> tuple[Any, Any]:
        """Return (0, 0), whatever the strength."""
        return 0.0, 0.0
