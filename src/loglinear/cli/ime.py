"""``loglinear ime``: input methods, from typed readings to words."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from loglinear.cli import console

app = typer.Typer(help="Input methods: convert what is typed to what is meant.", no_args_is_help=True)

Model = Annotated[str, typer.Argument(metavar="MODEL", help="A model file of ime build.", show_default=False)]
Threads = Annotated[int | None, typer.Option("--threads", help="Native threads.", show_default="all cores")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command()
@console.command
def build(
    text: Annotated[
        list[str],
        typer.Argument(
            metavar="TEXT...",
            help="Sentences of surface|reading, one a line: files (plain, gzip or xz), or - for stdin.",
            show_default=False,
        ),
    ],
    output: Annotated[str, typer.Option("--output", "-o", metavar="MODEL", help="File to write.", show_default=False)],
    order: Annotated[int, typer.Option(help="Longest n-gram of the language model.")] = 3,
    estimator: Annotated[
        str, typer.Option(metavar="kneser-ney|maxent|witten-bell|...", help="Of the language model.")
    ] = "kneser-ney",
    keypad: Annotated[
        bool, typer.Option("--keypad", help="TEXT is words alone, typed on a telephone's keys as digits.")
    ] = False,
    spaces: Annotated[
        bool | None,
        typer.Option(
            "--spaces/--no-spaces", help="Words are written and typed with blanks between them.",
            show_default="with a keypad",
        ),
    ] = None,
    channel: Annotated[
        bool, typer.Option("--channel/--no-channel", help="Count how probable a reading is for its word.")
    ] = True,
    dictionary: Annotated[
        list[str] | None, typer.Option(metavar="TEXT", help="More words with readings; its sentences are not learnt.")
    ] = None,
    min_word_count: Annotated[int, typer.Option(help="Rarer words are left out.")] = 1,
    encoding: Annotated[str, typer.Option(help="Encoding of the files that the model reads.")] = "utf-8",
    threads: Threads = None,
    json: Json = False,
) -> None:  # fmt: skip
    """Learn a lexicon and a language model of text with readings, and save them."""
    console.check_writable(output)

    from loglinear.models import InputMethod
    from loglinear.report.input_method import model_facts

    model = InputMethod(
        order, estimator, readings="keypad" if keypad else "given", spaces=spaces, channel=channel,
        min_word_count=min_word_count, encoding=encoding, n_threads=threads,
    )  # fmt: skip
    more = None if dictionary is None else [_source(path) for path in dictionary]
    model.fit([_source(path) for path in text], dictionary=more)
    with console.naming(output):
        model.save(output)
    facts = model_facts(model) | {"seconds": model.fit_seconds_, "model": output}
    if json:
        console.print_json(facts)
        return
    console.print_facts([(name.replace("_", " "), _spelt(value)) for name, value in facts.items()])


def _spelt(value: Any) -> Any:
    if isinstance(value, list):
        return " + ".join(f"{n:,}" for n in value)
    return f"{value:,}" if type(value) is int else f"{value:.1f}" if isinstance(value, float) else value


def _source(path: str) -> Any:
    """A path, so that it is never taken for a sentence."""
    return path if path == "-" else Path(path)


@app.command()
@console.command
def convert(
    model: Model,
    file: Annotated[str, typer.Argument(metavar="FILE", help="Readings, one a line, or - for stdin.")] = "-",
    nbest: Annotated[
        int | None, typer.Option(metavar="K", help="The K best: text TAB log-probability, and an empty line.")
    ] = None,
    threads: Threads = None,
    json: Annotated[
        bool, typer.Option("--json", help="An object a line: id, reading, hypotheses (words between blanks, score).")
    ] = False,
) -> None:
    """Convert readings to text, a line for a line. What the lexicon lacks stays as it was typed."""
    from loglinear.conversion import ConvertedFile, load_input_method

    converted = ConvertedFile(load_input_method(model, threads), file, nbest=nbest, as_json=json)
    for text in converted:
        sys.stdout.buffer.write(text)
        sys.stdout.buffer.flush()
    if converted.n_unknown:
        console.note(
            f"{converted.n_unknown:,} words are not in the lexicon and stand as they were typed; the first in line "
            f"{converted.first_unknown:,}"
        )


@app.command("eval")
@console.command
def evaluate(
    model: Model,
    text: Annotated[
        str, typer.Argument(metavar="TEXT", help="Text such as the model was built from, or -.", show_default=False)
    ],
    nbest: Annotated[int, typer.Option(metavar="K", help="Candidates among which the oracle chooses.")] = 20,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Character error rate of the best conversion, that of the best of K (the oracle), and sentences per second."""
    from loglinear.conversion import evaluate_text, load_input_method
    from loglinear.report.input_method import score_facts

    score = evaluate_text(load_input_method(model, threads), _source(text), nbest)
    if json:
        console.print_json(score.to_dict())
    else:
        console.print_facts(score_facts(score))
