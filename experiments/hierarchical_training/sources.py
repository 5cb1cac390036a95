"""Models of several information sources: terms, times, plans and perplexities (Wu 2002, sections 3.3 to 3.9).

    LOGLINEAR_DATA=... python -m experiments.hierarchical_training.sources [--parts treebank,brown,...]

It writes docs/results/hierarchical_training_sources.md, the second part of hierarchical_training.md.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
import warnings
from pathlib import Path

from benchmarks.report import data_folder
from experiments.hierarchical_training import composite, perplexity
from experiments.record import Json, Results, add_parts, parser_of, run_experiment, table, write_page

NAME = "hierarchical_training_sources"
PROBLEMS = ("treebank", "brown", "gutenberg")
PAPER: dict[str, list[list[str]]] = {
    "treebank": [
        ["Switchboard (paper, 3.9)", "6.9·10⁹", "4.6·10⁹", "", "7.5·10⁷", "", "", "90"],
        ["Broadcast News, 14M (paper)", "6.1·10¹¹", "", "", "4.2·10⁹", "", "", "140"],
    ],
    "brown": [],
    "gutenberg": [
        ["Switchboard, 70 topics (paper, 3.11)", "1.6·10⁹", "", "", "1.9·10⁸", "6·10⁷", "4.1·10⁶", "400"],
        ["Broadcast News, 100 topics (paper)", "1.8·10¹¹", "", "", "5.1·10⁹", "6.6·10⁹", "1.5·10⁸", "1,300"],
    ],
}
PERPLEXITIES = {"perplexity": perplexity.brown, "topics": perplexity.assigners, "syntactic": perplexity.syntactic}
METHODS = ("caching", "cluster-expansion", "sharing", "hierarchical", "partition", "partition-hierarchical")


def measure(options: argparse.Namespace, results: Results, command: str) -> None:
    folder = data_folder("brown/, treebank/ and gutenberg/")
    command = command.replace(NAME, "hierarchical_training.sources")
    warnings.simplefilter("ignore")
    for part in options.parts:
        began = time.perf_counter()
        if part in PERPLEXITIES:
            found: Json = {"rows": PERPLEXITIES[part](folder)}
        else:
            found = {"rows": composite.terms_and_times(folder, options.limit, [part])}
        results.keep(part, found, command, options.threads, seconds=time.perf_counter() - began)


def section_problems(part: Json, parts: Json, folder: Path) -> list[str]:
    rows = part["rows"]
    name = next((k for k in PROBLEMS if parts.get(k) is part), "brown")
    sizes = [
        [r["title"], ", ".join(r["sources"]), f"{r['words']:,}", f"{r['tokens']:,}",
         " + ".join(f"{n:,}" for n in r["features"]), f"{r['histories']:,}", f"{r['tuples']:,}"]
        for r in rows
    ]  # fmt: skip
    terms = []
    for r in rows:
        counted = {m: r["methods"].get(m, {}) for m in METHODS}
        numbers = {m: e.get("measured_terms") or e.get("terms") for m, e in counted.items()}
        best = min(n for m, n in numbers.items() if n and m != "caching")
        terms.append([r["title"], *(f"{numbers[m]:.3g}" if numbers[m] else "" for m in METHODS),
                      f"{numbers['caching'] / best:,.0f}"])  # fmt: skip
    return [
        f"## {name.capitalize()}: sizes, terms and times",
        "",
        *table(["problem", "sources", "words", "tokens", "features by source", "histories", "tuples"], sizes),
        "",
        "Terms of all normalisers of one iteration; where a method was not run, its prediction. The last column is",
        "unigram caching's terms over those of the best method.",
        "",
        *table(["problem", *METHODS, "nominal speed-up"], terms + PAPER[name]),
        "",
        "Seconds of one iteration (all normalisers and all expectations), measured and, in brackets, predicted by the",
        "planner; *chosen* is its choice, and over the fastest measured what the choice costs. The chosen method, the",
        "same on one thread and plain n-grams were timed in turn, nine times each; ratios are medians over the turns.",
        "",
        *table(
            ["problem", *METHODS, "chosen", "over the fastest", "plain n-grams", "times plain", "one thread",
             "over two threads"],
            [_times(r) for r in rows],
        ),
    ]


def _times(r: Json) -> list[str]:
    taken = {m: e["measured_seconds"] for m, e in r["methods"].items() if e["measured_seconds"] is not None}
    cells = []
    for m in METHODS:
        e = r["methods"].get(m)
        shown = "" if e is None else f"({e['seconds']:.3g})"
        cells.append(f"{taken[m]:.3g} {shown}" if m in taken else shown)
    chosen = taken.get(r["chosen"])
    over = "" if chosen is None else f"{chosen / min(t for m, t in taken.items() if m != 'naive'):.2f}"
    ratio = r.get("times_plain") or (chosen / r["plain"] if chosen and r["plain"] else None)
    times = "" if ratio is None else f"{ratio:.1f}"
    threads = f"{r['one_over_two']:.2f}" if "one_over_two" in r else ""
    plain = "" if not r["plain"] else f"{r['plain']:.3g}"
    return [r["title"], *cells, r["chosen"], over, plain, times, f"{r['one_thread']:.3g}", threads]


def section_perplexity(part: Json, parts: Json, folder: Path) -> list[str]:
    rows, tests = part["rows"], [f"test {n}" for n in perplexity.TESTS]
    base, base_dev = rows["trigram"]["test"], rows["trigram"]["dev"]
    cells = []
    for name, r in rows.items():
        dev = "" if r["dev"] is None else f"{r['dev']:.1f} ({100 * (r['dev'] / base_dev - 1):+.1f}%)"
        inferred = _change(r["inferred"], base) if r.get("inferred") else ""
        taken = f"{r['seconds']:.0f} s" if "seconds" in r else ""
        shown = [f"{p:.1f}" for p in r["test"]] + [""] * (len(tests) - len(r["test"]))
        cells.append([name, dev, *shown, _change(r["test"], base), inferred, taken])
    chosen = [f"- {name}: `{r['sources']}`" for name, r in rows.items() if "sources" in r]
    return [
        "## Perplexities on Brown",
        "",
        "Of every ten documents of a genre, number 1 is for choices (dev). Strengths are chosen there, with models",
        "trained on all others but number 6: those of the trigram by gradient, those of the other sources by a few",
        "trials. Then every model is trained for tests 6, 7 and 8, without those documents and dev, and tested",
        "once. The genre of a document is given, or assigned from its earlier sentences (*assigned*). Groups of",
        "genres are press, other prose and fiction. Changes are those of the geometric mean over the tests,",
        "against the trigram.",
        "",
        *table(["model", "dev", *tests, "change", "change, assigned", "training"], cells),
        "",
        "Sources and strengths that were chosen:",
        "",
        *chosen,
    ]


def _change(found: list[float], base: list[float]) -> str:
    logs = [math.log(a / b) for a, b in zip(found, base)]
    return f"{100 * math.expm1(sum(logs) / len(logs)):+.1f}%"


def section_topics(part: Json, parts: Json, folder: Path) -> list[str]:
    return [
        "## Topics of documents without labels",
        "",
        "Share of the tokens of Brown's dev documents whose genre is assigned rightly from the earlier sentences of",
        "the document, by a function that is linear in the counts of words.",
        "",
        *table(["classifier", "right"], [[name, f"{100 * share:.1f}%"] for name, share in part["rows"].items()]),
    ]


def section_syntactic(part: Json, parts: Json, folder: Path) -> list[str]:
    rows = part["rows"]
    base = rows["trigram"]["perplexity"]
    cells = [
        [name, f"{r['perplexity']:.1f}", f"{100 * (r['perplexity'] / base - 1):+.1f}%", r.get("method", ""),
         f"{r['seconds']:.0f} s" if "seconds" in r else ""]
        for name, r in rows.items()
    ]  # fmt: skip
    head = ["Treebank", "perplexity", "against the trigram", "method", "training"]
    return ["## Perplexities on the treebank sample, strengths tuned on dev trees", "", *table(head, cells)]


SECTIONS = {
    **dict.fromkeys(PROBLEMS, section_problems),
    "perplexity": section_perplexity,
    "topics": section_topics,
    "syntactic": section_syntactic,
}


def write(output: Path, parts: Json) -> Path:
    introduction = [
        "# Hierarchical training, second part: several information sources",
        "",
        'After Wu, "Maximum entropy language modeling with non-local dependencies" (dissertation, Johns Hopkins',
        "University, 2002), sections 3.3 to 3.9. The first part, on n-grams, is",
        "[hierarchical_training.md](hierarchical_training.md). The methods are described in",
        "`src/loglinear/sources/normalisers.py`; all are exact. *caching* is the paper's baseline, *hierarchical* its",
        "generalised hierarchical training, *partition* its divide and conquer, *partition-hierarchical* both (H+DC),",
        "*cluster-expansion* that of Lafferty and Suhm; *sharing* sums over intersections of sources and keeps the",
        "hierarchy within each. Other jobs ran on the machine while these times were taken.",
        "",
        "The treebank's problems are those of the paper's tables 3.5 (sizes), 3.9, 3.10 (syntactic: terms and times)",
        "and 3.13 (syntax with topics); those of Brown and Gutenberg are tables 3.5, 3.11 and 3.12 (topics).",
        "",
        "    LOGLINEAR_DATA=... python -m experiments.hierarchical_training.sources",
    ]
    return write_page(output / f"{NAME}.md", introduction, SECTIONS, parts)


def main(arguments: list[str]) -> None:
    parser = parser_of(NAME, __doc__)
    add_parts(parser, SECTIONS)
    parser.add_argument("--limit", type=float, default=60.0, help="seconds above which a method is not run")
    run_experiment(NAME, parser.parse_args(arguments), arguments, measure, write)


if __name__ == "__main__":
    main(sys.argv[1:])
