"""Values of named features and attributes."""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Real

import numpy as np


def finite_number(value: object, where: Callable[[], str], name: str, kinds: str) -> float:
    """Return a value as a float; errors say where it was found, its name, and which kinds of values there are."""
    if not isinstance(value, (Real, np.bool_)):
        raise TypeError(f"{where()} {name!r} is {type(value).__name__}; a value is {kinds}")
    try:
        result = float(value)
    except OverflowError:
        result = math.inf
    if not math.isfinite(result):
        raise ValueError(f"{where()} {name!r} is not a finite number")
    return result
