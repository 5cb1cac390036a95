"""Curves over two axes, as SVG text that needs no library, follows the colours of its page and fits a phone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from loglinear.display.numbers import number, ticks
from loglinear.formats.text import plain_line

_WIDTH, _HEIGHT = 520, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 24, 12, 46  # room for the labels of the axes
_N_COLOURS = 6  # of page.py: --c0 to --c5
_MOST_MARKS = 30  # points of a curve that are marked one by one
_DASHES = ("", "7 4", "2 3")  # after all colours once, curves are told apart by these


@dataclass(frozen=True)
class Curve:
    """A named line through points (x, y)."""

    label: str
    x: Sequence[float]
    y: Sequence[float]


@dataclass(frozen=True)
class Plot:
    """Curves over common axes; logarithmic axes leave out points that are not positive.

    ``diagonal`` draws the line y = x, to compare with.
    """

    title: str
    curves: Sequence[Curve]
    x_label: str = ""
    y_label: str = ""
    log_x: bool = False
    log_y: bool = False
    diagonal: bool = False


def convergence(
    title: str, runs: Mapping[str, tuple[Sequence[float], Sequence[float]]], best: float, x_label: str = "seconds"
) -> Plot:
    """Plot how far the objective is above ``best``, relative to it; ``runs``: solver -> (x, objective values)."""
    curves = []
    for label, (x, values) in runs.items():
        gaps = [(value - best) / abs(best or 1.0) for value in values]
        curves.append(Curve(label, list(x), gaps))
    return Plot(title, curves, x_label, "relative gap to the optimum", x_label == "seconds", True)


def svg(plot: Plot) -> str:
    """Return the plot as an ``<svg>`` element to put in a page of ``page.py``, whose style has its colours."""
    curves = [(curve.label, _points(curve, plot)) for curve in plot.curves]
    drawn = [point for _, points in curves for point in points]
    if not drawn:
        return f'<p class="note">{escape(plot.title)}: there is nothing to draw.</p>'
    x_axis = _Axis([x for x, _ in drawn], plot.log_x, _LEFT, _WIDTH - _RIGHT, 6)
    y_axis = _Axis([y for _, y in drawn], plot.log_y, _HEIGHT - _BOTTOM, _TOP, 6)
    parts = [*_grid(plot, x_axis, y_axis)]
    if plot.diagonal:
        low, high = max(x_axis.low, y_axis.low), min(x_axis.high, y_axis.high)
        ends = f'x1="{x_axis(low):.1f}" y1="{y_axis(low):.1f}" x2="{x_axis(high):.1f}" y2="{y_axis(high):.1f}"'
        parts.append(f'<line class="diagonal" {ends}/>')
    for k, (label, points) in enumerate(curves):
        parts += _line(label, [(x_axis(x), y_axis(y)) for x, y in points], points, k)
    legend = "".join(
        f'<span><svg width="26" height="10" aria-hidden="true">{_stroke("M1 5H25", k)}</svg>'
        f"{escape(plain_line(label))}</span>"
        for k, (label, _) in enumerate(curves)
        if len(curves) > 1
    )
    title = escape(plain_line(plot.title))
    return (
        f'<figure><figcaption>{title}</figcaption><svg class="chart" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'aria-label="{title}">{"".join(parts)}</svg><div class="legend">{legend}</div></figure>'
    )


def _points(curve: Curve, plot: Plot) -> list[tuple[float, float]]:
    found = [(float(x), float(y)) for x, y in zip(curve.x, curve.y)]
    return [(x, y) for x, y in found if _drawable(x, plot.log_x) and _drawable(y, plot.log_y)]


def _drawable(value: float, logarithmic: bool) -> bool:
    return math.isfinite(value) and (value > 0 or not logarithmic)


class _Axis:
    """Places of values between two ends of the drawing, and the values of its ticks."""

    def __init__(self, values: Sequence[float], logarithmic: bool, begin: float, end: float, n_ticks: int) -> None:
        self.logarithmic, self.begin, self.end = logarithmic, begin, end
        low, high = min(values), max(values)
        self.ticks = _decades(low, high, n_ticks) if logarithmic else _round_numbers(low, high, n_ticks)
        self.low, self.high = min(low, self.ticks[0]), max(high, self.ticks[-1])
        self.labels = ticks(self.ticks, logarithmic)

    def __call__(self, value: float) -> float:
        low, high = (math.log10(v) if self.logarithmic else v for v in (self.low, self.high))
        place = math.log10(value) if self.logarithmic else value
        return self.begin + (self.end - self.begin) * ((place - low) / (high - low) if high > low else 0.5)


def _round_numbers(low: float, high: float, n: int) -> list[float]:
    """Return about n round numbers that reach from below ``low`` to above ``high``."""
    if high <= low:
        low, high = low - (abs(low) or 1.0) * 0.1, high + (abs(high) or 1.0) * 0.1
    rough = (high - low) / n
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough * 0.999)
    first = math.floor(low / step + 1e-9)
    last = math.ceil(high / step - 1e-9)
    return [k * step for k in range(first, last + 1)]


def _decades(low: float, high: float, n: int) -> list[float]:
    """Return powers of ten within the ends, at most about n; of less than two decades also 2 and 5 of each."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    if last - first <= 2:
        within = [f * 10.0**k for k in range(first, last + 1) for f in (1, 2, 5)]
        kept = [v for v in within if low * 0.999 <= v <= high * 1.001]
        return kept if len(kept) > 1 else [10.0**first, 10.0 ** max(last, first + 1)]
    every = max(1, math.ceil((last - first) / n))
    kept = [10.0**k for k in range(first, last + 1) if k % every == 0]
    return [v for v in kept if low * 0.999 <= v <= high * 1.001] or [low, high]


def _grid(plot: Plot, x_axis: _Axis, y_axis: _Axis) -> list[str]:
    bottom, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    parts = []
    for value, label in zip(x_axis.ticks, x_axis.labels):
        x = x_axis(value)
        parts.append(f'<line class="grid" x1="{x:.1f}" y1="{_TOP}" x2="{x:.1f}" y2="{bottom}"/>')
        parts.append(f'<text x="{x:.1f}" y="{bottom + 17}" text-anchor="middle">{label}</text>')
    for value, label in zip(y_axis.ticks, y_axis.labels):
        y = y_axis(value)
        parts.append(f'<line class="grid" x1="{_LEFT}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{label}</text>')
    middle = (_LEFT + right) / 2
    parts.append(f'<text x="{middle}" y="{_HEIGHT - 8}" text-anchor="middle">{escape(plain_line(plot.x_label))}</text>')
    place = f'x="{-(_TOP + bottom) / 2}" y="14" transform="rotate(-90)" text-anchor="middle"'
    parts.append(f"<text {place}>{escape(plain_line(plot.y_label))}</text>")
    return parts


def _stroke(path: str, k: int) -> str:
    dash = _DASHES[k // _N_COLOURS % len(_DASHES)]
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return f'<path class="curve" style="stroke:var(--c{k % _N_COLOURS})"{dashed} d="{path}"/>'


def _line(label: str, places: list[tuple[float, float]], points: list[tuple[float, float]], k: int) -> list[str]:
    """Return a curve; where it has few points, each is marked and says its values to a pointer."""
    if not places:
        return []
    parts = [_stroke("M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places), k)]
    if len(places) <= _MOST_MARKS:
        for (x, y), (a, b) in zip(places, points):
            told = escape(plain_line(f"{label}: {number(a)}, {number(b)}"))
            mark = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" style="fill:var(--c{k % _N_COLOURS})">'
            parts.append(f"{mark}<title>{told}</title></circle>")
    return parts
