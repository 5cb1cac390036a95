"""Speed of exact parsing beside NLTK's Viterbi parser, with the same grammar and sentences.

    LOGLINEAR_DATA=... python -m benchmarks parse [--threads 2] [--json] [--output FILE]

It needs the corpus treebank/; NLTK is left out where it is not installed. Nothing else should run meanwhile.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import about_run, data_folder
from loglinear import Parser
from loglinear.models.parser.files import read_trees

MODELS: dict[str, dict[str, Any]] = {
    "pcfg": {"estimator": "pcfg"},
    "pcfg, parents": {"estimator": "pcfg", "vertical": 2},
    "m-estimation": {"estimator": "m-estimation", "max_iterations": 10},  # its features, whatever their weights
}
MUST = {"speed": 20, "ratio": 100}  # sentences per second of the plain grammar, and times NLTK's speed
ROUNDS = 3
LONGEST = 40


def measure(model: Any, sentences: list[list[str]]) -> float:
    """Return the seconds of the fastest of a few rounds."""
    seconds = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        model.predict_trees(sentences)
        seconds.append(time.perf_counter() - began)
    return min(seconds)


def run(path: Path, threads: int) -> dict[str, Any]:
    began = time.perf_counter()
    trees = read_trees(path)
    reading = time.perf_counter() - began
    n_train, first_test = (3000, 3400) if len(trees) > 3400 else (len(trees) // 2, len(trees) // 2)
    train, test = trees.take(range(n_train)), trees.take(range(first_test, len(trees)))
    sentences = [words for words in test.sentences() if len(words) <= LONGEST]
    rows = []
    for name, settings in MODELS.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = Parser(**settings, n_threads=threads, verbose=0).fit(train)
        rules = model.grammar_.rules
        row = {"model": name, "symbols": len(rules.symbols), "rules": rules.n_rules}
        rows.append({**row, "seconds": measure(model, sentences)})
        if name == "pcfg":
            grammar = model
    return {
        "machine": about_run(), "threads": threads, "reading_seconds": reading, "trees": len(trees), "train": n_train,
        "sentences": len(sentences), "words": sum(map(len, sentences)), "rows": rows,
        "nltk": beside_nltk(grammar, sentences),
    }  # fmt: skip


def beside_nltk(model: Any, sentences: list[list[str]]) -> dict[str, Any] | None:
    """Return the seconds of both on a few short sentences, and whether their best trees are as probable."""
    short = sorted(sentences, key=len)[len(sentences) // 20 : len(sentences) // 6 : 20][:3]  # NLTK takes minutes
    began = time.perf_counter()
    ours = model._charts(short).best()[1].tolist()
    seconds = time.perf_counter() - began
    try:
        theirs, their_seconds = nltk_scores(model, short)
    except ImportError:
        return None
    agrees = bool(np.allclose(ours, theirs, rtol=1e-6))
    return {"lengths": list(map(len, short)), "ours": seconds, "theirs": their_seconds, "agrees": agrees}


def nltk_scores(model: Any, sentences: list[list[str]]) -> tuple[list[float], float]:
    """Return the log-probabilities of NLTK's best trees under the same grammar, and the seconds it took."""
    import nltk

    grammar, lexicon = model.grammar_.grammar, model.grammar_.lexicon
    names = [nltk.Nonterminal(name) for name in grammar.symbols]
    wanted = {w for words in sentences for w in lexicon.numbers(words).tolist()}
    rules = [
        nltk.ProbabilisticProduction(names[a], [names[b], names[c]], prob=p)
        for a, b, c, p in zip(grammar.parent, grammar.left, grammar.right, grammar.binary.tolist())
    ]
    rules += [
        nltk.ProbabilisticProduction(names[a], [names[b]], prob=p)
        for a, b, p in zip(grammar.unary_parent, grammar.unary_child, grammar.unary.tolist())
    ]
    rules += [
        nltk.ProbabilisticProduction(names[a], [grammar.words[w]], prob=p)
        for a, w, p in zip(grammar.lexical_symbol, grammar.lexical_word, grammar.lexical.tolist())
        if w in wanted
    ]
    missing = {}
    for rule in rules:
        missing[rule.lhs()] = missing.get(rule.lhs(), 1.0) - rule.prob()
    rules += [nltk.ProbabilisticProduction(a, ["<rest>"], prob=p) for a, p in missing.items() if p > 1e-9]
    parser = nltk.ViterbiParser(nltk.PCFG(names[grammar.start], rules), max_time=None)
    scores, began = [], time.perf_counter()
    for words in sentences:
        tree = next(iter(parser.parse([grammar.words[w] for w in lexicon.numbers(words).tolist()])))
        scores.append(float(np.log(tree.prob())))
    return scores, time.perf_counter() - began


def page(found: dict[str, Any]) -> str:
    lines = [
        "# Parsers", "", str(found["machine"]), "",
        f"Exact parsing of {found['sentences']:,} sentences of up to {LONGEST} words ({found['words']:,} words) of the "
        f"end of the sample of the Penn Treebank, on {found['threads']} threads; grammars of its first "
        f"{found['train']:,} trees. Reading and stripping all {found['trees']:,} trees took "
        f"{found['reading_seconds']:.2f} s.", "",
        "| model | symbols | rules | seconds | sentences/s |", "|---|---|---|---|---|",
    ]  # fmt: skip
    for row in found["rows"]:
        speed = found["sentences"] / row["seconds"]
        lines.append(
            f"| {row['model']} | {row['symbols']:,} | {row['rules']:,} | {row['seconds']:.2f} | {speed:,.0f} |"
        )
    lines += ["", f"Must: {MUST['speed']} sentences/s."]
    if found["nltk"]:
        n = found["nltk"]
        agree = "agree" if n["agrees"] else "do not agree"
        lines += [
            "",
            f"NLTK's `ViterbiParser` with the same rules took {n['theirs']:.1f} s for sentences of "
            f"{', '.join(map(str, n['lengths']))} words, ours {n['ours']:.4f} s: {n['theirs'] / n['ours']:,.0f} times "
            f"as fast (must: {MUST['ratio']}). The probabilities of the best trees {agree}.",
        ]
    return "\n".join(lines) + "\n"


def main(argv: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks parse", description=__doc__)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args(argv)
    found = run(data_folder("treebank/") / "treebank" / "wsj_sample.mrg.gz", options.threads)
    text = json.dumps(found, indent=2) + "\n" if options.json else page(found)
    if options.output:
        options.output.write_text(text, encoding="utf-8")
    print(text, end="")
