"""The options ``--dev`` and ``--tune``, which mean the same in every command that trains.

    --dev FILE        held-out data, on which the trained model is scored
    --tune            choose the strength on the dev set
    --tune cv         choose it by cross-validation, where that is offered
    --tune S,S,...    choose among these strengths on the dev set
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from loglinear.cli import console
from loglinear.cli.help import Command
from loglinear.cli.options import numbers

ON_DEV = "validation"  # the value of a --tune that stands alone, as in Python
Dev = Annotated[
    str | None,
    typer.Option(
        metavar="FILE", help="Held-out data: the model is scored on it, and --tune chooses on it.", show_default=False
    ),
]
Tune = Annotated[
    str | None,
    typer.Option(
        metavar="[S,S,...]", help="Choose the strength on the dev set, among those given, if any.", show_default=False
    ),
]


class TrainCommand(Command):
    """A command whose option ``--tune`` may stand alone."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments after giving every ``--tune`` a value."""
        return super().parse_args(ctx, spelt_out(args))


def spelt_out(args: Sequence[str]) -> list[str]:
    """Return the arguments with a value for every ``--tune``.

    ``--tune FILE``, as version 0.1.0 had it, becomes ``--tune --dev FILE``, and a note on stderr says so.
    """
    has_dev = any(arg == "--dev" or arg.startswith("--dev=") for arg in args)
    result: list[str] = []
    rest = list(args)
    while rest:
        arg = rest.pop(0)
        if arg == "--":
            return [*result, arg, *rest]
        if arg != "--tune" and not arg.startswith("--tune="):
            result.append(arg)
            continue
        value = arg.removeprefix("--tune").removeprefix("=")
        follows = rest[0] if rest and not value else ""
        is_file = follows == "-" or (follows != "" and not follows.startswith("-"))
        if _is_mode(follows) or (is_file and not has_dev):
            value = rest.pop(0)
        if value and not _is_mode(value):
            console.note(f"warning: --tune {value} is now --tune --dev {value}")
            result.append(f"--dev={value}")
            value = ""
        result.append(f"--tune={value or ON_DEV}")
    return result


def _is_mode(value: str) -> bool:
    return value in (ON_DEV, "cv") or strengths_of(value) is not None


def strengths_of(text: str) -> list[float] | None:
    """Return numbers that commas separate; None for any other text."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        return None


def tune_setting(tune: str | None, dev: Any) -> Any:
    """Return the setting ``tune`` of a model; raise ValueError if there is no dev set to choose on."""
    if tune not in (None, "cv") and not dev:
        raise ValueError("--tune chooses on held-out data: give them with --dev FILE")
    return tune if tune is None or strengths_of(tune) is None else strengths_of(tune)


def several_strengths(text: str, tune: Any) -> tuple[float, Any]:
    """Return the settings ``strength`` and ``tune`` of a reranker; several strengths, as before, are those to tune."""
    found = numbers("strength", text, float)
    if len(found) > 1:
        console.note(f"warning: --strength {text} is now --tune {text}")
        return 1.0, list(found)
    return found[0], tune
