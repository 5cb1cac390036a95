"""The CoNLL format: one token per line, a blank line between sequences. Parsed natively in parallel.

Columns are separated by single tabs if the first token's line has a tab (values may then hold spaces, or be empty), and
otherwise by runs of blanks. Every line that is not blank is a token, ``-DOCSTART-`` and ``#`` included; comments are
skipped only on request. Values are numbered by first occurrence, each column by itself.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from loglinear import _core, threads
from loglinear.errors import FormatError
from loglinear.formats.text import MARK, Source, decode, is_utf8, name_of, native_errors, read_bytes, without_mark

_SEPARATORS = {None: "detect", "\t": "tab", " ": "blanks"}

# ids [n_tokens] int32; the distinct values: bytes [n_bytes] uint8 and offsets [n_values + 1] int64
CodedColumn: TypeAlias = tuple[NDArray[np.int32], NDArray[np.uint8], NDArray[np.int64]]


@dataclass(frozen=True, eq=False)
class ConllData:
    """Sequence i is the tokens [sequence_ptr[i], sequence_ptr[i + 1]) of every column; none is empty."""

    sequence_ptr: NDArray[np.int64]  # [n_sequences + 1]
    columns: list[CodedColumn]
    source: str
    first_lines: NDArray[np.int64]  # [n_sequences], where each begins in the file, from 1

    def values(self, column: int) -> list[str]:
        """Return the value of every token in a column."""
        ids, blob, offsets = self.columns[column]
        raw, bounds = blob.tobytes(), offsets.tolist()
        names = np.empty(len(bounds) - 1, dtype=object)
        names[:] = [raw[a:b].decode() for a, b in itertools.pairwise(bounds)]
        return names[ids].tolist()


def read_conll(
    source: Source, *, encoding: str = "utf-8", separator: str | None = None, comments: bool = False,
    n_threads: int | None = None,
) -> ConllData:
    """Read a file (plain or compressed, or ``-``); see :func:`parse_conll`."""
    data = read_bytes(source)
    return parse_conll(
        data, name_of(source), encoding=encoding, separator=separator, comments=comments, n_threads=n_threads
    )


def parse_conll(
    data: bytes, source: str = "<bytes>", *, encoding: str = "utf-8", separator: str | None = None,
    comments: bool = False, n_threads: int | None = None,
) -> ConllData:
    r"""Parse bytes. ``separator`` is ``"\t"``, ``" "`` (runs of blanks) or None (by the first line).

    With ``comments``, lines that begin with ``#`` are skipped.
    """
    if separator not in _SEPARATORS:
        raise ValueError(f"separator must be a tab, a space (any run of blanks) or None, not {separator!r}")
    if not is_utf8(encoding):
        data = decode(data, source, encoding).encode()
    with native_errors(source):
        found = _core.parse_conll(threads.pool(n_threads), without_mark(data), _SEPARATORS[separator], comments)
    sequence_ptr, first_lines, columns = found
    if not columns:
        raise FormatError("there are no tokens; expected one token per line, with its columns", source)
    return ConllData(sequence_ptr, columns, source, first_lines)


def format_conll(
    sequence_ptr: NDArray[np.int64], columns: Sequence[CodedColumn | Sequence[str]], separator: str = " "
) -> bytes:
    """Return the text of columns, each coded as in :class:`ConllData` or given as one string per token."""
    if separator not in (" ", "\t"):
        raise ValueError(f"separator must be a space or a tab, not {separator!r}")
    coded = [column if _is_coded(column) else code_values(column) for column in columns]  # type: ignore[arg-type]
    ids, blobs, offsets = ([np.ascontiguousarray(column[i]) for column in coded] for i in range(3))
    try:
        text = _core.format_conll(np.ascontiguousarray(sequence_ptr, np.int64), ids, blobs, offsets, separator)
    except ValueError as error:
        raise FormatError(str(error)) from None
    return MARK + text if text.startswith(MARK) else text  # a value that begins with a mark must not lose it


def code_values(values: Sequence[str]) -> CodedColumn:
    """Number strings by first occurrence; return the numbers and the distinct strings."""
    numbers: dict[str, int] = {}
    ids = np.fromiter((numbers.setdefault(value, len(numbers)) for value in values), np.int32, count=len(values))
    encoded = [name.encode("utf-8", "surrogatepass") for name in _strings(numbers)]
    offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
    np.cumsum([len(name) for name in encoded], out=offsets[1:])
    return ids, np.frombuffer(b"".join(encoded), dtype=np.uint8), offsets


def _strings(numbers: dict[str, int]) -> Iterator[str]:
    for name in numbers:
        if not isinstance(name, str):
            raise TypeError(f"a value is {type(name).__name__}, not a string")
        yield name


def _is_coded(column: object) -> bool:
    return isinstance(column, tuple) and len(column) == 3 and isinstance(column[0], np.ndarray)
