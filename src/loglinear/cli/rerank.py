"""``loglinear rerank``: choose among the candidates of n-best lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from loglinear.cli import choices, console, training
from loglinear.cli.options import (
    Classes,
    ClusterAddress,
    Encoding,
    Html,
    Json,
    L1Ratio,
    Log,
    Output,
    Threads,
    Verbose,
    Workers,
    numbers,
)
from loglinear.cli.tuning import TrainCommand, Tune, several_strengths, tune_setting
from loglinear.status import Status

if TYPE_CHECKING:
    from loglinear.models.reranker.predictor import RerankerPredictor

app = console.new_app()

Model = Annotated[str, typer.Argument(metavar="MODEL", help="Model file written by rerank train.", show_default=False)]
Lists = Annotated[
    str,
    typer.Argument(metavar="LISTS", help="N-best lists: a file, a folder of SRILM lists, or -.", show_default=False),
]
Format = Annotated[
    str | None,
    typer.Option("--format", metavar="jsonl|srilm|moses|kaldi", help="Format of the lists.", show_default="guessed"),
]
References = Annotated[
    str | None, typer.Option(metavar="FILE", help="Right texts: 'id text' per line, or one text per line in order.")
]
Costs = Annotated[
    list[str] | None, typer.Option(metavar="NAME=FILE", help="File of Kaldi costs; the score NAME is minus the cost.")
]
Language = Annotated[
    str | None, typer.Option("--lm", metavar="MODEL", help="Language model whose log-probability is the score lm.")
]


@app.command(cls=TrainCommand)
@console.command
def train(
    lists: Annotated[
        list[str],
        typer.Argument(
            metavar="LISTS...", help="N-best lists with references: files, folders of SRILM lists, or - for stdin.",
            show_default=False,
        ),
    ],
    output: Output,
    dev: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Held-out lists, on which the point of the path is chosen; --tune adds strengths."
        ),
    ] = None,
    tune: Tune = None,
    method: Annotated[
        str,
        typer.Option(
            metavar="blasso|boosting|fslr|f-boosting|perceptron|maxent|...|list", callback=choices.list_methods,
            is_eager=True, help="Training method; list describes all.",
        ),
    ] = "blasso",
    step: Annotated[float, typer.Option(help="Length of a step (blasso, f-boosting, fslr).")] = 0.5,
    threshold: Annotated[float, typer.Option(help="Minimum gain of a backward step (blasso).")] = 0.0,
    smoothing: Annotated[float, typer.Option(help="Smoothing of updates (boosting).")] = 1e-3,
    shrinkage: Annotated[float, typer.Option(help="Share of each update that is taken (boosting).")] = 1.0,
    by_errors: Annotated[
        bool, typer.Option("--by-errors", help="Candidates with more errors weigh more in the loss.")
    ] = False,
    words: Annotated[str, typer.Option(metavar="N,N,...|none", help="Orders of word n-grams.")] = "1,2",
    min_count: Annotated[int, typer.Option(help="Leave out features that occur in fewer lists.")] = 2,
    boundaries: Annotated[
        bool, typer.Option("--boundaries/--no-boundaries", help="Whether n-grams include the ends of a text.")
    ] = True,
    skips: Annotated[int, typer.Option(help="Maximum number of words left out by skip bigrams.")] = 0,
    headwords: Annotated[
        str | None,
        typer.Option(
            metavar="cjk|FILE", help="Headword bigrams: of words with kanji or katakana, or of all but those in FILE."
        ),
    ] = None,
    characters: Annotated[str, typer.Option(metavar="N,N,...|none", help="Orders of character n-grams.")] = "none",
    classes: Classes = None,
    base: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,NAME,...|none", help="Base scores to use as features.", show_default="score, or all, or rank"
        ),
    ] = None,
    units: Annotated[
        str, typer.Option(metavar="words|characters|bleu|chrf|ter", help="Unit in which errors are counted.")
    ] = "words",
    missing: Annotated[
        str,
        typer.Option(metavar="error|worst", help="What a missing base score is: an error, or the lowest in its list."),
    ] = "error",
    penalty: Annotated[
        str,
        typer.Option(
            metavar="l1|l2|elastic_net|none|list", callback=choices.list_penalties, is_eager=True,
            help="Penalty of the batch methods; list describes all.",
        ),
    ] = "l1",
    strength: Annotated[str, typer.Option(metavar="S", help="Strength of the penalty.")] = "1",
    l1_ratio: L1Ratio = 0.5,
    solver: Annotated[
        str,
        typer.Option(
            metavar="NAME|list", callback=choices.list_solvers, is_eager=True,
            help="Solver of the batch methods; list describes all.",
        ),
    ] = "auto",
    tolerance: Annotated[float, typer.Option(help="Relative gap to the optimum to reach (batch methods).")] = 1e-4,
    max_iterations: Annotated[
        int | None, typer.Option(help="Maximum number of steps, passes or iterations.", show_default="20,000, 20, 1000")
    ] = None,
    patience: Annotated[
        int | None, typer.Option(metavar="N", help="Stop after N steps or passes without fewer errors on the dev set.")
    ] = None,
    format: Format = None,
    references: References = None,
    dev_references: Annotated[
        str | None, typer.Option(metavar="FILE", help="Right texts of the dev set.", show_default="--references")
    ] = None,
    costs: Costs = None,
    language_model: Language = None,
    encoding: Encoding = "utf-8",
    seed: Annotated[int | None, typer.Option(help="Seed of random choices.")] = None,
    threads: Threads = None,
    workers: Workers = None,
    cluster: ClusterAddress = None,
    verbose: Verbose = False,
    log: Log = None,
    json: Json = False,
) -> None:  # fmt: skip
    """Train a reranker and save it. Ctrl-C stops early and saves the best model so far.

    Examples:
        loglinear rerank train lists.jsonl -o reranker.ll --dev dev.jsonl
        loglinear rerank train lists.jsonl -o reranker.ll --method maxent --penalty l2 --strength 0.3
    """
    from loglinear.models.reranker.estimator import Reranker
    from loglinear.models.reranker.files import read_function_words, train_reranker, training_summary
    from loglinear.report.reranker import path_rows, path_table, training_facts, verdict

    strengths, tuned = several_strengths(strength, tune_setting(tune, dev))
    heads: Any = headwords if headwords in (None, "cjk") else read_function_words(headwords, encoding)
    settings = choices.given(
        method=method, step=step, threshold=threshold, smoothing=smoothing, shrinkage=shrinkage, by_errors=by_errors,
        words=_orders("words", words), min_count=min_count, boundaries=boundaries, skips=skips, headwords=heads,
        characters=_orders("characters", characters), classes=classes, base=_names(base), units=units, missing=missing,
        penalty=penalty, l1_ratio=l1_ratio, strength=strengths, tune=tuned,
        solver=solver, tolerance=tolerance, max_iterations=max_iterations, patience=patience, random_state=seed,
        verbose=1 if verbose else "auto", log=log, n_threads=threads,
    )  # fmt: skip
    if workers is None and cluster is None:
        files = _files(format, references, costs, language_model, encoding, threads)
        model = train_reranker(Reranker(**settings), lists, dev, files=files, validation_references=dev_references)
    else:
        files = _files(format, references, costs, None, encoding, threads)
        with training.on_cluster(workers, cluster, threads) as client:
            model = _train_on(client, settings, lists, dev, files, dev_references, language_model)
    console.save_model(model, output)
    summary = training_summary(model) | {"model": output}
    if dev is not None:
        summary["tuning"] = path_rows(model)
    if json:
        console.print_json(summary)
    else:
        console.print_facts([*training_facts(summary), ("written to", output)])
        if dev is not None:
            console.print_table(path_table(summary["tuning"]))
            print(verdict(model))
    if model.status_ == Status.INTERRUPTED:
        console.note(f"interrupted: the best point so far ({model.chosen_}) is saved in {output}")
        raise typer.Exit(console.INTERRUPTED)


def _train_on(
    client: Any, settings: dict[str, Any], lists: list[str], dev: str | None, files: Any, dev_references: str | None,
    language_model: str | None,
) -> Any:  # fmt: skip
    """Train on the workers of a cluster; return the model of this process."""
    from loglinear.dask import DaskReranker

    held_out = None if dev is None else files.read(dev, dev_references)
    model = DaskReranker(client=client, **settings)
    with files.naming():
        model.fit(
            lists, validation=held_out, base_model=language_model, format=files.format, encoding=files.encoding,
            references=files.references, costs=files.costs,
        )  # fmt: skip
    return model.to_local()


def _orders(option: str, text: str) -> Any:
    return () if text == "none" else numbers(option, text, int)


def _names(text: str | None) -> list[str] | None:
    if text is None:
        return None
    return [] if text == "none" else [name.strip() for name in text.split(",")]


def _files(
    format: str | None, references: str | None, costs: list[str] | None, language_model: str | None, encoding: str,
    threads: int | None,
) -> Any:  # fmt: skip
    from loglinear.models.reranker.files import ListFiles

    named = {}
    for given in costs or []:
        name, sign, file = given.partition("=")
        if not (name and sign and file):
            raise ValueError(f"--costs takes NAME=FILE, such as acoustic=ac.txt, not {given!r}")
        named[name] = file
    language = None
    if language_model is not None:
        from loglinear.models.language_model.files import load_language_model

        language = load_language_model(language_model, threads)
    return ListFiles(format, references, named, language, encoding)


def _load(path: str, threads: int | None) -> RerankerPredictor:
    from loglinear.models import load_predictor

    model: RerankerPredictor = load_predictor(path, "reranker")
    model.n_threads = threads
    return model


@app.command()
@console.command
def apply(
    model: Model,
    lists: Lists = "-",
    nbest: Annotated[
        int | None, typer.Option(metavar="K", help="Print the K best of each list: text TAB score, then an empty line.")
    ] = None,
    ids: Annotated[bool, typer.Option("--ids", help="Print the id of the list and a tab before each text.")] = False,
    format: Format = None,
    costs: Costs = None,
    language_model: Language = None,
    encoding: Encoding = "utf-8",
    threads: Threads = None,
    json: Annotated[bool, typer.Option("--json", help="Print each list as a JSON line in its new order.")] = False,
) -> None:
    """Print the best text of every list, one per line.

    A pipe is answered list by list: a line of jsonl, or the lines of moses and kaldi up to the next list or an empty
    line. A list of srilm is a whole file.

    Examples:
        loglinear rerank apply reranker.ll lists.jsonl
        loglinear rerank apply reranker.ll lists.jsonl --nbest 3 --ids
    """
    from loglinear.models.reranker.files import rerank_file

    reranker = _load(model, threads)
    files = _files(format, None, costs, language_model, encoding, threads)
    console.write(rerank_file(reranker, lists, nbest=nbest, as_json=json, ids=ids, files=files))


@app.command("eval")
@console.command
def evaluate(
    model: Model,
    lists: Lists,
    samples: Annotated[int, typer.Option(help="Number of bootstrap samples.")] = 1000,
    format: Format = None,
    references: References = None,
    costs: Costs = None,
    language_model: Language = None,
    encoding: Encoding = "utf-8",
    threads: Threads = None,
    html: Html = None,
    json: Json = False,
) -> None:
    """Print the error rate with its confidence interval, the baseline, the oracle and a significance test.

    Examples:
        loglinear rerank eval reranker.ll dev.jsonl
        loglinear rerank eval reranker.ll dev.jsonl --samples 200 --html reranker.html
    """
    from loglinear.models.reranker.files import evaluate_file
    from loglinear.report.reranker import score_facts

    reranker = _load(model, threads)
    files = _files(format, references, costs, language_model, encoding, threads)
    scores = evaluate_file(reranker, lists, files=files, n_samples=samples)

    from loglinear.report.evaluation import reranker_sections

    console.write_html(html, f"{model} on {lists}", lambda: reranker_sections(scores))
    if json:
        console.print_json(scores)
    else:
        console.print_facts(score_facts(scores))
