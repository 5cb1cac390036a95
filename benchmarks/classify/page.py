"""Classifiers at equal objective: time to within 1e-3, 1e-4 and 1e-6 of the best known objective.

A contender climbs a ladder of tolerances. Its time for a gap is that of the first whole fit, input validation and all
preparation included, whose weights are within the gap. Each fit is one process; nothing else should run meanwhile.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.classify.contenders import CONTENDERS, FITS_PENALTY
from benchmarks.classify.problems import PROBLEMS
from benchmarks.report import about_run

GAPS = (1e-3, 1e-4, 1e-6)
LIMIT = 150.0  # seconds for one fit


def fit(problem: Path, contender: str, rung: int) -> dict | None:
    command = [sys.executable, "-m", "benchmarks.classify.contenders", str(problem), contender, str(rung)]
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=True)
    except subprocess.TimeoutExpired:
        return None
    except subprocess.CalledProcessError as error:
        sys.exit(f"{contender} failed:\n{error.stderr}")
    return json.loads(run.stdout.strip().splitlines()[-1])


def climb(problem: Path, contender: str, best: float, same_objective: bool) -> list[dict]:
    runs = []
    for rung in range(len(CONTENDERS[contender])):
        result = fit(problem, contender, rung)
        if result is None:
            break
        runs.append(result)
        gap = result["objective"] / best - 1
        print(f"  {contender:26s} {result['seconds']:8.2f} s  gap {gap:9.2e}", file=sys.stderr, flush=True)
        if same_objective and gap < GAPS[-1]:
            break
    return runs


def measure(name: str, contenders: list[str]) -> dict:
    problem = PROBLEMS[name]()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "problem.npz"
        problem.save(path)
        print(problem.about, file=sys.stderr)
        reference = fit(path, "loglinear auto", len(CONTENDERS["loglinear auto"]) - 1)
        assert reference is not None
        table = {}
        for contender in contenders:
            if contender in FITS_PENALTY[problem.penalty]:
                table[contender] = climb(path, contender, reference["objective"], "one-vs-rest" not in contender)
    # liblinear's objective is another one (penalised bias, one-vs-rest): it takes no part in the minimum
    best = min(
        [reference["objective"], *(r["objective"] for c, runs in table.items() if "one-vs" not in c for r in runs)]
    )
    return {"problem": problem.about, "best": best, "contenders": table}


def rows(result: dict) -> list[dict]:
    out = []
    for contender, runs in result["contenders"].items():
        row: dict = {"contender": contender}
        for gap in GAPS:
            hit = next((r for r in runs if r["objective"] <= result["best"] * (1 + gap)), None)
            row[f"{gap:g}"] = None if hit is None or "one-vs" in contender else hit["seconds"]
        last = runs[-1] if runs else None
        row["seconds of the last fit"] = last["seconds"] if last else None
        row["added MB"] = max((r["added_megabytes"] for r in runs), default=None)
        row["test accuracy"] = last["accuracy"] if last else None
        row["non-zeros"] = last["nonzero"] if last else None
        out.append(row)
    return out


def markdown(result: dict) -> str:
    table = rows(result)
    columns = list(table[0])
    lines = [f"### {result['problem']}", "", f"Best objective {result['best']:.8g}.", ""]
    lines += [
        "| " + " | ".join(f"s to {c}" if c[0].isdigit() else c for c in columns) + " |",
        "|---" * len(columns) + "|",
    ]
    for row in table:
        cells = []
        for column in columns:
            value = row[column]
            style = ".4f" if column == "test accuracy" else ".0f" if column == "added MB" else ".2f"
            cells.append("-" if value is None else format(value, style) if isinstance(value, float) else str(value))
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks classify", description=__doc__)
    parser.add_argument("--problems", default=",".join(PROBLEMS))
    parser.add_argument("--contenders", default=",".join(CONTENDERS))
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--output", type=Path, help="also write the tables to this file")
    options = parser.parse_args(arguments)
    results = {p: measure(p, options.contenders.split(",")) for p in options.problems.split(",")}
    text = f"{about_run()}\n\n" + "\n\n".join(markdown(r) for r in results.values())
    print(
        json.dumps({"machine": about_run(), "results": {p: {**r, "rows": rows(r)} for p, r in results.items()}})
        if options.json
        else text
    )
    if options.output:
        options.output.write_text(text + "\n", encoding="utf-8")
