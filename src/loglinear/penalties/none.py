"""No penalty: maximum likelihood. The optimum may lie at infinity (separable classes)."""

from __future__ import annotations

from typing import Any

from loglinear.penalties.separable import SeparablePenalty, SmoothSeparable


class NoPenalty(SmoothSeparable):
    """No penalty: maximum likelihood."""

    def __init__(self, strength: float = 0.0, **options: Any) -> None:
        options.pop("scale", None)
        super().__init__(0.0, 0.0, **options)


class NonnegativePenalty(SeparablePenalty):
    """No penalty, but weights are kept at or above zero."""

    def __init__(self, strength: float = 0.0, **options: Any) -> None:
        options.pop("scale", None)
        super().__init__(0.0, 0.0, nonnegative=True, **options)
