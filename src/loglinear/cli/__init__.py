"""The command line: a command parses, calls the library and prints. Nothing here computes."""

from __future__ import annotations

import sys


def main() -> None:
    """Entry point of ``loglinear``."""
    try:
        from loglinear.interrupts import end_at_once

        end_at_once()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        raise SystemExit(130) from None
    from loglinear.cli.app import app

    app()
