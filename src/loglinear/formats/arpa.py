r"""ARPA files of n-gram models: text to arrays and back, parsed and written natively and in parallel.

The reader takes what SRILM, KenLM and others write: tabs or blanks between fields, ``\n`` or ``\r\n``, anything before
``\data\`` and after ``\end\``, ``-inf``; ``<UNK>`` is ``<unk>`` if that is absent. ``<s>`` is never predicted, so its
probability is not read, and n-grams with ``<s>`` after another word, which no history has, are left out. A probability
above one by rounding only (1e-4 in log10) is one.
The writer writes log10 with 7 significant digits or all 17, -99 for a probability of zero and for ``<s>``, and no
back-off weight if its logarithm is 0.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loglinear import _core, threads
from loglinear.formats.streams.compression import MAGIC, kind_of, packer
from loglinear.formats.streams.remote import is_url
from loglinear.formats.text import (
    Source,
    atomic_write,
    decode,
    is_utf8,
    name_of,
    native_errors,
    read_bytes,
    without_mark,
)

_BLOCK = 1 << 19  # lines
_SHORT, _FULL = 7, 17  # significant digits


@dataclass(frozen=True, eq=False)
class ArpaArrays:
    """The words, ``</s>`` first, then ``<unk>`` if there, and the arrays of a back-off model in natural logarithms."""

    blob: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    shape: tuple[NDArray[Any], ...]  # context_start, entry_start, context_word, _child, _entry, entry_word
    log_backoff: NDArray[np.float64]
    log_probability: NDArray[np.float64]


def read_arpa_arrays(
    source: Source, *, encoding: str | None = "utf-8", n_threads: int | None = None
) -> ArpaArrays:
    """Read a file (plain, gzip, bz2, xz, zstd, or ``-``); plain files are mapped, not copied.

    Text in another ``encoding`` becomes UTF-8; None takes the bytes of words as they are.
    """
    if encoding is None or is_utf8(encoding):
        return parse_arpa(_mapped(source), name_of(source), any_bytes=encoding is None, n_threads=n_threads)
    text = decode(read_bytes(source), name_of(source), encoding)
    return parse_arpa(text.encode("utf-8", "surrogatepass"), name_of(source), n_threads=n_threads)


def parse_arpa(
    data: bytes | NDArray[np.uint8], source: str = "<bytes>", *, any_bytes: bool = False, n_threads: int | None = None
) -> ArpaArrays:
    """Parse bytes; raise FormatError with the line of an error. Words are UTF-8 unless they may be ``any_bytes``."""
    with native_errors(source):
        found = _core.parse_arpa(threads.pool(n_threads), without_mark(data), any_bytes=any_bytes)
    return ArpaArrays(*found)


def write_arpa_text(
    path: Source, text: _core.ArpaText, order: int, *, full_precision: bool = False, n_threads: int | None = None
) -> None:
    """Write a file, whole or not at all; ``-`` is standard output. .gz, .bz2, .xz and .zst are compressed."""
    blocks = _blocks(text, order, _FULL if full_precision else _SHORT, n_threads)
    pack = packer(os.fspath(path))
    if os.fspath(path) == "-":
        for block in blocks:
            sys.stdout.buffer.write(block)
        sys.stdout.buffer.flush()
        return
    with atomic_write(path) as file:
        for block in blocks if pack is None else _packed(blocks, pack, n_threads or threads.available_cores()):
            file.write(block)


def _blocks(text: _core.ArpaText, order: int, digits: int, n_threads: int | None) -> Iterator[bytes | memoryview]:
    counts = [text.n_lines(n) for n in range(1, order + 1)]
    yield ("\\data\\\n" + "".join(f"ngram {n}={count}\n" for n, count in enumerate(counts, 1))).encode()
    for n, count in enumerate(counts, 1):
        yield f"\n\\{n}-grams:\n".encode()
        for begin in range(0, count, _BLOCK):
            yield text.lines(threads.pool(n_threads), n, begin, min(begin + _BLOCK, count), digits).data
    yield b"\n\\end\\\n"


def _packed(blocks: Iterable[Any], pack: Callable[[Any], bytes], n_threads: int) -> Iterator[bytes]:
    """Yield compressed blocks, in order (all formats allow several members); a few at a time are in memory."""
    with ThreadPoolExecutor(max(n_threads, 1)) as executor:
        waiting: deque[Future[bytes]] = deque()
        for block in blocks:
            waiting.append(executor.submit(pack, block))
            if len(waiting) > n_threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _mapped(source: Source) -> NDArray[np.uint8]:
    if os.fspath(source) != "-" and not is_url(source) and Path(source).is_file():
        with suppress(OSError, ValueError):  # an empty file cannot be mapped, nor one of some file systems
            data = np.memmap(source, dtype=np.uint8, mode="r")
            if kind_of(data[:MAGIC].tobytes()) is None:
                return data
    return np.frombuffer(read_bytes(source), dtype=np.uint8)
