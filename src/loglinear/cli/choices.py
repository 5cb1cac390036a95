"""Options that describe their choices where ``list`` is given, and those of training that taggers and parsers share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

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

# ---- options of training, None where the model's default holds -------------------------------------------------------
Penalty = Annotated[
    str | None,
    typer.Option(
        metavar="l2|l1|elastic_net|none|list", callback=list_penalties, is_eager=True,
        help="Penalty on the weights; list: describe all.", show_default="l2",
    ),
]  # fmt: skip
L1Ratio = Annotated[float | None, typer.Option(help="Share of l1 in the elastic net.", show_default="0.5")]
Solver = Annotated[
    str | None,
    typer.Option(
        metavar="auto|NAME|list", callback=list_solvers, is_eager=True, help="Solver; list: describe all.",
        show_default="auto",
    ),
]  # fmt: skip
Seed = Annotated[int | None, typer.Option(help="Seed of random choices.")]


def tolerance(default: str) -> Any:
    """Return the option of the gap that training must reach."""
    return typer.Option(help="Relative gap to the optimum that training must reach.", show_default=default)


def max_iterations(default: str) -> Any:
    """Return the option of the number of passes."""
    return typer.Option(help="Maximum number of passes over the data.", show_default=default)


def given(**settings: Any) -> dict[str, Any]:
    """Return the settings that were given; the others keep the defaults of the model."""
    return {name: value for name, value in settings.items() if value is not None}


# ---- other lists -----------------------------------------------------------------------------------------------------
def list_formats(value: Any) -> Any:
    """Describe the formats of labelled examples if asked to."""
    if value == "list":
        from loglinear.formats import FORMATS

        console.print_facts([(name, (FORMATS[name].parse.__doc__ or "").split("\n")[0]) for name in FORMATS])
        raise typer.Exit
    return value


def list_weightings(value: Any) -> Any:
    """Describe the weightings of counts if asked to."""
    if value == "list":
        from loglinear.features.weighting import WEIGHTINGS

        console.print_facts([(name, weighting.about) for name, weighting in WEIGHTINGS.items()])
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
