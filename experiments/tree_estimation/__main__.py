"""Grammars, M-estimates and random fields over trees, on the sample of the Penn Treebank.

    LOGLINEAR_DATA=... python -m experiments.tree_estimation [--parts table,times,curves]

The tree version of the tables of Smith, Vail and Lafferty (2007): trees 1-3000 train, 3001-3400 tune the strengths, and
3401-3914 test. The script keeps raw results in a JSON file and writes docs/results/tree_estimation.md.
"""

from __future__ import annotations

import argparse
import sys

from benchmarks.report import data_folder
from experiments.record import Results, add_parts, measure_parts, parser_of, run_experiment
from experiments.tree_estimation import page
from experiments.tree_estimation.parts import PARTS, Experiment

NAME = "tree_estimation"


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = parser_of(NAME, __doc__)
    add_parts(parser, PARTS)
    parser.add_argument("--passes", type=int, default=40, help="passes of a random field at each strength")
    parser.add_argument("--models", help="names of models to measure, separated by semicolons; all by default")
    return parser.parse_args(arguments)


def measure(options: argparse.Namespace, results: Results, command: str) -> None:
    """Measure the chosen parts."""
    experiment = Experiment(
        data_folder("treebank/"), results, quick=options.quick, passes=options.passes, n_threads=options.threads,
        command=command, chosen=options.models.split(";") if options.models else None,
    )  # fmt: skip
    measure_parts(PARTS, options.parts, experiment)


def main(arguments: list[str]) -> None:
    run_experiment(NAME, parse(arguments), arguments, measure, page.write)


if __name__ == "__main__":
    main(sys.argv[1:])
