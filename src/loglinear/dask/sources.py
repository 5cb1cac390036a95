"""Where the examples of a part come from: a piece of a file, or a partition of a Dask collection.

A part is read on the worker that keeps it, and read again elsewhere if that worker is lost.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from distributed import Client, Future

from loglinear.errors import FormatError
from loglinear.formats.blocks import after_lines
from loglinear.formats.candidate_list import CandidateList
from loglinear.formats.examples import guess
from loglinear.formats.nbest import is_folder, merged, parse_json_lists, read_nbest
from loglinear.formats.streams import remote
from loglinear.formats.streams.tables import table_kind
from loglinear.formats.text import decode, is_utf8, mapped, read_bytes, read_head, reading, split_lines
from loglinear.models.classifier.files import NAMELESS, Columns, Examples, NoExamples, parse_examples, read_examples
from loglinear.models.classifier.inputs import texts_and_labels
from loglinear.models.reranker.files import ListFiles
from loglinear.models.tagger.reading import Layout, Sequences, is_empty, parse_sequences, separator_of

LEAST_PIECE = 1 << 16  # bytes of a file that is cut


@dataclass(frozen=True)
class Range:
    """The bytes of a file from ``begin`` to ``end``, moved to where records begin; ``end`` None: to its end."""

    path: str
    begin: int = 0
    end: int | None = None

    @property
    def whole(self) -> bool:
        """Whether this is all of the file."""
        return self.begin == 0 and self.end is None

    @property
    def n_bytes(self) -> int | None:
        """Number of bytes; None where it is not known."""
        try:
            return (Path(self.path).stat().st_size if self.end is None else self.end) - self.begin
        except OSError:  # a URL, or a file that is gone
            return None

    def read(self, record_from: Callable[[BinaryIO, int], int]) -> tuple[bytes, int]:
        """Return the records that begin in this range, and where the first of them does.

        ``record_from`` finds where the first record begins that begins at a place or after it.
        """
        with reading(self.path), Path(self.path).open("rb") as file:
            begin = record_from(file, self.begin) if self.begin else 0
            end = None if self.end is None else record_from(file, self.end)
            file.seek(begin)
            return file.read() if end is None else file.read(max(end - begin, 0)), begin

    def n_lines_before(self, begin: int) -> int:
        """Return how many lines there are before a place of the file."""
        n = 0
        with Path(self.path).open("rb") as file:
            while begin > 0 and (data := file.read(min(begin, 1 << 24))):
                n, begin = n + data.count(b"\n"), begin - len(data)
        return n


def line_from(file: BinaryIO, place: int) -> int:
    """Return where the first line begins that begins at a place or after it."""
    file.seek(place - 1)
    file.readline()
    return file.tell()


def sequence_from(file: BinaryIO, place: int) -> int:
    """Return where the first sequence may begin at a place or after it: after a blank line."""
    file.seek(line_from(file, place))
    while line := file.readline():
        if not line.strip(b" \t\r\n"):
            break
    return file.tell()


@dataclass(frozen=True)
class Piece:
    """Examples of a classifier: the lines of a file that begin in a range of bytes."""

    range: Range
    format: str | None  # None: read_examples finds out
    encoding: str
    columns: Columns = NAMELESS

    @property
    def path(self) -> str:
        """Name of the file."""
        return self.range.path

    @property
    def n_bytes(self) -> int | None:
        """Number of bytes."""
        return self.range.n_bytes

    def read(self, n_threads: int) -> Examples | None:
        """Return the examples of these lines; None for a file without examples, one of several."""
        path = self.range.path
        if self.range.whole:
            try:
                return read_examples(path, self.format, self.encoding, columns=self.columns, n_threads=n_threads)
            except NoExamples:
                return None
        assert self.format is not None
        data, begin = self.range.read(line_from)
        try:
            return parse_examples(self.format, data, path, self.encoding, True, n_threads, self.columns)
        except FormatError:
            with after_lines(self.range.n_lines_before(begin)):  # the line of the whole file
                return parse_examples(self.format, data, path, self.encoding, True, n_threads, self.columns)


def pieces_of(
    given: Any, n_wanted: int, format: str | None = None, encoding: str = "utf-8", columns: Columns = NAMELESS
) -> list[Piece]:
    """Return the pieces of files of examples: see ``ranges_of``."""
    pieces = []
    for one in ranges_of(given, n_wanted, encoding):
        kind = format if one.whole or format else guess(one.path) if columns == NAMELESS else "jsonl"
        pieces.append(Piece(one, kind, encoding, columns))
    return pieces


@dataclass(frozen=True)
class SentencePiece:
    """Sentences of a tagger: the sequences of a file that begin in a range of bytes."""

    range: Range
    layout: Layout
    separator: str | None = None  # between columns; None: found in the first line

    @property
    def path(self) -> str:
        """Name of the file."""
        return self.range.path

    @property
    def n_bytes(self) -> int | None:
        """Number of bytes."""
        return self.range.n_bytes

    def read(self, n_threads: int) -> Sequences | None:
        """Return these sequences; None where there are none."""
        layout = replace(self.layout, n_threads=n_threads)
        data, begin = (read_bytes(self.path), 0) if self.range.whole else self.range.read(sequence_from)
        if is_empty(data, layout):
            return None
        try:
            return parse_sequences(data, self.path, layout, self.separator)
        except FormatError as error:
            if begin == 0:
                raise
            raise error.after(self.range.n_lines_before(begin)) from None  # the line of the whole file


def sentence_pieces_of(given: Any, n_wanted: int, layout: Layout) -> list[SentencePiece]:
    """Return the pieces of files of sequences: see ``ranges_of``."""
    pieces = []
    for one in ranges_of(given, n_wanted, layout.encoding):
        separator = None if one.whole or layout.format != "conll" else _separator(one.path, layout)
        pieces.append(SentencePiece(one, layout, separator))
    return pieces


def _separator(path: str, layout: Layout) -> str:
    """Return the separator between the columns of a file, which its first token tells."""
    head = read_head(path, LEAST_PIECE).split(b"\n")
    return separator_of(b"\n".join(line for line in head if not (layout.comments and line.startswith(b"#"))))


@dataclass(frozen=True)
class ListPiece:
    """N-best lists of a reranker: those of a file, or the lines of JSON that begin in a range of bytes."""

    range: Range
    files: ListFiles  # how they are read

    @property
    def path(self) -> str:
        """Name of the file."""
        return self.range.path

    @property
    def n_bytes(self) -> int | None:
        """Number of bytes."""
        return self.range.n_bytes

    def read(self) -> list[CandidateList]:
        """Return these lists; none where a file of JSON lines holds none."""
        f = self.files
        if self.range.whole:
            if not is_folder(self.path) and not read_bytes(self.path).strip():
                return []
            return read_nbest(self.path, f.format, references=f.references, costs=f.costs, encoding=f.encoding)
        data, begin = self.range.read(line_from)
        lines = split_lines(decode(data, self.path, f.encoding))
        with after_lines(self.range.n_lines_before(begin)):
            return merged(parse_json_lists(lines, self.path), self.path)


def list_pieces_of(given: Any, n_wanted: int, files: ListFiles) -> list[ListPiece]:
    """Return the pieces of files of lists; only JSON lines whose references are in them are cut."""
    if files.references is not None or files.costs or files.format not in (None, "jsonl"):
        n_wanted = 0
    pieces: list[ListPiece] = []
    for one in ranges_of(given, n_wanted, files.encoding):
        if one.whole or _is_json_lines(one.path, files.format):
            pieces.append(ListPiece(one, files))
        elif one.begin == 0:
            pieces.append(ListPiece(Range(one.path), files))
    return pieces


def _is_json_lines(path: str, format: str | None) -> bool:
    return format is not None or read_head(path, LEAST_PIECE).lstrip().startswith(b"{")


def ranges_of(given: Any, n_wanted: int, encoding: str = "utf-8") -> list[Range]:
    """Return the files of names and patterns, large plain ones in several ranges where there are fewer than wanted."""
    paths = files_of(given)
    if len(paths) >= n_wanted or not is_utf8(encoding):
        return [Range(path) for path in paths]
    ranges: list[Range] = []
    for path in paths:
        plain = None if table_kind(path) is not None else mapped(path)
        size = 0 if plain is None else plain.size
        n = max(1, min(round(n_wanted / len(paths)), size // LEAST_PIECE))
        bounds = [size * k // n for k in range(n)]
        ranges += [Range(path, begin, end) for begin, end in zip(bounds, [*bounds[1:], None])]
    return ranges


def are_names(given: Any) -> bool:
    """Return whether this is a name of a file, a pattern, or a list of them."""
    return isinstance(given, (str, os.PathLike)) or (
        isinstance(given, (list, tuple)) and bool(given) and all(isinstance(one, (str, os.PathLike)) for one in given)
    )


def files_of(given: Any) -> list[str]:
    """Return the files that names and patterns stand for, those of a pattern sorted."""
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
    return paths


def partitions_of(X: Any, y: Any, sample_weight: Any, client: Client, columns: Columns = NAMELESS) -> list[Future]:
    """Return the partitions of Dask collections as futures of (examples, labels, sample weights or None).

    columns : of records and data frames, which may have their labels themselves; nameless: the rows are the examples
    """
    given = [_delayed(one, name) for one, name in ((X, "X"), (y, "y"), (sample_weight, "sample_weight"))]
    n = len(given[0])
    for one, name in zip(given[1:], ("y", "sample_weight")):
        if one and len(one) != n:
            raise ValueError(f"X has {n} partitions and {name} has {len(one)}: give both the same")
    if not given[1] and columns.text is None:
        raise ValueError("a Dask collection needs labels y, another with the same partitions")
    every = zip(given[0], *(one or [None] * n for one in given[1:]))
    return [client.submit(_together, columns, *_futures(client, one), pure=False) for one in every]


def delayed_parts(client: Client, collection: Any) -> list[Future]:
    """Return the partitions of one Dask collection, such as a bag, as futures."""
    return [client.compute(one) for one in _delayed(collection, "X")]


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


def _together(columns: Columns, X: Any, y: Any, weight: Any) -> tuple[Any, Any, Any]:
    if columns.text is not None:
        X, y = texts_and_labels(X, y, columns.text, columns.label)
    return X, y, weight
