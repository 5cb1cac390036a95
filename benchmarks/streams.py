"""Streams: how long a command takes to answer a record of a pipe, and how fast it works through a file and a pipe.

Latency is the time from writing a record to reading the last line of its answer; every fourth record is written after
a pause, as by someone who types. Throughput is that of whole processes on a file by name, on the file as standard
input, and on ``cat FILE |``. Models are small, so that reading and writing count.
"""

from __future__ import annotations

import statistics
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from benchmarks.processes import run
from benchmarks.report import Report, parse, run_sections, section_parser, write_page
from benchmarks.startup import COMMAND, make_models

LIMIT = 50.0  # ms until an answer
RATIO = 1.25  # of the time on a pipe to the time on the file
PIPE = ["sh", "-c", 'cat "$0" | "$@"']
PAUSE = 0.05  # seconds before every fourth record
VARIANTS = {  # options of other output, for latencies only
    "classify predict": [["--proba", "--json"]],
    "tag predict": [["--nbest", "2"], ["--marginals", "--json"]],
    "lm score": [["--threshold", "1e9"]],
    "rerank apply": [["--json"], ["--nbest", "2"]],
    "ime convert": [["--nbest", "5"], ["--json"]],
}


def latencies(command: list[str], record: Path, n: int) -> list[float]:
    """Return the milliseconds until each of n records was answered."""
    n_lines, said = run(command, 60, text=record).output.count("\n"), record.read_bytes()
    found = []
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        for i in range(n + 1):
            if i % 4 == 3:
                time.sleep(PAUSE)
            began = time.perf_counter()
            child.stdin.write(said)
            for _ in range(n_lines):
                child.stdout.readline()
            found.append(1e3 * (time.perf_counter() - began))
        child.stdin.close()
    return found[1:]  # the first one waits for the start


def measure(n_records: int, megabytes: float, n_runs: int) -> Report:
    """Measure every command that answers records."""
    report = Report("Streams")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for name, (group, kind, model, file, *options) in _commands(folder).items():
            command, record, big = [*COMMAND, group, kind, model], Path(file), folder / "big"
            big.write_bytes(record.read_bytes() * round(megabytes * 1e6 / record.stat().st_size))
            waited = latencies([*command, "-", *options], record, n_records)
            seconds = {
                "file": min(run([*command, str(big), *options], 600).seconds for _ in range(n_runs)),
                "< file": min(run([*command, "-", *options], 600, text=big).seconds for _ in range(n_runs)),
                "pipe": min(run([*PIPE, str(big), *command, "-", *options], 600).seconds for _ in range(n_runs)),
            }
            rates = {f"MB/s, {way}": megabytes / taken for way, taken in seconds.items()}
            report.job(f"{name}: answer a record", "answers/s").took("loglinear", 1e3 / statistics.median(waited))
            job = report.job(f"{name}: text", "MB/s", peer="loglinear, the file by name")
            job.took("loglinear, a pipe", rates["MB/s, pipe"])
            job.took("loglinear, the file by name", rates["MB/s, file"])
            _tell(report, name, waited, rates)
            for more in VARIANTS[name]:
                waited = latencies([*command, "-", *options, *more], record, n_records)
                _tell(report, " ".join([name, *more]), waited, dict.fromkeys(rates))
            report.at_most(f"{name}: pipe", seconds["pipe"] / seconds["file"], RATIO, "{:.2f} x the time of the file")
    return report


def _tell(report: Report, name: str, waited: list[float], rates: Mapping[str, float | None]) -> None:
    """Add a row of latencies and rates, and the target that answers are held to: all but one in a hundred."""
    late = statistics.quantiles(waited, n=100, method="inclusive")[98]
    row = {"command": name, "median ms": statistics.median(waited), "99% within ms": late, "longest ms": max(waited)}
    report.rows.append({**row, **rates})
    report.at_most(f"{name}: 99% of the answers", late, LIMIT, "{:.1f} ms")


def _commands(folder: Path) -> dict[str, list[str]]:
    """Return the arguments of each command; the record of tag ends with a blank line, as in the middle of a file."""
    commands = {name: given for name, given in make_models(folder).items() if name != "--help"}
    for name, given in commands.items():
        if name == "tag predict":
            Path(given[3]).write_text(Path(given[3]).read_text(encoding="utf-8") + "\n", encoding="utf-8")
    return commands


def main(arguments: list[str]) -> None:
    sections = {"streams": lambda options: measure(options.records, options.megabytes, options.runs)}
    parser = section_parser("streams", __doc__, sections)
    parser.add_argument("--records", type=int, default=1000, help="records whose answer is waited for")
    parser.add_argument("--megabytes", type=float, default=20, help="size of the file")
    parser.add_argument("--runs", type=int, default=3, help="runs of which the best counts")
    options = parse(parser, arguments, records=100, megabytes=4, runs=1)
    write_page(options, "streams", "Streams", run_sections(sections, options, options))
