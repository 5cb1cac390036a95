"""The contribution of one feature to a score, of which the explanations of all models consist."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple


class Push(NamedTuple):
    """One feature's contribution to a score: contribution = value * weight."""

    feature: str
    value: float
    weight: float
    contribution: float


def by_effect(pushes: Iterable[Push]) -> list[Push]:
    """Return the pushes that contribute anything, largest effect first."""
    return sorted((push for push in pushes if push.contribution), key=lambda push: -abs(push.contribution))


def push_dicts(pushes: Iterable[Push]) -> list[dict[str, Any]]:
    """Return pushes as plain values, for JSON."""
    return [push._asdict() for push in pushes]
