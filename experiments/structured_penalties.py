"""Tree-structured penalties for n-gram models (Nelakanti et al. 2013) beside Kneser-Ney and unstructured penalties.

    LOGLINEAR_DATA=... python experiments/structured_penalties.py [--parts perplexity,parameters,timing]

Measures perplexity against order, numbers of parameters, and time and memory of the prox (figures 2 and 3, table 1),
keeps the raw results in a JSON file, and writes docs/results/structured_penalties.md with its figures. A run that is in
the file is not repeated (--fresh forgets them); --page only rebuilds the page.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

import structured_penalties_page as page
from record import Results, say
from structured_penalties_corpora import READERS, Sizes
from structured_penalties_parts import Experiment, parameters, perplexity
from structured_penalties_timing import timing

PARTS = {"perplexity": perplexity, "parameters": parameters, "timing": timing}
ORDERS = [2, 3, 4, 5, 6, 8, 10, 12]
QUICK = Sizes(train=1500, test=400, tuning=600, validation=200, subsets=1)


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", default=",".join(PARTS), help="to measure, of " + ", ".join(PARTS))
    parser.add_argument("--corpora", nargs="+", choices=list(READERS), default=list(READERS))
    parser.add_argument("--orders", nargs="+", type=int, default=ORDERS)
    parser.add_argument("--subsets", type=int, default=4, help="of each corpus")
    parser.add_argument("--page", action="store_true", help="rebuild the page from the JSON file, measure nothing")
    parser.add_argument("--quick", action="store_true", help="a few sentences and orders: does it all run?")
    parser.add_argument("--json", type=Path, help="raw results (docs/results/structured_penalties.json)")
    parser.add_argument("--fresh", action="store_true", help="forget the results in the JSON file")
    parser.add_argument("--output", type=Path, default=Path("docs/results"))
    parser.add_argument("--threads", type=int, help="all by default")
    options = parser.parse_args(arguments)
    options.parts = options.parts.split(",")
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"unknown parts {', '.join(sorted(unknown))}; known: {', '.join(PARTS)}")
    if sorted(set(options.orders)) != options.orders or options.orders[0] < 2:
        parser.error("orders are to rise, from 2")
    return options


def experiment_of(options: argparse.Namespace, results: Results, arguments: list[str]) -> Experiment:
    folder = os.environ.get("LOGLINEAR_DATA")
    if folder is None:
        raise SystemExit("set LOGLINEAR_DATA to a folder with brown/, ptb/ and gutenberg/")
    places = {"--json", "--output"}
    told = [a for k, a in enumerate(arguments) if a not in places and (k == 0 or arguments[k - 1] not in places)]
    return Experiment(
        Path(folder),
        results,
        corpora=options.corpora,
        orders=[2, 3, 5] if options.quick else options.orders,
        sizes=QUICK if options.quick else Sizes(subsets=options.subsets),
        rounds=0 if options.quick else 3,
        repeats=1 if options.quick else 5,
        n_threads=options.threads,
        command=" ".join(["python experiments/structured_penalties.py", *told]),
    )


def main(arguments: list[str]) -> None:
    options = parse(arguments)
    results = Results(options.json or options.output / "structured_penalties.json", options.fresh)
    if not options.page:
        experiment = experiment_of(options, results, arguments)
        for part in options.parts:
            began = time.perf_counter()
            PARTS[part](experiment)
            say(f"{part}: {time.perf_counter() - began:.0f} s")
    say(f"written: {page.write(options.output, results.parts)}")


if __name__ == "__main__":
    main(sys.argv[1:])
