"""The contribution of one feature to a score, of which the explanations of all models consist."""

from __future__ import annotations

from typing import NamedTuple


class Push(NamedTuple):
    """One feature's contribution to a score: contribution = value * weight."""

    feature: str
    value: float
    weight: float
    contribution: float
