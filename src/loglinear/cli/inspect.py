"""``loglinear inspect``: describe a model file and verify its checksum."""

from __future__ import annotations

from typing import Annotated

import typer

from loglinear.cli import console
from loglinear.cli.outputs import WRITTEN

app = console.new_app()


@app.command()
@console.command
def inspect(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model file.", show_default=False)],
    top: Annotated[int, typer.Option(help="How many features to show per class or label.")] = 10,
    html: Annotated[
        str | None, typer.Option(metavar="FILE", help="Also write a page with the same tables."), WRITTEN
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Describe a model file and verify its checksum (exit code 1 if it is damaged).

    Examples:
        loglinear inspect reviews.ll
        loglinear inspect chunks.ll --top 5 --html chunks.html
    """
    from loglinear.display.page import write_page
    from loglinear.report.model import describe_model

    description = describe_model(model, top)
    if json:
        console.print_json(description.to_dict())
    else:
        console.print_sections(description.sections())
    if html is not None:
        with console.naming(html):
            write_page(html, f"Model {model}", description.sections())
    if not description.intact:
        console.note(f"DAMAGED: {description.damage}")
        raise typer.Exit(1)
