"""Speed and accuracy of converting readings with the lexicon of a large background text.

    LOGLINEAR_DATA=... python -m benchmarks ime [--threads 2] [--sentences 1000] [--json] [--output FILE]

It needs the corpus ime/. Nothing else should run meanwhile.
"""

from __future__ import annotations

import time
from typing import Any

from benchmarks.processes import megabytes
from benchmarks.report import Report, data_folder, parse, run_sections, section_parser, write_page
from loglinear import InputMethod

TARGETS = {1: (1000, 2000), 20: (200, 400)}  # number of candidates: sentences per second, required and aimed at
ROUNDS = 3


def measure(model: InputMethod, readings: list[str], k: int) -> float:
    """Return the sentences per second of the fastest of a few rounds."""
    seconds = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        model.decode(readings, k)
        seconds.append(time.perf_counter() - began)
    return len(readings) / min(seconds)


def convert(options: Any) -> Report:
    """Convert the test texts of two domains."""
    report, folder = Report("Conversion of readings"), data_folder("ime/") / "ime"
    model = InputMethod(3, n_threads=options.threads).fit(folder / "background.txt.gz")
    report.job("build a lexicon and trigrams").took("loglinear", model.fit_seconds_, megabytes())
    for name in ("science", "cooking"):
        text = model.read(folder / f"{name}.test.txt.gz")
        readings = text.sentences(model.separator)[1][: options.sentences]
        score = model.evaluate(text, 20)
        quality = {"CER %": 100 * score["cer"], "oracle of 20, CER %": 100 * score["oracle_cer"]}
        for k, (must, _) in TARGETS.items():
            speed = measure(model, readings, k)
            report.job(f"convert {name}, {k} best", "sentences/s").took("loglinear", speed, **quality)
            report.at_least(f"{name}, {k} best", speed, must, "{:,.0f} sentences/s")
    n_words, n_readings = len(model.lexicon_.surfaces), len(model.lexicon_.readings)
    aims = ", ".join(f"{aim:,} ({k} best)" for k, (_, aim) in TARGETS.items())
    report.remarks.append(
        f"{n_words:,} words with {n_readings:,} readings; {options.threads} threads. Aimed at: {aims} sentences/s."
    )
    return report


def main(arguments: list[str]) -> None:
    sections = {"convert": convert}
    parser = section_parser("ime", __doc__, sections)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--sentences", type=int, default=1000)
    options = parse(parser, arguments, sentences=300)
    write_page(options, "ime", "Input method", run_sections(sections, options, options))
