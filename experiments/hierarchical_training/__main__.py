"""Hierarchical training of maximum-entropy n-gram models (Wu 2002, chapter 3) beside the methods it replaced.

    LOGLINEAR_DATA=... python -m experiments.hierarchical_training [--minutes 7] [--corpora brown ptb gutenberg]

The script counts the terms that naive summation, unigram caching and hierarchical training sum for the normalisers of
trigram and four-gram models (tables 3.6 and 3.7), times an iteration of each (table 3.8), and runs GIS, IIS and the
gradient solvers to equal objectives. It writes docs/results/hierarchical_training.md and keeps handwritten remarks.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import data_folder
from experiments.hierarchical_training import page
from experiments.record import Json, origin, say
from loglinear import penalties, solvers
from loglinear.data.corpus import read_corpus
from loglinear.data.ngram import NgramTrie, build_trie
from loglinear.data.sentences import Sentences
from loglinear.losses.baselines.ngram_normalisers import NaiveNgramLoss, UnigramCachingLoss, count_terms
from loglinear.losses.ngram_maxent import NgramMaxentLoss
from loglinear.optimise.minimise import minimise
from loglinear.optimise.objective import Objective

CORPORA = {
    "brown": ("Brown", "brown/lm/train.txt.gz"),
    "ptb": ("PTB", "ptb/ptb.train.txt.gz"),
    "gutenberg": ("Gutenberg", "gutenberg/gutenberg13m.txt.gz"),
}
RACED = ("brown", "ptb")  # corpora that the solvers are compared on
GAPS = (1e-2, 1e-3, 1e-4)  # relative, to the best objective of all runs
STRENGTH = 0.5  # of the ridge
SOLVERS: dict[str, Any] = {
    "GIS": solvers.Gis(),
    "IIS": solvers.Iis(),
    "L-BFGS": solvers.Lbfgs(metric="none"),
    "L-BFGS, counts as metric": solvers.Lbfgs(metric="curvature"),
    "FISTA, counts as metric": solvers.Fista(metric="curvature"),
}


def terms(sentences: Sentences) -> dict[str, Json]:
    """Count sizes and terms of trigram and four-gram models (tables 3.6 and 3.7)."""
    out = {}
    for order in (3, 4):
        trie = build_trie(sentences, order)
        count = count_terms(trie)
        out[str(order)] = {
            **asdict(count),
            "nominal": count.nominal_speed_up,
            "entries": np.diff(trie.entry_start).tolist(),
            "tokens": sentences.n_tokens + sentences.n_sentences,
            "words": trie.n_words,
        }
        say(f"  order {order}: {trie.n_entries:,} n-grams, nominal speed-up {count.nominal_speed_up:.0f}")
    return out


def median_time(evaluate: Callable[[], object], seconds: float, most: int = 9) -> tuple[float, int]:
    """Return (median seconds of a call, number of calls); as many calls as fit are made, at least one."""
    taken: list[float] = []
    while not taken or (sum(taken) + taken[-1] < seconds and len(taken) < most):
        start = time.perf_counter()
        evaluate()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken), len(taken)


def iteration_times(trie: NgramTrie, seconds: float, n_sampled: int) -> Json:
    """Time one evaluation of loss and gradient (all normalisers and expectations) by each method (table 3.8)."""
    hierarchical = NgramMaxentLoss(trie)
    objective = Objective(hierarchical, penalties.make("l2", STRENGTH))
    w = minimise(objective, solvers.Gis(), tolerance=0.0, max_iterations=3).weights  # weights as in training
    gradient = np.empty(trie.n_entries)
    losses = {
        "hierarchical": hierarchical,
        "unigram caching": UnigramCachingLoss(trie),
        "shared products": UnigramCachingLoss(trie, shared_products=True),
    }
    out: Json = {}
    for name, loss in losses.items():
        value = loss.value_and_gradient(w, gradient) if name == "hierarchical" else None  # touches all pages
        taken, n = median_time(lambda loss=loss: loss.value_and_gradient(w, gradient), seconds)
        out[name] = {"seconds": taken, "runs": n}
        say(f"  {name}: {taken:.3f} s" + (f", loss {value:.0f}" if value is not None else ""))
    naive, log_z = NaiveNgramLoss(trie), np.empty(trie.n_contexts)
    histories = naive.histories()
    n_sampled = min(n_sampled, histories.size)
    sample = np.sort(np.random.default_rng(0).choice(histories, n_sampled, replace=False))
    taken, _ = median_time(lambda: naive.sum_histories(w, sample, log_z, gradient), seconds / 4)
    out["naive"] = {"seconds": taken * histories.size / n_sampled, "sampled": n_sampled}
    return out


def race(trie: NgramTrie, seconds: float) -> Json:
    """Run every solver from zero weights for ``seconds`` or until it converges; ``milestones`` computes the gaps."""
    out: Json = {"n_weights": trie.n_entries, "strength": STRENGTH, "seconds": seconds, "runs": {}}
    penalty = penalties.make("l2", STRENGTH)
    for name, solver in SOLVERS.items():
        start = time.perf_counter()
        result = minimise(
            Objective(NgramMaxentLoss(trie), penalty),
            solver,
            violation_tolerance=1e-6,
            max_iterations=1_000_000,
            callback=lambda i, state, history, start=start: time.perf_counter() - start > seconds,
        )
        history = result.history
        out["runs"][name] = {
            "time": history.time,
            "objective": history.objective,
            "evaluations": history.passes,
            "status": result.status,
        }
        say(f"  {name}: {result.value:.1f} after {result.n_iterations} iterations, {history.time[-1]:.1f} s")
    return out


def milestones(found: Json) -> Json:
    """Return when gaps were reached, {solver: {gap: (iterations, evaluations, seconds) or None}}, and the best."""
    best = min(min(run["objective"]) for run in found["runs"].values())
    rows = {}
    for name, run in found["runs"].items():
        gap = np.minimum.accumulate(run["objective"]) / best - 1.0
        reached = {}
        for limit in GAPS:
            at = int(np.argmax(gap <= limit))
            reached[f"{limit:g}"] = [at, run["evaluations"][at], run["time"][at]] if gap[-1] <= limit else None
        n = max(len(run["time"]) - 1, 1)
        rows[name] = {"reached": reached, "final gap": float(gap[-1]), "seconds per iteration": run["time"][-1] / n}
    return {"best": best, **{k: found[k] for k in ("n_weights", "strength", "seconds")}, "rows": rows}


def measure(options: argparse.Namespace) -> Json:
    folder = options.data or data_folder("brown/lm/, ptb/ and gutenberg/")
    started = time.perf_counter()
    results: Json = {"terms": {}, "times": {}, "race": {}}
    # A tenth of the time is for the evaluations of table 3.8 and six tenths are for the race; the rest is for reading,
    # building and one evaluation by unigram caching of each kind, however long that takes.
    times = 0.1 * 60 * options.minutes / (4 * len(options.corpora))
    raced = [name for name in RACED if name in options.corpora]
    for name in options.corpora:
        title, path = CORPORA[name]
        say(title)
        sentences, _ = read_corpus(folder / path)
        results["terms"][title] = terms(sentences)
        trie = build_trie(sentences, 3)
        del sentences
        results["times"][title] = iteration_times(trie, times, options.sampled)
        if name in raced:
            budget = 0.6 * 60 * options.minutes / (len(raced) * len(SOLVERS))
            results["race"][title] = milestones(race(trie, budget))
    given = "" if options.minutes == 7 else f" --minutes {options.minutes:g}"
    if options.corpora != list(CORPORA):
        given += " --corpora " + " ".join(options.corpora)
    results |= origin(f"python -m experiments.hierarchical_training{given}", seconds=time.perf_counter() - started)
    return results


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of the corpora (LOGLINEAR_DATA)")
    parser.add_argument("--corpora", nargs="+", choices=list(CORPORA), default=list(CORPORA))
    parser.add_argument("--minutes", type=float, default=7.0, help="about how long it may take")
    parser.add_argument("--sampled", type=int, default=500, help="histories that naive summation is timed on")
    parser.add_argument("--json", type=Path, help="keep the raw results here")
    parser.add_argument("--page", action="store_true", help="rebuild the page from --json, measure nothing")
    parser.add_argument("--output", type=Path, default=Path("docs/results"))
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> None:
    options = parse(arguments)
    if options.page:
        results = json.loads(options.json.read_text(encoding="utf-8"))
    else:
        results = measure(options)
        if options.json:
            options.json.write_text(json.dumps(results, indent=1), encoding="utf-8")
    say(f"written: {page.write(options.output, results)}")


if __name__ == "__main__":
    main(sys.argv[1:])
