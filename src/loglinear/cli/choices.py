"""Options that describe their choices where ``list`` is given: penalties, solvers, methods, sets of templates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import typer

from loglinear.cli import console
from loglinear.registry import imported


def _list(place: str, *before: tuple[str, str]) -> Callable[[Any], Any]:
    """Return a callback that describes the entries of a registry, ``"module:name"``, if asked to."""

    def listed(value: Any) -> Any:
        if value == "list":
            console.print_facts([*before, *imported(place).describe()])
            raise typer.Exit
        return value

    return listed


_AUTO = ("auto", "The solver that suits the loss and the penalty; training says which and why.")
list_penalties = _list("loglinear.penalties:PENALTIES")
list_solvers = _list("loglinear.solvers:SOLVERS", _AUTO)
list_methods = _list("loglinear.models.reranker.methods:METHODS")


def list_formats(value: Any) -> Any:
    """Describe the formats of labelled examples if asked to."""
    if value == "list":
        from loglinear.formats import FORMATS

        console.print_facts([(name, (FORMATS[name].parse.__doc__ or "").split("\n")[0]) for name in FORMATS])
        raise typer.Exit
    return value


def list_templates(value: Any) -> Any:
    """Show the built-in sets of templates if asked to."""
    if value == "list":
        from loglinear.features.template_sets import ABOUT, TEMPLATE_SETS

        for name, text in TEMPLATE_SETS.items():
            print(f"{name}: {ABOUT[name]}")
            print("".join(f"    {line}\n" for line in text.strip().splitlines()))
        raise typer.Exit
    return value
