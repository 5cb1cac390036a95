"""Classifiers at equal objective: time to within 1e-3, 1e-4 and 1e-6 of the best known objective.

A contender climbs a ladder of tolerances. Its time for a gap is that of the first whole fit, input validation and all
preparation included, whose weights are within the gap. Each fit is one process; nothing else should run meanwhile.
"""

from __future__ import annotations

import json
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.classify.contenders import CONTENDERS, FITS_PENALTY
from benchmarks.classify.problems import PROBLEMS
from benchmarks.processes import Failed, run
from benchmarks.report import Report, chooser, parse, run_sections, section_parser, write_page

GAPS = (1e-3, 1e-4, 1e-6)
LIMIT = 150.0  # seconds for one fit
PEERS = {"l2": "scikit-learn lbfgs", "l1": "scikit-learn saga"}  # that ratios refer to
QUICK = {"l2": ["loglinear auto", "scikit-learn lbfgs", "liblinear (one-vs-rest)"],
         "l1": ["loglinear auto", "scikit-learn saga", "liblinear (one-vs-rest)"]}  # fmt: skip


def fit(problem: Path, contender: str, rung: int, limit: float) -> dict:
    command = [sys.executable, "-m", "benchmarks.classify.contenders", problem, contender, str(rung)]
    return json.loads(run(command, limit).output.strip().splitlines()[-1])


def climb(problem: Path, contender: str, best: float, options: Any) -> list[dict]:
    """Return the fits of ever tighter settings, until one is within the last gap or takes too long."""
    runs: list[dict] = []
    for rung in range(len(CONTENDERS[contender])):
        try:
            runs.append(fit(problem, contender, rung, options.limit))
        except Failed:
            if not runs:
                raise
            break
        gap = runs[-1]["objective"] / best - 1
        print(f"  {contender:26s} {runs[-1]['seconds']:8.2f} s  gap {gap:9.2e}", file=sys.stderr, flush=True)
        if not _other_objective(contender) and gap < options.gaps[-1]:
            break
    return runs


def _other_objective(contender: str) -> bool:
    """Return whether a contender minimises another objective: liblinear's is one-vs-rest, with a penalised bias."""
    return "one-vs-rest" in contender


def section(name: str, options: Any) -> Report:
    problem = PROBLEMS[name](options.every)
    report, table = Report(problem.about), {}
    absent: dict[str, Failed] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "problem.npz"
        problem.save(path)
        print(problem.about, file=sys.stderr)
        reference = fit(path, "loglinear auto", len(CONTENDERS["loglinear auto"]) - 1, LIMIT)
        for contender in options.contenders or (QUICK[problem.penalty] if options.quick else CONTENDERS):
            if contender in FITS_PENALTY[problem.penalty]:
                try:
                    table[contender] = climb(path, contender, reference["objective"], options)
                except Failed as error:
                    absent[contender] = error
    fits = [reference, *(run for c, runs in table.items() if not _other_objective(c) for run in runs)]
    best = min(run["objective"] for run in fits)
    for gap in options.gaps:
        job = report.job(f"{name}: to {gap:g} of the optimum", peer=PEERS[problem.penalty])
        for contender, runs in table.items():
            hit = next((run for run in runs if run["objective"] <= best * (1 + gap)), None)
            if _other_objective(contender):
                continue
            if hit is None:
                job.misses(contender, f"not reached in {max(run['seconds'] for run in runs):.1f} s, its longest fit")
            else:
                job.took(contender, hit["seconds"], hit["peak_megabytes"], accuracy=hit["accuracy"])
        for contender, error in absent.items():
            job.misses(contender, error)
    report.rows = [_last(contender, runs) for contender, runs in table.items()]
    report.remarks.append(f"Best objective {best:.8g}. The lower table is of each contender's last, tightest fit.")
    return report


def _last(contender: str, runs: list[dict]) -> dict:
    last = runs[-1]
    return {
        "contender": contender, "seconds of the last fit": last["seconds"],
        "added MB": round(max(run["added_megabytes"] for run in runs)), "test accuracy": f"{last['accuracy']:.4f}",
        "non-zeros": last["nonzero"],
    }  # fmt: skip


def main(arguments: list[str]) -> None:
    sections = {name: partial(section, name) for name in PROBLEMS}
    parser = section_parser("classify", __doc__, sections)
    parser.add_argument(
        "--contenders", type=chooser("contenders", list(CONTENDERS)), metavar="NAME,NAME",
        help="contenders to run, of " + ", ".join(CONTENDERS),
    )  # fmt: skip
    parser.set_defaults(gaps=GAPS, limit=LIMIT, every=1)
    options = parse(parser, arguments, only=["r8", "r8-l1"], gaps=GAPS[:2], limit=30.0, every=5)
    write_page(options, "classify", "Classifiers: time to equal objective", run_sections(sections, options, options))
