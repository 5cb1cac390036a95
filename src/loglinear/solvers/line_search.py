"""Strong-Wolfe line search: bracket, then zoom with safeguarded cubic interpolation (Nocedal and Wright, alg. 3.5-3.6).

Finds t with  phi(t) <= phi(0) + c1 t phi'(0)  and  |phi'(t)| <= c2 |phi'(0)|.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass


@dataclass
class Point:
    """A step length with the value and the slope of the objective there."""

    t: float
    value: float
    slope: float


def cubic_minimum(a: Point, b: Point) -> float:
    """Return the minimiser of the cubic with the values and slopes of a and b; NaN if it has none."""
    d1 = a.slope + b.slope - 3.0 * (a.value - b.value) / (a.t - b.t)
    square = d1 * d1 - a.slope * b.slope
    if not square >= 0.0:
        return math.nan
    d2 = math.copysign(math.sqrt(square), b.t - a.t)
    denominator = b.slope - a.slope + 2.0 * d2
    if denominator == 0.0:
        return math.nan
    return b.t - (b.t - a.t) * (b.slope + d2 - d1) / denominator


def strong_wolfe(
    phi: Callable[[float], Point],
    start: Point,
    t: float,
    *,
    c1: float = 1e-4,
    c2: float = 0.9,
    max_evaluations: int = 25,
) -> Point | None:
    """Return the accepted point, where ``phi`` was called last, or None if no step decreases the objective."""

    # Close to the optimum differences of values are rounding noise; there a small slope decides (Hager and Zhang 2005).
    noise = 1e-14 * abs(start.value)

    def decreased(p: Point) -> bool:
        if p.value <= start.value + c1 * p.t * start.slope:
            return True
        return p.value <= start.value + noise and p.slope <= (2 * c1 - 1) * start.slope and p.t > 0

    def flat(p: Point) -> bool:
        return abs(p.slope) <= -c2 * start.slope

    low, high = start, None
    for _ in range(max_evaluations):
        point = phi(t)
        if not math.isfinite(point.value):
            high = Point(t, math.inf, math.inf)
        elif not decreased(point) or (point.value >= low.value + noise and low is not start):
            high = point
        elif flat(point):
            return point
        elif point.slope * ((high.t if high else math.inf) - low.t) >= 0.0:
            high, low = low, point
        else:
            low = point
        if high is None:
            grown = cubic_minimum(start, low) if low is not start else math.nan
            t = min(max(grown if math.isfinite(grown) else 0.0, 2.0 * low.t), 10.0 * low.t)
            continue
        width = high.t - low.t
        if abs(width) <= 1e-14 * max(abs(low.t), abs(high.t)):
            break
        t = cubic_minimum(low, high) if math.isfinite(high.value) else math.nan
        margin = 0.1 * abs(width)
        inside = min(low.t, high.t) + margin <= t <= max(low.t, high.t) - margin
        if not inside:  # also where t is NaN
            t = 0.5 * (low.t + high.t)
    if low is not start and low.value < start.value:
        return phi(low.t)
    return None
