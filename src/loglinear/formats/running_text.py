"""Running text: one sentence per line, units numbered by first occurrence, read natively and in parallel.

Units are *words* (separated by spaces, tabs and the other ASCII blanks), *characters* (a blank is the visible
U+2581; a carriage return that ends a line is dropped) or *bytes* (printable ASCII stands for itself, every other byte,
the space included, is written like ``<0x20>``). Text is a file, several files, or sentences in memory; files and
records in memory may have columns (formats/streams/columns.py), of which one is the text.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from loglinear import _core, threads
from loglinear.errors import FormatError
from loglinear.formats.blocks import Progress, read_line_blocks, read_utf8_blocks
from loglinear.formats.streams.ahead import read_ahead
from loglinear.formats.streams.columns import TEXT, Lines, columns_of, is_frame, json_lines, table_lines, text_of
from loglinear.formats.streams.remote import is_url
from loglinear.formats.text import Source, is_utf8, mapped, name_of, without_mark
from loglinear.formats.units import BLANK, Units

Sentence: TypeAlias = str | Sequence[str] | Mapping[str, Any]
TextSource: TypeAlias = Source | Iterable[Source] | Iterable[Sentence]

SENTENCES = "<sentences>"  # the source of sentences in messages; the line is then the number of the sentence
_OTHER_BLANK = re.compile(r"[\t\n\r\v\f]")
_SHOWN = 60  # characters of a sentence in a message
_PART = 1 << 26  # bytes of text that are numbered at a time
_BLOCK = 1 << 22  # bytes that are read at a time
_MAPPED_PART = 1 << 27  # the same of a file whose pages the system drops by itself
_MOST_PIECES = 1 << 12  # pieces of one part
_LINE_END, _LOOK_AHEAD = ord("\n"), 1 << 16
_LOOK_AT = 64  # strings of a list that are looked at: if one names a file, it is a list of files


@dataclass(frozen=True)
class TextOptions:
    """Options of reading."""

    units: Units = "words"
    encoding: str = "utf-8"  # for words and characters; bytes have none
    keep_empty: bool = False  # a sentence for every line, not only for those with units
    skip_boundaries: bool = False  # words <s> and </s> are left out
    n_threads: int | None = None
    text_column: str | None = None  # of files and records that have columns; None: "text"
    progress: Callable[[int, int], None] | None = None  # told how many bytes of the files are read, and of how many
    block_bytes: int | None = None  # files are read in blocks of this size; None: plain files are mapped

    def __post_init__(self) -> None:
        if self.units not in ("words", "characters", "bytes"):
            raise ValueError(f"units must be 'words', 'characters' or 'bytes', not {self.units!r}")


@dataclass(frozen=True, eq=False)
class RunningText:
    """Sentence i is the tokens [sentence_ptr[i], sentence_ptr[i + 1]), numbers of the distinct units."""

    tokens: NDArray[np.uint32]  # [n_tokens]
    sentence_ptr: NDArray[np.int64]  # [n_sentences + 1]
    n_lines: int
    blob: NDArray[np.uint8]  # the distinct units, by first occurrence: bytes, and
    offsets: NDArray[np.int64]  # [n_units + 1] where each begins
    counts: NDArray[np.int64]  # [n_units]
    first_text: NDArray[np.int32]  # [n_units] where each is first: which of the sources,
    first_line: NDArray[np.int64]  # [n_units] and the line there, from 1
    sources: list[str]

    def unit(self, number: int) -> str:
        """Return the unit with this number."""
        return self.blob[self.offsets[number] : self.offsets[number + 1]].tobytes().decode()

    def place(self, number: int) -> tuple[str, int]:
        """Return source and line of the first occurrence of a unit."""
        return self.sources[self.first_text[number]], int(self.first_line[number])


@dataclass(frozen=True, eq=False)
class TextBlock:
    """Whole lines of a source: as read, and numbered."""

    text: RunningText
    data: bytes  # in UTF-8, but for units of bytes
    source: str
    first_line: int  # from 1


def read_text(source: TextSource, options: TextOptions) -> RunningText:
    """Read all of a source (see :func:`files_of`), part by part, so that only the numbers of a text are held whole."""
    names: list[str] = []
    lines_before: Counter[int] = Counter()
    parts = [_tokenise(group, names, lines_before) for group in _groups(_pieces(source, None, options, names))]
    if not parts:
        parts = [_tokenise([_Piece(Lines(np.empty(0, np.uint8)), 0, options)], names or [SENTENCES], lines_before)]
    return parts[0] if len(parts) == 1 else _joined(parts, options.n_threads)


def spool_text(
    source: TextSource, options: TextOptions, part_bytes: int, folder: str, check: Callable[[int], None]
) -> _core.TokenSpool:
    """Read all of a source into a temporary file of the folder, about ``part_bytes`` at a time.

    ``check`` is told how many distinct units there are so far.
    """
    names: list[str] = []
    lines_before: Counter[int] = Counter()
    options = replace(options, block_bytes=max(1 << 16, min(_BLOCK, part_bytes // 8)))
    spool, pool = _core.TokenSpool(folder), threads.pool(options.n_threads)
    for group in _groups(_pieces(source, None, options, names), part_bytes):
        part = _tokenise(group, names, lines_before)
        units = (part.blob, part.offsets, part.counts, part.first_text, part.first_line)
        spool.add(pool, part.tokens, part.sentence_ptr, *units)
        check(spool.n_units)
        del part
    return spool


def spooled_units(spool: _core.TokenSpool, source: TextSource) -> RunningText:
    """Return the distinct units of a spooled source as a text without tokens."""
    files = files_of(source)
    names = [SENTENCES] if files is None else [name_of(file) for file in files]
    no_tokens, no_sentences = np.empty(0, np.uint32), np.zeros(1, np.int64)
    blob, offsets, counts, first_text, first_line = spool.units()
    return RunningText(no_tokens, no_sentences, 0, blob, offsets, counts, first_text, first_line, names)


def read_lines(data: NDArray[np.uint8], name: str, options: TextOptions) -> RunningText:
    """Read lines that are in memory, in UTF-8; they count from 1."""
    return _tokenise([_Piece(Lines(data), 0, options)], [name], Counter())


def iterate_text(source: TextSource, size: int, options: TextOptions) -> Iterator[TextBlock]:
    """Read a source in blocks of whole lines of about ``size`` bytes, one at a time in memory."""
    if size < 1:
        raise ValueError(f"the size of a block must be positive, not {size!r}")
    names: list[str] = []
    lines_before: Counter[int] = Counter()
    for piece in _pieces(source, size, options, names):
        places = piece.lines.places
        first = lines_before[piece.source] + 1 if places is None else int(places[0])
        text = _tokenise([piece], names, lines_before)
        yield TextBlock(text, piece.lines.data.tobytes(), names[piece.source], first)


def iterate_bytes(source: Source, size: int, *, text_column: str | None = None) -> Iterator[bytes]:
    """Yield the lines of a file, or of its column of text, in UTF-8 and in blocks of about ``size`` bytes."""
    for lines in _file_lines(source, size, TextOptions(text_column=text_column), lambda share: None):
        yield lines.data.tobytes()


def files_of(source: TextSource) -> list[Source] | None:
    """Return the files that a source names; None if it is an iterable of sentences.

    A string or path is a file, ``-`` is standard input, and a URL is a file too. A list is one of files if it holds
    paths, or if one of its first strings names a file; otherwise strings are sentences, as are lists of words and the
    items of any iterator.
    """
    if isinstance(source, str | os.PathLike):
        return [source]
    if not isinstance(source, Iterable) or isinstance(source, Mapping):
        raise TypeError(f"text is a file, a list of files or an iterable of sentences, not {type(source).__name__}")
    if not isinstance(source, list | tuple):
        return None
    if list(source) == ["-"]:
        return ["-"]
    found = next((str(item) for item in source[:_LOOK_AT] if _is_file(item)), None)
    if found is None:
        return None
    for item in source:
        if not isinstance(item, str | os.PathLike):
            raise TypeError(f"{found!r} is a file, and another item is {type(item).__name__}, not a path")
        if item != "-" and not _is_file(item):
            message = f"no such file, though {found!r} is one; give files as pathlib.Path, or sentences as an iterator"
            raise FormatError(message, os.fspath(item))
    return list(source)


def check_text(source: object, one_sentence: str = "") -> None:
    """Raise FormatError for a string that names no file: text is a file or a list of sentences, never one sentence.

    ``one_sentence`` is a call that takes one, with ``{}`` in the place of the sentence.
    """
    if not isinstance(source, str) or source == "-" or is_url(source):
        return
    try:
        if Path(source).exists():
            return
    except (OSError, ValueError):  # too long for a name, or with a NUL
        pass
    shown = repr(source if len(source) <= _SHOWN else source[:_SHOWN] + "...")
    hint = f"; {one_sentence.format(shown)}" if one_sentence else ""
    raise FormatError(f"{shown} is no file; text is a file or a list of sentences, such as [{shown}]{hint}")


def _is_file(item: object) -> bool:
    if isinstance(item, os.PathLike) or is_url(item):
        return True
    try:
        return isinstance(item, str) and Path(item).exists() and not Path(item).is_dir()
    except (OSError, ValueError):  # too long for a name, or with a NUL
        return False


# ---- pieces ---------------------------------------------------------------------------------------------------------
class _Piece(NamedTuple):
    """Whole lines of a source."""

    lines: Lines
    source: int  # number of the source
    options: TextOptions  # units are those of the lines


def _pieces(source: TextSource, size: int | None, options: TextOptions, names: list[str]) -> Iterator[_Piece]:
    """Yield the lines of a source in pieces of about ``size`` bytes (None: as large as is good), and name its files."""
    files = files_of(source)
    if files is None:
        names.append(SENTENCES)
        yield from _sentence_pieces(source, options, size or options.block_bytes or _BLOCK)
        return
    names.extend(name_of(file) for file in files)
    sizes = [_size_of(file) for file in files]
    for number, file in enumerate(files):
        progress = _progress(options, sizes, number)
        for lines in _file_lines(file, size, options, progress):
            yield _Piece(lines, number, options)
        progress(1.0)


def _file_lines(file: Source, size: int | None, options: TextOptions, progress: Progress) -> Iterator[Lines]:
    """Yield the lines of a file in pieces of about ``size`` bytes; None: the whole file is wanted soon."""
    kind, as_it_is = columns_of(file, options.text_column), options.units == "bytes"
    may_map = kind is None and size is None and options.block_bytes is None
    data = mapped(file) if may_map and (as_it_is or is_utf8(options.encoding)) else None
    if data is not None:
        yield from _mapped_lines(data if as_it_is else without_mark(data), progress)
        return
    ahead: Any = read_ahead if size is None and _size_of(file) else iter
    size = size or options.block_bytes or _BLOCK
    if kind is not None and kind != "JSON lines":
        yield from ahead(table_lines(file, kind, options.text_column, size, progress))
        return
    if as_it_is and kind is None:
        blocks = ahead(read_line_blocks(file, size, progress))
    else:
        blocks = ahead(read_utf8_blocks(file, size, options.encoding, progress))
    if kind is not None:
        yield from json_lines(blocks, name_of(file), options.text_column, options.n_threads)
        return
    for block in blocks:
        yield Lines(np.frombuffer(block, np.uint8))


def _mapped_lines(data: NDArray[np.uint8], progress: Progress) -> Iterator[Lines]:
    """Yield a mapped file in parts; its pages are not held, so that parts may be larger than those of other files."""
    begin = 0
    while begin < data.size:
        end = min(begin + _MAPPED_PART, data.size)
        while end < data.size and data[end - 1] != _LINE_END:
            found = np.flatnonzero(data[end : end + _LOOK_AHEAD] == _LINE_END)
            end = min(end + _LOOK_AHEAD, data.size) if not found.size else end + int(found[0]) + 1
        yield Lines(data[begin:end])
        progress(end / data.size)
        begin = end


def _size_of(file: Source) -> int:
    """Return the size of a file of the system, 0 for any other."""
    try:
        return Path(file).stat().st_size if file != "-" and not is_url(file) and Path(file).is_file() else 0
    except OSError:  # whoever opens it says what is wrong
        return 0


def _progress(options: TextOptions, sizes: list[int], number: int) -> Progress:
    """Return what tells the progress of one file as that of all; nothing where a size is not known."""
    tell, total, before = options.progress, sum(sizes), sum(sizes[:number])
    if tell is None or 0 in sizes:
        return lambda share: None
    return lambda share: tell(before + int(share * sizes[number]), total)


def _groups(pieces: Iterable[_Piece], part_bytes: int = _PART) -> Iterator[list[_Piece]]:
    """Yield small pieces together, so that they are numbered at once."""
    group: list[_Piece] = []
    n_bytes = 0
    for piece in pieces:
        group.append(piece)
        n_bytes += piece.lines.data.size
        if n_bytes >= part_bytes or len(group) >= _MOST_PIECES:
            yield group
            group, n_bytes = [], 0
    if group:
        yield group


def _sentence_pieces(source: Any, options: TextOptions, size: int) -> Iterator[_Piece]:
    """Yield lines of sentences or records in memory; lists of words are read as words in any case."""
    block, of_words = bytearray(), None
    places: list[int] | None = None  # kept once a record has several lines
    first = 1
    for number, sentence in enumerate(_records(source, options.text_column), 1):
        line = _line_of(sentence, number, options)
        is_text = isinstance(sentence, str | Mapping)
        if of_words is not None and of_words == is_text and options.units != "words":
            raise TypeError(f"sentence {number} is {type(sentence).__name__}, and the one before is not")
        of_words = not is_text
        try:
            block += line.encode() + b"\n"
        except UnicodeEncodeError as error:
            message = f"{line[error.start]!r} is half of a surrogate pair, no character; repair or remove it"
            raise FormatError(message, SENTENCES, number) from None
        n_lines = line.count("\n") + 1 if isinstance(sentence, Mapping) else 1
        if n_lines > 1 and places is None:
            places = list(range(first, number))
        if places is not None:
            places += [number] * n_lines
        if len(block) >= size:
            yield _piece_of(block, places, _options_of(options, of_words))
            block, places, first = bytearray(), None if places is None else [], number + 1
    if block:
        yield _piece_of(block, places, _options_of(options, bool(of_words)))


def _piece_of(block: bytearray, places: list[int] | None, options: TextOptions) -> _Piece:
    known = None if places is None else np.array(places, dtype=np.int64)
    return _Piece(Lines(np.frombuffer(bytes(block), np.uint8), known), 0, options)


def _records(source: Any, text_column: str | None) -> Any:
    """Return what to iterate over: of a data frame its column of text, not the names of its columns."""
    if is_frame(source):
        column = text_column or TEXT
        if column not in source.columns:
            there = ", ".join(map(repr, source.columns))
            raise FormatError(f"the data frame has no column {column!r}; its columns are {there}", SENTENCES)
        return ({column: text} for text in source[column])
    return source


def _options_of(options: TextOptions, of_words: bool) -> TextOptions:
    return replace(options, units="words") if of_words else options


def _line_of(sentence: object, number: int, options: TextOptions) -> str:
    if isinstance(sentence, Mapping):
        return text_of(sentence, options.text_column, SENTENCES, number)
    if isinstance(sentence, str):
        if "\n" not in sentence:
            return sentence
        if options.units == "words":
            return sentence.replace("\n", " ")
        raise FormatError("a line end inside the sentence; split it there", SENTENCES, number)
    if not isinstance(sentence, list | tuple) or not all(issubclass(kind, str) for kind in set(map(type, sentence))):
        kind = type(sentence).__name__
        raise TypeError(f"sentence {number} must be a string or a list of strings, not {kind}")
    line = " ".join(sentence)
    pieces = line.split(" ") if sentence else []
    if len(pieces) != len(sentence) or "" in pieces or _OTHER_BLANK.search(line):
        wrong = next(word for word in sentence if not word or BLANK.search(word))
        message = f"the word {wrong!r} is empty or holds a blank; leave it out, or put '_' in place of the blank"
        raise FormatError(message, SENTENCES, number)
    return line


# ---- numbers --------------------------------------------------------------------------------------------------------
def _tokenise(pieces: list[_Piece], names: list[str], lines_before: Counter[int]) -> RunningText:
    """Number the units of some pieces; ``lines_before`` counts the lines of each source, these included afterwards."""
    options, texts = pieces[0].options, [piece.lines.data for piece in pieces]
    try:
        found = _core.tokenise_corpus(
            threads.pool(options.n_threads), texts, options.units, options.keep_empty, options.skip_boundaries
        )
    except _core.ParseError as error:
        message, line, offset = error.args
        which = int(np.searchsorted(np.cumsum([text.size for text in texts]), offset, side="right"))
        piece = pieces[which]
        before = [one.lines.data for one in pieces[:which] if one.source == piece.source]
        n_before = lines_before[piece.source] + sum(int(np.count_nonzero(text == _LINE_END)) for text in before)
        raise FormatError(message, names[piece.source], int(_places(piece, np.array([line]), n_before)[0])) from None
    tokens, sentence_ptr, n_lines, blob, offsets, counts, first_text, first_line = found
    ends = np.searchsorted(first_text, np.arange(len(pieces) + 1))  # units are numbered by first occurrence
    for piece, n, begin, end in zip(pieces, n_lines.tolist(), ends[:-1].tolist(), ends[1:].tolist()):
        first_line[begin:end] = _places(piece, first_line[begin:end], lines_before[piece.source])
        lines_before[piece.source] += n
    sources = np.array([piece.source for piece in pieces], np.int32)[first_text]
    return RunningText(tokens, sentence_ptr, int(n_lines.sum()), blob, offsets, counts, sources, first_line, names)


def _places(piece: _Piece, lines: NDArray[np.int64], before: int) -> NDArray[np.int64]:
    """Return where lines of a piece, from 1, are in its source."""
    return lines + before if piece.lines.places is None else piece.lines.places[lines - 1]


def _joined(parts: list[RunningText], n_threads: int | None) -> RunningText:
    """Return parts of a text as one, and leave none of them.

    The distinct units of the parts, one per line, are a text whose own numbering by first occurrence is that of all.
    """
    pool, names = threads.pool(n_threads), parts[0].sources
    units = [_unit_per_line(part.blob, part.offsets) for part in parts]
    numbers, _, _, blob, offsets, _, _, _ = _core.tokenise_corpus(pool, units, "words", False, False)
    n_units = offsets.size - 1
    first = np.empty(n_units, np.int64)
    first[numbers[::-1]] = np.arange(numbers.size)[::-1]  # of several, the first unit is written last
    first_text = np.concatenate([part.first_text for part in parts])[first]
    first_line = np.concatenate([part.first_line for part in parts])[first]
    counts = np.zeros(n_units, np.int64)
    tokens = np.empty(sum(part.tokens.size for part in parts), np.uint32)
    pointers, n_lines, n_tokens, n_numbers = [np.zeros(1, np.int64)], 0, 0, 0
    for _ in range(len(parts)):
        part = parts.pop(0)
        own = numbers[n_numbers : n_numbers + part.counts.size]
        counts[own] += part.counts  # units of a part are distinct
        if n_numbers:  # the first part has its own numbers already
            _core.renumber_tokens(pool, part.tokens, own)
        tokens[n_tokens : n_tokens + part.tokens.size] = part.tokens
        pointers.append(part.sentence_ptr[1:] + n_tokens)
        n_lines, n_tokens, n_numbers = n_lines + part.n_lines, n_tokens + part.tokens.size, n_numbers + own.size
    return RunningText(tokens, np.concatenate(pointers), n_lines, blob, offsets, counts, first_text, first_line, names)


def _unit_per_line(blob: NDArray[np.uint8], offsets: NDArray[np.int64]) -> NDArray[np.uint8]:
    lines = np.full(blob.size + offsets.size - 1, _LINE_END, np.uint8)
    lines[np.arange(blob.size) + np.repeat(np.arange(offsets.size - 1), np.diff(offsets))] = blob
    return lines
