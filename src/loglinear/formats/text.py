"""Reading and writing of bytes: plain, gzip or xz, a file or standard input; files are replaced atomically."""

from __future__ import annotations

import errno
import gzip
import lzma
import math
import os
import secrets
import stat
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from loglinear import _core
from loglinear.errors import FormatError

Source = str | os.PathLike[str]

MARK = b"\xef\xbb\xbf"  # the byte order mark of UTF-8
GZIP = b"\x1f\x8b"
XZ = b"\xfd7zXZ\x00"
DAMAGE = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile)


def name_of(source: Source) -> str:
    """Return the name of a source in messages."""
    return "<stdin>" if os.fspath(source) == "-" else os.fspath(source)


def read_bytes(source: Source) -> bytes:
    """Read all bytes of a file, or of stdin for ``-``; gzip and xz are recognised by their first bytes, not by name."""
    name = name_of(source)
    try:
        data = sys.stdin.buffer.read() if os.fspath(source) == "-" else Path(source).read_bytes()
    except OSError as error:
        raise FormatError(reason(error), name) from error
    try:
        if data.startswith(GZIP):
            return gzip.decompress(data)
        if data.startswith(XZ):
            return lzma.decompress(data)
    except DAMAGE as error:
        raise FormatError(damage(data), name) from error
    return data


def map_bytes(source: Source) -> NDArray[np.uint8]:
    """Return all bytes as :func:`read_bytes` does, but without a copy where a plain file can be mapped: [n] uint8."""
    try:
        path = None if os.fspath(source) == "-" else Path(source)
        if path is not None and path.is_file() and path.stat().st_size > 0:
            with path.open("rb") as file:
                magic = file.read(len(XZ))
            if not magic.startswith((GZIP, XZ)):
                return np.memmap(path, dtype=np.uint8, mode="r").view(np.ndarray)
    except OSError as error:
        raise FormatError(reason(error), name_of(source)) from error
    return np.frombuffer(read_bytes(source), dtype=np.uint8)


def read_head(source: Source, size: int) -> bytes:
    """Return the first bytes of a file, uncompressed, without reading the rest."""
    name = name_of(source)
    try:
        with Path(source).open("rb") as file:
            magic = file.read(len(XZ))
        opener = gzip.open if magic.startswith(GZIP) else lzma.open if magic.startswith(XZ) else open
        with opener(source, "rb") as file:  # type: ignore[operator]
            return bytes(file.read(size))
    except DAMAGE as error:
        raise FormatError(damage(magic), name) from error
    except OSError as error:
        raise FormatError(reason(error), name) from error


def decode(data: bytes, source: str, encoding: str = "utf-8") -> str:
    """Decode bytes; a byte order mark is dropped. The FormatError names the place of the first invalid byte."""
    try:
        text = data.decode(encoding)
    except LookupError as error:
        raise FormatError(f"unknown encoding {encoding!r}", source) from error
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        bad = data[error.start : error.start + 1]
        what = f"byte 0x{bad.hex()}" if bad else "end of input"
        place = error.start - (data.rfind(b"\n", 0, error.start) + 1)
        where = f"{what} at offset {place} of the line"
        message = f"{where} is not valid {encoding}; name the right encoding with --encoding"
        raise FormatError(message, source, line) from error
    return text.removeprefix("\ufeff")


def is_utf8(encoding: str) -> bool:
    """Return whether text in an encoding is UTF-8 as it stands."""
    return encoding.lower().replace("_", "-") in ("utf-8", "utf8", "ascii")


def without_mark(data: bytes | NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return bytes as native parsers take them, without a byte order mark."""
    text = np.frombuffer(data, dtype=np.uint8) if isinstance(data, bytes) else data
    return text[len(MARK) :] if text[: len(MARK)].tobytes() == MARK else text


@contextmanager
def native_errors(source: str) -> Iterator[None]:
    """Raise the error of a native parser as a FormatError with the name of the source."""
    try:
        yield
    except _core.ParseError as error:
        message, line, _ = error.args
        raise FormatError(message, source, line) from None


def split_lines(text: str) -> list[str]:
    r"""Split at \n and \r\n only: other line separators of Unicode are part of a text."""
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    if "\r" in text:
        lines = [line.removesuffix("\r") for line in lines]
    return lines


@contextmanager
def atomic_write(path: Source) -> Iterator[BinaryIO]:
    """Open a binary file that replaces ``path`` if the block succeeds.

    It is written under a temporary name in the same folder, flushed to disk and renamed. On any failure, Ctrl-C and a
    full disk included, the temporary is removed and what was there before is untouched. Links are followed; a device or
    pipe is written to directly.
    """
    target = Path(path).resolve()
    try:
        mode = target.stat().st_mode
    except OSError:
        mode = None
    if mode is not None and stat.S_ISDIR(mode):
        raise FormatError("cannot write: it is a directory", os.fspath(path))
    if mode is not None and not stat.S_ISREG(mode):
        with target.open("wb") as device:
            yield device
        return
    temporary = target.with_name(f".{target.name[:200]}.{secrets.token_hex(6)}.tmp")
    try:
        file = temporary.open("xb")
    except OSError as error:
        raise FormatError(f"cannot write: {reason(error)}", os.fspath(path)) from error
    try:
        with file:
            if mode is not None:
                temporary.chmod(stat.S_IMODE(mode))
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
    with suppress(OSError):  # make the rename itself durable, where folders can be synced
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def reason(error: OSError) -> str:
    """Return why the system refused a file."""
    if error.errno == errno.ENOENT:
        return "no such file or folder"
    if error.errno == errno.EISDIR:
        return "it is a directory, not a file"
    return error.strerror or str(error)


def damage(data: bytes) -> str:
    """Return what is wrong with a compressed file that cannot be read to its end."""
    kind = "gzip" if data.startswith(GZIP) else "xz"
    return f"truncated or damaged {kind} file; fetch or compress it again"


def plain_label(label: Any) -> str:
    """Return a label as text; all spellings of a whole number (+1, 1.0, 1) become the same."""
    text = str(label)
    try:
        number = float(text)
    except ValueError:
        return text
    return str(int(number)) if math.isfinite(number) and number == int(number) and abs(number) < 2**53 else text


def plain_line(text: str) -> str:
    """Return text on one line: characters that would end a line or a column, or drive a terminal, are escaped."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
