"""gzip, bz2, xz and zstd: recognised by the first bytes of a file, never by its name, and written by the name's suffix.

zstd is that of Python's standard library (3.14), or of the package backports.zstd, which has the same interface. A file
may have several members or frames, one after the other, and zstd frames that are to be skipped.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
import zlib
from collections.abc import Callable
from functools import cache, partial
from typing import Any, BinaryIO

from loglinear.formats.streams.packages import require

WINDOW = 1 << 28  # bytes of decompressed text that a file may ask its reader to remember: those of zstd --long=28
_PIECE = 1 << 16  # compressed bytes that are read at a time
MAGIC = 6  # bytes that tell all formats apart
SUFFIXES = (".gz", ".bz2", ".xz", ".zst")
_GZIP = b"\x1f\x8b"
_BZIP2 = tuple(b"BZh%d%s" % (level, then) for level in range(1, 10) for then in (b"1A", b"\x17r"))  # a block, or none
_XZ = b"\xfd7zXZ\x00"
_ZSTD = (b"\x28\xb5\x2f\xfd", *(bytes([0x50 + i]) + b"\x2a\x4d\x18" for i in range(16)))  # a frame, or one to skip


def kind_of(head: bytes) -> str | None:
    """Return "gzip", "bzip2", "xz" or "zstd", by the first bytes of a file; None for what is not compressed."""
    if head.startswith(_GZIP):
        return "gzip"
    if head.startswith(_BZIP2):
        return "bzip2"
    if head.startswith(_XZ):
        return "xz"
    return "zstd" if head.startswith(_ZSTD) else None


def reader(file: BinaryIO, kind: str) -> BinaryIO:
    """Return a file of the decompressed bytes."""
    if kind == "gzip":
        return gzip.GzipFile(fileobj=file)  # type: ignore[return-value]
    if kind == "bzip2":
        return bz2.BZ2File(file)  # type: ignore[return-value]
    if kind == "xz":
        return io.BufferedReader(_Xz(file), _PIECE)
    zstd = _zstd()
    longest = zstd.DecompressionParameter.window_log_max
    return zstd.ZstdFile(file, options={longest: WINDOW.bit_length() - 1})


class _Xz(io.RawIOBase):
    """The decompressed bytes of streams of xz; unlike ``lzma.LZMAFile`` it has a limit of memory."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._stream = self._next()

    @staticmethod
    def _next() -> lzma.LZMADecompressor:
        return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=WINDOW + (1 << 24))  # beside the window: tables

    def readable(self) -> bool:
        return True

    def readinto(self, out: Any) -> int:
        """Fill ``out``, or a part of it; 0 at the end of the last stream."""
        while True:
            if self._stream.eof:
                data = self._stream.unused_data.lstrip(b"\0") or self._file.read(_PIECE)
                while data and not (data := data.lstrip(b"\0")):  # padding between streams
                    data = self._file.read(_PIECE)
                if not data:
                    return 0
                self._stream = self._next()
            else:
                data = self._file.read(_PIECE) if self._stream.needs_input else b""
                if not data and self._stream.needs_input:
                    raise EOFError("the stream has no end")
            if piece := self._stream.decompress(data, len(out)):
                out[: len(piece)] = piece
                return len(piece)


def packer(name: str) -> Callable[[Any], bytes] | None:
    """Return what compresses a block of a file of this name; None for a name without such a suffix.

    All formats allow blocks that were compressed apart, one after the other.
    """
    suffix = suffix_of(name)
    if suffix == ".gz":
        return partial(gzip.compress, compresslevel=6, mtime=0)
    if suffix == ".bz2":
        return bz2.compress
    if suffix == ".xz":
        return partial(lzma.compress, preset=3)
    return partial(_zstd().compress, level=3) if suffix == ".zst" else None


def suffix_of(name: str) -> str:
    """Return the suffix of a compressed file, "" for another name."""
    return next((suffix for suffix in SUFFIXES if name.lower().endswith(suffix)), "")


def without_suffix(name: str) -> str:
    """Return the name of a file less the suffixes of compressed files."""
    while suffix := suffix_of(name):
        name = name[: -len(suffix)]
    return name


def damage_errors() -> tuple[type[BaseException], ...]:
    """Return the errors of a damaged file."""
    errors: list[type[BaseException]] = [EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile]
    if _zstd.cache_info().currsize:  # nothing was read by it before
        errors.append(_zstd().ZstdError)
    return tuple(errors)


def damage(kind: str | None, error: BaseException) -> str:
    """Return what is wrong with a compressed file that cannot be read to its end."""
    if "memory" in str(error).lower():
        return (
            f"this {kind} file asks for more than {WINDOW >> 20} MiB to be decompressed; decompress it first, or "
            "compress it again with a smaller dictionary or window"
        )
    return f"truncated or damaged {kind} file; fetch or compress it again"


@cache
def _zstd() -> Any:
    """Import zstd when a file needs it."""
    if sys.version_info >= (3, 14):
        from compression import zstd

        return zstd
    return require("backports.zstd", "zstd files need", "zstd")
