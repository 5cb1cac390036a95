"""Limits of memory: amounts as people write them ("4G"), what stages may use of them, and what holds them to it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from loglinear import _core

UNIT_BYTES = 200  # per distinct word of a text while words are numbered: its table, the vocabulary and its index
_PART = (1 << 20, 1 << 26)  # bytes of text that are numbered at a time: least and most
_MARGIN = 1 << 26  # bytes that are touched before the watch has looked again and dropped them
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def parse_memory(amount: int | str) -> int:
    """Return the bytes of a number or of text such as "4G", "512M", "1.5 GB" or "100k" (powers of 1024)."""
    if isinstance(amount, int) and not isinstance(amount, bool):
        if amount > 0:
            return amount
    elif isinstance(amount, str):
        found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?\s*", amount, re.IGNORECASE | re.ASCII)
        if found and (n_bytes := int(float(found[1]) * _UNITS[found[2].lower()])) > 0:
            return n_bytes
    raise ValueError(f"memory is a positive number of bytes or text such as '4G' or '512M', not {amount!r}")


def check_room(n_bytes: int, what: str, remedy: str) -> None:
    """Raise ValueError for work that needs more memory than the machine has: the system would end the process.

    what : what the memory is for, as in "the scores of 5 examples"
    """
    there = _memory_of_machine()
    if there and n_bytes > there:
        raise ValueError(f"{what} need {readable(n_bytes)} of memory, and this machine has {readable(there)}: {remedy}")


def _memory_of_machine() -> int:
    """Return the bytes of memory that this machine, or the container of this process, has; 0: not known."""
    try:
        there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        return 0
    with suppress(OSError, ValueError):  # "max" where a container has no limit
        there = min(there, int(Path("/sys/fs/cgroup/memory.max").read_text("ascii")))
    return there


def readable(n_bytes: int) -> str:
    """Return bytes as ``parse_memory`` reads them, rounded up: "1.5G"."""
    for unit in ("", "k", "m", "g"):
        size = _UNITS[unit]
        if n_bytes < 1024 * size:
            tenths = -(-n_bytes * 10 // size)
            return f"{tenths // 10}.{tenths % 10}".removesuffix(".0") + unit.upper()
    return f"{-(-n_bytes // _UNITS['t'])}T"


def part_bytes(limit: int) -> int:
    """Return how much text may be read at a time; numbering it takes about six times as much."""
    return min(max(limit // 16, _PART[0]), _PART[1])


def page_watch(limit: int) -> _core.PageWatch | None:
    """Keep the pages of mapped temporary files, with all else that is used from now on, within so many bytes.

    This holds as long as the object lives. What is used before, by the interpreter above all, does not count. None
    where the system does not tell what a process uses.
    """
    now = _core.resident_bytes()
    margin = max(limit // 8, min(limit // 2, _MARGIN))
    return _core.PageWatch(now + limit - margin) if now else None


@contextmanager
def temporary_files(folder: str) -> Iterator[None]:
    """Let errors of temporary files in a folder say what can be done."""
    try:
        yield
    except OSError as error:
        if error.filename != folder:
            raise
        message = f"{error.strerror} (temporary files are written there; tmp, or --tmp, names another folder)"
        raise OSError(error.errno, message, folder) from None
