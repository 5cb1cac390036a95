"""Text classifiers against fastText and scikit-learn, from a TSV file to a model file, whole processes in one run.

    LOGLINEAR_DATA=... python -m benchmarks text [--only r8,brown,reuters,long] [--json] [--output FILE]

It needs the corpora r8/, reuters/ and brown/, and fastText (``pip install loglinear[bench]``). Training may use two
threads; its documents per second per core are those of a second of processor time, start-up included. Prediction is
timed on one thread, without start-up and loading. Nothing else should run meanwhile.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from benchmarks.processes import Failed, run
from benchmarks.report import (
    Report,
    about_run,
    chooser,
    command_of,
    data_folder,
    markdown,
    run_sections,
    section_parser,
)
from benchmarks.text.contenders import CONTENDERS, training_command
from benchmarks.text.corpora import CORPORA, write

LIMIT = 300.0  # seconds for one contender
RATIO = 3.0  # of scikit-learn's time, from file to model
TARGETS = {"r8": (0.972, 20.0)}  # accuracy, and seconds in which it is reached with all chosen on the training part


def measure(name: str, folder: Path, strength: float, n_train: int) -> dict:
    """Train and test one contender."""
    trained = run(training_command(name, folder, strength), LIMIT)
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


def section(name: str, contenders: list[str], data: Path) -> Report:
    corpus = CORPORA[name]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        n_train, n_test, n_labels = write(corpus, data, folder)
        about = f"{corpus.about}; {n_train:,} and {n_test:,} texts, {n_labels} labels, strength {corpus.strength:g}"
        report = Report(about)
        for contender in contenders:
            try:
                row = measure(contender, folder, corpus.strength, n_train)
            except Failed as error:
                report.remarks.append(f"{contender} failed: {error}")
                continue
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


def main(arguments: list[str]) -> None:
    parser = section_parser("text", __doc__, CORPORA)
    parser.add_argument(
        "--contenders", type=chooser("contenders", list(CONTENDERS)), default=list(CONTENDERS), metavar="NAME,NAME",
        help="contenders to run, of " + ", ".join(CONTENDERS),
    )  # fmt: skip
    options = parser.parse_args(arguments)
    data = data_folder("r8/, reuters/ and brown/")
    sections = {name: (lambda _, name=name: section(name, options.contenders, data)) for name in CORPORA}
    reports = run_sections(sections, options, None, about_run())
    if options.output:
        command = command_of("text", options, CORPORA)
        page = [f"    {command}", about_run(), *(markdown(report) for report in reports.values())]
        options.output.write_text("\n\n".join(page) + "\n", encoding="utf-8")
