"""How numbers are written in tables, charts and pages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def is_number(value: Any) -> bool:
    """Return whether a value is shown as a number."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def number(value: float) -> str:
    """Return a number with four or five digits that count; whole numbers with all of theirs."""
    if isinstance(value, int):
        return f"{value:,}"
    size = abs(value)
    if size != 0 and not 1e-3 <= size < 1e6:
        return f"{value:.3g}"
    return f"{value:,.1f}" if size >= 1000 else f"{value:.5g}" if size >= 100 else f"{value:.4g}"


def signed(value: float) -> str:
    """Return a number with its sign and three decimals, as weights and contributions are shown."""
    text = f"{value:+,.3f}" if abs(value) < 1e6 else f"{value:+.3g}"
    return text.replace("-", "−")


def probability(log_p: float) -> str:
    """Return a probability by its logarithm: six decimals, or six digits where it is small, however small it is."""
    if log_p == -math.inf or log_p > math.log(1e-6):
        return f"{math.exp(log_p):.6f}"
    power = math.floor(log_p / math.log(10))
    digits = f"{math.exp(log_p - power * math.log(10)):.5f}"
    return f"{digits}e{power}" if digits != "10.00000" else f"1.00000e{power + 1}"


def both_forms(log_p: float) -> dict[str, float]:
    """Return a probability and its logarithm, as JSON has them."""
    return {"probability": math.exp(log_p), "log_probability": log_p}


def ticks(values: Sequence[float], logarithmic: bool = False) -> list[str]:
    """Return the labels of an axis, all in one form: powers of ten where one is very small or large."""
    if logarithmic and any(not 1e-3 <= value < 1e5 for value in values):
        return [_power(value) for value in values]
    return [_plain(value) for value in values]


def _power(value: float) -> str:
    power = math.floor(math.log10(value) + 1e-9)
    factor = value / 10.0**power
    return ("" if abs(factor - 1) < 1e-9 else f"{factor:g}·") + "10" + str(power).translate(_RAISED)


def _plain(value: float) -> str:
    if value and (abs(value) >= 1e6 or abs(value) < 1e-4):
        return f"{value:.3g}"
    return f"{value:,.10g}" if abs(value) >= 10_000 else f"{value:.6g}"
