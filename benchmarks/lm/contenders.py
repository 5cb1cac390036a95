"""Contenders of the language-model benchmark. Each runs in a process of its own, for its time and peak memory:

python -m benchmarks.lm.contenders ROLE '{"option": value, ...}'        (prints JSON)
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

N_THREADS = 2


def lines_of(path: str) -> list[str]:
    return Path(path).read_bytes().decode().rstrip("\n").split("\n")


def tokens_of(lines: list[str]) -> int:
    """Return the number of words between ASCII blanks plus ends of sentences."""
    return sum(len(line.encode().split()) + 1 for line in lines)


def baseline() -> dict:
    """Import what a language model needs and do nothing else: the memory of Python itself."""
    from loglinear.models import LanguageModel

    return {"estimator": LanguageModel().estimator}


def count(text: str, order: int) -> dict:
    """Read the text into numbers, and sort and count its n-grams: one plain pass."""
    from loglinear.data.corpus import read_corpus
    from loglinear.data.ngram import build_trie

    start = time.perf_counter()
    sentences, vocabulary = read_corpus(text, n_threads=N_THREADS)
    reading = time.perf_counter() - start
    trie = build_trie(sentences, order, n_threads=N_THREADS)
    return {
        "reading": reading,
        "sorting": time.perf_counter() - start - reading,
        "tokens": sentences.n_tokens + sentences.n_sentences,
        "words": vocabulary.n_words,
        "n-grams": trie.n_entries,
        "contexts": trie.n_contexts,
        "trie bytes": trie.nbytes,
    }


def train(
    text: str, model: str, validation: str | None = None, test: str | None = None, settings: dict | None = None
) -> dict:
    """Train on a text as `loglinear lm train` does and save the model; then compute its perplexity on the test text."""
    from benchmarks.processes import megabytes
    from loglinear.models.language_model.files import make_language_model

    lm = make_language_model({"n_threads": N_THREADS, "verbose": 0, **(settings or {})})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lm.fit(text, validation=validation)
    start = time.perf_counter()
    lm.save(model)
    found = {
        "fit": lm.fit_seconds_,
        "saving": time.perf_counter() - start,
        "peak MB": megabytes(),
        "file MB": Path(model).stat().st_size / 1e6,
        "n-grams": int(sum(lm.counts_)),
        "kept": int(sum(lm.n_ngrams_)),
        "weights": int(lm.n_weights_ - lm.n_ngrams_[0]),
        "parameters": int(getattr(lm, "n_parameters_", lm.n_weights_) - lm.n_ngrams_[0]),
        "steps": int(lm.n_iter_),
        "status": lm.status_,
    }
    if hasattr(lm, "tuning_"):
        found["rounds"] = len(lm.tuning_)
    if test is not None:
        found["perplexity"] = lm.perplexity(test)
    return found


def sweep(text: str, order: int) -> dict:
    """Time one value and gradient at Kneser-Ney's weights, and compare its bandwidth with that of a copy."""
    import numpy as np

    from benchmarks.kernels import best_of
    from loglinear import _core
    from loglinear.backoff.interpolation import loglinear_weights
    from loglinear.backoff.kneser_ney import kneser_ney
    from loglinear.data.corpus import read_corpus
    from loglinear.data.ngram import build_trie
    from loglinear.losses.ngram_maxent import NgramMaxentLoss
    from loglinear.threads import pool

    sentences, vocabulary = read_corpus(text, n_threads=N_THREADS)
    trie = build_trie(sentences, order, n_threads=N_THREADS)
    w = loglinear_weights(kneser_ney(trie, vocabulary, n_threads=N_THREADS), n_threads=N_THREADS)
    gradient = np.zeros(trie.n_entries)
    found: dict = {"n-grams": trie.n_entries, "contexts": trie.n_contexts}
    for n_threads in (1, N_THREADS):
        loss = NgramMaxentLoss(trie, n_threads=n_threads)
        key = f"seconds on {n_threads}"
        found[key] = best_of(lambda loss=loss: loss.value_and_gradient(w, gradient), 5)
    # A copy as long as the weights. A cache line is read before it is written: 16 bytes per number written, in both.
    copy = best_of(lambda: _core.combine(pool(N_THREADS), 1.0, w, 0.0, w, gradient), 7)
    bandwidth = 24 * trie.n_entries / copy
    moved = (8 + 4 + 4 + 16) * trie.n_entries + 12 * trie.n_contexts  # weight, parent, count, gradient; contexts
    found["bytes per n-gram"] = moved / trie.n_entries
    found["GB/s"] = moved / found[f"seconds on {N_THREADS}"] / 1e9
    found["GB/s of a copy"] = bandwidth / 1e9
    found["of bandwidth"] = found["GB/s"] / found["GB/s of a copy"]
    return found


