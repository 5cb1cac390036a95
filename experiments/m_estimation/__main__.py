"""M-estimation (Smith, Vail and Lafferty 2007) beside CRFs, MEMMs, pseudolikelihood and HMMs on noun phrases.

    LOGLINEAR_DATA=... python -m experiments.m_estimation [--parts table1,times]

The script measures the chosen parts, keeps the raw results in a JSON file, and writes docs/results/m_estimation.md with
its figures. It does not repeat runs that are in the file, unless --fresh discards them; --page only rebuilds the page.
"""

from __future__ import annotations

import argparse
import sys

from benchmarks.report import data_folder
from experiments.m_estimation import page
from experiments.m_estimation.beyond import MORE_PARTS
from experiments.m_estimation.parts import PARTS as PAPER_PARTS
from experiments.m_estimation.parts import Experiment
from experiments.m_estimation.scoring import scoring
from experiments.record import Results, add_parts, measure_parts, parser_of, run_experiment

NAME = "m_estimation"
PARTS = PAPER_PARTS | MORE_PARTS | {"scoring": scoring}


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = parser_of(NAME, __doc__)
    add_parts(parser, PARTS)
    parser.add_argument("--grid", type=int, default=7, help="finite values of c between 0.1 and 10")
    parser.add_argument("--budget", type=float, default=1800.0, help="seconds for one run on all chunk labels")
    return parser.parse_args(arguments)


def measure(options: argparse.Namespace, results: Results, command: str) -> None:
    """Measure the chosen parts."""
    experiment = Experiment(
        data_folder("conll2000/, wnut17/, ewt/, imst/ and brown/"),
        results,
        quick=options.quick,
        n_grid=2 if options.quick else options.grid,
        iterations=5 if options.quick else 100,
        long_iterations=8 if options.quick else 400,
        budget=options.budget,
        n_threads=options.threads,
        command=command,
    )
    measure_parts(PARTS, options.parts, experiment)


def main(arguments: list[str]) -> None:
    run_experiment(NAME, parse(arguments), arguments, measure, page.write)


if __name__ == "__main__":
    main(sys.argv[1:])
