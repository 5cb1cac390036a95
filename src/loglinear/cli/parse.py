"""``loglinear parse``: train, evaluate and use constituency parsers."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from loglinear.cli import choices, console, training
from loglinear.cli.options import Checkpoint, Encoding, Html, Json, Log, Output, Threads, Verbose
from loglinear.cli.tuning import Dev, TrainCommand, Tune, tune_setting

app = console.new_app()

Trees = Annotated[
    str,
    typer.Argument(
        metavar="DATA", help="File of bracketed trees, plain or compressed, or - for stdin.", show_default=False
    ),
]
Text = Annotated[
    str, typer.Argument(metavar="DATA", help="File of sentences, one per line, or - for stdin.", show_default=False)
]
Model = Annotated[str, typer.Argument(metavar="MODEL", help="A model file.", show_default=False)]
Objective = Annotated[
    str,
    typer.Option(
        metavar="probability|recall",
        help="Print the most probable tree, or the one with the greatest expected number of right constituents.",
    ),
]
Cost = Annotated[
    float, typer.Option(help="What each constituent costs under --objective recall; 0.5 weighs precision too.")
]


@app.command(cls=TrainCommand)
@console.command
def train(
    data: Trees,
    output: Output,
    estimator: Annotated[
        str | None, typer.Option(metavar="crf|m-estimation|pcfg", help="Kind of parser.", show_default="crf")
    ] = None,
    features: Annotated[
        str | None,
        typer.Option(
            metavar="extended|rules", help="Rules alone, or words at boundaries of spans too.", show_default="extended"
        ),
    ] = None,
    direction: Annotated[
        str | None, typer.Option(metavar="right|left", help="Direction of binarisation.", show_default="right")
    ] = None,
    horizontal: Annotated[
        str | None,
        typer.Option(metavar="N|all", help="How many siblings a part of a constituent remembers.", show_default="1"),
    ] = None,
    vertical: Annotated[
        int | None,
        typer.Option(help="Labels in a symbol; 2 adds the parent's, 3 also the grandparent's.", show_default="1"),
    ] = None,
    annotate_tags: Annotated[
        bool, typer.Option("--annotate-tags", help="Add the labels of their ancestors to tags too.")
    ] = False,
    annotate_heads: Annotated[
        bool, typer.Option("--annotate-heads", help="Add the tag of the head word to symbols.")
    ] = False,
    min_word_count: Annotated[
        int | None, typer.Option(help="Read words that occur less often as unknown.", show_default="2")
    ] = None,
    min_count: Annotated[
        int | None, typer.Option(help="Drop features of boundaries that occur less often.", show_default="1")
    ] = None,
    smoothing: Annotated[
        float | None, typer.Option(help="Number added to the counts of rules.", show_default="0")
    ] = None,
    pruning: Annotated[
        str | None,
        typer.Option(
            metavar="auto|none|P", help="Leave out constituents that a coarse grammar finds less likely than P.",
            show_default="1e-3 for crf, else none",
        ),
    ] = None,
    penalty: choices.Penalty = None,
    strength: Annotated[float | None, typer.Option(help="Strength of the penalty.", show_default="1")] = None,
    l1_ratio: choices.L1Ratio = None,
    solver: choices.Solver = None,
    tolerance: Annotated[float | None, choices.tolerance("1e-3")] = None,
    max_iterations: Annotated[int | None, choices.max_iterations("200")] = None,
    max_memory: Annotated[str | None, typer.Option(help="Memory that charts may take.", show_default="4G")] = None,
    dev: Dev = None,
    tune: Tune = None,
    encoding: Encoding = "utf-8",
    threads: Threads = None,
    seed: choices.Seed = None,
    checkpoint: Checkpoint = None,
    verbose: Verbose = False,
    log: Log = None,
    json: Json = False,
) -> None:  # fmt: skip
    """Train a parser on bracketed trees and save it. Ctrl-C stops early and saves the model trained so far.

    Examples:
        loglinear parse train trees.mrg -o parser.ll
        loglinear parse train trees.mrg -o parser.ll --estimator pcfg --vertical 2
    """
    settings = choices.given(
        estimator=estimator, features=features, direction=direction, vertical=vertical, min_word_count=min_word_count,
        annotate_tags=annotate_tags or None, annotate_heads=annotate_heads or None,
        min_count=min_count, smoothing=smoothing, penalty=penalty, strength=strength, l1_ratio=l1_ratio, solver=solver,
        tolerance=tolerance, max_iterations=max_iterations, max_memory=max_memory, tune=tune_setting(tune, dev),
        n_threads=threads, random_state=seed, checkpoint=checkpoint, verbose=1 if verbose else None, log=log,
    )  # fmt: skip
    if horizontal is not None:
        settings["horizontal"] = None if horizontal == "all" else _number("horizontal", horizontal, int)
    if pruning is not None:
        known: dict[str, Any] = {"auto": "auto", "none": None}
        settings["pruning"] = known[pruning] if pruning in known else _number("pruning", pruning, float)

    from loglinear.models.parser.files import train_on_file

    model, trees = train_on_file(data, settings, validation=dev, encoding=encoding)
    show = console.print_json if json else _print_summary
    training.finish(model, output, checkpoint, lambda: _summary(model, trees, output), show)


def _number(option: str, text: str, kind: Any) -> Any:
    try:
        return kind(text)
    except ValueError:
        raise ValueError(f"--{option} takes a number or a name, not {text!r}") from None


def _summary(model: Any, trees: Any, output: str) -> dict[str, Any]:
    rules = model.grammar_.rules
    summary = {
        "model": output, "trees": len(trees), "tokens": int(trees.word_ptr[-1]), "symbols": len(rules.symbols),
        "rules": rules.n_rules, "words": model.grammar_.lexicon.n_words, "estimator": model.estimator,
        **training.solver_summary(model, model.weights_), **training.dev_score(model),
    }  # fmt: skip
    if hasattr(model, "pruning_cost_"):
        summary["pruning"] = model.pruning_cost_
    if model.tune is not None:
        summary["tuning"] = model.tuning_
    return summary


def _print_summary(s: dict[str, Any]) -> None:
    facts = [(name, f"{s[name]:,}") for name in ("trees", "tokens", "symbols", "rules", "words")]
    facts.append(("estimator", s["estimator"]))
    if "pruning" in s:
        cost = s["pruning"]
        kept, lost = f"{cost['kept']:.1%} of the chart kept", f"{cost['gold_lost']:.2%} of the gold trees' symbols lost"
        facts.append(("pruning", f"{cost['threshold']:g}: {kept}, {lost} (and put back)"))
    counted = s["estimator"] == "pcfg"
    facts += [("seconds", f"{s['seconds']:.2f}")] if counted else training.solver_facts(s)
    console.print_facts([*facts, *training.dev_facts(s, "F1 on dev"), ("model", s["model"])])
    training.print_tuning(s)


@app.command("eval")
@console.command
def evaluate(
    model: Model,
    data: Trees,
    objective: Objective = "probability",
    cost: Cost = 0.0,
    encoding: Encoding = "utf-8",
    threads: Threads = None,
    html: Html = None,
    json: Json = False,
) -> None:
    """Score a parser on bracketed trees: constituents counted as by evalb, exact matches, tags.

    Examples:
        loglinear parse eval parser.ll dev.mrg
        loglinear parse eval parser.ll dev.mrg --objective recall --html parser.html
    """
    from loglinear.models.parser.files import evaluate_file

    found = evaluate_file(_load(model, threads), data, encoding, objective=objective, cost=cost)
    shares = ("precision", "recall", "f1", "exact_match", "tag_accuracy")
    facts = [("trees", f"{found['trees']:,}")]
    facts += [("F1" if name == "f1" else name.replace("_", " "), f"{100 * found[name]:.2f}") for name in shares]
    counts = f"{found['gold']:,} gold, {found['predicted']:,} predicted, {found['correct']:,} correct"
    facts.append(("constituents", counts))

    from loglinear.report.evaluation import parser_sections

    console.write_html(html, f"{model} on {data}", lambda: parser_sections(facts, found))
    if json:
        console.print_json(found)
    else:
        console.print_facts(facts)


@app.command()
@console.command
def predict(
    model: Model,
    data: Text = "-",
    nbest: Annotated[
        int | None, typer.Option(metavar="K", help="Print the K best trees, each after '# rank probability'.")
    ] = None,
    marginals: Annotated[
        bool, typer.Option("--marginals", help="Print the probabilities of constituents after each tree.")
    ] = False,
    objective: Objective = "probability",
    cost: Cost = 0.0,
    encoding: Encoding = "utf-8",
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Print the tree of every sentence, one per line. A pipe is answered line by line.

    Examples:
        loglinear parse predict parser.ll new.txt
        echo 'the dog sleeps' | loglinear parse predict parser.ll --nbest 3
    """
    from loglinear.models.parser.files import parse_file

    if nbest is not None and marginals and not json:
        raise ValueError("--nbest and --marginals can be combined only with --json")
    parser = _load(model, threads)
    console.write(
        parse_file(
            parser, data, encoding=encoding, nbest=nbest, marginals=marginals, objective=objective, cost=cost,
            as_json=json,
        )
    )  # fmt: skip


@app.command()
@console.command
def explain(
    model: Model,
    data: Text = "-",
    top: Annotated[int, typer.Option(metavar="K", help="Features of a rule to show, those of largest effect.")] = 5,
    encoding: Encoding = "utf-8",
    json: Json = False,
) -> None:
    """Print the tree of every sentence, and what the features of each of its rules add to its score.

    Examples:
        loglinear parse explain parser.ll new.txt
        echo 'the dog sleeps' | loglinear parse explain parser.ll --top 3
    """
    from loglinear.models.parser.files import explain_file

    console.write(explain_file(_load(model, None), data, encoding=encoding, top=top, as_json=json))


def _load(path: str, threads: int | None) -> Any:
    from loglinear.models import load_predictor

    parser = load_predictor(path, "parser")
    parser.n_threads = threads
    return parser
