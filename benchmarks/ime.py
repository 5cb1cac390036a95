"""Speed and accuracy of converting readings with the lexicon of a large background text.

    LOGLINEAR_DATA=... python -m benchmarks ime [--threads 2] [--sentences 1000] [--json] [--output FILE]

It needs the corpus ime/. Nothing else should run meanwhile.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path

from benchmarks.report import about_run
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


def run(folder: Path, threads: int, n_sentences: int) -> dict:
    model = InputMethod(3, n_threads=threads).fit(folder / "background.txt.gz")
    rows = []
    for name in ("science", "cooking"):
        text = model.read(folder / f"{name}.test.txt.gz")
        _, readings = text.sentences(model.separator)
        score = model.evaluate(text, 20)
        for k in TARGETS:
            speed = measure(model, readings[:n_sentences], k)
            rows.append({"text": name, "k": k, "cer": score["cer"], "oracle_cer": score["oracle_cer"], "speed": speed})
    return {
        "machine": about_run(), "threads": threads, "build_seconds": model.fit_seconds_,
        "words": len(model.lexicon_.surfaces), "readings": len(model.lexicon_.readings), "rows": rows,
    }  # fmt: skip


def page(found: dict) -> str:
    lines = [
        "# Input method", "", str(found["machine"]), "",
        f"{found['words']:,} words with {found['readings']:,} readings; built in {found['build_seconds']:.1f} s on "
        f"{found['threads']} threads.", "",
        "| text | candidates | CER | oracle of 20 | sentences/s | must | aim |", "|---|---|---|---|---|---|---|",
    ]  # fmt: skip
    for row in found["rows"]:
        must, aim = TARGETS[row["k"]]
        rates = f"{row['cer']:.2%} | {row['oracle_cer']:.2%} | {row['speed']:,.0f}"
        lines.append(f"| {row['text']} | {row['k']} | {rates} | {must:,} | {aim:,} |")
    return "\n".join(lines) + "\n"


def main(argv: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks ime", description=__doc__)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args(argv)
    data = os.environ.get("LOGLINEAR_DATA")
    if not data or not Path(data, "ime").is_dir():
        sys.exit("LOGLINEAR_DATA must name a folder with the corpus ime/")
    found = run(Path(data, "ime"), options.threads, options.sentences)
    text = json.dumps(found, indent=2) + "\n" if options.json else page(found)
    if options.output:
        options.output.write_text(text, encoding="utf-8")
    print(text, end="")
