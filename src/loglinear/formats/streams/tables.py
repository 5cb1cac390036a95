"""Columns of Parquet and Arrow files, batch by batch, through the package pyarrow.

Parquet files begin with PAR1, Arrow files with ARROW1, and streams of Arrow batches (as the package datasets keeps
them) with four bytes 0xFF. Only the columns asked for are read, some megabytes of them at a time.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from loglinear.errors import FormatError, MissingPackageError
from loglinear.formats.streams import compression, remote
from loglinear.formats.streams.packages import require

_MAGIC = 8
_KINDS = {b"PAR1": "Parquet", b"ARROW1": "Arrow", b"\xff\xff\xff\xff": "Arrow stream"}
_MOST_ROWS = 1 << 14  # read at a time, since a text that repeats is stored once and takes its size only when it is read


class Batch(NamedTuple):
    """Rows of a table: a pyarrow.Array for each column asked for."""

    columns: list[Any]
    first_row: int  # from 1
    share: float  # of the table that is read with this batch


def table_kind(source: str | os.PathLike[str]) -> str | None:
    """Return what kind of table a file or standard input is, by its first bytes; None: no table.

    FormatError for a table that was compressed as a whole. Nothing is taken from a pipe.
    """
    name = os.fspath(source)
    if name == "-":
        return _kind_of(sys.stdin.buffer.peek(_MAGIC) if hasattr(sys.stdin.buffer, "peek") else b"")
    if not remote.is_url(source) and not Path(source).is_file():
        return None
    try:
        with remote.opened(source) as file:
            head = file.read(_MAGIC)
            packed = compression.kind_of(head)
            if packed is None:
                return _kind_of(head)
            file.seek(0)
            inside = _kind_of(compression.reader(file, packed).read(_MAGIC))
    except (OSError, MissingPackageError, *compression.damage_errors()):  # whoever reads the file says what is wrong
        return None
    if inside is not None:
        raise FormatError(f"a compressed {inside} file; decompress it first, since it is not read from its start", name)
    return None


def _kind_of(head: bytes) -> str | None:
    return next((kind for magic, kind in _KINDS.items() if head.startswith(magic)), None)


def iterate_table(
    source: str | os.PathLike[str], kind: str, columns: Sequence[str], size: int
) -> Iterator[Batch]:
    """Yield the rows of a table in batches of about ``size`` bytes; FormatError for a column that it lacks."""
    name = os.fspath(source)
    if name == "-":
        raise FormatError(f"{kind} is not read from a pipe; write it to a file first", "<stdin>")
    pyarrow = require("pyarrow", f"{name}: {kind} files need", "parquet")
    with _errors_of(pyarrow, name, kind), _opened(pyarrow, source) as file:
        read = _parquet if kind == "Parquet" else _arrow
        yield from read(file, name, kind, columns, size)


@contextmanager
def _opened(pyarrow: Any, source: str | os.PathLike[str]) -> Iterator[Any]:
    if remote.is_url(source):
        with remote.opened(source) as file:
            yield pyarrow.PythonFile(file, mode="r")
    else:
        with pyarrow.memory_map(os.fspath(source)) as file:
            yield file


@contextmanager
def _errors_of(pyarrow: Any, name: str, kind: str) -> Iterator[None]:
    try:
        yield
    except FormatError:
        raise
    except (pyarrow.ArrowInvalid, pyarrow.ArrowNotImplementedError, OSError) as error:
        if isinstance(error, FileNotFoundError):
            raise FormatError("no such file or folder", name) from error
        detail = " ".join(str(error).split())
        raise FormatError(f"truncated or damaged {kind} file ({detail}); fetch or write it again", name) from error


def _parquet(file: Any, name: str, kind: str, columns: Sequence[str], size: int) -> Iterator[Batch]:
    parquet = require("pyarrow.parquet", f"{name}: Parquet files need", "parquet")
    table = parquet.ParquetFile(file, pre_buffer=False)
    wanted = _check_columns(table.schema_arrow, columns, name)
    about = table.metadata
    places = [i for i in range(about.num_columns) if about.schema.column(i).path.partition(".")[0] in wanted]
    row = 1
    for group in range(about.num_row_groups):
        part = about.row_group(group)
        n_bytes = sum(part.column(i).total_uncompressed_size for i in places)
        n_rows = min(_rows_in(size, part.num_rows, n_bytes), _MOST_ROWS)
        for batch in table.iter_batches(n_rows, row_groups=[group], columns=wanted, use_threads=False):
            share = (row + batch.num_rows - 1) / about.num_rows
            yield from _slices(batch, columns, size, row, share)
            row += batch.num_rows


def _arrow(file: Any, name: str, kind: str, columns: Sequence[str], size: int) -> Iterator[Batch]:
    ipc = require("pyarrow.ipc", f"{name}: Arrow files need", "parquet")
    total, row = max(file.size(), 1), 1
    reader = ipc.open_stream(file) if kind == "Arrow stream" else ipc.open_file(file)
    _check_columns(reader.schema, columns, name)
    n = None if kind == "Arrow stream" else reader.num_record_batches
    whole = iter(reader) if n is None else (reader.get_batch(i) for i in range(n))
    for number, batch in enumerate(whole, start=1):
        share = file.tell() / total if n is None else number / n
        yield from _slices(batch, columns, size, row, share)
        row += batch.num_rows


def _slices(batch: Any, columns: Sequence[str], size: int, row: int, share: float) -> Iterator[Batch]:
    found = [batch.column(column) for column in columns]
    n_rows = _rows_in(size, batch.num_rows, sum(array.nbytes for array in found))
    for begin in range(0, batch.num_rows, n_rows):
        yield Batch([array.slice(begin, n_rows) for array in found], row + begin, share)


def _rows_in(size: int, n_rows: int, n_bytes: int) -> int:
    """Return how many rows have about ``size`` bytes."""
    return max(1, size * n_rows // max(n_bytes, 1))


def _check_columns(schema: Any, columns: Sequence[str], name: str) -> list[str]:
    for column in columns:
        if column not in schema.names:
            there = ", ".join(map(repr, schema.names)) or "none"
            raise FormatError(
                f"there is no column {column!r}; the columns are {there}: name one with "
                "text_column (--text-column), or label_column (--label-column) for labels", name,
            )  # fmt: skip
    return list(dict.fromkeys(columns))


def lines_of(texts: Any, column: str, name: str, first_row: int) -> tuple[NDArray[np.uint8], NDArray[np.int64] | None]:
    """Return strings of a column as lines, and the row of each line: [n_lines], None where every row is one line.

    FormatError names the row of a null, and the type of a column that has no strings.
    """
    pyarrow, compute = (require(module, "tables need", "parquet") for module in ("pyarrow", "pyarrow.compute"))
    texts = checked_texts(texts, column, name, first_row).cast(pyarrow.large_string())
    lined = compute.binary_join_element_wise(texts, pyarrow.scalar("", pyarrow.large_string()),
                                             pyarrow.scalar("\n", pyarrow.large_string()))  # fmt: skip
    _, offsets, data = lined.buffers()
    ends = np.frombuffer(offsets, np.int64)[lined.offset : lined.offset + len(lined) + 1]
    text = np.frombuffer(data, np.uint8)[ends[0] : ends[-1]] if len(lined) else np.empty(0, np.uint8)
    if np.count_nonzero(text == ord("\n")) == len(lined):
        return text, None
    counts = compute.count_substring(lined, "\n").to_numpy(zero_copy_only=False)
    return text, np.repeat(np.arange(first_row, first_row + len(lined)), counts)


def checked_texts(texts: Any, column: str, name: str, first_row: int) -> Any:
    """Return a column of strings, also where they were numbered (a dictionary); FormatError for anything else."""
    types = require("pyarrow.types", "tables need", "parquet")
    if types.is_dictionary(texts.type):
        texts = texts.dictionary_decode()
    kind = texts.type
    strings = types.is_string(kind) or types.is_large_string(kind) or str(kind) == "string_view"
    if not strings and not types.is_null(kind):
        raise FormatError(f"the column {column!r} holds {kind}, not strings; name another column, or cast it", name)
    if texts.null_count:
        row = first_row + int(np.argmax(texts.is_null().to_numpy(zero_copy_only=False)))
        raise FormatError(f"the column {column!r} is null here; leave such rows out, or write ''", name, row)
    return texts


def checked_labels(
    labels: Any, column: str, name: str, first_row: int, empty_labels: bool = False
) -> list[str]:
    """Return a column of labels, strings, integers or booleans, as text; FormatError for anything else."""
    types = require("pyarrow.types", "tables need", "parquet")
    if types.is_integer(labels.type):
        found = [None if label is None else str(label) for label in labels.to_pylist()]
    elif types.is_boolean(labels.type):
        found = [{True: "true", False: "false"}.get(label) for label in labels.to_pylist()]
    else:
        found = checked_texts(labels, column, name, first_row).to_pylist()
    for row, label in enumerate(found, start=first_row):
        if label is None or not (label or empty_labels):
            what = "null" if label is None else "empty"
            raise FormatError(f"the label in column {column!r} is {what}; leave such rows out", name, row)
    return found  # type: ignore[return-value]
