"""Files that commands write. They are checked in one place, before a command does any work.

A parameter that names such a file is marked ``WRITTEN``. An output is refused if it cannot be written, or if it is the
same file as an input, whatever its name: then the command would destroy what it reads.
"""

from __future__ import annotations

import glob
import os
import re
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_type_hints

from typer.models import ArgumentInfo

_PROBE = bytes(1 << 16)  # what a disk must have room for


@dataclass(frozen=True)
class Written:
    """Mark of a parameter that names a file to write.

    words : values that name no file
    """

    words: tuple[str, ...] = ()


WRITTEN = Written()


def check_outputs(function: Callable[..., Any], given: Mapping[str, Any]) -> None:
    """Raise ValueError for an output of a command that cannot be written, or that is also an input."""
    hints = get_type_hints(function, include_extras=True)
    marks = {name: getattr(hints.get(name), "__metadata__", ()) for name in given}
    outputs, inputs = [], []
    for name, value in given.items():
        mark = next((m for m in marks[name] if isinstance(m, Written)), None)
        if mark is None:
            is_argument = any(isinstance(m, ArgumentInfo) for m in marks[name])
            inputs += [(text, is_argument) for text in _texts(value)]
        elif value is not None and value not in mark.words:
            outputs.append(value)
    read = _files_read(inputs) if outputs else {}
    for i, path in enumerate(outputs):
        _check_writable(path)
        same = next((other for other in outputs[:i] if Path(other).resolve() == Path(path).resolve()), None)
        if same is not None:
            raise ValueError(f"{path}: the same file as {same}, another output of this command; name another file")
        if (source := read.get(_identity(path))) is not None:
            as_what = "" if source == path else f" as {source}"
            raise ValueError(f"{path}: this command reads the file{as_what}, and would overwrite it; name another file")
    appended = _identity(sys.stdout)
    if appended is not None and (source := _files_read(inputs).get(appended)) is not None:
        raise ValueError(f"{source}: this command reads the file, and its output goes there; write to another file")


def _texts(value: Any) -> list[str]:
    """Return the texts among the values of a parameter."""
    if isinstance(value, str):
        return [value]
    return [text for text in value if isinstance(text, str)] if isinstance(value, (list, tuple)) else []


def _files_read(inputs: list[tuple[str, bool]]) -> dict[Any, str]:
    """Return the files that parameters name: identity -> name."""
    found = {}
    for text, is_argument in inputs:
        for name in _names(text, is_argument):
            identity = _identity(sys.stdin if name == "-" else name)
            if identity is not None:
                found[identity] = "<stdin>" if name == "-" else name
    return found


def _names(text: str, is_argument: bool) -> Iterator[str]:
    """Yield the names of files that a text may have: patterns and values such as name=FILE are taken apart."""
    yield text
    yield text.removeprefix("file://")
    yield from re.split("[,:=]", text)
    if is_argument and glob.has_magic(text):
        yield from glob.glob(text)  # noqa: PTH207  patterns may be absolute
    if is_argument and text and Path(text).is_dir():
        yield from map(str, Path(text).iterdir())


def _identity(file: Any) -> tuple[int, int] | None:
    """Return what all names of a regular file share; None for anything else."""
    try:
        found = Path(file).stat() if isinstance(file, str) else os.fstat(file.fileno())
    except (OSError, ValueError, AttributeError):
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISREG(found.st_mode) else None


def _check_writable(path: str) -> None:
    """Raise ValueError for an output that cannot be written: before hours of training, not after."""
    if path == "-":
        raise ValueError("-: models and reports are written to files only; name a file (./- for one of this name)")
    try:
        mode = Path(path).stat().st_mode
    except FileNotFoundError:
        mode = None
    except (OSError, ValueError) as error:  # too long, a loop of links, a file for a folder; a zero byte
        raise ValueError(f"{path}: cannot be written: {getattr(error, 'strerror', None) or error}") from None
    if mode is not None and stat.S_ISDIR(mode):
        raise ValueError(f"{path}: cannot be written: it is a folder")
    if mode is not None and not stat.S_ISREG(mode):
        return  # a device or a pipe
    if mode is not None and not mode & 0o222:
        raise ValueError(f"{path}: cannot be written: the file is read-only")
    folder = Path(path).resolve().parent
    if not folder.is_dir():
        raise ValueError(f"{path}: cannot be written: there is no folder {folder}")
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(_PROBE)
    except OSError as error:
        raise ValueError(f"{path}: cannot be written: {error.strerror or error}") from None
