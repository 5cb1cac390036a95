"""Where the examples of a part come from: a piece of a file, or a partition of a Dask collection.

A part is read on the worker that keeps it, and read again elsewhere if that worker is lost.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from distributed import Client, Future

from loglinear.errors import FormatError
from loglinear.formats.blocks import after_lines
from loglinear.formats.examples import guess
from loglinear.formats.streams import remote
from loglinear.formats.streams.tables import table_kind
from loglinear.formats.text import is_utf8, mapped
from loglinear.models.classifier.files import NAMELESS, Columns, Examples, parse_examples, read_examples

LEAST_PIECE = 1 << 16  # bytes of a file that is cut


@dataclass(frozen=True)
class Piece:
    """The lines of a file that begin in a range of bytes; ``end`` None: all lines from ``begin`` on."""

    path: str
    format: str | None  # None: read_examples finds out
    encoding: str
    columns: Columns = NAMELESS
    begin: int = 0
    end: int | None = None

    def read(self, n_threads: int) -> Examples:
        """Return the examples of these lines."""
        if self.begin == 0 and self.end is None:
            return read_examples(self.path, self.format, self.encoding, columns=self.columns, n_threads=n_threads)
        assert self.format is not None
        with Path(self.path).open("rb") as file:
            begin = self._line_from(file, self.begin)
            end = None if self.end is None else self._line_from(file, self.end)
            file.seek(begin)
            data = file.read() if end is None else file.read(max(end - begin, 0))
        try:
            return parse_examples(self.format, data, self.path, self.encoding, True, n_threads, self.columns)
        except FormatError:
            with after_lines(Path(self.path).read_bytes().count(b"\n", 0, begin)):  # the line of the whole file
                return parse_examples(self.format, data, self.path, self.encoding, True, n_threads, self.columns)

    @staticmethod
    def _line_from(file: Any, place: int) -> int:
        """Return where the first line begins that begins at a place or after it."""
        if place == 0:
            return 0
        file.seek(place - 1)
        file.readline()
        return int(file.tell())


def pieces_of(
    given: Any, n_wanted: int, format: str | None = None, encoding: str = "utf-8", columns: Columns = NAMELESS
) -> list[Piece]:
    """Return the pieces of files: one per file, or several of large plain files where there are fewer than wanted."""
    names = [given] if isinstance(given, (str, os.PathLike)) else list(given)
    paths: list[str] = []
    for name in (os.fspath(one) for one in names):
        if name == "-":
            raise FormatError("the workers of a cluster cannot read the standard input of this process", "<stdin>")
        is_pattern = glob.has_magic(name) and not remote.is_url(name) and not Path(name).exists()
        found = sorted(glob.glob(name)) if is_pattern else [name]  # noqa: PTH207  patterns may be absolute
        if not found:
            raise FormatError("no file has such a name", name)
        paths += found
    if len(paths) >= n_wanted or not is_utf8(encoding):
        return [Piece(path, format, encoding, columns) for path in paths]
    pieces: list[Piece] = []
    for path in paths:
        plain = None if table_kind(path) is not None else mapped(path)
        size = 0 if plain is None else plain.size
        n = max(1, min(round(n_wanted / len(paths)), size // LEAST_PIECE))
        if n == 1:
            pieces.append(Piece(path, format, encoding, columns))
            continue
        kind = format or (guess(path) if columns == NAMELESS else "jsonl")
        bounds = [size * k // n for k in range(n)]
        pieces += [Piece(path, kind, encoding, columns, begin, end) for begin, end in zip(bounds, [*bounds[1:], None])]
    return pieces


def partitions_of(X: Any, y: Any, sample_weight: Any, client: Client) -> list[Future]:
    """Return the partitions of Dask collections as futures of (examples, labels, sample weights or None)."""
    columns = [_delayed(one, name) for one, name in ((X, "X"), (y, "y"), (sample_weight, "sample_weight"))]
    n = len(columns[0])
    for one, name in zip(columns[1:], ("y", "sample_weight")):
        if one and len(one) != n:
            raise ValueError(f"X has {n} partitions and {name} has {len(one)}: give both the same")
    if not columns[1]:
        raise ValueError("a Dask collection needs labels y, another with the same partitions")
    weights = columns[2] or [None] * n
    every = zip(columns[0], columns[1], weights)
    return [client.submit(_together, *_futures(client, one), pure=False) for one in every]


def _delayed(collection: Any, name: str) -> list[Any]:
    if collection is None:
        return []
    if not hasattr(collection, "to_delayed"):
        raise TypeError(f"{name} is {type(collection).__name__}; give files, or Dask arrays, bags or data frames")
    if getattr(collection, "ndim", 1) == 2 and hasattr(collection, "rechunk"):
        collection = collection.rechunk({1: -1})
    return list(np.asarray(collection.to_delayed(), dtype=object).ravel())


def _futures(client: Client, delayed: Sequence[Any]) -> list[Any]:
    return [None if one is None else client.compute(one) for one in delayed]


def _together(X: Any, y: Any, weight: Any) -> tuple[Any, Any, Any]:
    return X, y, weight
