"""Contenders of the tagging benchmark. Each runs in a process of its own, for its peak memory:

    python -m benchmarks.tag.contenders ROLE FOLDER        (prints JSON)

FOLDER holds train.crfsuite, test.crfsuite (the same attributes for both sides) and train.txt, test.txt (CoNLL).
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.processes import megabytes
from benchmarks.tag.search import search_by_crfsuite, search_by_loglinear


def quality(gold, predicted) -> dict:
    from loglinear.metrics.span_f1 import span_scores

    scores = span_scores(gold, predicted)
    by_type = {t.type: 100 * t.f1 for t in scores.types}
    return {"F1": 100 * scores.f1, "NP F1": by_type.get("NP"), "accuracy": 100 * scores.accuracy}


def _crfsuite_items(path: Path):
    """Return sequences in the form of CRFsuite's own binding: attribute strings per token, and labels."""
    xs, ys = [], []
    for block in path.read_text(encoding="utf-8").strip().split("\n\n"):
        rows = [line.split("\t") for line in block.split("\n")]
        ys.append([row[0] for row in rows])
        xs.append([[a.replace("\\:", ":").replace("\\\\", "\\") for a in row[1:]] for row in rows])
    return xs, ys


def crfsuite(folder: Path) -> dict:
    import pycrfsuite

    xs, ys = _crfsuite_items(folder / "train.crfsuite")
    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
    start = time.perf_counter()
    for x, y in zip(xs, ys):
        trainer.append(x, y)
    loading = time.perf_counter() - start
    del xs
    trainer.set_params({"c1": 0.0, "c2": 1.0, "max_iterations": 100, "feature.possible_transitions": False})
    start = time.perf_counter()
    trainer.train(str(folder / "crfsuite.model"))
    training = time.perf_counter() - start
    peak = megabytes()
    tagger = pycrfsuite.Tagger()
    tagger.open(str(folder / "crfsuite.model"))
    xs, ys = _crfsuite_items(folder / "test.crfsuite")
    start = time.perf_counter()
    predicted = [tagger.tag(x) for x in xs]
    tagging = time.perf_counter() - start
    return {
        "seconds": training,
        "loading": loading,
        "objective": trainer.logparser.last_iteration["loss"],
        "iterations": trainer.logparser.last_iteration["num"],
        "peak MB": peak,
        "tokens/s": sum(map(len, xs)) / tagging,
        **quality(ys, predicted),
    }


def _report(tagger, gold, X_test, seconds_before: float) -> dict:
    history = tagger.history_
    return {
        "seconds": tagger.fit_seconds_,
        "reading": seconds_before,
        "preparation": tagger.fit_seconds_ - history.time[-1],
        "times": history.time,
        "objectives": history.objective,
        "evaluations": history.passes,
        "objective": tagger.objective_,
        "weights": int(tagger.weights_.size),
        "status": tagger.status_,
        **quality(gold, tagger.predict(X_test)),
    }


def same_attributes(folder: Path) -> dict:
    """Train our CRF on CRFsuite's own attributes, that is on the same objective."""
    from loglinear import Tagger
    from loglinear.features.attributes import AttributeSequences
    from loglinear.features.sequences import FlatLabels
    from loglinear.formats.crfsuite.data import read_crfsuite

    start = time.perf_counter()
    train = read_crfsuite(folder / "train.crfsuite")
    X = AttributeSequences.from_crfsuite(train)
    y = list(FlatLabels(train.labels, train.sequence_ptr, train.label_names))
    reading = time.perf_counter() - start
    tagger = Tagger(strength=2.0, tolerance=1e-10, max_iterations=400, n_threads=2, verbose=0)
    tagger.fit(X, y)
    peak = megabytes()
    test = read_crfsuite(folder / "test.crfsuite")
    gold = list(FlatLabels(test.labels, test.sequence_ptr, test.label_names))
    return {"peak MB": peak, **_report(tagger, gold, AttributeSequences.from_crfsuite(test), reading)}


