"""The help of commands: options in panels, examples as they are typed, hints for options of other tools.

A docstring's part after a line ``Examples:`` is shown as it stands, below the options (tests run the examples). An
option belongs to the same panel in every command that has it.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, get_type_hints

import typer
from typer.core import TyperCommand
from typer.models import ArgumentInfo

from loglinear.cli.outputs import Written

PANELS = {
    "Data": (
        "format", "encoding", "text-column", "label-column", "label-separator", "comments", "labelled", "text", "dev",
        "unlabelled", "dictionary", "test", "references", "dev-references", "costs", "lm", "missing",
        "keypad", "spaces", "units", "reserved", "context",
    ),
    "Features": (
        "templates", "dialect", "lexicon", "ngrams", "char-ngrams", "across-words", "lowercase", "stop-words",
        "min-count", "hash-size", "weighting", "classes", "features", "transitions", "min-feature-count",
        "max-features", "hash-bits", "oov", "input-only", "words", "skips", "headwords", "characters", "boundaries",
        "vocab", "min-word-count", "max-words", "unknown", "sources", "topics", "direction", "horizontal", "vertical",
        "annotate-tags", "annotate-heads",
    ),
    "Model": (
        "estimator", "order", "scheme", "penalty", "strength", "l1-ratio", "nonnegative", "class-weight", "one-vs-rest",
        "signed", "tune",
        "depth-growth", "feature-decay", "group-norm", "l2", "strength-classes", "prune", "prune-entropy", "add-k",
        "smoothing", "base", "from", "initialise", "cache", "cache-kind", "cache-window", "pruning", "channel",
        "constrain", "objective", "cost", "reranker", "among", "infer-topics", "weights", "weight", "union", "against",
    ),
    "Solver": (
        "method", "solver", "tolerance", "max-iterations", "max-passes", "patience", "step", "threshold", "shrinkage",
        "by-errors", "expectation", "n-samples", "em", "em-labels", "disjoint", "seed", "samples", "threads",
        "workers", "cluster", "memory", "max-memory", "tmp", "checkpoint", "measure", "limit",
    ),
    "Output": (
        "output", "paths", "nbest", "proba", "marginals", "input-scores", "top", "errors", "static", "ids", "graph",
        "html", "log", "verbose", "json", "help",
    ),
}  # fmt: skip
UsageError = typer.BadParameter.__mro__[1]  # which typer does not export
_FEW = 9  # options that one list shows well
_EXAMPLES = "\n\nExamples:\n"

# What people type -> the option meant, and what to know of it.
_SOLVERS_STEP = "solvers find their own steps; --tolerance says how near to the optimum training ends"
_MEANT = {
    "strength": (
        ("C", "alpha", "lambda", "reg", "regularization", "regularisation", "c1", "c2", "rho1", "rho2", "sigma"),
        "--strength S multiplies the penalty: 1/C of scikit-learn and CRF++, c1 or 2 c2 of CRFsuite",
    ),
    "penalty": (("regularizer", "regulariser", "l1", "loss-penalty", "reg-type"), "--penalty NAME"),
    "max-iterations": (
        ("epochs", "epoch", "iterations", "iter", "max-iter", "n-iter", "maxiter", "passes"),
        "--max-iterations N counts passes over the data; training ends before it at --tolerance",
    ),
    "tolerance": (("lr", "learning-rate", "eta", "eta0", "batch-size", "momentum"), _SOLVERS_STEP),
    "threads": (("n-jobs", "jobs", "num-threads", "n-threads", "cores", "cpus", "j"), "--threads N"),
    "seed": (("random-state", "random-seed"), "--seed N"),
    "dev": (("valid", "validation", "val", "heldout", "held-out", "eval-data"), "--dev FILE is held-out data"),
    "output": (("out", "outfile", "save", "save-to", "model-out", "model"), "--output FILE (-o) is the file to write"),
    "min-count": (("min-df", "cutoff", "min-freq", "freq"), "--min-count N"),
    "ngrams": (("ngram-range", "word-ngrams", "ngram"), "--ngrams 1,2 has words and pairs of words"),
    "order": (("ngram", "n", "ngrams"), "--order N is the longest n-gram"),
    "nbest": (("n-best", "k", "top-k"), "--nbest K"),
    "classes": (("clusters", "n-clusters", "c"), "--classes K"),
}
_CHOICES = {  # other names of choices
    "lasso": "l1", "ridge": "l2", "gaussian": "l2", "elasticnet": "elastic_net", "enet": "elastic_net", "no": "none",
    "kn": "kneser-ney", "mkn": "kneser-ney", "kneserney": "kneser-ney", "wb": "witten-bell", "addk": "add-k",
    "me": "maxent", "logistic": "maxent", "iob2": "bio", "bioes": "iobes",
}  # fmt: skip
_ARGUMENTS = ("input", "data", "file", "train", "train-data", "corpus", "text", "infile", "i", "m", "model")


def _name(parameter: Any) -> str:
    """Return the name of an option, without dashes; that of its longest spelling."""
    return max(parameter.opts, key=len).lstrip("-")


class Command(TyperCommand):
    """A command whose help has panels and examples, and which says what to type instead of an unknown option."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments; an unknown option is told with the one that is meant."""
        try:
            rest = super().parse_args(ctx, args)
            self.check_choices(ctx)
            return rest
        except UsageError as error:
            hint = self.hint(getattr(error, "option_name", None) or "", ctx)
            if hint:
                error.message = f"{error.message.rstrip('.')}. {hint}"  # type: ignore[attr-defined]
                error.possibilities = None  # type: ignore[attr-defined]
            raise

    def check_choices(self, ctx: Any) -> None:
        """Raise BadParameter for a value that is a choice but for its spelling: L2, ridge, KN."""
        for parameter in self.params:
            value, choices = ctx.params.get(parameter.name), str(parameter.metavar or "").split("|")
            if not isinstance(value, str) or len(choices) < 2 or Path(value).exists():
                continue
            if value.replace("-", "_") in (choice.replace("-", "_") for choice in choices):
                continue
            meant = value.casefold() if value.casefold() in choices else _CHOICES.get(value.casefold())
            if meant in choices:
                raise typer.BadParameter(f"{value!r} is spelt {meant}.", ctx, parameter)

    def hint(self, typed: str, ctx: Any) -> str:
        """Return what to type instead of an option that the command lacks; empty if nothing is known."""
        asked = typed.lstrip("-").replace("_", "-")
        own = {_name(parameter) for parameter in self.params if parameter.param_type_name == "option"}
        if asked in own:
            return f"Did you mean --{asked}?"
        for option, (spellings, told) in _MEANT.items():
            if asked in spellings and option in own:
                return f"Here, {told}."
        arguments = " ".join(str(p.metavar or p.name) for p in self.params if p.param_type_name == "argument")
        return f"Files are given without an option: {ctx.command_path} {arguments}." if asked in _ARGUMENTS else ""

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        """Write the description without the examples."""
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(self._parts()[0])

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options by panel; few options are one list."""
        rows: dict[str, list[Any]] = {panel: [] for panel in ("Arguments", *PANELS, "Options")}
        options = [one for one in self.get_params(ctx) if one.param_type_name == "option"]
        for parameter in self.get_params(ctx):
            if (record := parameter.get_help_record(ctx)) is None:
                continue
            is_option = parameter.param_type_name == "option"
            rows[panel_of(_name(parameter)) if is_option and len(options) > _FEW else
                 "Options" if is_option else "Arguments"].append(record)  # fmt: skip
        for panel, records in rows.items():
            if records:
                with formatter.section(panel):
                    formatter.write_dl(records)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the examples, line by line."""
        if examples := self._parts()[1]:
            with formatter.section("Examples"):
                formatter.write("".join(f"  {line}\n" for line in examples))

    def examples(self) -> list[str]:
        """Return the commands of the examples."""
        return self._parts()[1]

    def _parts(self) -> tuple[str, list[str]]:
        about, _, examples = inspect.cleandoc(self.help or "").partition(_EXAMPLES)
        return about, inspect.cleandoc(examples).splitlines() if examples else []


