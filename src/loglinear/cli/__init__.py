"""The command line: a command parses, calls the library and prints. Nothing here computes."""

from __future__ import annotations


def main() -> None:
    """Entry point of ``loglinear``."""
    from loglinear.cli.app import app

    app()
