"""``loglinear lm plan``: what training a model with several information sources would cost."""

from __future__ import annotations

from typing import Annotated

import typer

from loglinear.cli import console
from loglinear.cli.options import DocumentFormat, Json, Threads, source
from loglinear.cli.outputs import Written


@console.command
def plan(
    corpus: Annotated[
        list[str], typer.Argument(metavar="CORPUS...", help="Documents or text, or - for stdin.", show_default=False)
    ],
    sources: Annotated[str, typer.Option(metavar="words:3,topic,...", help="Information sources.", show_default=False)],
    document_format: DocumentFormat = None,
    measure: Annotated[bool, typer.Option("--measure", help="Also run the methods predicted to be fast.")] = False,
    limit: Annotated[float, typer.Option(metavar="SECONDS", help="What --measure runs at most.")] = 60.0,
    graph: Annotated[
        str | None,
        typer.Option(metavar="text|FILE.svg", help="Print or draw the digraph of the features."),
        Written(words=("text",)),
    ] = None,
    memory: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Memory that a method may take, such as 4G.")
    ] = None,
    disjoint: Annotated[
        str | None, typer.Option(metavar="A+B,...", help="Sources whose features are taken for disjoint.")
    ] = None,
    min_word_count: Annotated[int, typer.Option(help="Rarer words become <unk>.")] = 1,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Print what each way to train a model with several sources would cost, and which one training would choose."""
    from loglinear.models.language_model.composite.plan import plan_corpus
    from loglinear.report.plan import plan_facts, plan_tables

    if graph is not None and graph != "text" and not graph.endswith(".svg"):
        raise ValueError(f"--graph takes text or a file that ends in .svg, not {graph!r}")
    found = plan_corpus(
        [source(path) for path in corpus], sources, measure=measure, limit=limit, memory=memory, n_threads=threads,
        disjoint=disjoint, document_format=document_format, min_word_count=min_word_count,
    )  # fmt: skip
    if graph is not None and graph != "text":
        from loglinear.formats.text import atomic_write

        with console.naming(graph), atomic_write(graph) as file:
            file.write(found.graph(svg=True).encode())
    if json:
        console.print_json(found.to_dict())
        return
    console.print_facts(plan_facts(found))
    for table in plan_tables(found):
        console.print_table(table)
    if graph == "text":
        print(found.graph())
