"""Scale: two single-threaded workers of a Dask cluster against one, and against one process with two threads.

Every job is trained from files to a model in these three ways, in one run: reading, counting, encoding and messages
count. All ways must reach the same objective. Nothing else should run meanwhile.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.processes import Failed
from benchmarks.processes import run as run_process
from benchmarks.report import Report, data_folder, parse, run_sections, section_parser, write_page
from benchmarks.scale.jobs import JOBS, WAYS, join_parts

SPEED_UP = 1.7  # at least, of two workers against one
SLOW_DOWN = 1.25  # at most, of two workers against two threads
LIMIT = 3600.0  # seconds for one way


def section(name: str, options: Any) -> Report:
    """Train a job in all ways, and compare."""
    job, size = JOBS[name], getattr(options, name)
    data = None if name == "classifier" else data_folder({"crf": "conll2000", "lm": "gutenberg"}[name])
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        what = job.prepare(folder, size, data)
        join_parts(folder)
        found = {way: _run(name, way, folder) for way in WAYS}
    report = Report(f"{job.title}: {what}")
    timed = report.job(f"{job.title}, from files to a model: {what}", peer="loglinear, one worker")
    for way, one in found.items():
        timed.took(f"loglinear, {way}", one["seconds"])
        reading, busiest = one["seconds"] - one["training"], max(one.get("CPU of workers", [0.0])) or None
        report.rows.append({
            "": way, "seconds of reading and encoding": reading, "passes": one["passes"],
            "CPU of this process": one["CPU"], "CPU of the busiest worker": busiest,
            "objective": f"{one['objective']:.9g}",
        })  # fmt: skip
    seconds = {way: one["seconds"] for way, one in found.items()}
    objectives = [one["objective"] for one in found.values()]
    apart = max(objectives) / min(objectives) - 1
    two = seconds["two workers"]
    report.at_least(f"{name}: two workers", seconds["one worker"] / two, SPEED_UP, "{:.2f} x as fast as one")
    report.at_most(f"{name}: two workers", two / seconds["two threads"], SLOW_DOWN, "{:.2f} x the time of two threads")
    report.at_most(f"{name}: objectives", apart, job.tolerance, "{:.1e} apart")
    if apart > job.tolerance:
        raise Failed(f"{name}: the objectives differ by {apart:.1e}: {objectives}")
    return report


def _run(name: str, way: str, folder: Path) -> dict:
    done = run_process([sys.executable, "-m", "benchmarks.scale.jobs", name, way, folder], LIMIT)
    found = json.loads(done.output.strip().splitlines()[-1])
    print(f"{name}, {way}: {found}", file=sys.stderr, flush=True)
    return found


SECTIONS: dict[str, Callable[[Any], Report]] = {name: partial(section, name) for name in JOBS}


def main(arguments: list[str]) -> None:
    parser = section_parser("scale", __doc__, SECTIONS)
    parser.add_argument("--classifier", type=int, default=2_000_000, metavar="N", help="texts of the classifier")
    parser.add_argument("--crf", type=int, default=8, metavar="N", help="copies of CoNLL-2000")
    parser.add_argument("--lm", type=int, default=50, metavar="N", help="million words of the language model")
    options = parse(parser, arguments, only=["classifier"], classifier=100_000)
    reports = run_sections(SECTIONS, options, options)
    write_page(options, "scale", "Scale: workers of a cluster against one process", reports)
