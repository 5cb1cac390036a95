"""Class-factored models, caches and mixtures: what each part gains in perplexity and costs in seconds.

    LOGLINEAR_DATA=... python -m experiments.composite [--parts ptb,brown,gutenberg]

Every row is a model trained on the training text, with strengths and cache weights from the validation text; the test
text is looked at once per row. The script keeps the raw results in a JSON file and writes docs/results/composite.md. It
does not repeat runs that are in the file, unless --fresh discards them; --page only rebuilds the page.
"""

from __future__ import annotations

import argparse
import math
import resource
import sys
import time
import warnings
from pathlib import Path
from typing import Any

from benchmarks.origin import commit
from benchmarks.report import data_folder
from experiments.record import Json, Results, add_parts, parser_of, run_experiment, say, table, write_page
from loglinear.models import LanguageModel
from loglinear.models.language_model.files import Text, mix

NAME = "composite"
TEXTS = {
    "ptb": tuple(f"ptb/ptb.{part}.txt.gz" for part in ("train", "valid", "test")),
    "brown": tuple(f"brown/lm/{part}.txt.gz" for part in ("train", "valid", "test")),
}
TWO = "words:4,classes:5"
# Rows of the ablation: settings of LanguageModel, or the names of the rows that are mixed and the settings of a cache.
FACTORED: Json = {"order": 4, "classes": 150, "tolerance": 5e-4}
ROWS: dict[str, Any] = {
    "modified Kneser-Ney, order 5": {"order": 5, "estimator": "kneser-ney"},
    "the same with a linear cache": {"order": 5, "estimator": "kneser-ney", "cache": "linear"},
    "the same with a log-linear cache": {"order": 5, "estimator": "kneser-ney", "cache": True},
    "maximum entropy, order 5": {"order": 5},
    "150 classes, words and classes": {**FACTORED, "sources": TWO},
    "150 classes, all sources": FACTORED,
    "150 classes, all sources, tuned": {**FACTORED, "tune": "validation"},
    "the same under a linear cache": ("150 classes, all sources, tuned", {"kind": "linear"}),
    "the same under a log-linear cache": ("150 classes, all sources, tuned", {}),
    "400 classes, all sources": {**FACTORED, "classes": 400},
    "mixture of 150 and 400 classes and Kneser-Ney": (
        "150 classes, all sources, tuned", "400 classes, all sources", "modified Kneser-Ney, order 5"),
    "the mixture under a log-linear cache": (
        "150 classes, all sources, tuned", "400 classes, all sources", "modified Kneser-Ney, order 5", {}),
    "a tree of 12 and 150 classes, all sources": {**FACTORED, "classes": (12, 150)},
}  # fmt: skip
OF_BROWN = ("modified Kneser-Ney, order 5", "maximum entropy, order 5", "150 classes, all sources",
            "150 classes, all sources, tuned")  # fmt: skip


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = parser_of(NAME, __doc__)
    add_parts(parser, [*TEXTS, "gutenberg"])
    parser.add_argument("--work", type=Path, default=Path("build/composite"), help="folder for the models")
    parser.add_argument("--rows", help="only rows whose names have this in them")
    return parser.parse_args(arguments)


def row(name: str, what: Any, paths: list[Path], work: Path, threads: int | None) -> Json:
    """Train or mix one model, save it, and evaluate it."""
    train, valid, test = paths
    file = work / f"{list(ROWS).index(name)}-{train.name}.ll"
    began = time.perf_counter()
    if isinstance(what, tuple):
        cache = what[-1] or True if isinstance(what[-1], dict) else None
        names = [one for one in what if isinstance(one, str)]
        models = [LanguageModel.load(work / f"{list(ROWS).index(one)}-{train.name}.ll") for one in names]
        text = Text.read(valid, models[0])
        model = mix(models, validation=text, cache=cache).merged()
        models.clear()
        shares: Any = model.queries_.shares.tolist()
    else:
        model = LanguageModel(**what, n_threads=threads).fit(train, validation=valid)
        shares = None
    trained = time.perf_counter() - began
    model.save(file)
    began = time.perf_counter()
    score, held_out = model.evaluate(test), model.perplexity(valid)
    return {
        "valid": held_out, "test": score["perplexity"], "tokens": score["n_tokens"], "weights": int(model.n_weights_),
        "seconds": trained, "evaluation": (time.perf_counter() - began) / 2, "shares": shares, "commit": commit(),
        "stages": getattr(model, "stage_seconds_", None), "gap": getattr(model, "gap_", None),
        "passes": getattr(model, "n_iter_", None), "bytes": file.stat().st_size,
    }  # fmt: skip


