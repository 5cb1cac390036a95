"""``loglinear tag``: train, evaluate and use taggers."""

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
    Log,
    Output,
    Threads,
    Verbose,
    Workers,
)
from loglinear.cli.tuning import Dev, TrainCommand, Tune, tune_setting

app = console.new_app()

Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA", help="File of sequences, plain or compressed, or - for stdin.", show_default=False
    ),
]
Model = Annotated[str, typer.Argument(metavar="MODEL", help="A model file.", show_default=False)]
Format = Annotated[
    str | None, typer.Option("--format", metavar="conll|crfsuite", help="Format of DATA; guessed by default.")
]
LabelColumn = Annotated[int, typer.Option(help="Column of the label in conll, counted from 0; -1 is the last.")]
Comments = Annotated[bool, typer.Option("--comments", help="Skip lines of conll that begin with #.")]
Constrain = Annotated[
    str | None,
    typer.Option(
        metavar="bio|iob1|iobes|bilou|bmes|auto|FILE",
        help="Allow only labellings that are legal in a scheme (auto: that of the training labels, unless they break "
        "it), or that avoid the pairs in a file with two labels per line, the second of which must not follow the "
        "first.",
    ),
]


@app.command(cls=TrainCommand)
@console.command
def train(
    data: Data,
    output: Output,
    templates: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|FILE|list", callback=choices.list_templates, is_eager=True,
            help="Templates of attributes for columns: a built-in set, or a CRF++ or Wapiti file; list: show the sets.",
        ),
    ] = None,
    dialect: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", show_default="by the templates",
            help="Tool whose marks rows outside a sequence get: crf++, wapiti or loglinear.",
        ),
    ] = None,
    classes: Classes = None,
    lexicon: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE", help="Names as features (a gazetteer): a file of 'phrase TAB type', or of phrases of the "
            "type that it is named after. May be given several times.",
        ),
    ] = None,
    format: Format = None,
    estimator: Annotated[
        str | None,
        typer.Option(metavar="crf|memm|pseudolikelihood|m-estimation|hmm", help="Kind of tagger.", show_default="crf"),
    ] = None,
    scheme: Annotated[
        str | None,
        typer.Option(
            metavar="bio|iob1|iobes|bilou|bmes",
            help="Convert the labels to this scheme, and learn and predict in it.",
            show_default="labels as they are",
        ),
    ] = None,
    penalty: choices.Penalty = None,
    strength: Annotated[
        float | None,
        typer.Option(help="Strength of the penalty; CRFsuite: 2 c2 or c1, Wapiti: rho2 or rho1.", show_default="1"),
    ] = None,
    l1_ratio: choices.L1Ratio = None,
    order: Annotated[
        int | None, typer.Option(help="Order of the chain; 2 adds features of three labels.", show_default="1")
    ] = None,
    features: Annotated[
        str | None,
        typer.Option(
            metavar="observed|all", help="Pairs of an attribute and a label with a weight.", show_default="observed"
        ),
    ] = None,
    transitions: Annotated[
        str | None,
        typer.Option(metavar="observed|all", help="Pairs of labels with a weight.", show_default="observed"),
    ] = None,
    min_count: Annotated[
        int | None, typer.Option(help="Drop attributes that occur less often.", show_default="1")
    ] = None,
    min_feature_count: Annotated[
        float | None,
        typer.Option(help="Drop pairs of an attribute and a label that occur less often.", show_default="0"),
    ] = None,
    max_features: Annotated[
        int | None, typer.Option(metavar="K", help="Train on the K features that rank best under M-estimation.")
    ] = None,
    hash_bits: Annotated[
        int | None, typer.Option(help="Hash attributes into 2^BITS numbers instead of keeping their names.")
    ] = None,
    oov: Annotated[
        bool, typer.Option("--oov", help="Learn a symbol for unknown values from the first occurrence of every value.")
    ] = False,
    base: Annotated[
        str | None,
        typer.Option(
            metavar="hmm|locally-uniform|empirical", help="Base distribution of m-estimation.", show_default="hmm"
        ),
    ] = None,
    expectation: Annotated[
        str | None,
        typer.Option(
            metavar="exact|sample", help="m-estimation: how expectations under the base are computed.",
            show_default="exact",
        ),
    ] = None,
    n_samples: Annotated[
        int | None,
        typer.Option(help="How many sequences are drawn where expectations are sampled.", show_default="10,000"),
    ] = None,
    input_only: Annotated[
        str | None,
        typer.Option(
            metavar="N|FILE", help="m-estimation: also features of the input alone, n-grams of each column up to N "
            "tokens, or templates.",
        ),
    ] = None,
    unlabelled: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Also learn from sequences without labels, by --em (hmm, m-estimation)."),
    ] = None,
    em: Annotated[
        int | None, typer.Option(metavar="ROUNDS", help="Rounds of expectation-maximisation over --unlabelled.")
    ] = None,
    em_labels: Annotated[
        str | None,
        typer.Option(
            metavar="sample|best", help="How a round of --em completes unknown labels: drawn, or the best.",
            show_default="sample",
        ),
    ] = None,
    initialise: Annotated[
        str | None, typer.Option(metavar="m-estimation", help="Start a CRF from an M-estimate.")
    ] = None,
    solver: choices.Solver = None,
    tolerance: Annotated[float | None, choices.tolerance("1e-4")] = None,
    max_iterations: Annotated[int | None, choices.max_iterations("1000")] = None,
    dev: Dev = None,
    tune: Tune = None,
    continued: Annotated[
        str | None, typer.Option("--from", metavar="MODEL", help="Continue a model, with its settings unless given.")
    ] = None,
    label_column: LabelColumn = -1,
    comments: Comments = False,
    encoding: Encoding = "utf-8",
    threads: Threads = None,
    seed: choices.Seed = None,
    checkpoint: Checkpoint = None,
    workers: Workers = None,
    cluster: ClusterAddress = None,
    verbose: Verbose = False,
    log: Log = None,
    json: Json = False,
) -> None:  # fmt: skip
    """Train a tagger and save it. Ctrl-C stops early and saves the model trained so far.

    Examples:
        loglinear tag train train.conll -o chunks.ll --templates chunking
        loglinear tag train train.conll -o chunks.ll --templates chunking --scheme iobes --dev dev.conll --tune 3,1,0.3
    """
    settings = choices.given(
        estimator=estimator, templates=templates, dialect=dialect, classes=classes, lexicon=lexicon or None,
        order=order, features=features,
        transitions=transitions, min_count=min_count, min_feature_count=min_feature_count, max_features=max_features,
        hash_bits=hash_bits, oov=oov or None, base=base, expectation=expectation, n_samples=n_samples,
        input_only=int(input_only) if input_only is not None and input_only.isdecimal() else input_only,
        em=em, em_labels=em_labels, initialise=initialise, scheme=scheme, penalty=penalty, strength=strength,
        l1_ratio=l1_ratio, solver=solver, tolerance=tolerance, max_iterations=max_iterations,
        tune=tune_setting(tune, dev), n_threads=threads, random_state=seed, checkpoint=checkpoint,
        verbose=1 if verbose else None, log=log,
    )  # fmt: skip

    reading: dict[str, Any] = {
        "format": format, "encoding": encoding, "label_column": label_column, "comments": comments,
    }  # fmt: skip
    sequences: Any  # None: those of a cluster
    if workers is None and cluster is None:
        from loglinear.models.tagger.files import train_on_file

        model, sequences = train_on_file(
            data, settings, continued=continued, validation=dev, unlabelled=unlabelled, **reading
        )
        if templates == "ner" and (sequences.n_columns or 0) > 1:
            wider = "ner-tags sees parts of speech in column 2, ner-phrases phrases in column 3 as well"
            console.note(f"note: --templates ner looks at the words of {data} alone; {wider}")
    else:
        for option, value in (("--from", continued), ("--unlabelled", unlabelled)):
            if value is not None:
                raise ValueError(f"{option} is for training in one process: leave it out, or --workers and --cluster")
        with training.on_cluster(workers, cluster, threads) as client:
            from loglinear.dask import DaskTagger

            model, sequences = DaskTagger(client=client, **settings).fit(data, validation=dev, **reading), None
        model = model.to_local()
    show = console.print_json if json else _print_summary
    training.finish(model, output, checkpoint, lambda: _summary(model, sequences, output), show)


