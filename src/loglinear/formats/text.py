"""Reading and writing of bytes: plain or compressed, a file, a URL or standard input; files are replaced atomically."""

from __future__ import annotations

import errno
import fcntl
import io
import math
import os
import re
import secrets
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from loglinear import _core
from loglinear.errors import FormatError, LoglinearError
from loglinear.formats.streams import compression, remote

Source = str | os.PathLike[str]
_PIECE = 1 << 22  # bytes that are decompressed at a time
_PART = 1 << 20  # characters that are split into lines at a time
_MOST_DECOMPRESSED, _MOST_RATIO = 1 << 28, 100  # bytes that a compressed file may become, or times its own
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]|\r(?!\n)")
_TEMPORARY = re.compile("[0-9a-f]{12}")  # the middle of the names of temporary files

MARK = b"\xef\xbb\xbf"  # the byte order mark of UTF-8


def name_of(source: Source) -> str:
    """Return the name of a source in messages."""
    return "<stdin>" if os.fspath(source) == "-" else os.fspath(source)


def read_bytes(source: Source) -> bytes:
    """Read all bytes of a file or URL, or of stdin for ``-``; compressed ones are known by their first bytes."""
    name = name_of(source)
    with reading(name):
        if os.fspath(source) == "-":
            data = sys.stdin.buffer.read()
        else:
            with remote.opened(source) as file:
                data = file.read()
    with reading(name, kind := compression.kind_of(data)):
        return data if kind is None else _decompressed(data, kind, name)


def _decompressed(data: bytes, kind: str, name: str) -> bytes:
    """Return all bytes of a compressed file; FormatError, early, for one that is made to fill the memory."""
    most = max(_MOST_DECOMPRESSED, _MOST_RATIO * len(data))
    with compression.reader(io.BytesIO(data), kind) as file:
        pieces, n_bytes = [], 0
        while piece := file.read(_PIECE):
            pieces.append(piece)
            n_bytes += len(piece)
            if n_bytes > most:
                raise FormatError(
                    f"{len(data)} bytes of {kind} become more than {most}: no text is like that, so it is not read; "
                    "if it is meant to be, decompress it first", name,
                )  # fmt: skip
    return b"".join(pieces)


def map_bytes(source: Source) -> NDArray[np.uint8]:
    """Return all bytes as :func:`read_bytes` does, but without a copy where a plain file can be mapped: [n] uint8."""
    found = mapped(source)
    return np.frombuffer(read_bytes(source), dtype=np.uint8) if found is None else found


def mapped(source: Source) -> NDArray[np.uint8] | None:
    """Return the bytes of a plain file as mapped memory, [n] uint8; None for a file that cannot be mapped."""
    with reading(name_of(source)):
        path = None if os.fspath(source) == "-" or remote.is_url(source) else Path(source)
        if path is not None and path.is_file() and path.stat().st_size > 0:
            with path.open("rb") as file:
                kind = compression.kind_of(file.read(compression.MAGIC))
            if kind is None:
                return np.memmap(path, dtype=np.uint8, mode="r").view(np.ndarray)
    return None


def read_head(source: Source, size: int) -> bytes:
    """Return the first bytes of a file, uncompressed, without reading the rest."""
    name, kind = name_of(source), None
    with reading(name), remote.opened(source) as file:
        kind = compression.kind_of(file.read(compression.MAGIC))
        file.seek(0)
        with reading(name, kind):
            return (file if kind is None else compression.reader(file, kind)).read(size)


@contextmanager
def reading(name: str, kind: str | None = None) -> Iterator[None]:
    """Raise what goes wrong while a file is read as a FormatError; ``kind`` is that of a compressed file."""
    try:
        yield
    except LoglinearError:
        raise
    except OSError as error:
        if kind is not None and (isinstance(error, compression.damage_errors()) or error.errno is None):  # bz2's
            raise FormatError(compression.damage(kind, error), name) from error
        raise FormatError(reason(error), name) from error
    except Exception as error:
        if kind is None or not isinstance(error, compression.damage_errors()):
            raise
        raise FormatError(compression.damage(kind, error), name) from error


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


def each_line(text: str) -> Iterator[str]:
    """Yield the lines that ``split_lines`` gives, a part of the text at a time: a line may be a single character."""
    begin = 0
    while begin < len(text):
        end = text.find("\n", begin + _PART) + 1 or len(text)
        yield from split_lines(text[begin:end])
        begin = end


@contextmanager
def atomic_write(path: Source) -> Iterator[BinaryIO]:
    """Open a binary file that replaces ``path`` if the block succeeds.

    It is written under a temporary name in the same folder, flushed to disk and renamed. On any failure, Ctrl-C and a
    full disk included, the temporary is removed and what was there before is untouched. What killed processes left of
    earlier writes to ``path`` is removed. Links are followed; a device or pipe is written to directly.
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
    _remove_leftovers(target)
    temporary, file = _open_temporary(target, path)
    try:
        with file:
            if mode is not None:
                temporary.chmod(stat.S_IMODE(mode))
            yield file
            file.flush()
            os.fsync(file.fileno())
            temporary.replace(target)  # before the file is closed, and with it unlocked
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


def _temporary_name(target: Path, middle: str) -> str:
    name = target.name.encode(errors="ignore")[:200].decode(errors="ignore")  # names may have 255 bytes
    return f".{name}.{middle}.tmp"


def _open_temporary(target: Path, path: Source) -> tuple[Path, BinaryIO]:
    """Create a file beside the target, locked as long as it is open."""
    while True:
        temporary = target.with_name(_temporary_name(target, secrets.token_hex(6)))
        try:
            file = temporary.open("xb")
        except OSError as error:
            raise FormatError(f"cannot write: {reason(error)}", os.fspath(path)) from error
        try:
            _lock(file)
            if os.fstat(file.fileno()).st_nlink:  # nobody took it for a leftover before it was locked
                return temporary, file
        except BaseException:
            file.close()
            with suppress(OSError):
                temporary.unlink()
            raise
        file.close()


def _remove_leftovers(target: Path) -> None:
    """Remove temporary files that killed processes left: those that nobody has locked."""
    prefix, suffix = _temporary_name(target, "\0").split("\0")
    with suppress(OSError), os.scandir(target.parent) as entries:
        for entry in entries:
            middle = entry.name.removeprefix(prefix).removesuffix(suffix)
            if entry.name != prefix + middle + suffix or not _TEMPORARY.fullmatch(middle):
                continue
            with suppress(OSError):
                if entry.is_file(follow_symlinks=False):
                    with Path(entry.path).open("rb") as file:
                        if _lock(file):
                            Path(entry.path).unlink()


def _lock(file: BinaryIO) -> bool:
    """Lock a file until it is closed; False where somebody else has, or where the system cannot."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def reason(error: OSError) -> str:
    """Return why the system refused a file."""
    if error.errno == errno.ENOENT or isinstance(error, FileNotFoundError):
        return "no such file or folder"
    if error.errno == errno.EISDIR:
        return "it is a directory, not a file"
    return error.strerror or str(error)


def plain_label(label: Any) -> str:
    """Return a label as text; all spellings of a whole number (+1, 1.0, 1) become the same."""
    text = str(label)
    try:
        number = float(text)
    except ValueError:
        return text
    return str(int(number)) if math.isfinite(number) and number == int(number) and abs(number) < 2**53 else text


def printable(text: str) -> str:
    r"""Return text whose control characters are escaped, as \x1b; tabs, \n and \r\n stay."""
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def plain_line(text: str) -> str:
    """Return text on one line: characters that would end a line or a column, or drive a terminal, are escaped."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
