"""Whether "converged" is true: every problem is trained at its defaults, then solved again to the end.

    LOGLINEAR_DATA=... python -m experiments.certificates [--parts classifiers,taggers]

The script compares the gap that training reports with the true one, keeps the raw results in a JSON file, and writes
docs/results/certificates.md. It does not repeat runs that are in the file, unless --fresh discards them; --page only
rebuilds the page.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from benchmarks.origin import commit
from benchmarks.report import data_folder
from experiments.certificates import page
from experiments.certificates.problems import KINDS, Problem
from experiments.record import Json, Results, add_parts, parser_of, run_experiment, say

NAME = "certificates"
END = 1e-10  # relative gap of the reference, or as near as floating point and its passes come
PASSES = 50_000  # of the reference


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = parser_of(NAME, __doc__)
    add_parts(parser, KINDS)
    return parser.parse_args(arguments)


def reported(model: Any, problem: Problem) -> Json:
    """Train a model and return what it says of itself."""
    began = time.perf_counter()
    model.fit(*problem.arguments)
    return {
        "solver": model.solver_, "objective": model.objective_, "gap": model.gap_,
        "is_bound": bool(model.gap_is_bound_),
        "converged": bool(model.converged_), "status": str(model.status_), "passes": int(model.n_iter_),
        "seconds": time.perf_counter() - began,
    }  # fmt: skip


def solve(problem: Problem, n_threads: int | None, best: Json | None) -> Json:
    """Train at the defaults, and to the end unless another solver's run has been there."""
    model = clone(problem.model).set_params(n_threads=n_threads, verbose=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = reported(model, problem)
        if best is None:
            options = {"tolerance": END, "max_iterations": PASSES, **problem.reference}
            best = reported(clone(model).set_params(**options), problem)
    optimum = min(found["objective"], best["objective"])
    true = (found["objective"] - optimum) / max(abs(optimum), np.finfo(float).tiny)
    return {**found, "true": true, "reference": best, "commit": commit()}


def measure(options: argparse.Namespace, results: Results, command: str) -> None:
    """Solve the problems of the chosen kinds."""
    folder: Path = data_folder("r8/, a9a/, conll2000/, wnut17/, ptb/ and nbest/")
    for kind in options.parts:
        keys: list[str] = []
        best: dict[tuple[str, ...], Json] = {}  # by data, penalty and strength
        problems = list(KINDS[kind](folder))
        for problem in problems[::25] if options.quick else problems:
            key = f"{kind}/{problem.data}/{problem.name}"
            keys.append(key)
            objective = (problem.data, problem.name.split(", ")[0], problem.name.split(", ")[-1])
            if key not in results.runs:
                results.runs[key] = solve(problem, options.threads, best.get(objective))
                results.save()
                say(key, {name: results.runs[key][name] for name in ("gap", "is_bound", "true", "converged", "passes")})
            best[objective] = results.runs[key]["reference"]
        runs = {key: results.runs[key] for key in keys}
        commits = {run["commit"] for run in runs.values()}
        results.keep(kind, {"runs": runs}, command, options.threads, commits=commits)


def main(arguments: list[str]) -> None:
    run_experiment(NAME, parse(arguments), arguments, measure, page.write)


if __name__ == "__main__":
    main(sys.argv[1:])
