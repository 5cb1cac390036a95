"""Text that is a column: of JSON lines, of Parquet and Arrow files, and of records (dicts) in memory.

The texts of the column follow one another, each with a line end after it; a text may have several lines. Faults are
told with the row of the table, or the line of the JSON file, that a line of text is from.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from loglinear import _core, threads
from loglinear.errors import FormatError
from loglinear.formats.blocks import Progress
from loglinear.formats.streams import tables
from loglinear.formats.streams.compression import without_suffix
from loglinear.formats.text import Source, name_of, native_errors

TEXT, LABEL = "text", "label"  # the columns where none is named
JSON_SUFFIXES = (".jsonl", ".ndjson", ".json")
PLAIN_SUFFIX = ".txt"


class Lines(NamedTuple):
    """Whole lines of text in UTF-8."""

    data: NDArray[np.uint8]
    places: NDArray[np.int64] | None = None  # [n_lines], the row or line of the file that each is from; None: its own


def columns_of(source: Source, text_column: str | None) -> str | None:
    """Return what a file of columns is: a kind of table, or "JSON lines"; None for plain text.

    Tables are known by their first bytes; JSON lines by the file's name, or because a column is asked for. A file
    whose name ends in .txt is plain text in any case.
    """
    suffix = PurePosixPath(without_suffix(os.fspath(source))).suffix.lower()
    if suffix == PLAIN_SUFFIX:
        return None
    kind = tables.table_kind(source)
    if kind is None and (text_column is not None or suffix in JSON_SUFFIXES):
        kind = "JSON lines"
    return kind


def table_lines(source: Source, kind: str, column: str | None, size: int, progress: Progress) -> Iterator[Lines]:
    """Yield the texts of a column of a table."""
    name, column = name_of(source), column or TEXT
    for batch in tables.iterate_table(source, kind, [column], size):
        if len(batch.columns[0]):
            data, places = tables.lines_of(batch.columns[0], column, name, batch.first_row)
            if places is None:
                places = np.arange(batch.first_row, batch.first_row + len(batch.columns[0]))
            yield Lines(data, places)
        progress(batch.share)


def json_lines(blocks: Iterator[bytes], name: str, column: str | None, n_threads: int | None) -> Iterator[Lines]:
    """Yield the strings under a key of blocks of JSON lines, which are in UTF-8."""
    n_lines, pool = 0, threads.pool(n_threads)
    for block in blocks:
        try:
            with native_errors(name):
                text, places, n = _core.json_texts(pool, np.frombuffer(block, np.uint8), column or TEXT)
        except FormatError as error:
            raise error.after(n_lines) from None
        if text.size:
            yield Lines(text, places + n_lines)
        n_lines += n


def is_frame(source: object) -> bool:
    """Return whether a source is a data frame, of pandas or polars."""
    return hasattr(source, "columns") and hasattr(source, "dtypes")


def text_of(record: Mapping[str, Any], column: str | None, name: str, number: int) -> str:
    """Return the text of a record in memory; FormatError names the number of one that has none."""
    column = column or TEXT
    if column not in record:
        there = ", ".join(repr(key) for key in record) or "none"
        message = f"the record has no key {column!r}; its keys are {there}: name the one of the text with text_column"
        raise FormatError(message, name, number)
    text = record[column]
    if not isinstance(text, str):
        what = "None" if text is None else type(text).__name__
        raise FormatError(f"the value of {column!r} is {what}, not a string; leave such records out", name, number)
    return text
