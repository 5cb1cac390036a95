"""The weights of a tagger as tables: transitions between labels in colours, the strongest attributes of labels.

Functions take plain names and numbers, so that any model with labels can be shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from loglinear.display.tables import Table


def transition_table(labels: Sequence[str], weights: ArrayLike, most: int | None = None) -> Table:
    """Return a heat map of ``weights`` [L, L] from label i (row) to label j (column); red attracts and blue repels.

    A weight of -inf is a transition that is not allowed, and its cell is empty. Where there are over ``most`` labels,
    those with the largest weights are shown, in their order.
    """
    grid, L = np.asarray(weights, dtype=np.float64), len(labels)
    if grid.shape != (L, L):
        raise ValueError(f"weights must be of shape {(L, L)} for {L} labels, not {grid.shape}")
    if np.isnan(grid).any() or np.isposinf(grid).any():
        raise ValueError("weights must be numbers, or -inf where a transition is not allowed")
    grid = np.where(np.isfinite(grid), grid, np.nan)
    kept = _strongest(grid, most)
    table = grid[np.ix_(kept, kept)]
    return _shaded([labels[i] for i in kept], table, _note(bool(np.isnan(table).any()), len(kept), L))


def _strongest(grid: NDArray[np.float64], most: int | None) -> list[int]:
    """Return the labels to show: all, or those with the largest weights in their row or column."""
    if most is None or most >= len(grid):
        return list(range(len(grid)))
    size = np.abs(np.nan_to_num(grid))
    order = np.argsort(-np.maximum(size.max(axis=0), size.max(axis=1)), kind="stable")
    return sorted(order[: max(1, most)].tolist())


def _shaded(labels: list[str], table: NDArray[np.float64], note: str) -> Table:
    scale = float(np.max(np.abs(np.nan_to_num(table)), initial=0.0)) or 1.0
    cells: list[list[Any]] = []
    shades: list[list[float | None]] = []
    for name, values in zip(labels, table.tolist()):
        known = [None if value != value else value for value in values]  # NaN is not equal to itself
        cells.append([name, *(None if value is None else round(value, 2) + 0.0 for value in known)])  # no -0
        shades.append([None, *(None if value is None else value / scale for value in known)])
    return Table(["from \\ to", *labels], cells, note=note, shades=shades)


def _note(some_forbidden: bool, n_shown: int, n_labels: int) -> str:
    parts = []
    if n_shown < n_labels:
        parts.append(f"The {n_shown} of {n_labels} labels with the largest weights.")
    if some_forbidden:
        parts.append("Empty: not allowed.")
    return " ".join(parts)


def strongest_attributes(
    weights: Iterable[tuple[str, str, float]], k: int = 10
) -> dict[str, tuple[list[tuple[str, float]], list[tuple[str, float]]]]:
    """Return for every label the k attributes of largest positive and the k of most negative weight.

    Weights are triples (attribute, label, weight). Labels come in the order of their first triple, equal weights in the
    order of their attributes; zeros are left out.
    """
    by_label: dict[str, list[tuple[str, float]]] = {}
    for attribute, label, weight in weights:
        by_label.setdefault(label, []).append((attribute, float(weight)))
    out = {}
    for label, pairs in by_label.items():
        speak_for = sorted((pair for pair in pairs if pair[1] > 0), key=lambda pair: (-pair[1], pair[0]))
        against = sorted((pair for pair in pairs if pair[1] < 0), key=lambda pair: (pair[1], pair[0]))
        out[label] = speak_for[:k], against[:k]
    return out


def attribute_table(weights: Iterable[tuple[str, str, float]], k: int = 10) -> Table:
    """Return a table with one row per label: its strongest attributes, for and against, with their weights."""
    rows = [
        (label, _listed(speak_for), _listed(against))
        for label, (speak_for, against) in strongest_attributes(weights, k).items()
    ]
    return Table(("label", "attributes that speak for it", "attributes that speak against it"), rows)


def _listed(pairs: list[tuple[str, float]]) -> str:
    return ",  ".join(f"{name} {weight:+.2f}" for name, weight in pairs)
