"""Files of this machine, and files elsewhere by a URL, such as s3://bucket/text.zst, through the package fsspec."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from loglinear.errors import FormatError, MissingPackageError
from loglinear.formats.streams.packages import require

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+(::[A-Za-z][A-Za-z0-9+.-]+)*://")


def is_url(source: Any) -> bool:
    """Return whether a source is a string that begins like a URL; its scheme has two letters or more."""
    return isinstance(source, str) and _URL.match(source) is not None


@contextmanager
def opened(source: str | os.PathLike[str]) -> Iterator[Any]:
    """Open the bytes of a file or URL, as they are; errors of another machine become a FormatError."""
    if not is_url(source):
        with open(source, "rb") as file:  # noqa: PTH123
            yield file
        return
    fsspec = require("fsspec", f"{source}: files by a URL need", "fsspec")
    try:
        opening = fsspec.open(source, "rb", compression=None)
    except ImportError as error:  # fsspec names the package of this kind of store
        raise MissingPackageError(f"{source}: {error}") from error
    except ValueError as error:  # an unknown scheme
        raise FormatError(f"cannot be opened: {error}", str(source)) from error
    with opening as file:
        yield file
