"""``loglinear classify``: train, evaluate and use classifiers."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from loglinear.cli import choices, console, training
from loglinear.cli.options import (
    Checkpoint,
    Classes,
    ClusterAddress,
    Encoding,
    Errors,
    Html,
    Json,
    L1Ratio,
    Log,
    Output,
    TextColumn,
    Threads,
    Verbose,
    Workers,
    numbers,
)
from loglinear.cli.tuning import Dev, TrainCommand, tune_setting
from loglinear.formats import FORMATS

app = console.new_app()


def _orders(option: str, text: str) -> tuple[int, ...]:
    """Return the orders of n-grams of an option; none for an empty text or "none"."""
    if text.strip() in ("", "none"):
        return ()
    found: tuple[int, ...] = numbers(option, text, int)
    return found


Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA", help="Examples: a file, plain or compressed, or - for stdin.", show_default=False
    ),
]
Model = Annotated[str, typer.Argument(metavar="MODEL", help="A model file.", show_default=False)]
Format = Annotated[
    str | None,
    typer.Option(
        "--format", metavar=f"{'|'.join(FORMATS)}|list", callback=choices.list_formats, is_eager=True,
        help="Format of DATA; list: describe all.", show_default="guessed",
    ),
]  # fmt: skip

LabelColumn = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="Column of the label in JSON lines, Parquet and Arrow files.", show_default="label"
    ),
]


@app.command(cls=TrainCommand)
@console.command
def train(
    data: Data,
    output: Output,
    format: Format = None,
    penalty: Annotated[
        str,
        typer.Option(
            metavar="l2|l1|elastic_net|none|list", callback=choices.list_penalties, is_eager=True,
            help="Penalty on the weights; list: describe all.",
        ),
    ] = "l2",
    strength: Annotated[float, typer.Option(help="Weight of the penalty; 1/C of scikit-learn.")] = 1.0,
    l1_ratio: L1Ratio = 0.5,
    nonnegative: Annotated[bool, typer.Option("--nonnegative", help="Keep all weights at or above zero.")] = False,
    class_weight: Annotated[
        str | None,
        typer.Option(
            metavar="balanced|CLASS=W,...", show_default=False,
            help="Weight of the examples of each class; balanced: inverse to their number.",
        ),
    ] = None,
    one_vs_rest: Annotated[
        bool,
        typer.Option("--one-vs-rest", help="Train each class against all others; for thousands of classes, with l1."),
    ] = False,
    dev: Dev = None,
    tune: Annotated[
        str | None,
        typer.Option(
            metavar="[cv|S,S,...]", show_default=False,
            help="Choose the strength on the dev set, among those given, if any; cv: by cross-validation.",
        ),
    ] = None,
    solver: Annotated[
        str,
        typer.Option(
            metavar="auto|NAME|list", callback=choices.list_solvers, is_eager=True, help="Solver; list: describe all."
        ),
    ] = "auto",
    threads: Threads = None,
    max_iterations: Annotated[int, typer.Option(help="Maximum number of passes over the data.")] = 10_000,
    tolerance: Annotated[float, typer.Option(help="Relative gap to the optimum that training must reach.")] = 1e-4,
    seed: Annotated[int | None, typer.Option(help="Seed of the stochastic solver and of cross-validation.")] = None,
    ngrams: Annotated[
        str, typer.Option(metavar="N,N,...|none", help="Orders of the word n-grams of texts that are features.")
    ] = "1",
    char_ngrams: Annotated[
        str, typer.Option(metavar="N,N,...|none", help="Orders of the character n-grams of texts that are features.")
    ] = "none",
    across_words: Annotated[
        bool, typer.Option("--across-words", help="Let character n-grams go across the ends of words.")
    ] = False,
    lowercase: Annotated[bool, typer.Option(help="Put texts in lower case.")] = True,
    stop_words: Annotated[
        str | None,
        typer.Option(
            metavar="english|FILE", help="Words to leave out: those of English, or of a file with one word per line."
        ),
    ] = None,
    min_count: Annotated[int, typer.Option(help="Drop n-grams that occur less often.")] = 1,
    hash_size: Annotated[
        int | None, typer.Option(metavar="N", help="Hash n-grams to N features, which have no names.")
    ] = None,
    weighting: Annotated[
        str,
        typer.Option(
            metavar="count|binary|log|tfidf|log_tfidf|list", callback=choices.list_weightings, is_eager=True,
            help="Values of n-grams; list: describe all.",
        ),
    ] = "count",
    classes: Classes = None,
    encoding: Encoding = "utf-8",
    text_column: TextColumn = None,
    label_column: LabelColumn = None,
    label_separator: Annotated[
        str | None,
        typer.Option(
            metavar="CHARACTER", show_default=False,
            help="Examples may have several labels, or none, separated by this; each label is a problem of its own.",
        ),
    ] = None,
    checkpoint: Checkpoint = None,
    workers: Workers = None,
    cluster: ClusterAddress = None,
    verbose: Verbose = False,
    log: Log = None,
    json: Json = False,
) -> None:
    """Train a classifier and save it. Ctrl-C stops early and saves the model trained so far.

    Examples:
        loglinear classify train reviews.tsv -o reviews.ll
        loglinear classify train reviews.tsv -o reviews.ll --ngrams 1,2 --penalty l1 --dev dev.tsv --tune
    """
    orders, char_orders = _orders("ngrams", ngrams), _orders("char-ngrams", char_ngrams)

    from loglinear.models import MaxentClassifier
    from loglinear.models.classifier.files import train_on_file

    settings = {
        "penalty": penalty, "strength": strength, "l1_ratio": l1_ratio, "nonnegative": nonnegative, "solver": solver,
        "tolerance": tolerance, "max_iterations": max_iterations, "tune": tune_setting(tune, dev), "ngrams": orders,
        "class_weight": _class_weight(class_weight), "one_vs_rest": one_vs_rest,
        "char_ngrams": char_orders, "across_words": across_words, "lowercase": lowercase, "stop_words": stop_words,
        "hash_size": hash_size, "weighting": weighting, "min_count": min_count, "classes": classes,
        "label_separator": label_separator,
        "text_column": text_column, "label_column": label_column, "n_threads": threads, "random_state": seed,
        "checkpoint": checkpoint, "verbose": 1 if verbose else "auto", "log": log,
    }  # fmt: skip
    examples: Any  # or how many there were
    if workers is None and cluster is None:
        model = MaxentClassifier(**settings)
        examples = train_on_file(model, data, format, encoding, validation=dev)
    else:
        model, examples = _on_cluster(settings, data, format, encoding, dev, workers, cluster)
    show = console.print_json if json else _print_summary
    training.finish(model, output, checkpoint, lambda: _summary(model, examples, output), show)


def _class_weight(given: str | None) -> Any:
    """Return class weights as a dict, or "balanced"."""
    if given is None or given == "balanced":
        return given
    weights: dict[str, float] = {}
    for one in given.split(","):
        label, mark, weight = one.rpartition("=")
        try:
            weights[label] = float(weight)
        except ValueError:
            mark = ""
        if not mark:
            raise typer.BadParameter(f"{one!r} is not CLASS=WEIGHT", param_hint="--class-weight")
    return weights


def _on_cluster(
    settings: dict[str, Any], data: str, format: str | None, encoding: str, dev: str | None, workers: int | None,
    address: str | None,
) -> tuple[Any, int]:  # fmt: skip
    """Train on a cluster, which reads the examples; return the model, and how many examples there were."""
    with training.on_cluster(workers, address, settings["n_threads"]) as client:
        from loglinear.dask import DaskMaxentClassifier

        model = DaskMaxentClassifier(client=client, **settings)
        model.fit(data, validation=dev, format=format, encoding=encoding)
    return model.to_local(), model.n_examples_


def _summary(model: Any, examples: Any, output: str) -> dict[str, Any]:
    summary = {
        "model": output,
        "examples": examples if isinstance(examples, int) else len(examples),
        "features": int(model.n_features_in_) if isinstance(examples, int) or examples.n_features is None
        else examples.n_features,
        "classes": len(model.classes_),
        **training.solver_summary(model, model.coef_),
        **({} if isinstance(examples, int)
           else {"training_accuracy": _accuracy(model, examples)}),
        **training.dev_score(model),
    }  # fmt: skip
    if model.tune is not None:
        summary["tuning"] = model.tuning_
    return summary


def _accuracy(model: Any, examples: Any) -> float:
    """Return the share of training examples whose label is right, or all of whose labels are."""
    from loglinear.metrics.accuracy import accuracy

    if model.label_form_ is not None:
        return float(model.score(examples.X, examples.labels))
    return accuracy(examples.labels, model.predict(examples.X))


def _print_summary(s: dict[str, Any]) -> None:
    console.print_facts(
        [
            ("examples", f"{s['examples']:,}"),
            ("features", f"{s['features']:,}"),
            ("classes", f"{s['classes']:,}"),
            *training.solver_facts(s),
            *([("training accuracy", f"{s['training_accuracy']:.4f}")] if "training_accuracy" in s else []),
            *training.dev_facts(s, "accuracy on dev"),
            ("model", s["model"]),
        ]
    )
    training.print_tuning(s)


@app.command("eval")
@console.command
def evaluate(
    model: Model, data: Data, errors: Errors = 0, format: Format = None, encoding: Encoding = "utf-8",
    text_column: TextColumn = None, label_column: LabelColumn = None, threads: Threads = None, html: Html = None,
    json: Json = False,
) -> None:
    """Score a classifier on labelled examples, with a confusion matrix.

    Examples:
        loglinear classify eval reviews.ll dev.tsv
        loglinear classify eval reviews.ll dev.tsv --errors 5 --html reviews.html
    """
    from loglinear.models.classifier.files import Columns, read_for

    classifier, columns = _load(model, threads), Columns(text_column, label_column)
    examples, n_ignored = read_for(classifier, data, format, encoding, columns=columns, n_threads=threads)
    _note_ignored(classifier, n_ignored)
    found = classifier.evaluate(examples.X, examples.labels, errors=errors or console.MISTAKES * (html is not None))
    console.note_unseen(found["unseen_labels"])

    from loglinear.report.evaluation import classifier_sections

    console.write_html(html, f"{model} on {data}", lambda: classifier_sections(found))
    if not errors:
        found.pop("errors", None)
    if json:
        console.print_json(found)
        return
    from loglinear.report.classifier import confusion_table, score_facts, score_table

    console.print_facts(score_facts(found))
    console.print_table(score_table(found))
    if "confusion" in found:
        console.print_table(confusion_table(found))
    console.print_mistakes(found)


Labelled = Annotated[
    bool | None,
    typer.Option(
        "--labelled/--unlabelled", help="Whether each line of tsv begins with a label, which is then ignored.",
        show_default="whether the first lines begin with classes of the model",
    ),
]  # fmt: skip


@app.command()
@console.command
def predict(
    model: Model,
    data: Data = "-",
    format: Format = None,
    labelled: Labelled = None,
    proba: Annotated[bool, typer.Option("--proba", help="Print the probability of every class.")] = False,
    encoding: Encoding = "utf-8",
    text_column: TextColumn = None,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Print the most probable class of each example, one per line. A pipe is answered line by line.

    Examples:
        loglinear classify predict reviews.ll new.txt
        echo 'a good film' | loglinear classify predict reviews.ll --proba
    """
    from loglinear.models.classifier.files import Columns, PredictedFile

    classifier = _load(model, threads)
    predicted = PredictedFile(
        classifier, data, format, encoding, labelled=labelled, note=lambda text: console.note(f"note: {text}"),
        proba=proba, as_json=json, columns=Columns(text_column),
    )  # fmt: skip
    console.write(predicted)
    _note_ignored(classifier, predicted.n_ignored)


