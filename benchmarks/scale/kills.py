"""Kills: trainings of every kind on two workers, one of which is killed (SIGKILL) at a random moment of each.

    python -m benchmarks kills [--trainings 20] [--seed 0] [--only classifier,tagger,...]

A kind is trained once in this process, and once on the cluster, undisturbed: this gives the optimum and how long
reading and training take. The moments are drawn from that time. Every training must end at the optimum of one process,
up to ``TOLERANCE``; what was under way at the moment of the kill is the stage that the undisturbed one was in then.
"""

from __future__ import annotations

import json
import logging
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.report import Report, parse, run_sections, section_parser, write_page

TOLERANCE = 1e-9  # of the objective, relative
TIGHT = {"tolerance": 1e-10, "max_iterations": 20_000, "verbose": 0}
N_PARTS = 3


class Kind(NamedTuple):
    """How one kind is trained: the lines or blocks of its text, and how they are joined."""

    suffix: str
    records: Callable[[random.Random], list[str]]
    here: Callable[[Path], Any]  # trained in this process
    there: Callable[[Any, str], Any]  # on a cluster, of files by a pattern


def _labelled_texts(rng: random.Random) -> list[str]:
    words = {"a": 0, "b": 60, "c": 110}
    return [
        f"{label}\t" + " ".join(f"w{min(900, words[label] + int(abs(rng.gauss(0, 150))))}" for _ in range(12)) + "\n"
        for label in rng.choices("abc", k=20_000)
    ]


def _tagged_sentences(rng: random.Random) -> list[str]:
    def token() -> str:
        word = min(400, int(abs(rng.gauss(0, 120))))
        return f"w{word} {'ABC'[(word + (rng.random() < 0.2)) % 3]}\n"

    return ["".join(token() for _ in range(rng.randrange(2, 20))) + "\n" for _ in range(4000)]


def _sentences(rng: random.Random) -> list[str]:
    lines = []
    for _ in range(8000):
        word, words = 0, []
        for _ in range(rng.randrange(1, 20)):
            word = (word * 7 + min(200, int(rng.expovariate(0.05)))) % 911
            words.append(f"w{word}")
        lines.append(" ".join(words) + "\n")
    return lines


def _lists(rng: random.Random) -> list[str]:
    lines = []
    for _ in range(4000):
        words = [f"w{min(300, int(rng.expovariate(0.02)))}" for _ in range(6)]
        texts = [words, *([f"w{rng.randrange(300)}" if rng.random() < 0.3 else w for w in words] for _ in range(9))]
        nbest = [{"text": " ".join(text), "score": rng.gauss(0, 1)} for text in texts]
        rng.shuffle(nbest)
        lines.append(json.dumps({"reference": " ".join(words), "nbest": nbest}) + "\n")
    return lines


def _classifier_here(file: Path) -> Any:
    from loglinear import MaxentClassifier
    from loglinear.models.classifier.files import train_on_file

    model = MaxentClassifier(**TIGHT)
    train_on_file(model, file)
    return model


TEMPLATES = {"templates": "U:%x[0,0]\nU:%x[-1,0]/%x[0,0]\nB\n"}


def _tagger_here(file: Path) -> Any:
    from loglinear.models.tagger.files import train_on_file

    return train_on_file(str(file), {**TEMPLATES, **TIGHT})[0]


def _language_model_here(file: Path) -> Any:
    from loglinear import LanguageModel

    return LanguageModel(3, **TIGHT).fit(file)


def _reranker_here(file: Path) -> Any:
    from loglinear import Reranker
    from loglinear.models.reranker.files import train_reranker

    return train_reranker(Reranker("maxent", **TIGHT), [file])


def _there(name: str, settings: dict[str, Any], client: Any, files: str) -> Any:
    import loglinear.dask

    return getattr(loglinear.dask, name)(client=client, **settings, **TIGHT).fit(files)


KINDS = {
    "classifier": Kind(".tsv", _labelled_texts, _classifier_here, partial(_there, "DaskMaxentClassifier", {})),
    "tagger": Kind(".conll", _tagged_sentences, _tagger_here, partial(_there, "DaskTagger", TEMPLATES)),
    "lm": Kind(".txt", _sentences, _language_model_here, partial(_there, "DaskLanguageModel", {"order": 3})),
    "reranker": Kind(".jsonl", _lists, _reranker_here, partial(_there, "DaskReranker", {})),
}


