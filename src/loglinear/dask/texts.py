"""Text in parts: where its lines come from, and the words of all parts.

A part is read on the worker that sorts its n-grams, and read again elsewhere if that worker is lost.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from loglinear.dask.examples import own_threads
from loglinear.dask.sources import Range, files_of, line_from, ranges_of
from loglinear.errors import FormatError
from loglinear.features.vocabulary import Vocabulary
from loglinear.formats.running_text import RunningText, TextOptions, read_lines, read_text
from loglinear.formats.streams.columns import columns_of, is_frame
from loglinear.formats.streams.remote import is_url
from loglinear.formats.text import read_head


@dataclass(frozen=True)
class TextPiece:
    """The lines of a file that begin in a range of bytes."""

    range: Range

    @property
    def path(self) -> str:
        """Name of the file."""
        return self.range.path

    @property
    def n_bytes(self) -> int | None:
        """Number of bytes."""
        return self.range.n_bytes

    def read(self, options: TextOptions) -> RunningText:
        """Return these lines as numbers of their own units."""
        path = self.range.path
        if self.range.whole:
            return read_text(path if is_url(path) else [Path(path)], options)
        data, begin = self.range.read(line_from)
        try:
            return read_lines(np.frombuffer(data, np.uint8), path, options)
        except FormatError as error:
            raise error.after(self.range.n_lines_before(begin)) from None


def text_pieces(given: Any, n_wanted: int, options: TextOptions) -> list[TextPiece]:
    """Return one piece per file, or several of large plain files where there are fewer files than wanted."""
    pieces: list[TextPiece] = []
    paths = files_of(given)
    for path in paths:
        plain = not is_url(path) and columns_of(path, options.text_column) is None and read_head(path, 3) != BOM_UTF8
        ranges = ranges_of([path], -(-n_wanted // len(paths)), options.encoding) if plain else [Range(path)]
        pieces += [TextPiece(one) for one in ranges]
    return pieces


def read_part(given: Any, options: TextOptions, shared: bool) -> RunningText:
    """Read a part: a piece of a file, or a partition of sentences, of records, or of rows of a data frame."""
    options = replace(options, n_threads=own_threads(shared))
    if isinstance(given, TextPiece):
        return given.read(options)
    return read_text(given if is_frame(given) else iter(list(given)), options)


def words_of(text: RunningText) -> RunningText:
    """Return the units of a part and their counts, without its tokens."""
    return replace(text, tokens=np.empty(0, np.uint32), sentence_ptr=np.zeros(1, np.int64))


def join_words(parts: Sequence[RunningText]) -> RunningText:
    """Return the units of all parts, each of one source, by first occurrence, with the sums of their counts."""
    joined, counts = Vocabulary.from_strings([]), np.zeros(0, np.int64)
    first_text, first_line = np.zeros(0, np.int32), np.zeros(0, np.int64)
    sources: list[str] = []
    lines_before: Counter[str] = Counter()  # of each file, in the parts before
    for part in parts:
        own = Vocabulary(part.blob, part.offsets)
        found = np.full(len(own), -1, np.int32)
        if len(joined):
            joined.index().find(own.blob, own.offsets, found)
        new = np.flatnonzero(found < 0)
        found[new] = len(joined) + np.arange(new.size, dtype=np.int32)
        joined = joined.joined(own.take(new)) if len(joined) else own.take(new)
        counts = np.concatenate([counts, np.zeros(new.size, np.int64)])
        counts[found] += part.counts
        first_text = np.concatenate([first_text, part.first_text[new] + np.int32(len(sources))])
        first_line = np.concatenate([first_line, part.first_line[new] + lines_before[part.sources[0]]])
        lines_before[part.sources[0]] += part.n_lines
        sources += part.sources
    empty = np.empty(0, np.uint32), np.zeros(1, np.int64)
    n_lines = sum(part.n_lines for part in parts)
    return RunningText(*empty, n_lines, joined.blob, joined.offsets, counts, first_text, first_line, sources)
