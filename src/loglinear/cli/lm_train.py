"""``loglinear lm train``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer

from loglinear.cli import choices, console, training
from loglinear.cli.lm_options import Cache, CacheKind, CacheWindow, Memory, Tmp, cache_setting, tmp_setting
from loglinear.cli.options import (
    Checkpoint,
    ClusterAddress,
    DocumentFormat,
    Json,
    Log,
    Output,
    TextColumn,
    Threads,
    Verbose,
    Workers,
    numbers,
    source,
)
from loglinear.cli.tuning import ON_DEV, Dev, tune_setting


def _numbers(option: str, text: str | None, kind: Callable[[str], Any]) -> Any:
    """Return None, a number, or a tuple of numbers that commas separate."""
    values = numbers(option, text, kind)
    return values[0] if values is not None and len(values) == 1 else values


def _levels(text: str | None) -> Any:
    """Return None, a number of classes, a class file, or the levels of a tree of classes, which commas separate."""
    parts = [] if text is None else text.split(",")
    if not all(part.strip().isdecimal() for part in parts[:-1]):
        return text  # a file whose name has a comma
    levels = tuple(int(part) if part.strip().isdecimal() else part for part in parts)
    return levels if len(levels) > 1 else levels[0] if levels else None


@console.command
def train(
    corpus: Annotated[
        list[str],
        typer.Argument(
            metavar="CORPUS...", help="Text, one sentence per line: files, plain or compressed, or - for stdin.",
            show_default=False,
        ),
    ],
    output: Output,
    order: Annotated[
        str, typer.Option(metavar="N|none", help="Longest n-gram; none: any that the text has.")
    ] = "5",
    estimator: Annotated[
        str, typer.Option(metavar="maxent|kneser-ney|kneser-ney-single|witten-bell|add-k", help="Method of estimation.")
    ] = "maxent",
    penalty: Annotated[
        str | None,
        typer.Option(
            metavar="elastic_net|l1|l2|none|tree-l2|tree-linf|list", callback=choices.list_penalties, is_eager=True,
            help="Penalty of maxent; list: describe all.", show_default="elastic_net",
        ),
    ] = None,
    strength: Annotated[
        str | None,
        typer.Option(
            metavar="S|S2,S3,...", help="Strength of the penalty: one number, or one per order from the second.",
            show_default="by order",
        ),
    ] = None,
    depth_growth: Annotated[
        float | None,
        typer.Option(metavar="A", help="Factor of the penalty per order (maxent).", show_default="by penalty"),
    ] = None,
    feature_decay: Annotated[
        float | None,
        typer.Option(metavar="A", help="Penalise weights divided by this factor per order (maxent).", show_default="1"),
    ] = None,
    group_norm: Annotated[
        str | None, typer.Option(metavar="counts|plain", help="Norm of tree-l2.", show_default="counts")
    ] = None,
    l2: Annotated[
        float | None, typer.Option("--l2", help="Ridge beside a tree penalty.", show_default="by penalty")
    ] = None,
    l1_ratio: Annotated[
        str | None, typer.Option(metavar="R|R2,R3,...", help="Share of l1 in the elastic net.", show_default="by order")
    ] = None,
    dev: Dev = None,
    tune: Annotated[
        str | None, typer.Option(metavar=" ", help="Choose the strengths of maxent on the dev set.", show_default=False)
    ] = None,
    strength_classes: Annotated[
        str | None, typer.Option(metavar="order|fine", help="Which n-grams share a strength.", show_default="order")
    ] = None,
    signed: Annotated[
        bool, typer.Option("--signed", help="Weights above unigrams may be negative (maxent).")
    ] = False,
    min_count: Annotated[
        str | None,
        typer.Option(
            metavar="N|N1,N2,...", help="Leave out n-grams that occur less often, by order (maxent).", show_default="1"
        ),
    ] = None,
    prune: Annotated[
        str | None,
        typer.Option(metavar="N1,N2,...", help="Leave out n-grams of at most this count, by order (Kneser-Ney)."),
    ] = None,
    prune_entropy: Annotated[
        float | None, typer.Option(help="Remove n-grams whose removal raises perplexity by less than this fraction.")
    ] = None,
    add_k: Annotated[float | None, typer.Option(help="Number added to counts (add-k).", show_default="1")] = None,
    vocab: Annotated[str | None, typer.Option(metavar="FILE", help="The vocabulary: one word per line.")] = None,
    min_word_count: Annotated[int, typer.Option(help="Read words that are rarer as <unk>.")] = 1,
    max_words: Annotated[int | None, typer.Option(help="Keep only this many words, the most frequent.")] = None,
    unknown: Annotated[
        str, typer.Option(metavar="token|error", help="Words outside the vocabulary: <unk>, or an error.")
    ] = "token",
    units: Annotated[str, typer.Option(metavar="words|characters|bytes", help="Unit that is a token.")] = "words",
    reserved: Annotated[
        str, typer.Option(metavar="error|skip", help="What to do with <s> and </s> inside text.")
    ] = "error",
    encoding: Annotated[str, typer.Option(help="Encoding of the text files that the model reads.")] = "utf-8",
    text_column: TextColumn = None,
    sources: Annotated[
        str | None,
        typer.Option(metavar="words:3,topic,...", help="Information sources, instead of --order (maxent)."),
    ] = None,
    document_format: DocumentFormat = None,
    topics: Annotated[
        int | None, typer.Option(metavar="N", help="Cluster documents without labels into N topics.")
    ] = None,
    classes: Annotated[
        str | None,
        typer.Option(
            metavar="K|FILE|K,K", help="Predict the class of a word, then the word: how many classes, a class file, or "
            "the levels of a tree of classes.",
        ),
    ] = None,
    cache: Cache = False,
    cache_kind: CacheKind = None,
    cache_window: CacheWindow = None,
    method: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="How a model with several sources is normalised.", show_default="planned"),
    ] = None,
    disjoint: Annotated[
        str | None,
        typer.Option(metavar="A+B,...", help="Sources whose features are treated as disjoint; the error is reported."),
    ] = None,
    base: Annotated[
        str | None, typer.Option(metavar="MODEL", help="Adapt this model: train only the difference (maxent).")
    ] = None,
    memory: Memory = None,
    tmp: Tmp = None,
    solver: Annotated[
        str | None,
        typer.Option(
            metavar="auto|NAME|list", callback=choices.list_solvers, is_eager=True,
            help="Solver of maxent; list: describe all.", show_default="auto",
        ),
    ] = None,
    tolerance: Annotated[
        float | None,
        typer.Option(help="Relative gap to the optimum that training must reach.", show_default="1e-4"),
    ] = None,
    max_iterations: Annotated[
        int | None, typer.Option(help="Maximum number of passes over the data.", show_default="1000")
    ] = None,
    threads: Threads = None,
    checkpoint: Checkpoint = None,
    workers: Workers = None,
    cluster: ClusterAddress = None,
    verbose: Verbose = False,
    log: Log = None,
    json: Json = False,
) -> None:  # fmt: skip
    """Train a language model and save it. Ctrl-C stops early and saves the model trained so far.

    Examples:
        loglinear lm train news.txt -o news.ll --order 3 --dev dev.txt --tune
        loglinear lm train news.txt -o kn.ll --estimator kneser-ney
    """
    if strength == "auto":
        console.note("warning: --strength auto is now --tune")
        strength, tune = None, tune or ON_DEV
    settings = {
        "estimator": estimator, "penalty": penalty, "strength": _numbers("strength", strength, float),
        "tune": tune_setting(tune, dev),
        "depth_growth": depth_growth, "feature_decay": feature_decay, "group_norm": group_norm, "l2": l2,
        "l1_ratio": _numbers("l1-ratio", l1_ratio, float), "strength_classes": strength_classes,
        "nonnegative": False if signed else None, "min_count": _numbers("min-count", min_count, int),
        "prune": numbers("prune", prune, int),
        "prune_entropy": prune_entropy, "k": add_k, "vocabulary": vocab, "min_word_count": min_word_count,
        "max_words": max_words, "unknown": unknown, "units": units, "reserved": reserved, "encoding": encoding,
        "text_column": text_column,
        "sources": sources, "document_format": document_format, "method": method, "n_topics": topics,
        "disjoint": disjoint, "classes": _levels(classes),
        "cache": cache_setting(cache, cache_kind, cache_window),
        "base": base, "memory": memory, "tmp": tmp_setting(tmp, memory, output),
        "solver": solver, "tolerance": tolerance, "max_iterations": max_iterations,
        "n_threads": threads, "verbose": 1 if verbose else None,
        "checkpoint": checkpoint, "log": log,
    }  # fmt: skip

    from loglinear.models.language_model.files import make_language_model
    from loglinear.report.language_model import training_summary

    given = {name: value for name, value in settings.items() if value is not None}
    model = make_language_model({"order": _order(order), **given})
    held_out = None if dev is None else source(dev)
    if workers is None and cluster is None:
        model.fit([source(path) for path in corpus], validation=held_out)
    else:
        model = _on_cluster(model, corpus, held_out, workers, cluster)
    show = console.print_json if json else _print_summary
    training.finish(model, output, checkpoint, lambda: training_summary(model, output), show)


def _print_summary(summary: dict[str, Any]) -> None:
    from loglinear.report.language_model import training_facts, training_tables

    console.print_facts(training_facts(summary))
    for table in training_tables(summary):
        console.print_table(table)


def _on_cluster(model: Any, corpus: list[str], dev: Any, workers: int | None, address: str | None) -> Any:
    """Train a model of the same settings on a cluster, which reads the text."""
    with training.on_cluster(workers, address, model.n_threads) as client:
        from loglinear.dask import DaskLanguageModel

        trained = DaskLanguageModel(client=client, **model.parameters()).fit(corpus, validation=dev)
    return trained.to_local()


def _order(text: str) -> int | None:
    try:
        return None if text.lower() == "none" else int(text)
    except ValueError:
        raise ValueError(f"--order takes a whole number or none, not {text!r}") from None