@app.command()
@console.command
def explain(
    model: Model,
    text: Annotated[
        list[str] | None,
        typer.Argument(metavar="TEXT...", help="A text; if none is given, examples are read from stdin."),
    ] = None,
    top: Annotated[int, typer.Option(metavar="K", help="How many features to show, those of largest effect.")] = 10,
    format: Format = None,
    labelled: Labelled = None,
    encoding: Encoding = "utf-8",
    json: Json = False,
) -> None:
    """Print what each feature of an example adds to the score of the predicted class; with --json, of every class.

    Examples:
        loglinear classify explain reviews.ll 'a good film'
        echo 'a good film' | loglinear classify explain reviews.ll --json
    """
    from loglinear.models.classifier.files import ExplainedFile, explain_text, explained_line

    classifier = _load(model, None)
    if text:
        print(explained_line(explain_text(classifier, " ".join(text)), top, json))
    else:
        console.write(ExplainedFile(classifier, "-", format, encoding, labelled=labelled, as_json=json, top=top))


def _load(path: str, threads: int | None) -> Any:
    from loglinear.models import load_predictor

    model = load_predictor(path, "maxent-classifier")
    model.n_threads = threads
    return model


def _note_ignored(model: Any, n_values: int) -> None:
    """Note on stderr how many values of unknown features were ignored."""
    if n_values:
        last = model.n_features_in_ - 1
        console.note(f"note: features past the model's last ({last}) are ignored (values left out: {n_values:,})")