def from_text(folder: Path, **settings) -> dict:
    """Train from CoNLL text to a model, templates included."""
    from loglinear import Tagger
    from loglinear.features.columns import Columns
    from loglinear.formats.conll import read_conll

    start = time.perf_counter()
    columns = Columns.from_conll(read_conll(folder / "train.txt"))
    X, y = columns.without(2), columns.column(2)
    del columns
    reading = time.perf_counter() - start
    tagger = Tagger(templates="chunking", strength=2.0, n_threads=2, verbose=0, **settings).fit(X, y)
    peak = megabytes()
    test = Columns.from_conll(read_conll(folder / "test.txt"))
    if not settings:
        tagger.save(folder / "chunking.ll")
    return {"peak MB": peak, **_report(tagger, test.column(2), test.without(2), reading)}


def of_command(folder: Path) -> dict:
    """Score the model that the command has trained."""
    import loglinear
    from loglinear.features.columns import Columns
    from loglinear.formats.conll import read_conll

    test = Columns.from_conll(read_conll(folder / "test.txt"))
    return quality(test.column(2), loglinear.load(folder / "command.ll").predict(test.without(2)))


def all_transitions(folder: Path) -> dict:
    return from_text(folder, transitions="all")


def all_features(folder: Path) -> dict:
    return from_text(folder, features="all", max_iterations=100)


def second_order(folder: Path) -> dict:
    """Train on noun phrases alone: extended features of Sha and Pereira, order 2, strength tuned on 900 sentences."""
    from loglinear import Tagger
    from loglinear.features.columns import Columns
    from loglinear.formats.conll import read_conll

    def np_only(sequences):
        return [[label if label.endswith("-NP") else "O" for label in labels] for labels in sequences]

    start = time.perf_counter()
    columns = Columns.from_conll(read_conll(folder / "train.txt"))
    X, y = columns.without(2), np_only(columns.column(2))
    reading = time.perf_counter() - start
    tagger = Tagger(templates="sha-pereira", order=2, n_threads=2, verbose=0)
    n = len(X) - 900
    held_out = {"validation": (X[n:], y[n:])}
    tuned = Tagger(templates="sha-pereira", order=2, n_threads=2, verbose=0, tune=[4.0, 2.0, 1.0, 0.5])
    tuned.fit(X[:n], y[:n], **held_out)
    tagger.set_params(strength=tuned.strength_).fit(X, y)
    peak = megabytes()
    test = Columns.from_conll(read_conll(folder / "test.txt"))
    report = _report(tagger, np_only(test.column(2)), test.without(2), reading)
    return {"peak MB": peak, "strength": tuned.strength_, "tuning": str(tuned.tuning_), **report}


def text_to_tags(folder: Path) -> dict:
    """Label raw CoNLL text in memory, as `loglinear tag predict` does."""
    import loglinear
    from loglinear.models.tagger.files import tag_text

    tagger = loglinear.load(folder / "chunking.ll")
    tagger.n_threads = 2
    lines = (folder / "test.txt").read_text(encoding="utf-8").split("\n")
    text = ("\n".join(line.rsplit(" ", 1)[0] for line in lines).strip() + "\n\n").encode() * 10
    n_tokens = sum(1 for line in text.split(b"\n") if line)
    tag_text(tagger, text)
    times = []
    for _ in range(5):
        start = time.perf_counter()
        tag_text(tagger, text)
        times.append(time.perf_counter() - start)
    return {"tokens/s": n_tokens / min(times), "tokens": n_tokens, "peak MB": megabytes()}


def _dicts(folder: Path) -> list[list[dict]]:
    """Return the test sequences as dicts, with a key per template, as python-crfsuite's users write them."""
    xs, _ = _crfsuite_items(folder / "test.crfsuite")
    return [[dict(a.split("=", 1) if "=" in a else (a, True) for a in token) for token in x] for x in xs]


def _fastest(encode: Callable[[list[list[dict]]], object], folder: Path) -> dict:
    """Return the tokens per second of the best of five."""
    sequences, times = _dicts(folder), []
    n_tokens = sum(map(len, sequences))
    n_attributes = sum(len(token) for tokens in sequences for token in tokens)
    for _ in range(5):
        start = time.perf_counter()
        encode(sequences)
        times.append(time.perf_counter() - start)
    return {"tokens/s": n_tokens / min(times), "tokens": n_tokens, "attributes": n_attributes}


