"""All benchmarks in one run, as one page: every job and contender as a ratio to the peer, with the limit beside it.

    LOGLINEAR_DATA=... LMPLZ=.../lmplz python -m benchmarks all --html FILE [--only tag,lm] [--quick] [--history FILE]

Each benchmark is a process of its own, which gives its jobs as JSON; one that fails is named on the page, and so is
each contender that is absent. The run is added to a file of runs (one JSON object per line), with which it is compared:
a figure that became worse than noise explains is shown with the one before. Nothing else should run meanwhile.
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path

from benchmarks.all.history import Run, append_run, read_history
from benchmarks.jobs import Job, reason
from benchmarks.origin import commit, machine
from benchmarks.processes import Failed, run
from benchmarks.report import chooser

HISTORY = Path(__file__).parents[2] / "docs" / "results" / "runs.jsonl"
LIMIT = 4 * 3600.0  # seconds for one benchmark


def ask(name: str, quick: bool) -> list[Job]:
    """Run a benchmark as a process of its own, and return its jobs."""
    command = [sys.executable, "-m", "benchmarks", name, "--json", *["--quick"] * quick]
    return jobs_of(run(command, LIMIT).output)


def jobs_of(output: str) -> list[Job]:
    """Return the jobs in what a benchmark prints with --json."""
    reports = json.loads(output.strip().splitlines()[-1])["results"].values()
    return [Job.from_dict(job) for report in reports for job in report["jobs"]]


def measure(names: Iterable[str], quick: bool, ask: Callable[[str, bool], list[Job]] = ask) -> Run:
    """Run benchmarks one after another."""
    date = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M")
    found = Run(date, machine(), commit(), quick)
    for name in names:
        print(name, end=" ", file=sys.stderr, flush=True)
        began = time.perf_counter()
        try:
            found.results[name] = ask(name, quick)
            print(f"{time.perf_counter() - began:.0f} s", file=sys.stderr, flush=True)
        except Failed as error:
            found.failed[name] = reason(error)
            print(error, file=sys.stderr, flush=True)
    return found


def pages(options: argparse.Namespace, runs: list[Run], run: Run) -> None:
    """Write the pages that were asked for; Markdown goes to stdout as well."""
    from benchmarks.all.drawing import markdown, sections
    from loglinear.display.page import write_page

    only = f" --only {','.join(options.only)}" if options.only != options.usual else ""
    command = f"LOGLINEAR_DATA=... LMPLZ=... python -m benchmarks all{only}{' --quick' * options.quick} --output FILE"
    text = markdown(runs, run, command)
    print(text)
    if options.output:
        _write(options.output, text)
    if options.html:
        write_page(options.html, "All benchmarks in one run", sections(runs, run))
    if options.json:
        _write(options.json, json.dumps(asdict(run), indent=1) + "\n")


def _write(path: Path, text: str) -> None:
    from loglinear.formats.text import atomic_write

    with atomic_write(path) as file:
        file.write(text.encode())


def main(arguments: list[str]) -> None:
    from benchmarks.__main__ import BENCHMARKS

    usual = [name for name in BENCHMARKS if name not in ("all", "kills", "plan")]  # these have no jobs
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks all", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", type=chooser("benchmarks", usual), default=usual, help="of " + ", ".join(usual))
    parser.add_argument("--quick", action="store_true", help="smaller data and shorter runs: minutes in all")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write the page as HTML that needs nothing else")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the page as Markdown, without drawings")
    runs_help = "the file of runs, docs/results/runs.jsonl if none is named"
    parser.add_argument("--history", type=Path, metavar="FILE", default=HISTORY, help=runs_help)
    options = parser.parse_args(arguments)
    options.usual = usual
    runs = read_history(options.history)
    run = measure(options.only, options.quick)
    append_run(options.history, run)
    pages(options, runs, run)
    if run.failed:
        sys.exit(f"no figures of {', '.join(run.failed)}")
