"""``loglinear lm``: train, evaluate, use, mix and compare n-gram language models."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Annotated, Any

import typer

from loglinear.cli import choices, console, training
from loglinear.cli.lm_arpa import Model, export_arpa, import_arpa
from loglinear.cli.lm_cache import Cache, CacheKind, CacheWindow, cache_setting
from loglinear.cli.lm_memory import Memory, Tmp, tmp_setting
from loglinear.cli.lm_plan import plan
from loglinear.cli.options import (
    ClusterAddress,
    DocumentFormat,
    Json,
    Output,
    TextColumn,
    Threads,
    Verbose,
    Workers,
    numbers,
    source,
)
from loglinear.cli.tuning import ON_DEV, Dev, TrainCommand, tune_setting
from loglinear.status import Status

app = console.new_app()


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


@app.command(cls=TrainCommand)
@console.command
def train(
    corpus: Annotated[
        list[str],
        typer.Argument(
            metavar="CORPUS...", help="Text, one sentence per line: files (plain, gzip, xz or zstd), or - for stdin.",
            show_default=False,
        ),
    ],
    output: Output,
    order: Annotated[
        str, typer.Option(metavar="N|none", help="Longest n-gram; none: as long as in the text.")
    ] = "5",
    estimator: Annotated[
        str, typer.Option(metavar="maxent|kneser-ney|kneser-ney-single|witten-bell|add-k", help="How to estimate.")
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
        typer.Option(metavar="N|N1,N2,...", help="Leave out rarer n-grams, by order (maxent).", show_default="1"),
    ] = None,
    prune: Annotated[
        str | None,
        typer.Option(metavar="N1,N2,...", help="Leave out n-grams with at most this count, by order (Kneser-Ney)."),
    ] = None,
    prune_entropy: Annotated[
        float | None, typer.Option(help="Remove n-grams whose removal raises perplexity by less than this fraction.")
    ] = None,
    add_k: Annotated[float | None, typer.Option(help="Added to counts (add-k).", show_default="1")] = None,
    vocab: Annotated[str | None, typer.Option(metavar="FILE", help="The vocabulary: one word per line.")] = None,
    min_word_count: Annotated[int, typer.Option(help="Rarer words become <unk>.")] = 1,
    max_words: Annotated[int | None, typer.Option(help="Keep only this many of the most frequent words.")] = None,
    unknown: Annotated[
        str, typer.Option(metavar="token|error", help="Words outside the vocabulary: <unk>, or an error.")
    ] = "token",
    units: Annotated[str, typer.Option(metavar="words|characters|bytes", help="What a token is.")] = "words",
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
    topics: Annotated[int | None, typer.Option(metavar="N", help="Cluster documents without labels to topics.")] = None,
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
        str | None, typer.Option(metavar="NAME", help="How several sources are normalised.", show_default="planned")
    ] = None,
    disjoint: Annotated[
        str | None,
        typer.Option(metavar="A+B,...", help="Sources whose features are taken for disjoint; the error is reported."),
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
    workers: Workers = None,
    cluster: ClusterAddress = None,
    verbose: Verbose = False,
    json: Json = False,
) -> None:  # fmt: skip
    """Train a language model and save it. Ctrl-C stops early and saves the model trained so far."""
    console.check_writable(output)
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
    }  # fmt: skip

    from loglinear.models.language_model.files import make_language_model
    from loglinear.report.language_model import training_facts, training_summary, training_tables

    given = {name: value for name, value in settings.items() if value is not None}
    model = make_language_model({"order": _order(order), **given})
    held_out = None if dev is None else source(dev)
    if workers is None and cluster is None:
        model.fit([source(path) for path in corpus], validation=held_out)
    else:
        model = _on_cluster(model, corpus, held_out, workers, cluster)
    with console.naming(output):
        model.save(output)
    summary = training_summary(model, output)
    if json:
        console.print_json(summary)
    else:
        console.print_facts(training_facts(summary))
        for table in training_tables(summary):
            console.print_table(table)
    if model.status_ == Status.INTERRUPTED:
        console.note(f"interrupted: the model trained so far ({model.n_iter_} passes) is saved in {output}")
        raise typer.Exit(console.INTERRUPTED)


def _on_cluster(
    model: Any, corpus: list[str], dev: Any, workers: int | None, address: str | None
) -> Any:  # fmt: skip
    """Train a model of the same settings on a cluster, which reads the text."""
    with training.on_cluster(workers, address) as client:
        from loglinear.dask import DaskLanguageModel

        trained = DaskLanguageModel(client=client, **model.get_params()).fit(corpus, validation=dev)
    return trained.to_local()


def _order(text: str) -> int | None:
    try:
        return None if text.lower() == "none" else int(text)
    except ValueError:
        raise ValueError(f"--order takes a whole number or none, not {text!r}") from None


app.command()(plan)


def _load(path: str, threads: int | None, text_column: str | None = None) -> Any:
    from loglinear.models.language_model.files import load_language_model

    model = load_language_model(path, threads)
    model.text_column = text_column
    return model


@app.command("eval")
@console.command
def evaluate(
    model: Model,
    test: Annotated[str, typer.Argument(metavar="TEST", help="Text, or - for stdin.", show_default=False)],
    document_format: DocumentFormat = None,
    infer_topics: Annotated[
        bool, typer.Option("--infer-topics", help="Assign topics from the words so far, whatever the labels say.")
    ] = False,
    text_column: TextColumn = None,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Print the perplexity of a text, with and without its unknown words, and the orders of the n-grams found."""
    from loglinear.report.language_model import evaluation_facts, hit_table

    loaded = _load(model, threads, text_column)
    loaded.document_format = document_format or loaded.document_format
    found = loaded.evaluate(source(test), infer_topics=infer_topics)
    if json:
        console.print_json(found)
        return
    console.print_facts(evaluation_facts(found))
    console.print_table(hit_table(found))


