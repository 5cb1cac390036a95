"""The commands together. A new command group is one new file and one line here."""

from __future__ import annotations

from typing import Annotated

import typer

from loglinear.cli import classify, demo, ime, inspect, lm, rerank, tag


def _version(wanted: bool) -> None:
    if wanted:
        from loglinear import __version__

        typer.echo(f"loglinear {__version__}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Log-linear models of language: convex, small, exact, explainable, fast on a CPU."""


app = typer.Typer(
    callback=_root,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(classify.app, name="classify")
app.add_typer(tag.app, name="tag")
app.add_typer(lm.app, name="lm")
app.add_typer(ime.app, name="ime")
app.add_typer(rerank.app, name="rerank")
app.command("inspect")(inspect.inspect)
app.command("demo")(demo.demo)
