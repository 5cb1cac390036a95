"""``loglinear lm``: train, evaluate, use, mix and compare n-gram language models."""

from __future__ import annotations

import os
from typing import Annotated, Any

import typer

from loglinear.cli import console
from loglinear.cli.lm_arpa import Model, export_arpa, import_arpa
from loglinear.cli.lm_options import Cache, CacheKind, CacheWindow, cache_setting
from loglinear.cli.lm_train import train
from loglinear.cli.options import DocumentFormat, Html, Json, TextColumn, Threads, numbers, source
from loglinear.cli.outputs import WRITTEN, Written
from loglinear.cli.tuning import TrainCommand, tune_setting

app = console.new_app()
app.command(cls=TrainCommand)(train)


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
        bool, typer.Option("--infer-topics", help="Infer topics from the words so far, whatever the labels say.")
    ] = False,
    against: Annotated[
        str | None, typer.Option(metavar="MODEL", help="Also show how the perplexity differs from that of MODEL.")
    ] = None,
    text_column: TextColumn = None,
    threads: Threads = None,
    html: Html = None,
    json: Json = False,
) -> None:
    """Print the perplexity of a text, with and without its unknown words, and the orders of the n-grams found.

    Examples:
        loglinear lm eval news.ll dev.txt
        loglinear lm eval news.ll dev.txt --against kn.ll --html news.html
    """
    from loglinear.report.evaluation import language_model_sections
    from loglinear.report.language_model import difference_facts, evaluation_facts, hit_table

    loaded = _load(model, threads, text_column)
    loaded.document_format = document_format or loaded.document_format
    found = loaded.evaluate(source(test), infer_topics=infer_topics)
    other = None
    if against is not None:
        if test == "-":
            raise ValueError("--against reads the text twice, and stdin is read once: give a file")
        other = _load(against, threads, text_column).evaluate(source(test))
        found["against"] = {"model": against, "perplexity": other["perplexity"]}
    name = os.path.basename(against or "")  # noqa: PTH119
    console.write_html(html, f"{model} on {test}", lambda: language_model_sections(found, other, name))
    if json:
        console.print_json(found)
        return
    console.print_facts([*evaluation_facts(found), *(() if other is None else difference_facts(found, other, name))])
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

    Examples:
        loglinear lm score news.ll new.txt
        echo 'the dog sleeps' | loglinear lm score news.ll
    """
    from loglinear.models.language_model.files import score_file

    console.write(score_file(_load(model, threads, text_column), file, threshold=threshold))


@app.command()
@console.command
def explain(
    model: Model,
    sentence: Annotated[
        list[str] | None,
        typer.Argument(metavar="SENTENCE...", help="A sentence, or a JSON object with layers; by default, stdin."),
    ] = None,
    json: Json = False,
) -> None:
    """Print which n-grams gave each word of a sentence its probability; what they add sums to its log-probability.

    Examples:
        loglinear lm explain news.ll 'the dog sleeps'
        loglinear lm explain news.ll 'the dog sleeps' --json
    """
    from loglinear.models.language_model.files import explain_sentences, lines_of

    found = _load(model, None)
    sentences = [" ".join(sentence)] if sentence else lines_of(found, "-")
    console.write(explain_sentences(found, sentences, as_json=json))


app.command("export")(export_arpa)
app.command("import")(import_arpa)


@app.command(cls=TrainCommand)
@console.command
def mix(
    models: Annotated[
        list[str], typer.Argument(metavar="MODEL MODEL...", help="Two models or more.", show_default=False)
    ],
    dev: Annotated[
        str | None, typer.Option(metavar="FILE", help="Held-out text whose probability the weights maximise.")
    ] = None,
    tune: Annotated[
        str | None, typer.Option(metavar=" ", help="Choose the weights on the dev set: what --dev does by itself.")
    ] = None,
    weights: Annotated[str | None, typer.Option(metavar="W,W,...", help="The weights, which sum to one.")] = None,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="MODEL", help="Merge the models into one file."), WRITTEN
    ] = None,
    static: Annotated[
        bool, typer.Option("--static", help="Also print the perplexity of the merged model; with -o always.")
    ] = False,
    test: Annotated[str | None, typer.Option(metavar="TEST", help="Text whose perplexity is also printed.")] = None,
    union: Annotated[bool, typer.Option("--union", help="The models may have different vocabularies.")] = False,
    cache: Cache = False,
    cache_kind: CacheKind = None,
    cache_window: CacheWindow = None,
    text_column: TextColumn = None,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Interpolate models linearly: p = sum of weight x p of each.

    Mixing a general model and one of a domain is MAP adaptation.

    Examples:
        loglinear lm mix news.ll kn.ll --dev dev.txt
        loglinear lm mix news.ll kn.ll --weights 0.7,0.3 -o mixed.ll
    """
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
        console.save_model(merged, output)
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


@app.command()
@console.command
def plan(
    corpus: Annotated[
        list[str], typer.Argument(metavar="CORPUS...", help="Documents or text, or - for stdin.", show_default=False)
    ],
    sources: Annotated[str, typer.Option(metavar="words:3,topic,...", help="Information sources.", show_default=False)],
    document_format: DocumentFormat = None,
    measure: Annotated[
        bool, typer.Option("--measure", help="Also run the methods that are predicted to be fast.")
    ] = False,
    limit: Annotated[float, typer.Option(metavar="SECONDS", help="Stop measuring after this many seconds.")] = 60.0,
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
    min_word_count: Annotated[int, typer.Option(help="Read words that are rarer as <unk>.")] = 1,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Print what each way to train a model with several sources would cost, and which one training would choose.

    Examples:
        loglinear lm plan news.txt --sources words:2,skip:1
        loglinear lm plan news.txt --sources words:2,skip:1 --measure --limit 5
    """
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
    """Print the most probable next words with their probabilities.

    Examples:
        loglinear lm next news.ll the dog
        loglinear lm next news.ll -k 3 --json
    """
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
    """Draw sentences from the model, one per line.

    Examples:
        loglinear lm generate news.ll -n 3
        loglinear lm generate news.ll --context 'the dog' --temperature 0.7 --seed 1
    """
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
    first: Annotated[str, typer.Argument(metavar="MODEL", help="A model file or an ARPA file.", show_default=False)],
    second: Annotated[str, typer.Argument(metavar="MODEL", help="A second model.", show_default=False)],
    test: Annotated[str, typer.Argument(metavar="TEST", help="Text, or - for stdin.", show_default=False)],
    samples: Annotated[int, typer.Option(help="Number of bootstrap samples, for the interval and the p-value.")] = 1000,
    seed: Annotated[int, typer.Option(help="Seed of the samples.")] = 0,
    top: Annotated[int, typer.Option(help="How many words and sentences to show.")] = 10,
    text_column: TextColumn = None,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Compare two models on a text, with a significance test.

    Examples:
        loglinear lm compare kn.ll news.ll dev.txt
        loglinear lm compare kn.ll news.ll dev.txt --samples 200 --json
    """
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