@app.command()
@console.command
def score(
    model: Model,
    file: Annotated[str, typer.Argument(metavar="FILE", help="Text, or - for stdin.")] = "-",
    threshold: Annotated[
        float | None, typer.Option(metavar="X", help="Print instead the lines whose perplexity is at most X.")
    ] = None,
    text_column: TextColumn = None,
    threads: Threads = None,
) -> None:
    """Print for each line: log10 of its probability TAB number of tokens (with the end) TAB perplexity.

    A pipe is answered line by line.
    """
    from loglinear.models.language_model.files import score_file

    console.write(score_file(_load(model, threads, text_column), file, threshold=threshold))


@app.command()
@console.command
def explain(
    model: Model,
    sentence: Annotated[
        list[str] | None,
        typer.Argument(metavar="SENTENCE...", help="A sentence, or a JSON object with layers; else stdin."),
    ] = None,
    json: Json = False,
) -> None:
    """Print which n-grams gave each word of a sentence its probability; they add up to its log-probability."""
    from loglinear.models.language_model.files import explain_sentences, lines_of

    found = _load(model, None)
    sentences = [" ".join(sentence)] if sentence else lines_of(found, "-")
    console.write(explain_sentences(found, sentences, as_json=json))


app.command("export")(export_arpa)
app.command("import")(import_arpa)


