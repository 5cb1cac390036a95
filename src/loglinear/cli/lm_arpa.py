"""``loglinear lm export`` and ``lm import``: models to and from ARPA files."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from loglinear.cli import console
from loglinear.cli.options import DocumentFormat, Json, Output, Threads, source

Model = Annotated[str, typer.Argument(metavar="MODEL", help="A model file or an ARPA file.", show_default=False)]


@console.command
def export_arpa(
    model: Model,
    output: Annotated[
        str, typer.Argument(metavar="OUT", help="ARPA file; .gz, .xz or .zst compresses.", show_default=False)
    ],
    full_precision: Annotated[bool, typer.Option("--full-precision", help="All digits instead of seven.")] = False,
    topic: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|marginal", help="Of a model with topics: the n-grams of one topic, or of their mixture.",
            show_default="the topic with most features",
        ),
    ] = None,
    test: Annotated[
        str | None, typer.Option(metavar="TEST", help="Documents on which the loss by this approximation is measured.")
    ] = None,
    document_format: DocumentFormat = None,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Write a model as an ARPA file, which other tools read; the probabilities are the same.

    A model of words and a topic is approximated; --test measures by how much that raises the perplexity.
    """
    console.check_writable(output)
    from loglinear.models.language_model.files import export, load_language_model

    found = load_language_model(model, threads)
    found.document_format = document_format or found.document_format
    text = None if test is None else found.read(source(test))
    with console.naming(output):
        report = export(found, output, full_precision=full_precision, topic=topic, text=text)
    if json:
        console.print_json(report)
    elif "loss" in report:
        console.print_facts(
            [
                ("perplexity", f"{report['perplexity']:.4f}"),
                ("perplexity of the n-grams", f"{report['perplexity_of_ngrams']:.4f} ({report['loss']:+.2%})"),
                ("model", output),
            ]
        )


@console.command
def import_arpa(
    arpa: Annotated[
        str,
        typer.Argument(metavar="ARPA", help="ARPA file (plain, gzip, xz or zstd), or - for stdin.", show_default=False),
    ],
    output: Output,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Convert an ARPA file to a model file, which opens at once because it is memory-mapped."""
    console.check_writable(output)

    from loglinear.models import LanguageModel
    from loglinear.report.language_model import model_facts

    model = LanguageModel.from_arpa(arpa, n_threads=threads)
    with console.naming(output):
        model.save(output)
    _print_model(model_facts(model), output, json)


def _print_model(facts: dict[str, Any], path: str, as_json: bool) -> None:
    if as_json:
        console.print_json({"model": path, **facts})
        return
    console.print_facts(
        [
            ("order", facts["order"]),
            ("words", f"{facts['words']:,} ({'open' if facts['open'] else 'closed'} vocabulary)"),
            ("n-grams", " + ".join(f"{n:,}" for n in facts["ngrams"])),
            ("model", path),
        ]
    )
