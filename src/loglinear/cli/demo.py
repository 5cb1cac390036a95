"""``loglinear demo``: show what the toolkit does on text that comes with Python."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from loglinear.cli import console
from loglinear.cli.outputs import WRITTEN

app = console.new_app()


@app.command()
@console.command
def demo(
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="Report to write."), WRITTEN
    ] = "demo-report.html",
    quick: Annotated[bool, typer.Option("--quick", help="Run a smaller version, on less text.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Train models of every kind on Python's standard library, look inside and write a report: about a minute.

    Examples:
        loglinear demo
        loglinear demo --quick --output report.html
    """
    from loglinear.demo import run

    say = console.note if sys.stderr.isatty() else lambda message: None
    say(f"this takes {'some ten seconds' if quick else 'about a minute'} on two cores")
    report = run(quick=quick, say=say)
    with console.naming(output):
        report.write(output)
    if json:
        console.print_json({**report.to_dict(), "report": output})
    else:
        console.print_sections(report.sections)
        print(f"\n{report.seconds:.1f} seconds in all; report with plots in {output}")
