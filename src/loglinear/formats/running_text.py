"""Running text: one sentence per line, units numbered by first occurrence, read natively and in parallel.

Units are *words* (separated by spaces, tabs and the other ASCII blanks), *characters* (a blank is the visible
U+2581; a carriage return that ends a line is dropped) or *bytes* (printable ASCII stands for itself, every other byte,
the space included, is written like ``<0x20>``). Text is a file, several files, or sentences in memory.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from loglinear import _core, threads
from loglinear.errors import FormatError
from loglinear.formats.blocks import read_line_blocks, read_utf8_blocks
from loglinear.formats.streams.remote import is_url
from loglinear.formats.text import Source, decode, is_utf8, map_bytes, name_of, without_mark

Units: TypeAlias = Literal["words", "characters", "bytes"]
Sentence: TypeAlias = str | Sequence[str]
TextSource: TypeAlias = Source | Iterable[Source] | Iterable[Sentence]

SENTENCES = "<sentences>"  # the source of sentences in messages; the line is then the number of the sentence
VISIBLE_BLANK = "\u2581"
_BLANK = re.compile(r"[ \t\n\r\v\f]")
_OTHER_BLANK = re.compile(r"[\t\n\r\v\f]")
_BYTE = re.compile(r"<0x([0-9A-F]{2})>")
_SHOWN = 60  # characters of a sentence in a message
_LOOK_AT = 64  # strings of a list that are looked at: if one names a file, it is a list of files


@dataclass(frozen=True)
class TextOptions:
    """Options of reading."""

    units: Units = "words"
    encoding: str = "utf-8"  # for words and characters; bytes have none
    keep_empty: bool = False  # a sentence for every line, not only for those with units
    skip_boundaries: bool = False  # words <s> and </s> are left out
    n_threads: int | None = None

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
    """Read all of a source (see :func:`files_of`). Plain files are mapped, not copied."""
    files = files_of(source)
    if files is None:
        packed, options = next(_sentence_blocks(source, options, None), (b"", options))
        return _tokenise([np.frombuffer(packed, dtype=np.uint8)], [SENTENCES], options)
    return _tokenise([_file_bytes(file, options) for file in files], [name_of(file) for file in files], options)


def iterate_text(source: TextSource, size: int, options: TextOptions) -> Iterator[TextBlock]:
    """Read a source in blocks of whole lines of about ``size`` bytes, one at a time in memory."""
    if size < 1:
        raise ValueError(f"the size of a block must be positive, not {size!r}")
    files = files_of(source)
    if files is None:
        yield from _numbered_blocks(_sentence_blocks(source, options, size), SENTENCES)
        return
    for file in files:
        as_it_is = options.units == "bytes"
        blocks = read_line_blocks(file, size) if as_it_is else read_utf8_blocks(file, size, options.encoding)
        yield from _numbered_blocks(((block, options) for block in blocks), name_of(file))


def files_of(source: TextSource) -> list[Source] | None:
    """Return the files that a source names; None if it is an iterable of sentences.

    A string or path is a file, ``-`` is standard input, and a URL is a file too. A list is one of files if it holds
    paths, or if one of its first strings names a file; otherwise strings are sentences, as are lists of words and the
    items of any iterator.
    """
    if isinstance(source, str | os.PathLike):
        return [source]
    if not isinstance(source, Iterable):
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


def split_units(text: str, units: Units = "words") -> list[str]:
    """Return the units of one sentence, as they are read from a file."""
    if units == "words":
        return [word for word in _BLANK.split(text) if word]
    if units == "characters":
        return [VISIBLE_BLANK if _BLANK.match(c) else c for c in text]
    return [chr(b) if 0x20 < b < 0x7F else f"<0x{b:02X}>" for b in text.encode("utf-8", "surrogatepass")]


def join_units(tokens: Iterable[str], units: Units = "words") -> str:
    """Return the text of units; bytes that are not UTF-8 become U+FFFD."""
    if units == "words":
        return " ".join(tokens)
    if units == "characters":
        return "".join(tokens).replace(VISIBLE_BLANK, " ")
    pieces = (bytes([int(m[1], 16)]) if (m := _BYTE.fullmatch(token)) else token.encode() for token in tokens)
    return b"".join(pieces).decode("utf-8", "replace")


def _is_file(item: object) -> bool:
    if isinstance(item, os.PathLike) or is_url(item):
        return True
    try:
        return isinstance(item, str) and Path(item).exists() and not Path(item).is_dir()
    except (OSError, ValueError):  # too long for a name, or with a NUL
        return False


def _file_bytes(file: Source, options: TextOptions) -> NDArray[np.uint8]:
    data = map_bytes(file)
    if options.units == "bytes":
        return data
    if not is_utf8(options.encoding):
        text = decode(data.tobytes(), name_of(file), options.encoding)
        data = np.frombuffer(text.encode("utf-8", "surrogatepass"), dtype=np.uint8)  # surrogates are refused later
    return without_mark(data)


def _sentence_blocks(source: Any, options: TextOptions, size: int | None) -> Iterator[tuple[bytes, TextOptions]]:
    """Yield lines of the sentences, about ``size`` bytes at a time; lists of words are read as words in any case."""
    block, of_words = bytearray(), None
    for number, sentence in enumerate(source, 1):
        line = _line_of(sentence, number, options.units)
        if of_words is not None and of_words != (not isinstance(sentence, str)) and options.units != "words":
            raise TypeError(f"sentence {number} is {type(sentence).__name__}, and the one before is not")
        of_words = not isinstance(sentence, str)
        try:
            block += line.encode() + b"\n"
        except UnicodeEncodeError as error:
            message = f"{line[error.start]!r} is half of a surrogate pair, no character; repair or remove it"
            raise FormatError(message, SENTENCES, number) from None
        if size is not None and len(block) >= size:
            yield bytes(block), _options_of(options, of_words)
            block.clear()
    if block:
        yield bytes(block), _options_of(options, bool(of_words))


def _options_of(options: TextOptions, of_words: bool) -> TextOptions:
    if not of_words or options.units == "words":
        return options
    return TextOptions("words", options.encoding, options.keep_empty, options.skip_boundaries, options.n_threads)


def _line_of(sentence: object, number: int, units: Units) -> str:
    if isinstance(sentence, str):
        if "\n" not in sentence:
            return sentence
        if units == "words":
            return sentence.replace("\n", " ")
        raise FormatError("a line end inside the sentence; split it there", SENTENCES, number)
    if not isinstance(sentence, list | tuple) or not all(issubclass(kind, str) for kind in set(map(type, sentence))):
        kind = type(sentence).__name__
        raise TypeError(f"sentence {number} must be a string or a list of strings, not {kind}")
    line = " ".join(sentence)
    pieces = line.split(" ") if sentence else []
    if len(pieces) != len(sentence) or "" in pieces or _OTHER_BLANK.search(line):
        wrong = next(word for word in sentence if not word or _BLANK.search(word))
        message = f"the word {wrong!r} is empty or holds a blank; leave it out, or put '_' in place of the blank"
        raise FormatError(message, SENTENCES, number)
    return line


def _numbered_blocks(blocks: Iterable[tuple[bytes, TextOptions]], source: str) -> Iterator[TextBlock]:
    n_lines = 0
    for data, options in blocks:
        text = _tokenise([np.frombuffer(data, dtype=np.uint8)], [source], options, n_lines)
        yield TextBlock(text, data, source, n_lines + 1)
        n_lines += text.n_lines


def _tokenise(
    texts: list[NDArray[np.uint8]], sources: list[str], options: TextOptions, lines_before: int = 0
) -> RunningText:
    try:
        found = _core.tokenise_corpus(
            threads.pool(options.n_threads), texts, options.units, options.keep_empty, options.skip_boundaries
        )
    except _core.ParseError as error:
        message, line, offset = error.args
        which = int(np.searchsorted(np.cumsum([text.size for text in texts]), offset, side="right"))
        raise FormatError(message, sources[which], lines_before + line) from None
    tokens, sentence_ptr, n_lines, blob, offsets, counts, first_text, first_line = found
    first_line += lines_before
    return RunningText(tokens, sentence_ptr, int(n_lines.sum()), blob, offsets, counts, first_text, first_line, sources)