def dicts(folder: Path) -> dict:
    """Encode dicts of attributes in memory."""
    from loglinear.features.attributes import AttributeSequences

    return _fastest(AttributeSequences.from_lists, folder)


def crfsuite_dicts(folder: Path) -> dict:
    """Convert the same dicts by CRFsuite's binding."""
    import pycrfsuite

    return _fastest(lambda sequences: [pycrfsuite.ItemSequence(tokens) for tokens in sequences], folder)


def threads(folder: Path) -> dict:
    """Answer small requests in one Python thread, and in eight that share the model."""
    import loglinear
    from loglinear.features.columns import Columns
    from loglinear.formats.conll import read_conll

    tagger = loglinear.load(folder / "chunking.ll")
    tagger.n_threads = 1
    test = Columns.from_conll(read_conll(folder / "test.txt")).without(2)
    pieces = [test.take(list(range(i, min(i + 50, len(test))))) for i in range(0, len(test), 50)] * 4
    expected = [tagger.predict_numbers(piece).tolist() for piece in pieces]

    def serve(worker: int, n_workers: int, out: list) -> None:
        for i in range(worker, len(pieces), n_workers):
            out[i] = tagger.predict_numbers(pieces[i])

    seconds = {}
    for n_workers in (1, 8):
        out: list = [None] * len(pieces)
        workers = [threading.Thread(target=serve, args=(k, n_workers, out)) for k in range(n_workers)]
        start = time.perf_counter()
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        seconds[n_workers] = time.perf_counter() - start
        assert [labels.tolist() for labels in out] == expected, "threads disagree"
    n_tokens = sum(len(labels) for labels in expected)
    return {"tokens/s, 1 thread": n_tokens / seconds[1], "tokens/s, 8 threads": n_tokens / seconds[8]}


def _encoded(folder: Path):
    """Return the training data as both sides have it."""
    from loglinear.data.sequence import SequenceData
    from loglinear.features.attributes import AttributeSequences
    from loglinear.formats.crfsuite.data import read_crfsuite

    train = read_crfsuite(folder / "train.crfsuite")
    X = AttributeSequences.from_crfsuite(train)
    return SequenceData(X.sequence_ptr, X.rows, len(X.vocabulary), train.labels, len(train.label_names))


def evaluation(folder: Path) -> dict:
    """Time one evaluation of the CRF, and the least that its work takes on this machine.

    The work is that of the algorithm as it is: rows of weights (of bundles, and of attributes with many labels) and
    single weights that are read for the scores and added to for the gradient, each row a load or a load and a store of
    every entry; products of rows with a matrix forward, backward and for expected transitions; exponentials. Rates are
    those of BLAS for products, of a copy within the second-level cache for bytes.
    """
    import numpy as np

    from benchmarks.kernels import best_of
    from loglinear import _core
    from loglinear.data.chain_features import chain_features
    from loglinear.losses.chain import ChainLoss
    from loglinear.threads import pool

    data = _encoded(folder)
    features = chain_features(data)
    rng = np.random.default_rng(0)
    w = rng.normal(size=features.n_weights)
    gradient = np.empty_like(w)
    result = {}
    for n_threads in (1, 2):
        loss = ChainLoss(data, features, n_threads=n_threads)
        result[f"ms on {n_threads}"] = 1e3 * best_of(lambda loss=loss: loss.value_and_gradient(w, gradient), 15)
    tokens, threads = loss._tokens, pool(2)
    L, n = (data.n_labels + 3) // 4 * 4, data.n_tokens
    square = rng.normal(size=(768, 768))
    flops = 2 * 768**3 / best_of(lambda: square @ square)
    small, out, x = np.ones(1 << 15), np.empty(1 << 15), rng.normal(size=1 << 15)
    copy = threads.size * 16 * small.size / best_of(lambda: _core.combine(pool(1), 1.0, small, 0.0, small, out))
    exps = threads.size * x.size / best_of(lambda: _core.exp(x, out))
    n_bytes = 24 * (tokens.n_row_uses * L + tokens.n_single_uses) + 2 * 6 * tokens.n_single_uses
    n_flops, n_exps = 3 * 2 * L * data.n_labels * n, L * n
    parts = {"products": n_flops / flops, "exponentials": n_exps / exps, "rows and weights": n_bytes / copy}
    return {
        **result,
        "ms at the limit of 2": 1e3 * sum(parts.values()),
        **{f"of which {name}": 1e3 * seconds for name, seconds in parts.items()},
        "Mflop": n_flops / 1e6,
        "MB": n_bytes / 1e6,
        "GB/s": copy / 1e9,
        "Gflop/s": flops / 1e9,
        "rows of a token": tokens.n_row_uses / n,
        "single weights of a token": tokens.n_single_uses / n,
    }


