"""Approximation lasso methods for language models of text input (Gao, Suzuki and Yu 2006), and on speech lists.

    LOGLINEAR_DATA=... python -m experiments.approximation_lasso [--parts table1,curves] [--work FOLDER]

The script converts readings of two domains with a background model, trains rerankers of the 20 best by boosting, FSLR,
BLasso and others (table 1, figures 3 to 8, sensitivity to the step), keeps the raw results in a JSON file, and writes
docs/results/approximation_lasso.md with its figures. It does not repeat runs that are in the file, unless --fresh
discards them; --page only rebuilds the page. Candidate lists are kept in the work folder, if one is named.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from benchmarks.report import data_folder
from experiments.approximation_lasso import page
from experiments.approximation_lasso.parts import PARTS, QUICK, Experiment, Sizes
from experiments.record import Results, add_parts, measure_parts, parser_of, run_experiment

NAME = "approximation_lasso"


def measure(options: argparse.Namespace, results: Results, command: str) -> None:
    """Measure the chosen parts."""
    folder = data_folder("ime/ and nbest/")
    with tempfile.TemporaryDirectory() as temporary:
        experiment = Experiment(
            folder,
            options.work or Path(temporary),
            results,
            sizes=QUICK if options.quick else Sizes(),
            n_threads=options.threads,
            command=command,
        )
        measure_parts(PARTS, options.parts, experiment)


def main(arguments: list[str]) -> None:
    parser = parser_of(NAME, __doc__)
    add_parts(parser, PARTS)
    parser.add_argument("--work", type=Path, help="folder for candidate lists, 300 MB (a temporary one)")
    options = parser.parse_args(arguments)
    run_experiment(NAME, options, arguments, measure, page.write)


if __name__ == "__main__":
    main(sys.argv[1:])
