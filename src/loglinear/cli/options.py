"""Options that several commands share: one word, one help text."""

from __future__ import annotations

from typing import Annotated

import typer

Output = Annotated[str, typer.Option("--output", "-o", metavar="MODEL", help="File to write.", show_default=False)]
Threads = Annotated[int | None, typer.Option("--threads", help="Number of threads.", show_default="all cores")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Verbose = Annotated[bool, typer.Option("--verbose", help="Print one line per step on stderr.")]
Encoding = Annotated[str, typer.Option("--encoding", help="Character encoding of text files.")]
L1Ratio = Annotated[float, typer.Option(help="Share of l1 in the elastic net.")]
Checkpoint = Annotated[
    str | None, typer.Option(metavar="FILE", help="Save the state of training to this file, and resume from it.")
]
