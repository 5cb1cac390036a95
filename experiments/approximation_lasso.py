"""Approximation lasso methods for language models of text input (Gao, Suzuki and Yu 2006), and on speech lists.

    LOGLINEAR_DATA=... python experiments/approximation_lasso.py [--parts table1,curves] [--work FOLDER]

Converts readings of two domains with a background model, trains rerankers of the 20 best by boosting, FSLR, BLasso and
others (table 1, figures 3 to 8, sensitivity to the step), keeps the raw results in a JSON file, and writes
docs/results/approximation_lasso.md with its figures. A run that is in the file is not repeated (--fresh forgets them);
--page only rebuilds the page. Candidate lists are kept in the work folder, if one is named.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

import approximation_lasso_page as page
from approximation_lasso_parts import PARTS, QUICK, Experiment, Sizes
from record import Results, say

_PLACES = {"--json", "--output", "--work"}


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", default=",".join(PARTS), help="to measure, of " + ", ".join(PARTS))
    parser.add_argument("--page", action="store_true", help="rebuild the page from the JSON file, measure nothing")
    parser.add_argument("--quick", action="store_true", help="a few sentences and steps: does it all run?")
    parser.add_argument("--json", type=Path, help="raw results (docs/results/approximation_lasso.json)")
    parser.add_argument("--fresh", action="store_true", help="forget the results in the JSON file")
    parser.add_argument("--output", type=Path, default=Path("docs/results"))
    parser.add_argument("--work", type=Path, help="folder for candidate lists, 300 MB (a temporary one)")
    parser.add_argument("--threads", type=int, help="all by default")
    options = parser.parse_args(arguments)
    options.parts = options.parts.split(",")
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"unknown parts {', '.join(sorted(unknown))}; known: {', '.join(PARTS)}")
    return options


def measure(options: argparse.Namespace, results: Results, arguments: list[str]) -> None:
    """The parts asked for."""
    folder = os.environ.get("LOGLINEAR_DATA")
    if folder is None:
        raise SystemExit("set LOGLINEAR_DATA to a folder with ime/ and nbest/")
    told = [a for k, a in enumerate(arguments) if a not in _PLACES and (k == 0 or arguments[k - 1] not in _PLACES)]
    with tempfile.TemporaryDirectory() as temporary:
        experiment = Experiment(
            Path(folder),
            options.work or Path(temporary),
            results,
            sizes=QUICK if options.quick else Sizes(),
            n_threads=options.threads,
            command=" ".join(["python experiments/approximation_lasso.py", *told]),
        )
        for part in options.parts:
            began = time.perf_counter()
            PARTS[part](experiment)
            say(f"{part}: {time.perf_counter() - began:.0f} s")


def main(arguments: list[str]) -> None:
    options = parse(arguments)
    results = Results(options.json or options.output / "approximation_lasso.json", options.fresh)
    if not options.page:
        measure(options, results, arguments)
    say(f"written: {page.write(options.output, results.parts)}")


if __name__ == "__main__":
    main(sys.argv[1:])
