"""``loglinear rerank``: choose among the candidates of n-best lists."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer

from loglinear.cli import choices, console
from loglinear.status import Status

app = typer.Typer(
    help="Rerank n-best lists: boosting, BLasso, perceptron, maximum entropy on word n-grams.", no_args_is_help=True
)

Model = Annotated[str, typer.Argument(metavar="MODEL", help="A model file of rerank train.", show_default=False)]
Lists = Annotated[
    str, typer.Argument(metavar="LISTS", help="N-best lists: a file, a folder of SRILM's, or -.", show_default=False)
]
Format = Annotated[
    str | None, typer.Option("--format", metavar="jsonl|srilm|moses|kaldi", help="Guessed unless given.")
]
References = Annotated[
    str | None, typer.Option(metavar="FILE", help="Right texts: 'id text' a line, or a text a line in order.")
]
Costs = Annotated[
    list[str] | None, typer.Option(metavar="NAME=FILE", help="Kaldi costs; the score NAME is minus the cost.")
]
Language = Annotated[
    str | None, typer.Option("--lm", metavar="MODEL", help="A language model; its log-probability is the score lm.")
]
Encoding = Annotated[str, typer.Option(help="Encoding of the files.")]
Threads = Annotated[int | None, typer.Option("--threads", help="Native threads.", show_default="all cores")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command()
@console.command
def train(
    lists: Annotated[
        list[str],
        typer.Argument(
            metavar="LISTS...", help="N-best lists with references: files, folders of SRILM lists, or - for stdin.",
            show_default=False,
        ),
    ],
    output: Annotated[str, typer.Option("--output", "-o", metavar="MODEL", help="File to write.", show_default=False)],
    dev: Annotated[
        str | None, typer.Option(metavar="DEV", help="Held-out lists, on which the point of the path is chosen.")
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            metavar="blasso|boosting|fslr|f-boosting|perceptron|maxent|...|list", callback=choices.list_methods,
            is_eager=True, help="How to train; list: describe all.",
        ),
    ] = "blasso",
    step: Annotated[float, typer.Option(help="Length of a step (blasso, f-boosting, fslr).")] = 0.5,
    threshold: Annotated[float, typer.Option(help="What a backward step must gain (blasso).")] = 0.0,
    smoothing: Annotated[float, typer.Option(help="Of updates (boosting).")] = 1e-3,
    shrinkage: Annotated[float, typer.Option(help="Share of an update that is taken (boosting).")] = 1.0,
    by_errors: Annotated[
        bool, typer.Option("--by-errors", help="Candidates with more errors weigh more in the loss.")
    ] = False,
    words: Annotated[str, typer.Option(metavar="N,N,...|none", help="Word n-grams that are features.")] = "1,2",
    min_count: Annotated[int, typer.Option(help="Features of fewer lists are left out.")] = 2,
    boundaries: Annotated[
        bool, typer.Option("--boundaries/--no-boundaries", help="N-grams reach to the ends of a text.")
    ] = True,
    skips: Annotated[int, typer.Option(help="Skip bigrams: words that may lie between.")] = 0,
    headwords: Annotated[
        str | None,
        typer.Option(
            metavar="cjk|FILE", help="Headword bigrams: of words with kanji or katakana, or of all but those of FILE."
        ),
    ] = None,
    characters: Annotated[str, typer.Option(metavar="N,N,...|none", help="Character n-grams.")] = "none",
    base: Annotated[
        str | None,
        typer.Option(metavar="NAME,NAME,...|none", help="Base scores.", show_default="score, or all, or rank"),
    ] = None,
    units: Annotated[str, typer.Option(metavar="words|characters", help="What errors are counted in.")] = "words",
    missing: Annotated[
        str, typer.Option(metavar="error|worst", help="Candidates without a base score: refused, or the lowest.")
    ] = "error",
    penalty: Annotated[
        str,
        typer.Option(
            metavar="l1|l2|elastic_net|none|list", callback=choices.list_penalties, is_eager=True,
            help="Of the batch methods; list: describe all.",
        ),
    ] = "l1",
    strength: Annotated[
        str, typer.Option(metavar="S|S,S,...", help="Of the penalty; of several, DEV chooses.")
    ] = "1",
    l1_ratio: Annotated[float, typer.Option(help="Share of l1 in the elastic net.")] = 0.5,
    solver: Annotated[
        str,
        typer.Option(
            metavar="NAME|list", callback=choices.list_solvers, is_eager=True, help="Of the batch methods.",
        ),
    ] = "auto",
    tolerance: Annotated[float, typer.Option(help="Violation of optimality to reach, relative (batch).")] = 1e-4,
    max_iterations: Annotated[
        int | None, typer.Option(help="Most steps, passes or iterations.", show_default="20,000, 20, 1000")
    ] = None,
    patience: Annotated[
        int | None, typer.Option(metavar="N", help="Stop after N steps or passes without fewer errors in DEV.")
    ] = None,
    format: Format = None,
    references: References = None,
    dev_references: Annotated[
        str | None, typer.Option(metavar="FILE", help="Right texts of DEV.", show_default="--references")
    ] = None,
    costs: Costs = None,
    language_model: Language = None,
    encoding: Encoding = "utf-8",
    seed: Annotated[int | None, typer.Option(help="Seed of what is random.")] = None,
    threads: Threads = None,
    verbose: Annotated[bool, typer.Option("--verbose", help="Print lines of progress on stderr.")] = False,
    json: Json = False,
) -> None:  # fmt: skip
    """Train a reranker and save it. Ctrl-C stops early and saves the best so far."""
    console.check_writable(output)

    from loglinear.models import Reranker
    from loglinear.models.reranker.files import read_function_words, train_reranker, training_summary
    from loglinear.report.reranker import training_facts, verdict

    strengths = _numbers("strength", strength, float)
    heads: Any = headwords if headwords in (None, "cjk") else read_function_words(headwords, encoding)
    model = Reranker(
        method, step, threshold=threshold, smoothing=smoothing, shrinkage=shrinkage, by_errors=by_errors,
        words=_numbers("words", words, int), min_count=min_count, boundaries=boundaries, skips=skips, headwords=heads,
        characters=_numbers("characters", characters, int), base=_names(base), units=units, missing=missing,
        penalty=penalty, l1_ratio=l1_ratio, strength=strengths[0] if len(strengths) == 1 else list(strengths),
        solver=solver, tolerance=tolerance, max_iterations=max_iterations, patience=patience, random_state=seed,
        verbose=1 if verbose else "auto", n_threads=threads,
    )  # fmt: skip
    files = _files(format, references, costs, language_model, encoding, threads)
    train_reranker(model, lists, dev, files=files, dev_references=dev_references)
    with console.naming(output):
        model.save(output)
    summary = training_summary(model) | {"model": output}
    if json:
        console.print_json(summary)
    else:
        console.print_facts([*training_facts(summary), ("written to", output)])
        if dev is not None:
            print(verdict(model))
    if model.status_ == Status.INTERRUPTED:
        console.note(f"interrupted: the best point so far ({model.chosen_}) is saved in {output}")
        raise typer.Exit(console.INTERRUPTED)


def _numbers(option: str, text: str, kind: Callable[[str], Any]) -> tuple[Any, ...]:
    """Those that commas separate; none of them for "none"."""
    if text == "none":
        return ()
    try:
        return tuple(kind(part) for part in text.split(","))
    except ValueError:
        what = "whole numbers" if kind is int else "numbers"
        raise ValueError(f"--{option} takes {what} separated by commas, not {text!r}") from None


def _names(text: str | None) -> list[str] | None:
    if text is None:
        return None
    return [] if text == "none" else [name.strip() for name in text.split(",")]


def _files(
    format: str | None, references: str | None, costs: list[str] | None, language_model: str | None, encoding: str,
    threads: int | None,
) -> Any:  # fmt: skip
    from loglinear.models.language_model.files import load_language_model
    from loglinear.models.reranker.files import ListFiles

    named = {}
    for given in costs or []:
        name, sign, file = given.partition("=")
        if not (name and sign and file):
            raise ValueError(f"--costs takes NAME=FILE, such as acoustic=ac.txt, not {given!r}")
        named[name] = file
    language = None if language_model is None else load_language_model(language_model, threads)
    return ListFiles(format, references, named, language, encoding)


@app.command()
@console.command
def apply(
    model: Model,
    lists: Lists = "-",
    nbest: Annotated[
        int | None, typer.Option(metavar="K", help="The K best: text TAB score, and an empty line.")
    ] = None,
    ids: Annotated[bool, typer.Option("--ids", help="The id of the list and a tab before each text.")] = False,
    format: Format = None,
    costs: Costs = None,
    language_model: Language = None,
    encoding: Encoding = "utf-8",
    threads: Threads = None,
    json: Annotated[bool, typer.Option("--json", help="A list a line, in its new order, with scores.")] = False,
) -> None:
    """Print the best text of every list, a line each."""
    from loglinear.models.reranker.files import load_reranker, rerank_file

    reranker = load_reranker(model, threads)
    files = _files(format, None, costs, language_model, encoding, threads)
    for line in rerank_file(reranker, lists, nbest=nbest, as_json=json, ids=ids, files=files):
        sys.stdout.buffer.write(line)


@app.command("eval")
@console.command
def evaluate(
    model: Model,
    lists: Lists,
    samples: Annotated[int, typer.Option(help="Samples of the bootstrap.")] = 1000,
    format: Format = None,
    references: References = None,
    costs: Costs = None,
    language_model: Language = None,
    encoding: Encoding = "utf-8",
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Error rate with its interval, baseline, oracle, reduction, and whether the difference is significant."""
    from loglinear.models.reranker.files import evaluate_file, load_reranker
    from loglinear.report.reranker import score_facts

    reranker = load_reranker(model, threads)
    files = _files(format, references, costs, language_model, encoding, threads)
    scores = evaluate_file(reranker, lists, files=files, n_samples=samples)
    if json:
        console.print_json({"units": reranker.units, **scores.to_dict()})
    else:
        console.print_facts(score_facts(scores, reranker.units))
