"""Options that describe their choices where ``list`` is given: penalties, solvers, methods, sets of templates."""

from __future__ import annotations

from typing import NoReturn, TypeVar

import typer

from loglinear.cli import console

_Value = TypeVar("_Value", str, str | None)


def list_penalties(value: _Value) -> _Value:
    """Describe the penalties if asked to."""
    if value == "list":
        from loglinear.penalties import PENALTIES

        _list(PENALTIES.describe())
    return value


def list_formats(value: _Value) -> _Value:
    """Describe the formats of labelled examples if asked to."""
    if value == "list":
        from loglinear.formats import FORMATS

        _list([(name, (FORMATS[name].read.__doc__ or "").split("\n")[0]) for name in FORMATS])
    return value


def list_solvers(value: _Value) -> _Value:
    """Describe the solvers if asked to."""
    if value == "list":
        from loglinear.solvers import SOLVERS

        _list(
            [
                ("auto", "The solver that suits the loss and the penalty; training says which and why."),
                *SOLVERS.describe(),
            ]
        )
    return value


def list_methods(value: _Value) -> _Value:
    """Describe the methods of rerankers if asked to."""
    if value == "list":
        from loglinear.models.reranker.methods import METHODS

        _list(METHODS.describe())
    return value


def list_templates(value: _Value) -> _Value:
    """Show the built-in sets of templates if asked to."""
    if value == "list":
        from loglinear.features.template_sets import ABOUT, TEMPLATE_SETS

        for name, text in TEMPLATE_SETS.items():
            print(f"{name}: {ABOUT[name]}")
            print("".join(f"    {line}\n" for line in text.strip().splitlines()))
        raise typer.Exit
    return value


def _list(described: list[tuple[str, str]]) -> NoReturn:
    console.print_facts(described)
    raise typer.Exit
