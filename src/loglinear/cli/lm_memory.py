"""Options of ``lm train`` for a limit of memory."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

Memory = Annotated[
    str | None,
    typer.Option(metavar="SIZE", help="Limit of memory, such as 4G: count, and estimate counted models, on disk."),
]
Tmp = Annotated[
    str | None,
    typer.Option(metavar="FOLDER", help="For temporary files.", show_default="$TMPDIR, or beside the model"),
]


def tmp_setting(given: str | None, memory: str | None, output: str) -> str | None:
    """Return the folder for temporary files; None: the system's, which TMPDIR names."""
    if given is not None or memory is None or "TMPDIR" in os.environ:
        return given
    return str(Path(output).resolve().parent)
