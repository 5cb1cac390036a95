"""Options that several commands share: one word, one help text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from loglinear.cli.outputs import WRITTEN

Output = Annotated[
    str, typer.Option("--output", "-o", metavar="MODEL", help="File to write.", show_default=False), WRITTEN
]
Threads = Annotated[int | None, typer.Option("--threads", help="Number of threads.", show_default="all cores")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Verbose = Annotated[bool, typer.Option("--verbose", help="Print one line per step on stderr.")]
Log = Annotated[
    str | None, typer.Option("--log", metavar="FILE", help="Write a JSON object per step of training to FILE."), WRITTEN
]
Encoding = Annotated[str, typer.Option("--encoding", help="Character encoding of text files.")]
TextColumn = Annotated[
    str | None,
    typer.Option(
        "--text-column", metavar="NAME", help="Column of the text in JSON lines, Parquet and Arrow files.",
        show_default="text",
    ),
]
L1Ratio = Annotated[float, typer.Option(help="Share of l1 in the elastic net.")]
Html = Annotated[
    str | None,
    typer.Option("--html", metavar="FILE", help="Also write a page of figures, charts and mistakes."),
    WRITTEN,
]
Errors = Annotated[
    int, typer.Option("--errors", metavar="N", help="Show the N most confident mistakes and what decided them.")
]
DocumentFormat = Annotated[
    str | None,
    typer.Option(
        "--format", metavar="json|columns|tagged|trees", help="Format of documents with layers.",
        show_default="by the file's name",
    ),
]
Classes = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Word classes as features: a file of 'word TAB class', or Brown's paths."),
]
Workers = Annotated[
    int | None, typer.Option(metavar="N", help="Train on N processes of this machine (needs loglinear[dask]).")
]
ClusterAddress = Annotated[
    str | None,
    typer.Option("--cluster", metavar="ADDRESS", help="Train on the workers of a Dask scheduler: tcp://host:8786."),
]
Checkpoint = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Save the state of training to this file, and resume from it."),
    WRITTEN,
]


def numbers(option: str, text: str | None, kind: Callable[[str], Any]) -> Any:
    """Return the numbers of an option, which commas separate, as a tuple; None for an option that is not given."""
    try:
        return None if text is None else tuple(kind(part) for part in text.split(","))
    except ValueError:
        what = "whole numbers" if kind is int else "numbers"
        raise ValueError(f"--{option} takes {what} separated by commas, not {text!r}") from None


def source(path: str) -> Any:
    """Return a Path, which is never taken for a sentence, or a URL, or - for standard input."""
    return path if path == "-" or "://" in path else Path(path)
