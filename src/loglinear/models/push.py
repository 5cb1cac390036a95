"""The share of one feature in a score: what the explanations of all models are made of."""

from __future__ import annotations

from typing import NamedTuple


class Push(NamedTuple):
    """One feature's share of a score: contribution = value * weight."""

    feature: str
    value: float
    weight: float
    contribution: float
