"""Speed of exact parsing beside NLTK's Viterbi parser, with the same grammar and sentences.

    LOGLINEAR_DATA=... python -m benchmarks parse [--threads 2] [--json] [--output FILE]

It needs the corpus treebank/; NLTK is left out where it is not installed. Nothing else should run meanwhile.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np

from benchmarks.report import Report, data_folder, parse, run_sections, section_parser, write_page
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


def speed(options: Any) -> Report:
    """Parse the end of the treebank by grammars of its beginning, and some short sentences also by NLTK."""
    path = data_folder("treebank/") / "treebank" / "wsj_sample.mrg.gz"
    began = time.perf_counter()
    trees = read_trees(path)
    reading = time.perf_counter() - began
    n_train, first_test = (3000, 3400) if len(trees) > 3400 else (len(trees) // 2, len(trees) // 2)
    train, test = trees.take(range(n_train)), trees.take(range(first_test, len(trees)))
    sentences = [words for words in test.sentences() if len(words) <= LONGEST][: options.sentences]
    report = Report("Exact parsing")
    for name, settings in MODELS.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = Parser(**settings, n_threads=options.threads, verbose=0).fit(train)
        rules = model.grammar_.rules
        rate = len(sentences) / measure(model, sentences)
        job = report.job(f"parse, {name}: {len(rules.symbols):,} symbols, {rules.n_rules:,} rules", "sentences/s")
        job.took("loglinear", rate)
        report.at_least(name, rate, MUST["speed"], "{:,.0f} sentences/s")
        if name == "pcfg":
            beside_nltk(report, model, sentences, options.nltk_sentences)
    report.remarks.append(
        f"{len(sentences):,} sentences of up to {LONGEST} words ({sum(map(len, sentences)):,} words) of the end of the "
        f"sample of the Penn Treebank, on {options.threads} threads; grammars of its first {n_train:,} trees. Reading "
        f"and stripping all {len(trees):,} trees took {reading:.2f} s."
    )
    return report


def beside_nltk(report: Report, model: Any, sentences: list[list[str]], n: int) -> None:
    """Parse a few short sentences with the same rules, and compare the probabilities of the best trees."""
    short = sorted(sentences, key=len)[len(sentences) // 20 : len(sentences) // 6 : 20][:n]  # NLTK takes minutes
    lengths = ", ".join(str(len(words)) for words in short)
    job = report.job(f"parse sentences of {lengths} words with the same rules", peer="NLTK ViterbiParser")
    began = time.perf_counter()
    ours = model._charts(short).best()[1].tolist()
    job.took("loglinear", time.perf_counter() - began)
    try:
        theirs, seconds = nltk_scores(model, short)
    except ImportError as error:
        job.misses("NLTK ViterbiParser", error)
        return
    job.took("NLTK ViterbiParser", seconds)
    report.at_least("times NLTK's speed", seconds / job.figures[0].value, MUST["ratio"], "{:,.0f}")
    apart = float(np.abs(np.expm1(np.subtract(ours, theirs))).max())
    report.at_most("probabilities of the best trees, relatively apart", apart, 1e-6, "{:.1e}")


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


def main(arguments: list[str]) -> None:
    sections = {"speed": speed}
    parser = section_parser("parse", __doc__, sections)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--sentences", type=int, help="sentences to parse; all if it is not given")
    parser.add_argument("--nltk-sentences", type=int, default=3, help="short sentences that NLTK parses, too")
    options = parse(parser, arguments, sentences=60, nltk_sentences=1)
    write_page(options, "parse", "Parsers", run_sections(sections, options, options))