def _summary(model: Any, sequences: Any, output: str) -> dict[str, Any]:
    from loglinear.features.schemes import flat_detect

    summary = {
        "model": output,
        "sequences": model.n_sequences_ if sequences is None else len(sequences),
        "tokens": model.n_tokens_ if sequences is None else sequences.n_tokens,
        "labels": len(model.classes_),
        "scheme": model.scheme_,
        "illegal_labels": model.n_illegal_,
        "attributes": model.reader_.n_attributes,
        "estimator": model.estimator,
        **training.solver_summary(model, model.weights_),
        **training.dev_score(model),
    }
    source = model.source_scheme_ if sequences is None else flat_detect(sequences.labels).scheme
    if model.scheme not in (None, source):
        summary["converted_from"] = source
    if model.em:
        summary["em"] = model.em_
    if model.tune is not None:
        summary["tuning"] = model.tuning_
    return summary


def _print_summary(s: dict[str, Any]) -> None:
    counted = s["estimator"] == "hmm"
    shown = ("sequences", "tokens", "labels") if counted else ("sequences", "tokens", "labels", "attributes")
    facts = [(name, f"{s[name]:,}") for name in shown]
    facts.insert(3, ("scheme", _scheme_fact(s)))
    facts.append(("estimator", s["estimator"]))
    facts += [("seconds", f"{s['seconds']:.2f}")] if counted else training.solver_facts(s)
    console.print_facts([*facts, *training.dev_facts(s), ("model", s["model"])])
    training.print_tuning(s)