def panel_of(name: str) -> str:
    """Return the panel of an option."""
    return next((panel for panel, names in PANELS.items() if name in names), "Options")


# ---- a model in the place of data, or data in that of a model --------------------------------------------------------
def is_model(path: str) -> bool:
    """Return whether a file begins as model files do: the length of a header, and the header, which is JSON."""
    try:
        with Path(path).open("rb") as file:
            start, size = file.read(9), os.fstat(file.fileno()).st_size
    except (OSError, ValueError):
        return False
    return len(start) == 9 and start[8:] == b"{" and int.from_bytes(start[:8], "little") < size


def swapped(function: Callable[..., Any], given: Mapping[str, Any]) -> str | None:
    """Return a sentence on arguments of a failed command that are in each other's place; None where all seems right."""
    models, data = list[tuple[str, str]](), list[tuple[str, str]]()
    for name, hint in get_type_hints(function, include_extras=True).items():
        marks = getattr(hint, "__metadata__", ())
        place = next((one for one in marks if isinstance(one, ArgumentInfo)), None)
        if place is None or name not in given or any(isinstance(one, Written) for one in marks):
            continue
        values = given[name] if isinstance(given[name], (list, tuple)) else [given[name]]
        named = str(place.metavar).rstrip(".")
        (models if "MODEL" in named else data).extend((named, str(value)) for value in values if value is not None)
    wrong = next(((place, path) for place, path in data if is_model(path)), None)
    other = next(((place, path) for place, path in models if Path(path).is_file() and not is_model(path)), None)
    if wrong and other:
        return f"{wrong[1]} is a model and {other[1]} is none: {other[0]} comes before {wrong[0]}, so swap them"
    if wrong:
        return f"{wrong[1]}: a model file, where {wrong[0]} is wanted"
    return None
