"""Penalties: what keeps the weights small, few or alike. They never know what their weights mean."""

from __future__ import annotations

from typing import Any

from loglinear.penalties.elastic_net import ElasticNet
from loglinear.penalties.l1 import L1
from loglinear.penalties.l2 import L2, NonnegativeL2
from loglinear.penalties.none import NonnegativePenalty, NoPenalty
from loglinear.penalties.separable import SeparablePenalty, SmoothSeparable
from loglinear.protocols import Penalty
from loglinear.registry import Registry

PENALTIES: Registry[Penalty] = Registry(
    "penalty", {"none": NoPenalty, "l1": L1, "l2": L2, "elastic_net": ElasticNet}
)
_NONNEGATIVE = {"none": NonnegativePenalty, "l2": NonnegativeL2}


def make(name: str, strength: float = 1.0, *, nonnegative: bool = False, l1_ratio: float = 0.5, **options: Any) -> Any:
    """The penalty with this name; ``l1_ratio`` is for elastic_net only."""
    name = name.replace("-", "_")
    factory = PENALTIES.factory(name)
    if nonnegative and name in _NONNEGATIVE:
        return _NONNEGATIVE[name](strength, **options)
    if name == "elastic_net":
        options["l1_ratio"] = l1_ratio
    if nonnegative:
        options["nonnegative"] = True
    return factory(strength, **options)


__all__ = [
    "L1",
    "L2",
    "PENALTIES",
    "ElasticNet",
    "NoPenalty",
    "NonnegativeL2",
    "NonnegativePenalty",
    "SeparablePenalty",
    "SmoothSeparable",
    "make",
]