def _scheme_fact(s: dict[str, Any]) -> str:
    if "converted_from" in s:
        return f"{s['scheme']}, converted from {s['converted_from']}"
    broken = f" (illegal labels: {s['illegal_labels']:,})" if s["illegal_labels"] else ""
    return f"{s['scheme'] or 'none'}{broken}"


@app.command("eval")
@console.command
def evaluate(
    model: Model, data: Data, errors: Errors = 0, constrain: Constrain = None, format: Format = None,
    label_column: LabelColumn = -1, comments: Comments = False, encoding: Encoding = "utf-8", threads: Threads = None,
    html: Html = None, json: Json = False,
) -> None:
    """Score a tagger on labelled sequences: accuracy, and spans counted as by conlleval.

    Examples:
        loglinear tag eval chunks.ll dev.conll
        loglinear tag eval chunks.ll dev.conll --constrain auto --errors 5 --html chunks.html
    """
    from loglinear.models.tagger.files import evaluate_file

    tagger, layout, constraint = _load(model, format, encoding, label_column, comments, threads, constrain)
    n_errors = errors or console.MISTAKES * (html is not None)
    found = evaluate_file(tagger, data, layout, constraint, errors=n_errors)
    console.note_unseen(found["unseen_labels"])
    if found["converted_from"]:
        console.note(f"note: {data} has {found['converted_from']} labels, which were converted to the model's scheme")

    from loglinear.report.evaluation import tagger_sections
    from loglinear.report.spans import score_facts, score_tables

    console.write_html(html, f"{model} on {data}", lambda: tagger_sections(found))
    if not errors:
        found.pop("errors", None)
    if json:
        console.print_json(found)
        return

    console.print_facts(score_facts(found))
    for table in score_tables(found):
        console.print_table(table)
    console.print_mistakes(found)


