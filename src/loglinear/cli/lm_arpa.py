"""``loglinear lm export`` and ``lm import``: models to and from ARPA files and KenLM's binary files."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from loglinear.cli import console
from loglinear.cli.options import DocumentFormat, Json, Output, Threads, source
from loglinear.cli.outputs import WRITTEN

Model = Annotated[
    str,
    typer.Argument(metavar="MODEL", help="A model file, ARPA file or binary file of KenLM.", show_default=False),
]


@console.command
def export_arpa(
    model: Model,
    output: Annotated[
        str,
        typer.Argument(
            metavar="OUT", help="ARPA file (.gz, .bz2, .xz or .zst compresses), or NAME.bin: binary file of KenLM.",
            show_default=False,
        ),
        WRITTEN,
    ],
    full_precision: Annotated[
        bool, typer.Option("--full-precision", help="Write all digits of numbers instead of seven.")
    ] = False,
    quantise: Annotated[
        int | None,
        typer.Option(
            metavar="BITS", help="For a small binary file: bits of each probability and back-off; 8 is good.",
            show_default="exact values",
        ),
    ] = None,
    topic: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|marginal", help="Of a model with topics: the n-grams of one topic, or of their mixture.",
            show_default="the topic with most features",
        ),
    ] = None,
    test: Annotated[
        str | None, typer.Option(metavar="TEST", help="Documents on which the cost of this approximation is measured.")
    ] = None,
    document_format: DocumentFormat = None,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Write a model as an ARPA file or a binary file of KenLM, which other tools read.

    The probabilities are the same, but for rounding. A binary file opens at once, whatever its size; --quantise 8 makes
    it smallest, about 5 bytes per n-gram. A model of words and a topic is approximated; --test measures by how much
    that raises the perplexity.

    Examples:
        loglinear lm export news.ll news.arpa
        loglinear lm export news.ll news.bin --quantise 8
    """
    from loglinear.models.language_model.files import export, load_language_model

    found = load_language_model(model, threads)
    found.document_format = document_format or found.document_format
    text = None if test is None else found.read(source(test))
    with console.naming(output):
        report = export(
            found, output, full_precision=full_precision, quantise=quantise, topic=topic, text=text
        )
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
        typer.Argument(
            metavar="FILE", help="ARPA file, plain or compressed, - for stdin, or binary trie of KenLM.",
            show_default=False,
        ),
    ],
    output: Output,
    encoding: Annotated[str, typer.Option(help="Encoding of an ARPA file.")] = "utf-8",
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Convert an ARPA file or a binary file of KenLM to a model file.

    Examples:
        loglinear lm import news.arpa -o imported.ll
        loglinear lm import news.bin -o imported.ll --json
    """
    from loglinear.backoff.binary import is_binary
    from loglinear.models import LanguageModel
    from loglinear.report.language_model import model_facts

    if arpa != "-" and is_binary(arpa):
        model = LanguageModel.from_binary(arpa, n_threads=threads)
    else:
        model = LanguageModel.from_arpa(arpa, encoding=encoding, n_threads=threads)
    console.save_model(model, output)
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
