"""Word classes: how good and how quick the clustering is, and what classes gain as features of taggers.

    LOGLINEAR_DATA=... python -m experiments.word_classes [--parts ptb,gutenberg,features] [--peers FOLDER]

``--peers`` is a folder with brown-cluster/wcluster (Liang) and clustercat/bin/clustercat (Dehdari), built there. The
script keeps the raw results in a JSON file and writes docs/results/word_classes.md. It does not repeat runs that are in
the file, unless --fresh discards them; --page only rebuilds the page.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.origin import commit
from benchmarks.report import data_folder
from experiments.record import Json, Results, add_parts, parser_of, run_experiment, say
from experiments.word_classes import page
from experiments.word_classes.peers import brown_tool, clustercat
from experiments.word_classes.tasks import SETTINGS, TASKS, gain
from loglinear.clustering import WordBigrams, bidirectional, brown, exchange, log_likelihood
from loglinear.data.corpus import read_corpus

NAME = "word_classes"
N_LONG = 3  # long runs, from random classes
TEXTS = {"ptb": ("ptb/ptb.train.txt.gz", 150), "gutenberg": ("gutenberg/gutenberg13m.txt.gz", 500)}
METHODS = {"exchange": exchange, "bidirectional": bidirectional, "brown": brown}


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = parser_of(NAME, __doc__)
    add_parts(parser, [*TEXTS, "features"])
    parser.add_argument("--peers", type=Path, help="folder with brown-cluster and clustercat")
    return parser.parse_args(arguments)


class Text:
    """A text to cluster, counted once, with what there is to be measured on it."""

    def __init__(self, path: Path, n_classes: int, options: argparse.Namespace) -> None:
        self.n_classes, self.threads, self.peers = n_classes, options.threads or 2, options.peers
        self.path = path
        self.sentences, self.vocabulary = read_corpus(path, n_threads=options.threads)
        self.bigrams = WordBigrams(self.sentences, options.threads)
        self.n_predicted = self.sentences.n_tokens + self.sentences.n_sentences

    def runs(self) -> dict[str, Any]:
        """Return the measurements by name."""
        found: dict[str, Any] = {name: lambda m=method: self.ours(m) for name, method in METHODS.items()}
        for seed in range(N_LONG):
            found[f"long run {seed + 1}"] = lambda s=seed: self.ours(exchange, max_passes=200, start=self.random(s))
        if self.peers is not None and self.sentences.n_tokens < 2e6:  # they would take hours on more
            found["brown-cluster"] = lambda: self.theirs(brown_tool)
            found["clustercat"] = lambda: self.theirs(clustercat)
        return found

    def ours(self, method: Any, **settings: Any) -> Json:
        """Read, count and cluster; the time is that of all three."""
        began = time.perf_counter()
        sentences, _ = read_corpus(self.path, n_threads=self.threads)
        found = method(WordBigrams(sentences, self.threads), self.n_classes, n_threads=self.threads, **settings)
        return self.told(time.perf_counter() - began, found.log_likelihood, found.n_passes)

    def theirs(self, tool: Any) -> Json:
        """Run a peer on the same text, and take the log-likelihood of its classes as that of ours is."""
        with tempfile.TemporaryDirectory() as folder:
            seconds, classes = tool(self.peers, self.path, Path(folder), self.n_classes, self.threads)
        names = {name: n for n, name in enumerate(dict.fromkeys(classes.values()))}
        other = len(names)  # of words that the peer left out
        labels = np.array([names[classes[w]] if w in classes else other for w in self.vocabulary], np.uint32)
        n_classes = other + int(any(w not in classes for w in list(self.vocabulary)[1:]))
        labels[0] = 0
        labels[self.bigrams.counts == 0] = 0
        return self.told(seconds, log_likelihood(self.bigrams, np.minimum(labels, n_classes - 1), n_classes), None)

    def random(self, seed: int) -> Any:
        """Return random classes."""
        return np.random.default_rng(seed).integers(0, self.n_classes, self.bigrams.n_words).astype(np.uint32)

    def told(self, seconds: float, value: float, passes: int | None) -> Json:
        return {
            "seconds": seconds, "log_likelihood": value, "perplexity": float(np.exp(-value / self.n_predicted)),
            "passes": passes, "commit": commit(),
        }  # fmt: skip


def measure_text(part: str, folder: Path, options: argparse.Namespace, results: Results, command: str) -> None:
    """Cluster one text by all methods, and by peers."""
    file, n_classes = TEXTS[part]
    text = Text(folder / file, n_classes, options)
    keys = []
    for name, run in text.runs().items():
        keys.append(f"{part}/{name}")
        if keys[-1] not in results.runs:
            results.runs[keys[-1]] = run()
            results.save()
            say(keys[-1], results.runs[keys[-1]])
    found = {
        "runs": {key.split("/")[1]: results.runs[key] for key in keys}, "tokens": text.n_predicted,
        "words": int(text.bigrams.by_count.size), "n_classes": n_classes,
    }  # fmt: skip
    results.keep(part, found, command, options.threads, commits=results.commits_of([part]))


def measure_features(folder: Path, options: argparse.Namespace, results: Results, command: str) -> None:
    """Train taggers with and without classes."""
    for task in TASKS:
        for setting in SETTINGS:
            key = f"features/{task}/{setting}"
            if key in results.runs:
                continue
            results.runs[key] = {**gain(folder, task, setting, options.threads), "commit": commit()}
            results.save()
            say(key, results.runs[key])
    runs = {key.removeprefix("features/"): run for key, run in results.runs.items() if key.startswith("features/")}
    results.keep("features", {"runs": runs}, command, options.threads, commits=results.commits_of(["features"]))


def measure(options: argparse.Namespace, results: Results, command: str) -> None:
    """Measure the chosen parts."""
    folder: Path = data_folder("ptb/, gutenberg/, brown/, reuters/, conll2000/, wnut17/ and ewt/")
    for part in options.parts:
        if part == "features":
            measure_features(folder, options, results, command)
        else:
            measure_text(part, folder, options, results, command)


def main(arguments: list[str]) -> None:
    run_experiment(NAME, parse(arguments), arguments, measure, page.write)


if __name__ == "__main__":
    main(sys.argv[1:])
