"""``loglinear ime``: input methods, from typed readings to words."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from loglinear.cli import console, training
from loglinear.cli.options import Classes, Html, Json, Log, Output, Threads, Verbose, numbers, source
from loglinear.cli.outputs import WRITTEN
from loglinear.cli.tuning import Dev, TrainCommand, Tune, several_strengths, tune_setting
from loglinear.status import Status

app = console.new_app()

Model = Annotated[str, typer.Argument(metavar="MODEL", help="A model file of ime build.", show_default=False)]
RerankerFile = Annotated[
    str | None, typer.Option(metavar="R", help="A reranker of ime adapt, which chooses among the candidates.")
]


@app.command(cls=TrainCommand)
@console.command
def build(
    text: Annotated[
        list[str],
        typer.Argument(
            metavar="TEXT...",
            help="Sentences of surface|reading, one per line: files, plain or compressed, or - for stdin.",
            show_default=False,
        ),
    ],
    output: Output,
    order: Annotated[int, typer.Option(help="Longest n-gram of the language model.")] = 3,
    estimator: Annotated[
        str, typer.Option(metavar="kneser-ney|maxent|witten-bell|...", help="Estimator of the language model.")
    ] = "kneser-ney",
    keypad: Annotated[
        bool, typer.Option("--keypad", help="TEXT has words alone, which are typed as digits on a telephone's keys.")
    ] = False,
    spaces: Annotated[
        bool | None,
        typer.Option(
            "--spaces/--no-spaces", help="Words are written and typed with blanks between them.",
            show_default="with a keypad",
        ),
    ] = None,
    channel: Annotated[
        bool, typer.Option("--channel/--no-channel", help="Use the probability of a reading given its word.")
    ] = True,
    dictionary: Annotated[
        list[str] | None, typer.Option(metavar="TEXT", help="More words with readings, for the lexicon only.")
    ] = None,
    dev: Dev = None,
    tune: Annotated[
        str | None, typer.Option(metavar=" ", help="Choose the strengths of maxent on the dev set.", show_default=False)
    ] = None,
    min_word_count: Annotated[int, typer.Option(help="Leave out words that occur less often.")] = 1,
    encoding: Annotated[str, typer.Option(help="Encoding of the files that the model reads.")] = "utf-8",
    threads: Threads = None,
    verbose: Verbose = False,
    log: Log = None,
    json: Json = False,
) -> None:  # fmt: skip
    """Learn a lexicon and a language model from text with readings, and save them as one model.

    Examples:
        loglinear ime build readings.txt -o typing.ll
        loglinear ime build news.txt -o keypad.ll --keypad --order 2
    """
    from loglinear.models import InputMethod
    from loglinear.report.input_method import model_facts

    model = InputMethod(
        order, estimator, readings="keypad" if keypad else "given", spaces=spaces, channel=channel,
        tune=tune_setting(tune, dev), min_word_count=min_word_count, encoding=encoding, n_threads=threads,
        verbose=1 if verbose else "auto", log=log,
    )  # fmt: skip
    more = None if dictionary is None else [source(path) for path in dictionary]
    held_out = None if dev is None else source(dev)
    model.fit([source(path) for path in text], validation=held_out, dictionary=more)
    console.save_model(model, output)
    facts, scored = model_facts(model) | {"seconds": model.fit_seconds_, "model": output}, training.dev_score(model)
    if json:
        console.print_json(facts | scored)
        return
    shown = [(name.replace("_", " "), _spelt(value)) for name, value in facts.items()]
    console.print_facts([*shown, *training.dev_facts(scored, "score on dev (1 - CER)")])


def _spelt(value: Any) -> Any:
    if isinstance(value, list):
        return " + ".join(f"{n:,}" for n in value)
    return f"{value:,}" if type(value) is int else f"{value:.1f}" if isinstance(value, float) else value


@app.command()
@console.command
def convert(
    model: Model,
    file: Annotated[str, typer.Argument(metavar="FILE", help="Readings, one per line, or - for stdin.")] = "-",
    nbest: Annotated[
        int | None,
        typer.Option(metavar="K", help="Print the K best, each as text TAB log-probability, then an empty line."),
    ] = None,
    reranker: RerankerFile = None,
    among: Annotated[int, typer.Option(metavar="K", help="Candidates among which the reranker chooses.")] = 20,
    threads: Threads = None,
    json: Annotated[
        bool, typer.Option("--json", help="One object per line: id, reading, hypotheses (words and score).")
    ] = False,
) -> None:
    """Convert readings to text, one line per line. Readings that the lexicon lacks stay as they were typed.

    A pipe is answered line by line.

    Examples:
        loglinear ime convert keypad.ll digits.txt
        echo '843 364' | loglinear ime convert keypad.ll --nbest 3
    """
    from loglinear.models.input_method.files import ConvertedFile, load_input_method, load_reranker

    chooser = None if reranker is None else load_reranker(reranker, threads)
    converted = ConvertedFile(
        load_input_method(model, threads), file, nbest=nbest, as_json=json, reranker=chooser, among=among
    )
    console.write(converted)
    if converted.n_unknown:
        console.note(
            f"{converted.n_unknown:,} words are not in the lexicon and are left as typed; the first is in line "
            f"{converted.first_unknown:,}"
        )


@app.command(cls=TrainCommand)
@console.command
def adapt(
    model: Model,
    text: Annotated[
        list[str],
        typer.Argument(metavar="DOMAIN_TEXT...", help="Text of the domain, as for ime build.", show_default=False),
    ],
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", metavar="FILE", show_default=False,
            help="File to write: a reranker, or with map an input method.",
        ),
        WRITTEN,
    ],
    dev: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="Held-out text of the domain, on which the point of the path or the weight of the domain is chosen; "
            "--tune adds strengths.",
        ),
    ] = None,
    tune: Tune = None,
    method: Annotated[
        str,
        typer.Option(metavar="blasso|boosting|fslr|f-boosting|perceptron|maxent|map|...", help="Method of adaptation."),
    ] = "blasso",
    nbest: Annotated[int, typer.Option(metavar="K", help="How many candidates each sentence has.")] = 20,
    step: Annotated[float | None, typer.Option(help="Step of blasso, f-boosting, fslr.", show_default="0.5")] = None,
    threshold: Annotated[
        float | None, typer.Option(help="Least gain of a backward step of blasso.", show_default="0")
    ] = None,
    smoothing: Annotated[float | None, typer.Option(help="Smoothing of boosting.", show_default="0.001")] = None,
    shrinkage: Annotated[float | None, typer.Option(help="Shrinkage of boosting.", show_default="1")] = None,
    by_errors: Annotated[
        bool, typer.Option("--by-errors", help="Candidates with more errors weigh more in the loss.")
    ] = False,
    max_iterations: Annotated[
        int | None, typer.Option(help="Maximum number of steps, passes or iterations.", show_default="20,000, 20, 1000")
    ] = None,
    patience: Annotated[
        int | None, typer.Option(help="Stop after this many steps without fewer errors on the dev set.")
    ] = None,
    words: Annotated[
        str | None, typer.Option(metavar="N,N", help="Orders of word n-grams.", show_default="1,2")
    ] = None,
    min_count: Annotated[
        int | None, typer.Option(help="Leave out features that occur in fewer sentences.", show_default="2")
    ] = None,
    skips: Annotated[int | None, typer.Option(help="Maximum number of words left out by skip bigrams.")] = None,
    headwords: Annotated[
        str | None, typer.Option(metavar="cjk|FILE", help="Pairs of headwords: words with kanji or katakana, or all "
                                 "but the function words of a file.")
    ] = None,
    characters: Annotated[str | None, typer.Option(metavar="N,N", help="Orders of character n-grams.")] = None,
    classes: Classes = None,
    penalty: Annotated[str | None, typer.Option(help="Penalty of maxent.", show_default="l1")] = None,
    strength: Annotated[
        str | None, typer.Option(metavar="S", help="Strength of the penalty.", show_default="1")
    ] = None,
    weight: Annotated[float | None, typer.Option(help="Weight of the domain (map), instead of --dev.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the perceptron.")] = None,
    threads: Threads = None,
    json: Json = False,
) -> None:  # fmt: skip
    """Adapt an input method to the domain of a text.

    A reranker is trained on the candidates of its sentences. MODEL stays as it is, and the reranker chooses among its
    candidates (ime convert --reranker). With --method map, the language model is mixed with one of the domain instead.

    Examples:
        loglinear ime adapt keypad.ll domain.txt -o domain.ll
        loglinear ime adapt keypad.ll domain.txt -o mixed-keypad.ll --method map --weight 0.5
    """
    tuned = tune_setting(tune, dev)
    strengths, tuned = (None, tuned) if strength is None else several_strengths(strength, tuned)
    settings = {
        "step": step, "threshold": threshold, "by_errors": by_errors or None, "smoothing": smoothing,
        "shrinkage": shrinkage, "max_iterations": max_iterations,
        "patience": patience, "words": numbers("words", words, int), "min_count": min_count, "skips": skips,
        "headwords": _headwords(headwords), "characters": numbers("characters", characters, int), "classes": classes,
        "penalty": penalty,
        "strength": strengths, "tune": tuned, "random_state": seed, "weight": weight,
    }  # fmt: skip
    given = {name: value for name, value in settings.items() if value is not None}
    _check_options(method, given)

    from loglinear.models import load
    from loglinear.models.input_method.files import adapt_to_text
    from loglinear.report.input_method import adaptation_dict, adaptation_facts
    from loglinear.report.reranker import path_table

    background = load(model, "input-method")
    background.n_threads = threads
    held_out = None if dev is None else [source(path) for path in dev]
    done = adapt_to_text(background, [source(path) for path in text], held_out, method=method, k=nbest, **given)
    console.save_model(done.made, output)
    found = {**adaptation_dict(done), "model": output}
    if json:
        console.print_json(found)
    else:
        console.print_facts([*adaptation_facts(done), ("model", output)])
        if "tuning" in found:
            console.print_table(path_table(found["tuning"]))
    if done.coverage.n_uncovered:
        console.note(
            f"{done.coverage.n_uncovered:,} of {done.coverage.n_sentences:,} sentences have words or readings that the "
            f"lexicon lacks, so that no candidate is right (the first is sentence {done.coverage.first_uncovered:,}); "
            "give their text to ime build as --dictionary"
        )
    if getattr(done.made, "status_", "") == Status.INTERRUPTED:
        console.note(f"interrupted: the best point of the path so far is saved in {output}")
        raise typer.Exit(console.INTERRUPTED)


def _check_options(method: str, given: dict[str, Any]) -> None:
    """Raise ValueError for options that the method would ignore."""
    for name in given:
        option = "--seed" if name == "random_state" else "--" + name.replace("_", "-")
        if method == "map" and name != "weight":
            raise ValueError(f"{option} is not an option of map, which has only --weight; leave it out")
        if method != "map" and name == "weight":
            raise ValueError(f"{option} is an option of map only; leave it out, or use --method map")


def _headwords(given: str | None) -> Any:
    """Return the name of a rule, or the function words of a file."""
    from loglinear.models.reranker.files import read_function_words

    return given if given in (None, "cjk") else read_function_words(given)


@app.command("eval")
@console.command
def evaluate(
    model: Model,
    text: Annotated[
        str, typer.Argument(metavar="TEXT", help="Text such as the model was built from, or -.", show_default=False)
    ],
    nbest: Annotated[
        int, typer.Option(metavar="K", help="Candidates among which the oracle and the reranker choose.")
    ] = 20,
    reranker: RerankerFile = None,
    threads: Threads = None,
    html: Html = None,
    json: Json = False,
) -> None:
    """Print the character error rate of the best conversion and of the best of K (the oracle), and the speed.

    With a reranker, its choice is scored, and compared with the most probable candidate.

    Examples:
        loglinear ime eval keypad.ll dev.txt
        loglinear ime eval keypad.ll dev.txt --reranker domain.ll --html keypad.html
    """
    from loglinear.models.input_method.files import evaluate_text, load_input_method, load_reranker
    from loglinear.report.input_method import score_facts

    chooser = None if reranker is None else load_reranker(reranker, threads)
    score = evaluate_text(load_input_method(model, threads), source(text), nbest, reranker=chooser)

    from loglinear.report.evaluation import input_method_sections

    console.write_html(html, f"{model} on {text}", lambda: input_method_sections(score))
    if json:
        console.print_json(score)
    else:
        console.print_facts(score_facts(score))
