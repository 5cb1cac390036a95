"""Plots as SVG text. matplotlib is imported when a plot is drawn, and may be missing."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

MISSING = "Plots need matplotlib, which is not installed here: pip install loglinear[plot] adds them."


@dataclass(frozen=True)
class Curve:
    """A named line through points (x, y)."""

    label: str
    x: Sequence[float]
    y: Sequence[float]


@dataclass(frozen=True)
class Plot:
    """Curves over common axes; logarithmic axes leave out points that are not positive."""

    title: str
    curves: Sequence[Curve]
    x_label: str = ""
    y_label: str = ""
    log_x: bool = False
    log_y: bool = False


def convergence(title: str, runs: Mapping[str, tuple[Sequence[float], Sequence[float]]], best: float) -> Plot:
    """Plot the gap of the objective to ``best`` against time; ``runs``: solver -> (seconds, objective values)."""
    curves = []
    for label, (seconds, values) in runs.items():
        gaps = [(value - best) / abs(best or 1.0) for value in values]
        curves.append(Curve(label, list(seconds), gaps))
    return Plot(title, curves, "seconds", "relative gap of the objective to the optimum", True, True)


def svg(plot: Plot) -> str | None:
    """Return the plot as an ``<svg>`` element to put in a page; None without matplotlib."""
    try:
        import matplotlib
        from matplotlib.backends.backend_svg import FigureCanvasSVG
        from matplotlib.figure import Figure
    except ImportError:
        return None
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "loglinear", "font.family": "sans-serif"}):
        figure = Figure(figsize=(7.2, 4.2), layout="constrained")
        FigureCanvasSVG(figure)
        axes = figure.add_subplot()
        for curve in plot.curves:
            points = [(x, y) for x, y in zip(curve.x, curve.y) if _drawable(x, plot.log_x) and _drawable(y, plot.log_y)]
            if points:
                x, y = zip(*points)
                axes.plot(x, y, "-", marker=".", markersize=3, label=curve.label)
        if plot.log_x and axes.lines:
            axes.set_xscale("log")
        if plot.log_y and axes.lines:
            axes.set_yscale("log")
        axes.set(xlabel=plot.x_label, ylabel=plot.y_label, title=plot.title)
        axes.grid(alpha=0.3)
        if axes.lines:
            axes.legend(frameon=False)
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    text = out.getvalue()
    return text[text.index("<svg") :]


def _drawable(value: float, logarithmic: bool) -> bool:
    return math.isfinite(value) and (value > 0 or not logarithmic)
