"""The commands together. A new command is one new file, which defines ``app``, and one line in COMMANDS."""

from __future__ import annotations

import importlib
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from loglinear.cli.console import new_app
from loglinear.cli.help import Command, UsageError

# The module in this folder, whose name is the command's -> what the command does.
COMMANDS = {
    "classify": "Train, evaluate and use maximum-entropy classifiers.",
    "tag": "Train, evaluate and use taggers of sequences: CRF, MEMM, HMM and others.",
    "parse": "Train, evaluate and use constituency parsers: grammars, M-estimates and random fields over trees.",
    "lm": "Train, evaluate, mix and compare n-gram language models: maximum entropy, Kneser-Ney and others.",
    "ime": "Build and use input methods, which convert what is typed to what is meant.",
    "rerank": "Rerank n-best lists by boosting, BLasso, the perceptron or maximum entropy on word n-grams.",
    "cluster": "Learn classes of words from text: exchange clustering, Brown's merges.",
    "serve": "Serve models: a page to try them on, and JSON for programs.",
    "inspect": "Describe a model file and verify its checksum.",
    "demo": "Train models on Python's standard library, look inside and write a report.",
}


class _LazyCommands(TyperGroup):
    """Imports the module of a command when the command is called, so that none waits for the others."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands: Any = dict.fromkeys(COMMANDS)

    def invoke(self, ctx: Any) -> Any:
        """Run a command; control characters of what was typed are escaped in messages about it."""
        try:
            return super().invoke(ctx)
        except UsageError as error:
            from loglinear.formats.text import printable

            error.message = printable(error.message)  # type: ignore[attr-defined]
            raise

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name in COMMANDS and self.commands[cmd_name] is None:
            command: Any = typer.main.get_command(importlib.import_module(f"loglinear.cli.{cmd_name}").app)
            command.help = command.help or COMMANDS[cmd_name]
            self.commands[cmd_name] = command
        return self.commands.get(cmd_name)

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """Complete the names of commands without importing them."""
        loaded = self.commands
        self.commands = {name: Command(name, help=about) for name, about in COMMANDS.items()}
        try:
            return super().shell_complete(ctx, incomplete)
        finally:
            self.commands = loaded

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


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
    """Log-linear models of language: convex, small, exact, explainable, fast on CPUs."""


app = new_app(cls=_LazyCommands, callback=_root, add_completion=True)