@app.command(cls=TrainCommand)
@console.command
def mix(
    models: Annotated[list[str], typer.Argument(metavar="MODEL MODEL...", help="Two or more.", show_default=False)],
    dev: Annotated[
        str | None, typer.Option(metavar="FILE", help="Held-out text whose probability the weights maximise.")
    ] = None,
    tune: Annotated[
        str | None, typer.Option(metavar=" ", help="Choose the weights on the dev set: what --dev does by itself.")
    ] = None,
    weights: Annotated[str | None, typer.Option(metavar="W,W,...", help="The weights, which sum to one.")] = None,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="MODEL", help="Merge the models into one file.")
    ] = None,
    static: Annotated[
        bool, typer.Option("--static", help="Also print the perplexity of the merged model; with -o always.")
    ] = False,
    test: Annotated[str | None, typer.Option(metavar="TEST", help="Text whose perplexity is printed.")] = None,
    union: Annotated[bool, typer.Option("--union", help="The models may have different vocabularies.")] = False,
    cache: Cache = False,
    cache_kind: CacheKind = None,
    cache_window: CacheWindow = None,
    text_column: TextColumn = None,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Interpolate models linearly: p = sum of weight x p of each.

    With a general model and one of a domain, this is MAP adaptation.
    """
    if output is not None:
        console.check_writable(output)
    given = numbers("weights", weights, float)

    from loglinear.models.language_model.files import Text
    from loglinear.models.language_model.files import mix as make_mixture

    parts = [_load(path, threads, text_column) for path in models]
    tune_setting(tune, dev)
    texts = {path: Text.read(source(path), parts[0]) for path in (dev, test) if path is not None}
    mixture = make_mixture(parts, weights=given, validation=None if dev is None else texts[dev], union=union,
                           cache=cache_setting(cache, cache_kind, cache_window))  # fmt: skip
    perplexities = {path: mixture.perplexities(text) for path, text in texts.items()}
    merged: Any = mixture.merged() if static or output is not None else None
    if output is not None:
        with console.naming(output):
            merged.save(output)
    merged_perplexities = {path: merged.perplexity(text.numbered_for(merged)) for path, text in texts.items() if merged}
    if json:
        console.print_json(
            {
                "models": models, "weights": mixture.weights, "output": output,
                "perplexities": {p: {"mixture": v[0], "models": v[1:]} for p, v in perplexities.items()},
                "merged": merged_perplexities,
            }
        )  # fmt: skip
        return
    from loglinear.report.language_model import mixture_table

    console.print_table(mixture_table(models, mixture.weights, perplexities))
    for path, value in merged_perplexities.items():
        print(f"perplexity of the merged model on {path}: {value:.4f}")
    if output is not None:
        print(f"merged into {output}")


@app.command("next")
@console.command
def next_word(
    model: Model,
    context: Annotated[
        list[str] | None,
        typer.Argument(metavar="CONTEXT...", help="The words that begin the sentence, or a JSON object with layers."),
    ] = None,
    k: Annotated[int, typer.Option("-k", help="How many words.")] = 10,
    json: Json = False,
) -> None:
    """Print the most probable next words with their probabilities."""
    from loglinear.models.language_model.files import parse_history

    loaded = _load(model, None)
    found = loaded.top(parse_history(loaded, " ".join(context or [])), k)
    if json:
        console.print_json([{"word": word, "probability": p} for word, p in found])
        return
    from loglinear.formats.text import plain_line

    for word, p in found:
        print(f"{plain_line(word)}\t{p:.6g}")


@app.command()
@console.command
def generate(
    model: Model,
    n: Annotated[int, typer.Option("-n", help="How many sentences.")] = 5,
    temperature: Annotated[float, typer.Option(help="Below 1: prefer probable words; above 1: improbable ones.")] = 1.0,
    max_length: Annotated[int, typer.Option(help="Maximum number of words of a sentence.")] = 100,
    context: Annotated[
        str, typer.Option(help="Words that every sentence begins with, or a JSON object with layers.")
    ] = "",
    unknown: Annotated[bool, typer.Option("--unknown/--no-unknown", help="Whether <unk> may be drawn.")] = True,
    seed: Annotated[int | None, typer.Option(help="The same seed draws the same sentences.")] = None,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Draw sentences from the model, one per line."""
    from loglinear.models.language_model.files import generate as draw

    options: dict[str, Any] = {"temperature": temperature, "max_length": max_length, "context": context}
    for text in draw(_load(model, threads), n, unknown=unknown, random_state=seed, **options):
        if json:
            console.print_json({"text": text})
        else:
            print(text)


@app.command()
@console.command
def compare(
    first: Annotated[str, typer.Argument(metavar="A", help="A model file or an ARPA file.", show_default=False)],
    second: Annotated[str, typer.Argument(metavar="B", help="Another one.", show_default=False)],
    test: Annotated[str, typer.Argument(metavar="TEST", help="Text, or - for stdin.", show_default=False)],
    samples: Annotated[int, typer.Option(help="Bootstrap samples, for the interval and the p-value.")] = 1000,
    seed: Annotated[int, typer.Option(help="Seed of the samples.")] = 0,
    top: Annotated[int, typer.Option(help="Words and sentences to show.")] = 10,
    text_column: TextColumn = None,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Compare two models on a text, with a significance test."""
    from loglinear.models.language_model.files import compare as compare_models

    a, b = _load(first, threads, text_column), _load(second, threads, text_column)
    found = compare_models(a, b, source(test), n_samples=samples, random_state=seed, most=top)
    if json:
        console.print_json({"first": first, "second": second, **found.to_dict()})
        return
    from loglinear.report.language_model import comparison_facts, comparison_tables

    names = [os.path.basename(path) for path in (first, second)]  # noqa: PTH119
    if names[0] == names[1]:
        names = [first, second]
    console.print_facts(comparison_facts(found, *names))
    for table in comparison_tables(found, *names):
        console.print_table(table)
