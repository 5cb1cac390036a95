"""What a language model takes on a cluster: time and memory by the number of words and of workers.

    LOGLINEAR_DATA=... python -m benchmarks plan [--words N] [--growth N] [--network GBIT] [--latency MS]

Measured here, on the first ``--words`` million words of a text: seconds per token to read and sort, per n-gram and
pass to train, of one single-threaded worker; the passes. The first ``--growth`` million words are counted, to tell how
n-grams and words grow with the text (a power of its length, from a quarter and the whole of it). The model of costs, of
W single-threaded workers:

    reading, sorting   tokens * t / W
    exchange           4 (order + 1) bytes per n-gram, all but 1 / W of them, through every worker's own network card
    a pass             the largest part * s  +  meetings * latency  +  16 bytes per word and worker through the client's
    model              n-grams * u  +  27 bytes per n-gram through the client's network card

The largest part has 1 / W of the n-grams, or those of the most frequent context if these are more. It is checked by
what two workers do. Memory of a worker: bytes per n-gram of its part, while it is trained. With ``min_count`` all
n-grams are counted and exchanged, and those that are frequent enough are trained. What the program refuses, since a
model or a part has more n-grams than can be numbered, has no prediction.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.processes import run as run_process
from benchmarks.report import Report, about_run, data_folder, markdown
from benchmarks.scale.jobs import LanguageModel, join_parts
from loglinear.data.ngram import MOST_NGRAMS, cut
from loglinear.data.runs import count_files

ORDER = 5
MEETINGS = 5  # of a pass of OWL-QN: the loss with the penalty, inner products, the largest entry
RECORD = 24  # bytes per n-gram that was counted
BYTES = 12 + 8 + 6 * 8 + 64  # per n-gram that is trained: trie, contexts, vectors, eight pairs in single precision
MIN_COUNT = (1, 1, 2)  # of the n-grams that are trained where rare ones are left out
MODEL_BYTES = 17 + 20 // 2  # per n-gram, as parts send them; a context for two n-grams
LIMIT = 3600.0
WORKERS, WORDS = (4, 16, 64), (1e9, 1e10, 1e11)


@dataclass(frozen=True)
class Costs:
    """What was measured: seconds, and how a text grows."""

    per_token: float  # to read, sort and merge
    per_pass: float  # per n-gram
    passes: float
    per_ngram: float  # to make the model, in the client for the most part
    ngrams: tuple[float, float]  # factor, power of the number of tokens
    frequent: tuple[float, float]  # the same of those that MIN_COUNT leaves
    words: tuple[float, float]
    largest: float  # share of the n-grams whose context ends in the most frequent word
    network: float  # bytes per second
    latency: float  # seconds of a meeting

    def predict(self, tokens: float, n_workers: int, frequent: bool = False) -> dict[str, float]:
        """Return seconds by stage, and bytes per worker."""
        n_all = self.ngrams[0] * tokens ** self.ngrams[1]
        n_ngrams = self.frequent[0] * tokens ** self.frequent[1] if frequent else n_all
        n_words = self.words[0] * tokens ** self.words[1]
        share = max(1.0 / n_workers, self.largest)
        exchange = RECORD * n_all * (1 - 1 / n_workers) / n_workers / self.network
        one_pass = n_ngrams * share * self.per_pass + MEETINGS * self.latency
        one_pass += 16 * n_words * n_workers / self.network
        model = n_ngrams * self.per_ngram + MODEL_BYTES * n_ngrams / self.network
        counting = tokens * self.per_token / n_workers + exchange
        return {
            "n-grams": n_ngrams, "counting": counting, "training": self.passes * one_pass, "model": model,
            "seconds": counting + self.passes * one_pass + model,
            "bytes": RECORD * n_all / n_workers + BYTES * n_ngrams * share, "largest part": n_all * share,
        }  # fmt: skip


def _power(sizes: tuple[float, float], values: tuple[float, float]) -> tuple[float, float]:
    power = math.log(values[1] / values[0]) / math.log(sizes[1] / sizes[0])
    return values[1] / sizes[1] ** power, power


def _ways(n_million: int, ways: tuple[str, ...]) -> dict[str, dict]:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        LanguageModel.prepare(folder, n_million, data_folder("gutenberg"))
        join_parts(folder)
        found = {}
        for way in ways:
            done = run_process([sys.executable, "-m", "benchmarks.scale.jobs", "lm", way, folder], LIMIT)
            found[way] = json.loads(done.output.strip().splitlines()[-1])
            print(f"{n_million} million words, {way}: {found[way]}", file=sys.stderr, flush=True)
    return found


def _growth(n_million: int) -> list[tuple[float, float, float, float]]:
    """Return (tokens, n-grams, frequent ones, words) of a quarter and of the whole of a text."""
    found = []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for size in (max(n_million // 4, 1), n_million):
            LanguageModel.prepare(folder, size, data_folder("gutenberg"))
            trie, words = count_files(sorted(folder.glob("part*.txt")), ORDER, memory="2G", folder=folder)
            kept = cut(trie, MIN_COUNT).n_entries
            found.append((float(trie.context_count[0]), float(trie.n_entries), float(kept), float(words.n_words)))
    return found


def measure(n_million: int, n_growth: int, network: float, latency: float) -> tuple[Costs, Report]:
    """Measure the costs, and compare what they predict for two workers with what two workers do."""
    found = _ways(n_million, ("one worker", "two workers"))
    one, two = found["one worker"], found["two workers"]
    sizes, n_ngrams, n_frequent, n_words = zip(*_growth(n_growth))
    power = _power(sizes, n_ngrams)[1]
    ngrams = one["n-grams"] / one["tokens"] ** power, power  # through what was trained on here
    here = Costs(
        one["counting"] / one["tokens"], one["training"] / one["passes"] / one["n-grams"], one["passes"],
        (one["seconds"] - one["counting"] - one["training"]) / one["n-grams"],
        ngrams, _power(sizes, n_frequent), _power(sizes, n_words), one["largest"], 2e9, 0.003,
    )  # fmt: skip
    predicted = here.predict(one["tokens"], 2)
    report = Report(f"The model of costs, checked: {n_million} million words")
    report.rows.append({"": "one worker", "seconds": one["seconds"], "predicted": None, "passes": one["passes"]})
    scaled = predicted["seconds"] * two["passes"] / one["passes"]
    report.rows.append({"": "two workers", "seconds": two["seconds"], "predicted": scaled, "passes": two["passes"]})
    report.at_most("prediction for two workers", abs(scaled / two["seconds"] - 1), 0.25, "{:.0%} off")
    costs = replace(here, ngrams=_power(sizes, n_ngrams), network=network, latency=latency)
    return costs, report


def table(costs: Costs, network: float) -> Report:
    """Return the predictions."""
    report = Report(f"Predicted, for single-threaded workers and a network of {network:g} Gbit/s")
    for tokens, frequent, n_workers in itertools.product(WORDS, (False, True), WORKERS):
        found = costs.predict(tokens, n_workers, frequent)
        row = {
            "words": f"{tokens / 1e9:g} billion", "min_count": " ".join(map(str, MIN_COUNT)) if frequent else "1",
            "n-grams": f"{found['n-grams'] / 1e9:.1f} billion", "workers": n_workers,
        }  # fmt: skip
        if found["n-grams"] > MOST_NGRAMS:
            row["hours of counting"] = "refused: more n-grams than a model numbers"
        elif found["largest part"] > MOST_NGRAMS:
            row["hours of counting"] = "refused: a part has more n-grams than can be numbered"
        else:
            row |= {"hours of counting": found["counting"] / 3600, "of training": found["training"] / 3600,
                    "in all": found["seconds"] / 3600, "GB per worker": found["bytes"] / 1e9}  # fmt: skip
        if row not in report.rows:
            report.rows.append(row)
    report.remarks.append(
        f"{1e6 * costs.per_token:.2f} µs per token to count, {1e9 * costs.per_pass:.0f} ns per n-gram and pass, "
        f"{costs.passes:.0f} passes; n-grams grow as tokens^{costs.ngrams[1]:.2f}, those with min_count "
        f"{' '.join(map(str, MIN_COUNT))} as tokens^{costs.frequent[1]:.2f}, words as "
        f"tokens^{costs.words[1]:.2f}; the most frequent context has {costs.largest:.1%} of the n-grams."
    )
    return report


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks plan", description=__doc__)
    parser.add_argument("--words", type=int, default=13, help="million words that are measured")
    parser.add_argument("--growth", type=int, default=50, help="million words that are counted")
    parser.add_argument("--network", type=float, default=10.0, help="Gbit/s of every machine")
    parser.add_argument("--latency", type=float, default=5.0, help="milliseconds of a meeting of all workers")
    options = parser.parse_args(arguments)
    costs, checked = measure(options.words, options.growth, options.network * 1e9 / 8, options.latency / 1e3)
    print("\n\n".join([about_run(), markdown(checked), markdown(table(costs, options.network))]))