def second_order_evaluation(folder: Path) -> dict:
    """Time one evaluation of second order with all 22 labels, attributes with labels and with pairs of them."""
    import numpy as np

    from benchmarks.kernels import best_of
    from loglinear.data.chain_features import chain_features
    from loglinear.losses.chain import ChainLoss

    data = _encoded(folder)
    features = chain_features(data, scopes=np.full(data.n_attributes, 3, dtype=np.uint8), order=2)
    w, result = np.random.default_rng(0).normal(size=features.n_weights), {"weights": features.n_weights}
    values = {}
    for name, machine in (("pairs with weights", "auto"), ("all pairs", "dense")):
        loss, gradient = ChainLoss(data, features, machine=machine, n_threads=2), np.empty_like(w)
        values[name] = loss.value_and_gradient(w, gradient)
        result[f"{name}: s"] = best_of(lambda loss=loss, g=gradient: loss.value_and_gradient(w, g), 3)
    assert np.isclose(*values.values(), rtol=1e-12), "the states disagree"
    return {**result, "peak MB": megabytes()}


def _many_labels(folder: Path, tagger) -> dict:
    from loglinear.features.columns import Columns
    from loglinear.formats.conll import read_conll

    def read(name):
        columns = Columns.from_conll(read_conll(folder / name))
        return columns.without(2).without(1), columns.column(2)

    tagger.fit(*read("imst.train.tsv"))
    peak = megabytes()
    X_test, gold = read("imst.test.tsv")
    start = time.perf_counter()
    predicted = tagger.predict(X_test)
    tagging = time.perf_counter() - start
    right = sum(a == b for p, g in zip(predicted, gold) for a, b in zip(p, g))
    return {
        "seconds": tagger.fit_seconds_,
        "evaluations": tagger.history_.passes[-1],
        "s per evaluation": tagger.history_.time[-1] / tagger.history_.passes[-1],
        "first objective": tagger.history_.objective[0],
        "objective": tagger.objective_,
        "labels": len(tagger.classes_),
        "weights": int(tagger.weights_.size),
        "status": tagger.status_,
        "peak MB": peak,
        "accuracy": 100 * right / sum(map(len, gold)),
        "tokens/s": sum(map(len, gold)) / tagging,
    }


def many_labels_sparse(folder: Path) -> dict:
    """Train with 981 labels and weights for the transitions that occur; the others are possible with weight zero."""
    from loglinear import Tagger

    tagger = Tagger(templates="pos", max_iterations=100, n_threads=2, verbose=0)
    result = _many_labels(folder, tagger)
    tagger.save(folder / "imst.ll")
    return result


def many_labels_dense(folder: Path) -> dict:
    """Train with 981 labels and a weight for each of the 962,361 transitions: a few steps from the sparse model."""
    from loglinear import Tagger

    tagger = Tagger.from_pretrained(folder / "imst.ll")
    tagger.set_params(machine="dense", transitions="all", max_iterations=8, n_threads=2)
    return _many_labels(folder, tagger)


ROLES = {
    f.__name__: f
    for f in (
        crfsuite, same_attributes, from_text, all_transitions, all_features, second_order, text_to_tags, threads,
        evaluation, second_order_evaluation, many_labels_sparse, many_labels_dense, of_command, dicts, crfsuite_dicts,
        search_by_crfsuite, search_by_loglinear,
    )
}  # fmt: skip


if __name__ == "__main__":
    print(json.dumps(ROLES[sys.argv[1]](Path(sys.argv[2]))))
