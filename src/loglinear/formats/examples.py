"""Labelled examples as a format's reader returns them, and the choice of a file's format."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol, overload

import numpy as np
from numpy.typing import NDArray

from loglinear.errors import FormatError
from loglinear.formats import FORMATS
from loglinear.formats.streams.compression import without_suffix
from loglinear.formats.streams.remote import is_url
from loglinear.formats.text import Source, name_of, read_head

_HEAD = 1 << 16  # bytes enough to recognise a format by


@dataclass(frozen=True, eq=False)
class Labels(Sequence[str]):
    """One label per example, as numbers into the list of different names."""

    numbers: NDArray[np.int32]  # [n_examples]
    names: list[str]

    @classmethod
    def of(cls, labels: Iterable[str]) -> Labels:
        """Number the labels in the order in which they first occur."""
        known: dict[str, int] = {}
        numbers = np.fromiter((known.setdefault(label, len(known)) for label in labels), dtype=np.int32)
        return cls(numbers, list(known))

    def __len__(self) -> int:
        return self.numbers.size

    @overload
    def __getitem__(self, i: int) -> str: ...
    @overload
    def __getitem__(self, i: slice) -> list[str]: ...
    def __getitem__(self, i: int | slice) -> str | list[str]:
        if isinstance(i, slice):
            return [self.names[n] for n in self.numbers[i].tolist()]
        return self.names[self.numbers[i]]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self.names, dtype=dtype)[self.numbers]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self[:] == list(other)

    __hash__ = None  # type: ignore[assignment]


class Records(NamedTuple):
    """What a file of labelled examples holds."""

    kind: str  # "matrix", "text", "features" or "tokens"
    examples: Any  # SvmlightData for a matrix, or a list of texts, of dicts or of token lists
    labels: Labels | None


class Parser(Protocol):
    """Parses whole lines: a file, or a block of it. Without ``labelled``, labels may be missing and are ignored.

    ``empty_labels=True`` is passed where examples may have several labels, or none.
    """

    def __call__(self, data: bytes, name: str, *, encoding: str, labelled: bool, n_threads: int) -> Records:
        """Return the records of the lines; ``name`` is that of the file, for messages, which count from these lines."""


@dataclass(frozen=True)
class ExampleFormat:
    """A format of labelled examples: its parser, and how files in this format are recognised."""

    parse: Parser
    suffixes: tuple[str, ...]  # of file names, less those of compressed files
    recognises: Callable[[bytes], bool]  # whether a line, the first of a file, is of this format
    # Whether lines, the first of a file, begin with labels; to be asked where only the classes of a model tell.
    begins_with_labels: Callable[[bytes, Collection[str]], bool] = lambda data, classes: False


def guess(path: Source) -> str:
    """Return the format of a file, by its name (less ``.gz``, ``.xz``, ``.zst``) or by its first line with content."""
    name = name_of(path)
    suffix = Path(without_suffix(name)).suffix.lower()
    for format in FORMATS if suffix else ():
        if suffix in FORMATS[format].suffixes:
            return format
    formats = ", ".join(FORMATS)
    exists = not is_url(path) and Path(path).exists()
    if os.fspath(path) == "-" or (exists and not Path(path).is_file() and not Path(path).is_dir()):
        raise FormatError(f"the format of a stream cannot be guessed; name it with --format ({formats})", name)
    line = _first_line(read_head(path, _HEAD))
    for format in FORMATS:
        if FORMATS[format].recognises(line):
            return format
    message = f"the format cannot be guessed from the name or the first line; name it with --format ({formats})"
    raise FormatError(message, name)


def _first_line(head: bytes) -> bytes:
    """Return the first line that is neither blank nor a comment; if it is cut off, without its last field."""
    lines = head.split(b"\n")
    records = (line for line in lines if line.strip() and not line.lstrip().startswith(b"#"))
    first = next(records, b"").lstrip()
    if len(head) == _HEAD and first and lines[-1].lstrip() == first:
        first = re.sub(rb"[ \t]+[^ \t]*$", b"", first)
    return first
