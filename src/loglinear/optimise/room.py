"""Room on the disk for what a training will write, compared with the number of weights as soon as that is known.

A command says which files it will write (``writing``), and training compares (``tell_room``), so that no model or
solver need know of files. It is a warning: a penalty that zeroes weights makes files smaller.
"""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

_FILES: ContextVar[tuple[str, ...]] = ContextVar("files that a training will write", default=())
_BYTES = 8  # of a weight


@contextmanager
def writing(files: Sequence[str]) -> Iterator[None]:
    """Let training within the block compare its weights with the room for these files."""
    before = _FILES.set(tuple(files))
    try:
        yield
    finally:
        _FILES.reset(before)


def tell_room(n_weights: int) -> None:
    """Warn, once for a command, of disks that have less room than the weights take."""
    files, need = _FILES.get(), _BYTES * n_weights
    for file in files:
        try:
            free = shutil.disk_usage(Path(file).resolve().parent).free
        except OSError:  # a disk that does not tell
            continue
        if free < need:
            _FILES.set(())
            warnings.warn(
                f"{file}: the disk has {free / 2**20:,.0f} MiB left, and {n_weights:,} weights may take "
                f"{need / 2**20:,.0f} MiB; make room while training goes on",
                stacklevel=2,
            )
