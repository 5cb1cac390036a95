"""The weights of a tagger as tables: transitions between labels in colours, the strongest attributes of labels.

Functions take plain names and numbers, so that any model with labels can be shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from loglinear.report.tables import Table

START, STOP = "(start)", "(end)"


def transition_table(
    labels: Sequence[str], weights: ArrayLike, *, start: ArrayLike | None = None, stop: ArrayLike | None = None,
    most: int | None = None, title: str = "",
) -> Table:
    """Return a heat map of ``weights`` [L, L] from label i (row) to label j (column); red attracts and blue repels.

    ``start`` and ``stop`` [L] add a row and a column for the ends of sequences. A weight of -inf is a transition that
    is not allowed, and its cell is empty. Where there are over ``most`` labels, those with the largest weights are
    shown, in their order.
    """
    grid = _finite(weights, (len(labels), len(labels)), "weights")
    before = None if start is None else _finite(start, (len(labels),), "start")
    after = None if stop is None else _finite(stop, (len(labels),), "stop")
    kept = _strongest(grid, most)
    rows = columns = [labels[i] for i in kept]
    table, corner = grid[np.ix_(kept, kept)], np.empty(0)
    if before is not None:
        table, rows, corner = np.vstack([before[kept], table]), [START, *rows], np.array([np.nan])
    forbidden = np.isnan(table).any() or (after is not None and np.isnan(after[kept]).any())
    if after is not None:
        column = np.concatenate([corner, after[kept]])  # empty sequences have no weight
        table, columns = np.hstack([table, column[:, None]]), [*columns, STOP]
    return _shaded(rows, columns, table, title, _note(bool(forbidden), len(kept), len(labels)))


def _finite(values: ArrayLike, expected: tuple[int, ...], name: str) -> NDArray[np.float64]:
    """Return weights with NaN where a transition is not allowed."""
    array = np.asarray(values, dtype=np.float64)
    if array.shape != expected:
        raise ValueError(f"{name} must be of shape {expected} for {expected[0]} labels, not {array.shape}")
    if np.isnan(array).any() or np.isposinf(array).any():
        raise ValueError(f"{name} must be numbers, or -inf where a transition is not allowed")
    return np.where(np.isfinite(array), array, np.nan)


def _strongest(grid: NDArray[np.float64], most: int | None) -> list[int]:
    """Return the labels to show: all, or those with the largest weights in their row or column."""
    if most is None or most >= len(grid):
        return list(range(len(grid)))
    size = np.abs(np.nan_to_num(grid))
    order = np.argsort(-np.maximum(size.max(axis=0), size.max(axis=1)), kind="stable")
    return sorted(order[: max(1, most)].tolist())


def _shaded(rows: list[str], columns: list[str], table: NDArray[np.float64], title: str, note: str) -> Table:
    scale = float(np.max(np.abs(np.nan_to_num(table)), initial=0.0)) or 1.0
    cells: list[list[Any]] = []
    shades: list[list[float | None]] = []
    for name, values in zip(rows, table.tolist()):
        known = [None if value != value else value for value in values]  # NaN is not equal to itself
        cells.append([name, *(None if value is None else round(value, 2) + 0.0 for value in known)])  # no -0
        shades.append([None, *(None if value is None else value / scale for value in known)])
    return Table(["from \\ to", *columns], cells, title=title, note=note, shades=shades)


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


def attribute_table(weights: Iterable[tuple[str, str, float]], k: int = 10, title: str = "") -> Table:
    """Return a table with one row per label: its strongest attributes, for and against, with their weights."""
    rows = [
        (label, _listed(speak_for), _listed(against))
        for label, (speak_for, against) in strongest_attributes(weights, k).items()
    ]
    return Table(("label", "attributes that speak for it", "attributes that speak against it"), rows, title=title)


def _listed(pairs: list[tuple[str, float]]) -> str:
    return ",  ".join(f"{name} {weight:+.2f}" for name, weight in pairs)