def kenlm_perplexity(model: str, test: str) -> dict:
    """Return the perplexity of KenLM's model by its own package, unknown words and ends of sentences included."""
    import kenlm

    lm = kenlm.Model(model)
    lines = lines_of(test)
    log10 = sum(lm.score(line) for line in lines)
    return {"perplexity": 10 ** (-log10 / tokens_of(lines))}


def arpa(model: str, arpa: str, test: str) -> dict:
    """Write our model as ARPA, read it by the kenlm package, and compare the log10 of each sentence."""
    import kenlm
    import numpy as np

    from loglinear.models import LanguageModel

    lm = LanguageModel.load(model)
    lm.n_threads = N_THREADS
    start = time.perf_counter()
    lm.to_arpa(arpa)
    writing = time.perf_counter() - start
    lines = lines_of(test)
    theirs = kenlm.Model(arpa)
    ours = lm.queries_.score_batch(lines)
    difference = np.abs(ours - [theirs.score(line) for line in lines])
    return {
        "largest difference": float(difference.max()),
        "mean": float(difference.mean()),
        "sentences": len(lines),
        "writing": writing,
        "ARPA MB": Path(arpa).stat().st_size / 1e6,
    }


def batch(model: str, peer: str, text: str) -> dict:
    """Score the same sentences from Python: by one call of ours on 1 and 2 threads, by a loop of kenlm.Model.score."""
    import kenlm

    from benchmarks.kernels import best_of
    from loglinear.models import LanguageModel

    lines = lines_of(text)
    n_tokens = tokens_of(lines)
    repeat = 3 if n_tokens > 1_000_000 else 9
    theirs = kenlm.Model(peer)
    found: dict = {"sentences": len(lines), "tokens": n_tokens}
    found["kenlm"] = n_tokens / best_of(lambda: [theirs.score(line) for line in lines], repeat)
    queries = LanguageModel.load(model).queries_
    for n_threads in (1, N_THREADS):
        queries.n_threads = n_threads
        found[f"ours on {n_threads}"] = n_tokens / best_of(lambda: queries.score_batch(lines), repeat)
    found["ratio"] = found[f"ours on {N_THREADS}"] / found["kenlm"]
    return found


def base_score(model: str, text: str) -> dict:
    """Score word by word with ``BaseScore``, as decoders do, on one trie binary and on our model file: calls/s."""
    import kenlm

    from benchmarks.kernels import best_of
    from loglinear import kenlm as ours
    from loglinear.models import LanguageModel

    binary = str(Path(model).with_suffix(".trie.bin"))
    LanguageModel.load(model).to_binary(binary)
    sentences = [line.split() for line in lines_of(text)[:2000]]
    found: dict = {"calls": sum(map(len, sentences))}
    for name, package, path in (
        ("kenlm, trie", kenlm, binary), ("loglinear, trie", ours, binary), ("loglinear, model file", ours, model),
    ):  # fmt: skip
        lm, State = package.Model(path), package.State

        def run(lm: Any = lm, State: Any = State) -> None:
            score, state, after = lm.BaseScore, State(), State()
            for words in sentences:
                lm.BeginSentenceWrite(state)
                for word in words:
                    score(state, word, after)
                    state, after = after, state

        found[name] = found["calls"] / best_of(run, 7)
    return found


ROLES = {f.__name__: f for f in (baseline, count, train, sweep, kenlm_perplexity, arpa, batch, base_score)}


if __name__ == "__main__":
    print(json.dumps(ROLES[sys.argv[1]](**json.loads(sys.argv[2]))))
