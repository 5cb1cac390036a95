"""Text classifiers against fastText and scikit-learn, from a TSV file to a model file, whole processes in one run.

    LOGLINEAR_DATA=... python -m benchmarks text [--only r8,brown,reuters,long,languages] [--quick] [--output FILE]

It needs the corpora r8/, reuters/ and brown/, and fastText (``pip install loglinear[bench]``). Training may use two
threads; its documents per second per core are those of a second of processor time, start-up included. Prediction is
timed on one thread, without start-up and loading. Nothing else should run meanwhile.
"""

from __future__ import annotations

import json
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.processes import Failed, run
from benchmarks.report import (
    Report,
    chooser,
    data_folder,
    parse,
    run_sections,
    section_parser,
    write_page,
)
from benchmarks.text.contenders import CONTENDERS, training_command
from benchmarks.text.corpora import CORPORA, write

LIMIT = 300.0  # seconds for one contender
TRAINING, PREDICTION = "scikit-learn the same", "fastText defaults"  # the peers that ratios refer to
QUICK = ["loglinear", "loglinear pairs", TRAINING, "scikit-learn pairs", "scikit-learn hashing and SGD", PREDICTION]
RATIO = 3.0  # of scikit-learn's time, from file to model
LABELS = (500, 2000)  # of texts of four words
TARGETS = {"r8": (0.972, 20.0)}  # accuracy, and seconds in which it is reached with all chosen on the training part


def measure(name: str, folder: Path, strength: float, n_train: int, limit: float) -> dict:
    """Train and test one contender."""
    trained = run(training_command(name, folder, strength), limit)
    model = folder / "model"
    size = model.stat().st_size / 1e6
    command = [sys.executable, "-m", "benchmarks.text.contenders", "predict", name, str(folder), str(strength)]
    found = json.loads(run(command, LIMIT).output.strip().splitlines()[-1])
    model.unlink()
    return {
        "contender": name, "accuracy": f"{found['accuracy']:.4f}", "seconds to model": trained.seconds,
        "CPU seconds": trained.cpu_seconds,
        "training docs/s per core": n_train / trained.cpu_seconds, "prediction docs/s per core": found["docs/s"],
        "model MB": size, "peak MB": trained.megabytes,
    }  # fmt: skip


def section(name: str, options: Any) -> Report:
    corpus = CORPORA[name]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        data = data_folder("r8/, reuters/ and brown/")
        n_train, n_test, n_labels = write(corpus, data, folder, options.every)
        about = f"{corpus.about}; {n_train:,} and {n_test:,} texts, {n_labels} labels, strength {corpus.strength:g}"
        report = Report(about)
        training = report.job(f"{name}: TSV to model, whole process", peer=TRAINING)
        predicting = report.job(f"{name}: classify texts, one core", "docs/s", peer=PREDICTION)
        for contender in options.contenders:
            try:
                row = measure(contender, folder, corpus.strength, n_train, options.limit)
            except Failed as error:
                training.misses(contender, error)
                continue
            accuracy = float(row["accuracy"])
            training.took(contender, row["seconds to model"], row["peak MB"], accuracy=accuracy)
            predicting.took(contender, row["prediction docs/s per core"], accuracy=accuracy)
            print(f"{name}: {row}", file=sys.stderr, flush=True)
            report.rows.append(row)
    compare(name, report)
    return report


def compare(name: str, report: Report) -> None:
    """Set what was reached beside the targets."""
    rows = {row["contender"]: row for row in report.rows}
    for ours, peer in (("loglinear", "scikit-learn the same"),
                       ("loglinear pairs", "scikit-learn pairs"),
                       ("loglinear", "scikit-learn hashing and SGD")):  # fmt: skip
        if ours in rows and peer in rows:
            ratio = rows[peer]["seconds to model"] / rows[ours]["seconds to model"]
            report.at_least(f"{ours}, from file to model, against {peer}", ratio, RATIO, "{:.1f} times as fast")
    ours, peer = "loglinear", "fastText defaults"
    if ours in rows and peer in rows:
        ratio = rows[ours]["prediction docs/s per core"] / rows[peer]["prediction docs/s per core"]
        report.at_least("prediction against fastText", ratio, 1.0, "{:.1f} times as fast")
    tuned = rows.get("loglinear tuned")
    if tuned and name in TARGETS:
        accuracy, seconds = TARGETS[name]
        report.at_least("accuracy, strength chosen on the training part", float(tuned["accuracy"]), accuracy, "{:.4f}")
        report.at_most(
            "from file to model, start-up and choice included", tuned["seconds to model"], seconds, "{:.1f} s"
        )


def languages(options: Any) -> Report:
    """Tell texts of many made-up languages apart, each against the others."""
    report = Report("Many labels: made-up languages, texts of four words, one against the rest under l1")
    for n in LABELS[: 1 if options.every > 1 else None]:
        done = run([sys.executable, "-m", "benchmarks.text.languages", str(n)], options.limit)
        row = json.loads(done.output)
        report.rows.append(row)
        share = row["MB"] / row["MB of all weights"]
        report.at_most(f"{n:,} labels: memory against that of all weights", share, 0.5, "{:.2f}")
    return report


def main(arguments: list[str]) -> None:
    sections = {name: partial(section, name) for name in CORPORA} | {"languages": languages}
    parser = section_parser("text", __doc__, sections)
    parser.add_argument(
        "--contenders", type=chooser("contenders", list(CONTENDERS)), default=list(CONTENDERS), metavar="NAME,NAME",
        help="contenders to run, of " + ", ".join(CONTENDERS),
    )  # fmt: skip
    parser.set_defaults(every=1, limit=LIMIT)
    options = parse(parser, arguments, only=["r8"], every=4, limit=30.0, contenders=QUICK)
    reports = run_sections(sections, options, options)
    write_page(options, "text", "Texts: classifiers from a TSV file to a model file", reports)
