"""A file or standard input in blocks of whole records, as its bytes arrive.

A block ends with a line, or with a blank line. From a pipe or a terminal it has all complete records that are there,
so that a slow writer is answered record by record and a fast one gets large blocks; from a file it has about the size
asked for. Compressed input, from a pipe too, is read in blocks of that size.
"""

from __future__ import annotations

import codecs
import io
import os
import select
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from loglinear.errors import FormatError
from loglinear.formats.streams import compression, remote
from loglinear.formats.text import MARK, Source, is_utf8, name_of, reading

Progress = Callable[[float], None]  # told which share of a file has been read

_LONGEST_LINE, _LONGEST = 1 << 27, 1 << 30  # bytes; the second of lines without a blank one, where records end with it
_SHORT = 1 << 16  # bytes of a line that are looked at again when more of it comes
_PIPEFUL = 1 << 16  # bytes; a pipe that gives so many at once has a writer that is ahead of us,
_PATIENCE = 0.01  # and more is waited for so many seconds, to work on large blocks
_PAUSE = 0.5  # seconds at most from a signal to its effect while nothing arrives


def read_blocks(source: Source, size: int, encoding: str = "utf-8") -> Iterator[bytes]:
    """Yield the bytes of a file, or of stdin for ``-``, in pieces of about ``size`` that end with a blank line.

    A piece without a blank line is joined with the next; the last piece ends where the file ends. Text in another
    encoding becomes UTF-8.
    """
    chunks = _chunks(source, size) if is_utf8(encoding) else read_utf8_blocks(source, size, encoding)
    return _whole(chunks, _after_blank_line, name_of(source), "a blank line")


def read_line_blocks(source: Source, size: int, progress: Progress | None = None) -> Iterator[bytes]:
    """Yield the bytes of a file, or of stdin for ``-``, in pieces of about ``size`` that end with a line.

    A longer line is one piece. ``progress`` is told which share of a file has been read, where its size is known.
    """
    chunks = _chunks(source, size, progress)
    return _whole(chunks, lambda data, begin: data.rfind(b"\n", begin) + 1, name_of(source), "the end of a line")


def read_utf8_blocks(
    source: Source, size: int, encoding: str = "utf-8", progress: Progress | None = None
) -> Iterator[bytes]:
    """Yield the same in UTF-8 and without a byte order mark; text in UTF-8 is not checked."""
    return recoded(read_line_blocks(source, size, progress), name_of(source), encoding)


def iterate_lines(source: Source, size: int, encoding: str = "utf-8") -> Iterator[str]:
    """Yield the text of a file in blocks of whole lines of about ``size`` bytes.

    Bytes that are not text raise FormatError with their line; a byte order mark is dropped.
    """
    name, n_lines = name_of(source), 0
    for block in read_utf8_blocks(source, size, encoding):
        try:
            yield block.decode()
        except UnicodeDecodeError as error:
            line = n_lines + block.count(b"\n", 0, error.start) + 1
            message = f"byte 0x{block[error.start]:02x} is not valid utf-8; name the right encoding with --encoding"
            raise FormatError(message, name, line) from None
        n_lines += block.count(b"\n")


def recoded(blocks: Iterator[bytes], name: str, encoding: str) -> Iterator[bytes]:
    """Yield blocks of whole lines in UTF-8, without a byte order mark."""
    if not is_utf8(encoding):
        blocks = _decoded(blocks, name, encoding)
    for i, block in enumerate(blocks):
        block = block.removeprefix(MARK) if i == 0 else block
        if block:
            yield block


def _decoded(blocks: Iterator[bytes], name: str, encoding: str) -> Iterator[bytes]:
    """Yield blocks in UTF-8; lines end at the line ends of the decoded text, not at bytes that look like one."""
    try:
        " ".encode(encoding)  # refuses a codec that is not one of text
        decoder = codecs.getincrementaldecoder(encoding)()
    except LookupError as error:
        raise FormatError(f"unknown encoding {encoding!r}", name) from error
    rest, n_lines = "", 0
    for block in blocks:
        try:
            text = rest + decoder.decode(block)
        except UnicodeDecodeError as error:
            line = n_lines + error.object.count(b"\n", 0, error.start) + 1
            message = f"{error.reason}: not valid {encoding}; name the right encoding with --encoding"
            raise FormatError(message, name, line) from error
        end = text.rfind("\n") + 1
        n_lines += text.count("\n")
        if end:
            yield text[:end].encode("utf-8", "surrogatepass")
        rest = text[end:]
    if decoder.getstate()[0]:
        raise FormatError(f"the file ends inside a character of {encoding}; it is cut off", name, n_lines + 1)
    if rest:
        yield rest.encode("utf-8", "surrogatepass")


@contextmanager
def after_lines(n_lines: int) -> Iterator[None]:
    """Let errors of a block count lines from the start of the file, which has so many lines before the block."""
    try:
        yield
    except FormatError as error:
        raise error.after(n_lines) from None


