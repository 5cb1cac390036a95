"""Constraints on labellings as base scores: an illegal start, succession or end scores -infinity."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from loglinear.data.chain_base import ChainBase
from loglinear.features import schemes


def scheme_base(classes: Sequence[Any], scheme: str) -> ChainBase:
    """Return the scores of a label scheme ("bio", "iobes", ...): 0 where it is legal, -infinity elsewhere."""
    start, transitions, stop = (_scores(mask) for mask in schemes.legal_transitions(list(classes), scheme))
    return ChainBase(start=start, stop=stop, transitions=transitions)


def forbidden_transitions(classes: Sequence[Any], pairs: Iterable[tuple[Any, Any]]) -> ChainBase:
    """Return scores that forbid the label pairs (previous, next) of ``pairs``."""
    number = {name: k for k, label in enumerate(classes) for name in (label, str(label))}  # files spell numbers as text
    transitions = np.zeros((len(classes), len(classes)))
    for previous, following in pairs:
        for label in (previous, following):
            if label not in number:
                raise ValueError(f"forbidden transition {previous!r} -> {following!r}: no label {label!r} in the model")
        transitions[number[previous], number[following]] = -np.inf
    return ChainBase(transitions=transitions)


def as_constraint(constraint: Any, auto: str | None = "auto") -> str | tuple[tuple[Any, Any], ...] | None:
    """Return a constraint in a form that can be read twice, compared and hashed; ``auto`` is what "auto" stands for."""
    if constraint is None or isinstance(constraint, str):
        return auto if constraint == "auto" else constraint
    pairs = []
    for pair in constraint:
        if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
            raise ValueError(f"a constraint is a scheme or (label, next label) pairs to forbid, not {pair!r}")
        pairs.append((pair[0], pair[1]))
    return tuple(pairs)


def constraint_base(classes: Sequence[Any], constraint: str | Iterable[tuple[Any, Any]] | None) -> ChainBase | None:
    """Return the scores of a constraint: a scheme by name, forbidden label pairs, or None."""
    if constraint is None:
        return None
    if isinstance(constraint, str):
        return scheme_base(classes, constraint)
    return forbidden_transitions(classes, constraint)


def _scores(mask: np.ndarray) -> np.ndarray:
    return np.where(mask != 0, 0.0, -np.inf)
