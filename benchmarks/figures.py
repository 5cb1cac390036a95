"""Figures of pages, drawn without a display."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def canvas(rows: int = 1, columns: int = 1, size: tuple[float, float] = (4.8, 3.4)) -> tuple[Any, Any]:
    """Return a figure and its grid of axes [rows, columns], each of ``size`` inches."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    return plt.subplots(rows, columns, figsize=(size[0] * columns, size[1] * rows), squeeze=False)


def save_figure(figure: Any, path: Path) -> None:
    """Write a figure and close it."""
    import matplotlib.pyplot as plt

    figure.tight_layout()
    figure.savefig(path, dpi=90)
    plt.close(figure)