@contextmanager
def _killed(client: Any, moment: float, rng: random.Random) -> Iterator[None]:
    """Kill one of the workers at a moment of the block."""
    while True:  # a worker that was killed when the training before had ended may be on its way out
        client.wait_for_workers(2, timeout=120)
        pids = client.run(os.getpid, on_error="return").values()
        if len(pids) == 2 and all(isinstance(pid, int) for pid in pids):
            break
        time.sleep(0.1)
    timer = threading.Timer(moment, os.kill, (rng.choice(sorted(pids)), signal.SIGKILL))
    timer.start()
    try:
        yield
    finally:
        timer.join()


class _Losses(logging.Handler):
    """Counts the warnings that say what was lost."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.told = 0

    def emit(self, record: logging.LogRecord) -> None:
        self.told += "lost" in record.getMessage()


def section(name: str, options: Any) -> Report:
    """Train a kind again and again, with a kill in each training."""
    from loglinear.dask import cluster

    kind, rng, losses = KINDS[name], random.Random(options.seed), _Losses()
    logger = logging.getLogger("loglinear.dask")
    logger.addHandler(losses)
    report = Report(f"{name}: {options.trainings} trainings")
    with tempfile.TemporaryDirectory() as place, cluster(n_workers=2, n_threads=1) as client:
        folder = Path(place)
        records = kind.records(random.Random(0))
        (folder / f"all{kind.suffix}").write_text("".join(records), encoding="utf-8")
        for part in range(N_PARTS):
            text = "".join(records[len(records) * part // N_PARTS : len(records) * (part + 1) // N_PARTS])
            (folder / f"part{part}{kind.suffix}").write_text(text, encoding="utf-8")
        files = str(folder / f"part*{kind.suffix}")
        optimum = kind.here(folder / f"all{kind.suffix}").objective_
        kind.there(client, files)  # workers have imported all now
        began = time.perf_counter()
        undisturbed = kind.there(client, files)
        whole = time.perf_counter() - began
        reading = whole - undisturbed.history_.time[-1]
        found: list[tuple[str, float, float]] = []
        n_told = 0
        for number in range(options.trainings):
            moment = rng.uniform(0.0, 0.95 * whole)
            stage = "reading and encoding" if moment < reading else "training"
            losses.told, began = 0, time.perf_counter()
            with _killed(client, moment, rng):
                apart = abs(kind.there(client, files).objective_ / optimum - 1)
            n_told += losses.told > 0
            found.append((stage, apart, time.perf_counter() - began))
            print(f"{name} {number}: killed after {moment:.2f} s of {whole:.2f} ({stage}), {apart:.1e} apart, "
                  f"{losses.told} losses told, {found[-1][2]:.1f} s", file=sys.stderr, flush=True)  # fmt: skip
    logger.removeHandler(losses)
    for stage in ("reading and encoding", "training"):
        some = [one for one in found if one[0] == stage]
        if some:
            report.rows.append({
                "killed while": stage, "trainings": len(some),
                "at the same optimum": sum(a <= TOLERANCE for _, a, _ in some),
                "largest relative difference": f"{max(a for _, a, _ in some):.1e}",
                "seconds, the longest": max(s for *_, s in some),
            })  # fmt: skip
    report.remarks.append(f"Undisturbed, a training takes {whole:.2f} s, {reading:.2f} s of them reading and encoding. "
                          f"In {n_told} of the trainings the log told a loss; the others no longer needed the worker.")
    report.at_most("largest difference of an objective", max(a for _, a, _ in found), TOLERANCE, "{:.1e}")
    return report


SECTIONS: dict[str, Callable[[Any], Report]] = {name: partial(section, name) for name in KINDS}


def main(arguments: list[str]) -> None:
    parser = section_parser("kills", __doc__, SECTIONS)
    parser.add_argument("--trainings", type=int, default=20, metavar="N", help="of each kind")
    parser.add_argument("--seed", type=int, default=0, help="of the moments")
    options = parse(parser, arguments, trainings=3)
    write_page(options, "kills", "Killed workers", run_sections(SECTIONS, options, options))
