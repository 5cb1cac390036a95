"""Options of ``loglinear lm``: a memory of the document, a limit of memory."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer

Cache = Annotated[bool, typer.Option("--cache", help="Add a cache, a memory of the document, fitted on the dev set.")]
CacheKind = Annotated[
    str | None, typer.Option(metavar="log-linear|linear", help="Kind of the cache.", show_default="log-linear")
]
CacheWindow = Annotated[
    int | None, typer.Option(metavar="N", help="How many words the cache remembers.", show_default="1000")
]
Memory = Annotated[
    str | None,
    typer.Option(metavar="SIZE", help="Limit of memory, such as 4G: what needs more is done on disk."),
]
Tmp = Annotated[
    str | None,
    typer.Option(metavar="FOLDER", help="Folder for temporary files.", show_default="$TMPDIR, or beside the model"),
]


def cache_setting(cache: bool, kind: str | None, window: int | None) -> Any:
    """Return the setting that --cache, --cache-kind and --cache-window stand for."""
    given = {name: value for name, value in (("kind", kind), ("window", window)) if value is not None}
    if not cache:
        if given:
            raise ValueError(f"--cache-{next(iter(given))} is a setting of --cache")
        return None
    return given or True


def tmp_setting(given: str | None, memory: str | None, output: str) -> str | None:
    """Return the folder for temporary files; None: the system's, which TMPDIR names."""
    if given is not None or memory is None or "TMPDIR" in os.environ:
        return given
    return str(Path(output).resolve().parent)
