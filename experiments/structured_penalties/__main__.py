"""Tree-structured penalties for n-gram models (Nelakanti et al. 2013) beside Kneser-Ney and unstructured penalties.

    LOGLINEAR_DATA=... python -m experiments.structured_penalties [--parts perplexity,norms,parameters,timing]

The script measures perplexity against order, the same for the paper's norms beside ours, numbers of parameters, and
time and memory of the prox (figures 2 and 3, table 1), keeps the raw results in a JSON file, and writes
docs/results/structured_penalties.md with its figures. It does not repeat runs that are in the file, unless --fresh
discards them; --page only rebuilds the page.
"""

from __future__ import annotations

import argparse
import sys

from benchmarks.report import data_folder
from experiments.record import Results, add_parts, measure_parts, parser_of, run_experiment
from experiments.structured_penalties import page
from experiments.structured_penalties.corpora import READERS, Sizes
from experiments.structured_penalties.parts import Experiment, norms, parameters, perplexity
from experiments.structured_penalties.timing import timing

NAME = "structured_penalties"
PARTS = {"perplexity": perplexity, "norms": norms, "parameters": parameters, "timing": timing}
ORDERS = [2, 3, 4, 5, 6, 8, 10, 12]
QUICK = Sizes(train=1500, test=400, tuning=600, validation=200, subsets=1)


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = parser_of(NAME, __doc__)
    add_parts(parser, PARTS)
    parser.add_argument("--corpora", nargs="+", choices=list(READERS), default=list(READERS))
    parser.add_argument("--orders", nargs="+", type=int, default=ORDERS)
    parser.add_argument("--subsets", type=int, default=4, help="of each corpus")
    options = parser.parse_args(arguments)
    if sorted(set(options.orders)) != options.orders or options.orders[0] < 2:
        parser.error("orders must ascend, from 2")
    return options


def measure(options: argparse.Namespace, results: Results, command: str) -> None:
    """Measure the chosen parts."""
    experiment = Experiment(
        data_folder("brown/, ptb/ and gutenberg/"),
        results,
        corpora=options.corpora,
        orders=[2, 3, 5] if options.quick else options.orders,
        sizes=QUICK if options.quick else Sizes(subsets=options.subsets),
        rounds=0 if options.quick else 3,
        repeats=1 if options.quick else 5,
        n_threads=options.threads,
        command=command,
    )
    measure_parts(PARTS, options.parts, experiment)


def main(arguments: list[str]) -> None:
    run_experiment(NAME, parse(arguments), arguments, measure, page.write)


if __name__ == "__main__":
    main(sys.argv[1:])
