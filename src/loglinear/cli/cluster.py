"""``loglinear cluster``: classes of words from text."""

from __future__ import annotations

from typing import Annotated

import typer

from loglinear.cli import console
from loglinear.cli.options import Encoding, Json, Log, TextColumn, Threads, Verbose, source
from loglinear.cli.outputs import WRITTEN
from loglinear.status import Status

app = console.new_app()


@app.command()
@console.command
def cluster(
    texts: Annotated[
        list[str],
        typer.Argument(
            metavar="TEXT...", help="Text, one sentence per line: files, plain or compressed, or - for stdin.",
            show_default=False,
        ),
    ],
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", metavar="FILE", help="File to write, with lines 'word TAB class'.", show_default=False
        ),
        WRITTEN,
    ],
    n_classes: Annotated[int, typer.Option("--classes", "-k", metavar="K", help="Number of classes.")] = 200,
    paths: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Also write 'bits TAB word TAB count', as Brown's tool does."),
        WRITTEN,
    ] = None,
    method: Annotated[
        str, typer.Option(metavar="exchange|bidirectional|brown", help="Method of clustering.")
    ] = "exchange",
    min_count: Annotated[int, typer.Option(help="Read words that are rarer as <unk>.")] = 1,
    max_passes: Annotated[int, typer.Option(help="Maximum number of passes of the exchange.")] = 30,
    encoding: Encoding = "utf-8",
    text_column: TextColumn = None,
    threads: Threads = None,
    verbose: Verbose = False,
    log: Log = None,
    json: Json = False,
) -> None:
    """Put words that stand between similar neighbours into classes. Ctrl-C stops early and saves the classes so far.

    Examples:
        loglinear cluster news.txt -o classes.txt --classes 3
        loglinear cluster news.txt -o classes.txt --classes 3 --method brown --paths paths.txt
    """
    from loglinear.models.word_classes import WordClasses

    model = WordClasses(
        n_classes, method=method, min_count=min_count, max_passes=max_passes, encoding=encoding,
        text_column=text_column, n_threads=threads, verbose=1 if verbose else "auto", log=log,
    )
    model.fit(source(texts[0]) if len(texts) == 1 else [source(text) for text in texts])
    console.save_model(model, output)
    if paths is not None:
        model.save_paths(paths)
    figures = {
        "tokens": model.n_tokens_, "words": len(model.words_), "classes": n_classes, "method": method,
        "log_likelihood": model.log_likelihood_, "perplexity": model.perplexity_, "passes": model.n_iter_,
        "status": str(model.status_), "seconds": model.fit_seconds_, "output": output, "paths": paths,
    }  # fmt: skip
    if json:
        console.print_json(figures)
    else:
        console.print_facts([
            ("tokens", f"{model.n_tokens_:,} (ends of sentences included)"), ("words", f"{len(model.words_):,}"),
            ("classes", n_classes), ("log-likelihood", f"{model.log_likelihood_:.0f}"),
            ("perplexity", f"{model.perplexity_:.2f}"), ("passes", f"{model.n_iter_}, {model.status_}"),
            ("seconds", f"{model.fit_seconds_:.1f}"), ("output", ", ".join(filter(None, (output, paths)))),
        ])  # fmt: skip
    if model.status_ == Status.INTERRUPTED:
        console.note("interrupted: the classes so far were saved")
        raise typer.Exit(console.INTERRUPTED)
