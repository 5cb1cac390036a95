"""M-estimation (Smith, Vail and Lafferty 2007) beside CRFs, MEMMs, pseudolikelihood and HMMs on noun phrases.

    LOGLINEAR_DATA=... python experiments/m_estimation.py --part all

Measures a part, or all, keeps the raw results in a JSON file, and writes docs/results/m_estimation.md with its figures.
A run that is in the file is not repeated (--fresh forgets them); --page only rebuilds the page.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

import m_estimation_page as page
from m_estimation_parts import PARTS, Experiment
from record import Results, say


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=[*PARTS, "all"], default="all")
    parser.add_argument("--page", action="store_true", help="rebuild the page from the JSON file, measure nothing")
    parser.add_argument("--quick", action="store_true", help="a few sentences and iterations: does it all run?")
    parser.add_argument("--json", type=Path, help="raw results (docs/results/m_estimation.json)")
    parser.add_argument("--fresh", action="store_true", help="forget the results in the JSON file")
    parser.add_argument("--output", type=Path, default=Path("docs/results"))
    parser.add_argument("--grid", type=int, default=7, help="finite values of c between 0.1 and 10")
    parser.add_argument("--threads", type=int, help="all by default")
    parser.add_argument("--budget", type=float, default=1800.0, help="seconds for one run on all chunk labels")
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> None:
    options = parse(arguments)
    results = Results(options.json or options.output / "m_estimation.json", options.fresh)
    if not options.page:
        folder = os.environ.get("LOGLINEAR_DATA")
        if folder is None:
            raise SystemExit("set LOGLINEAR_DATA to a folder with conll2000/ and wnut17/")
        grid = "" if options.grid == 7 else f" --grid {options.grid}"
        experiment = Experiment(
            Path(folder),
            results,
            quick=options.quick,
            n_grid=2 if options.quick else options.grid,
            iterations=5 if options.quick else 100,
            long_iterations=8 if options.quick else 400,
            budget=options.budget,
            n_threads=options.threads,
            command=f"python experiments/m_estimation.py --part {options.part}{grid}" + " --quick" * options.quick,
        )
        for part in PARTS if options.part == "all" else [options.part]:
            began = time.perf_counter()
            PARTS[part](experiment)
            say(f"{part}: {time.perf_counter() - began:.0f} s")
    say(f"written: {page.write(options.output, results.parts)}")


if __name__ == "__main__":
    main(sys.argv[1:])