def gutenberg(folder: Path, threads: int | None) -> Json:
    """Train a class-factored model on 13 million words; the time is that from text to model."""
    began = time.perf_counter()
    model = LanguageModel(order=3, classes=150, sources=TWO, min_word_count=2, tolerance=1e-3, n_threads=threads)
    model.fit(folder / "gutenberg/gutenberg13m.txt.gz")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return {"seconds": time.perf_counter() - began, "gigabytes": peak, "weights": int(model.n_weights_),
            "gap": model.gap_, "passes": model.n_iter_, "stages": model.stage_seconds_, "commit": commit()}  # fmt: skip


def measure(options: argparse.Namespace, results: Results, command: str) -> None:
    """Measure the chosen parts."""
    warnings.simplefilter("ignore")  # gaps are in the table
    folder: Path = data_folder("ptb/, brown/lm/ and gutenberg/")
    options.work.mkdir(parents=True, exist_ok=True)
    for part in options.parts:
        if part == "gutenberg":
            if "gutenberg/model" not in results.runs:
                results.runs["gutenberg/model"] = gutenberg(folder, options.threads)
        else:
            paths = [folder / file for file in TEXTS[part]]
            for name, what in ROWS.items():
                key = f"{part}/{name}"
                chosen = name in OF_BROWN or part != "brown"
                if key in results.runs or not chosen or (options.rows and options.rows not in name):
                    continue
                results.runs[key] = row(name, what, paths, options.work, options.threads)
                results.save()
                say(key, results.runs[key])
        found = {key.partition("/")[2]: run for key, run in results.runs.items() if key.startswith(part)}
        results.keep(part, {"runs": found}, command, options.threads, commits=results.commits_of([part]))


def write(output: Path, parts: Json) -> Path:
    """Write composite.md."""
    introduction = [
        "# Class-factored models, caches and mixtures", "",
        "What each part gains in perplexity on test text, and what it costs. Ends of sentences are tokens, every model",
        "is exactly normalised, sees past words only, and is tuned on validation text. A plain text is one document: a",
        "cache remembers its last 1,000 words. Class-factored models are trained to a relative gap of 0.05%.", "",
        "    LOGLINEAR_DATA=... python -m experiments.composite",
    ]  # fmt: skip
    sections = {"ptb": _texts("Penn Treebank"), "brown": _texts("Brown"), "gutenberg": _gutenberg}
    return write_page(output / "composite.md", introduction, sections, parts)


def _texts(title: str) -> Any:
    def section(part: Json, parts: Json, folder: Path) -> list[str]:
        runs, first = part["runs"], next(iter(part["runs"].values()))["test"]
        rows = []
        for name in (one for one in ROWS if one in runs):
            run = runs[name]
            gap = run["gap"]
            rows.append([
                name, f"{run['valid']:.1f}", f"**{run['test']:.1f}**", f"{100 * (run['test'] / first - 1):+.1f}%",
                f"{run['weights']:,}", f"{run['seconds']:.0f} s", f"{run['evaluation']:.1f} s",
                "" if gap is None or not math.isfinite(gap) else f"{100 * gap:.3f}%",
            ])  # fmt: skip
        head = ["model", "validation", "test", "against the first", "weights", "training", "evaluation", "gap"]
        return [f"## {title}", "", *table(head, rows)]

    return section


def _gutenberg(part: Json, parts: Json, folder: Path) -> list[str]:
    run = part["runs"]["model"]
    return [
        "## Gutenberg, 13 million words", "",
        f"150 classes from chains of words and classes, words within classes by trigrams: {run['weights']:,} weights",
        f"in {run['seconds']:.0f} s and {run['gigabytes']:.1f} GB, {run['passes']} passes, gap",
        f"{100 * run['gap']:.2f}%.",
    ]  # fmt: skip


def main(arguments: list[str]) -> None:
    run_experiment(NAME, parse(arguments), arguments, measure, write)


if __name__ == "__main__":
    main(sys.argv[1:])