@app.command()
@console.command
def predict(
    model: Model,
    data: Data = "-",
    nbest: Annotated[
        int | None, typer.Option(metavar="K", help="Print the K best labellings, each after '# rank probability'.")
    ] = None,
    marginals: Annotated[
        bool, typer.Option("--marginals", help="Print label/probability; with --json, the probability of every label.")
    ] = False,
    input_scores: Annotated[
        bool,
        typer.Option(
            "--input-scores",
            help="Print the score of every sequence under a joint model (hmm: log p(x); m-estimation: less a constant) "
            "in place of labels, one per line; with --json beside them.",
        ),
    ] = False,
    constrain: Constrain = None,
    text: Annotated[
        bool,
        typer.Option("--text", help="DATA is plain text, one sentence per line; its tokens are printed as a column."),
    ] = False,
    labelled: Annotated[
        bool, typer.Option("--labelled", help="DATA has labels, which are not used but printed again.")
    ] = False,
    format: Format = None,
    label_column: LabelColumn = -1,
    comments: Comments = False,
    encoding: Encoding = "utf-8",
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Print the tokens with the predicted label as the last column; for crfsuite data the labels alone.

    A pipe is answered sequence by sequence.

    Examples:
        loglinear tag predict chunks.ll new.conll
        loglinear tag predict chunks.ll dev.conll --labelled --marginals
    """
    from loglinear.models.tagger.files import tag_file

    if text and (format is not None or labelled or comments):
        raise ValueError("--text is a format of its own, without labels and comments: leave the other options out")
    format = "text" if text else format
    place = label_column if labelled else None
    tagger, layout, constraint = _load(model, format, encoding, place, comments, threads, constrain)
    console.write(
        tag_file(
            tagger, data, layout, nbest=nbest, marginals=marginals, input_scores=input_scores, constraint=constraint,
            as_json=json,
        )
    )


@app.command()
@console.command
def explain(
    model: Model,
    data: Data = "-",
    top: Annotated[
        int, typer.Option(metavar="K", help="How many attributes of a token to show, those of largest effect.")
    ] = 5,
    text: Annotated[bool, typer.Option("--text", help="DATA is plain text, one sentence per line.")] = False,
    labelled: Annotated[bool, typer.Option("--labelled", help="DATA has labels, which are not used.")] = False,
    format: Format = None,
    label_column: LabelColumn = -1,
    comments: Comments = False,
    encoding: Encoding = "utf-8",
    json: Json = False,
) -> None:
    """Print what the attributes of each token, and the labels before it, add to the score of its label.

    Examples:
        loglinear tag explain chunks.ll new.conll
        loglinear tag explain chunks.ll dev.conll --labelled --top 3 --json
    """
    from loglinear.models.tagger.files import explain_file

    place = label_column if labelled else None
    tagger, layout, _ = _load(model, "text" if text else format, encoding, place, comments, None, None)
    console.write(explain_file(tagger, data, layout, top=top, as_json=json))


def _load(
    path: str, format: str | None, encoding: str, label_column: int | None, comments: bool, threads: int | None,
    constrain: str | None,
) -> tuple[Any, Any, Any]:
    """Return the tagger, the layout of the files it reads, and the constraint."""
    from loglinear.models import load_predictor
    from loglinear.models.tagger.files import read_constraint
    from loglinear.models.tagger.reading import layout_for

    constraint, tagger = read_constraint(constrain), load_predictor(path, "tagger")
    tagger.n_threads = threads
    if constraint == "auto" and tagger.legal_scheme is None:
        scheme = tagger.scheme_
        why = "follow no scheme (BIO, IOBES, ...)" if scheme is None else f"break {scheme}, their scheme"
        console.note(f"note: the labels of the training data {why}, so nothing is constrained")
    layout = layout_for(tagger, format, encoding, label_column=label_column, comments=comments, n_threads=threads)
    return tagger, layout, constraint