# ---- records --------------------------------------------------------------------------------------------------------
def _whole(
    chunks: Iterator[bytes], end_of: Callable[[bytes, int], int], name: str, what: str
) -> Iterator[bytes]:
    """Join chunks to pieces of whole records; ``end_of(data, begin)`` gives the last end after begin, or 0.

    FormatError for a line or a record that does not end; ``what`` says what the end is.
    """
    rest: list[bytes] = []
    n_rest, n_lines = 0, 0  # bytes of the rest; lines before it
    line, n_line = b"", 0  # what the rest has of its last line, and the end of the line before; its bytes
    for chunk in chunks:
        data = line + chunk
        end = end_of(data, len(line)) - len(line)
        if end > 0:
            piece = b"".join([*rest, chunk[:end]])
            n_lines += piece.count(b"\n")
            yield piece
            rest, n_rest, n_line, data = [], 0, 0, chunk[end:]
            chunk = data
        if chunk:
            rest.append(chunk)
            n_rest += len(chunk)
        if b"\n" in chunk:
            line = chunk[chunk.rfind(b"\n") :]
            n_line = len(line)
        else:
            line, n_line = data, n_line + len(chunk)
        if len(line) > _SHORT:  # one that is as blank or not, so that a long line is not copied for every chunk
            line = line[:1] + (b"x" if line.strip(b" \t\r\n") else b" ")
        if n_rest > _LONGEST or n_line > _LONGEST_LINE:
            n_bytes = _LONGEST if n_rest > _LONGEST else _LONGEST_LINE
            message = f"{what} does not come within {n_bytes} bytes: not text of this format, or to be cut into lines"
            raise FormatError(message, name, n_lines + 1)
    if rest:
        yield b"".join(rest)


def _after_blank_line(data: bytes, begin: int) -> int:
    """Return where the last blank line that ends after ``begin`` ends, 0 where there is none."""
    end = data.rfind(b"\n", begin)
    while end >= 0:
        before = data.rfind(b"\n", 0, end)
        if not data[before + 1 : end].strip(b" \t\r"):
            return end + 1
        end = before if before >= begin else -1
    return 0


# ---- bytes ----------------------------------------------------------------------------------------------------------
def _chunks(source: Source, size: int, progress: Progress | None = None) -> Iterator[bytes]:
    """Yield plain bytes as they arrive, about ``size`` at a time at most; errors of reading become a FormatError."""
    name = name_of(source)
    with reading(name), _opened(source) as file:
        tell = _teller(file, progress)
        kind = compression.kind_of(file.peek(compression.MAGIC)[: compression.MAGIC])
        if kind is not None:
            with reading(name, kind):
                read = compression.reader(file, kind).read
                while data := read(size):
                    tell()
                    yield data
            return
        while data := _arrived(file, size):
            tell()
            yield data
            if len(data) < size:  # then nothing is left in the buffer of the file
                _wait(file)


def _teller(file: Any, progress: Progress | None) -> Callable[[], None]:
    """Return a function that tells which share of the file has been read, if anyone listens and the file has a size."""
    try:
        n_bytes = os.fstat(file.fileno()).st_size if progress is not None else 0
    except (OSError, ValueError):  # not a file of the system
        n_bytes = 0
    if progress is None or n_bytes == 0:
        return lambda: None
    return lambda: progress(min(1.0, file.tell() / n_bytes))


def _arrived(file: Any, size: int) -> bytes:
    """Wait for bytes and return those that are there, at most ``size``; none at the end of the file."""
    pieces = [file.read1(size)]
    n_bytes, until = len(pieces[0]), time.monotonic() + _PATIENCE
    while 0 < n_bytes < size and (left := until - time.monotonic()) > 0:
        if not _is_ready(file, left if n_bytes >= _PIPEFUL else 0):
            break
        pieces.append(file.read1(size - n_bytes))
        if not pieces[-1]:
            break
        n_bytes += len(pieces[-1])
    return b"".join(pieces)


def _wait(file: Any) -> None:
    """Wait until a read returns at once, with pauses in which Python looks for signals.

    A signal that comes after its last look before a read is not seen until the read returns: Ctrl-C would be lost on a
    command that waits for a line.
    """
    try:
        while not select.select([file], [], [], _PAUSE)[0]:
            pass
    except (OSError, ValueError):  # not a file of the system
        return


def _is_ready(file: Any, seconds: float) -> bool:
    try:
        return bool(select.select([file], [], [], seconds)[0])
    except (OSError, ValueError):  # not a file of the system
        return False


@contextmanager
def _opened(source: Source) -> Iterator[Any]:
    """Open a file that has ``peek``; standard input is left open."""
    if os.fspath(source) != "-":
        with remote.opened(source) as file:
            yield file if hasattr(file, "peek") else io.BufferedReader(file)
    elif hasattr(sys.stdin.buffer, "peek"):
        yield sys.stdin.buffer
    else:  # a replacement of standard input may lack it
        yield io.BufferedReader(io.BytesIO(sys.stdin.buffer.read()))
