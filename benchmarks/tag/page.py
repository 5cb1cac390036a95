"""Taggers against CRFsuite on CoNLL-2000 (19 templates, observed features, c2 = 1, that is strength 2), in one run.

Both sides train on the same attributes, in CRFsuite's own data format, and so on the same objective; our time runs
until CRFsuite's last objective is reached. Nothing else should run meanwhile.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.report import about_run
from benchmarks.tag.contenders import ROLES

WORDS = ((-2,), (-1,), (0,), (1,), (2,), (-1, 0), (0, 1))
TAGS = (*WORDS[:5], (-2, -1), (-1, 0), (0, 1), (1, 2), (-2, -1, 0), (-1, 0, 1), (0, 1, 2))
LIMIT = 1500.0  # seconds for one contender


def attributes(rows: list[list[str]], i: int) -> list[str]:
    """Return the attributes of CRFsuite's example for chunking; positions outside the sentence give none."""
    found = []
    for column, name, windows in ((0, "w", WORDS), (1, "pos", TAGS)):
        for window in windows:
            if all(0 <= i + offset < len(rows) for offset in window):
                where = "|".join(f"{name}[{offset}]" for offset in window)
                found.append(f"{where}=" + "|".join(rows[i + offset][column] for offset in window))
    found += ["__BOS__"] * (i == 0) + ["__EOS__"] * (i == len(rows) - 1)
    return [a.replace("\\", "\\\\").replace(":", "\\:") for a in found]


def prepare(data: Path, folder: Path) -> None:
    for name in ("train", "test"):
        text = gzip.decompress((data / "conll2000" / f"{name}.txt.gz").read_bytes()).decode()
        (folder / f"{name}.txt").write_text(text, encoding="utf-8")
        with (folder / f"{name}.crfsuite").open("w", encoding="utf-8") as out:
            for block in text.strip().split("\n\n"):
                rows = [line.split(" ") for line in block.split("\n")]
                for i, row in enumerate(rows):
                    out.write("\t".join([row[2], *attributes(rows, i)]) + "\n")
                out.write("\n")
        imst = gzip.decompress((data / "imst" / f"{name}.tsv.gz").read_bytes())
        (folder / f"imst.{name}.tsv").write_bytes(imst)


def run(role: str, folder: Path) -> dict | None:
    command = [sys.executable, "-m", "benchmarks.tag.contenders", role, str(folder)]
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=True)
    except subprocess.TimeoutExpired:
        print(f"{role}: stopped after {LIMIT:.0f} s", file=sys.stderr)
        return None
    except subprocess.CalledProcessError as error:
        sys.exit(f"{role} failed:\n{error.stderr}")
    found = json.loads(result.stdout.strip().splitlines()[-1])
    shown = {k: round(v, 3) if isinstance(v, float) else v for k, v in found.items() if not isinstance(v, list)}
    print(f"{role}: {shown}", file=sys.stderr, flush=True)
    return found


def seconds_to(result: dict, objective: float) -> tuple[float, int] | None:
    """Return the seconds (preparation included) and evaluations to reach the objective; None if it was not reached."""
    for seconds, value, evaluations in zip(result["times"], result["objectives"], result["evaluations"]):
        if value <= objective:
            return result["preparation"] + seconds, evaluations
    return None


def markdown(results: dict) -> str:
    lines = []
    peer, ours = results.get("crfsuite"), results.get("same_attributes")
    if peer and ours:
        best = min(ours["objectives"])
        lines += ["### Training to equal objective", "", "| | objective | seconds | evaluations | peak MB | ratio |"]
        lines += ["|---" * 6 + "|"]
        lines.append(
            f"| CRFsuite, 100 iterations | {peer['objective']:.2f} | {peer['seconds']:.2f} | {peer['iterations']} | "
            f"{peer['peak MB']:.0f} | 1 |"
        )
        for name, target in (("CRFsuite's last", peer["objective"]), ("within 1e-4 of the optimum", best * (1 + 1e-4))):
            hit = seconds_to(ours, target)
            if hit is not None:
                lines.append(
                    f"| ours, {name} | {target:.2f} | {hit[0]:.2f} | {hit[1]} | {ours['peak MB']:.0f} | "
                    f"{peer['seconds'] / hit[0]:.1f} |"
                )
        lines += ["", f"Reading the data: {peer['loading']:.2f} s and {ours['reading']:.2f} s.", ""]
    lines += ["### Everything", ""]
    for role, result in results.items():
        if result is not None:
            facts = [
                f"{key} {value:,.2f}" if isinstance(value, float) else f"{key} {value}"
                for key, value in result.items()
                if not isinstance(value, list)
            ]
            lines.append(f"- **{role}**: " + ", ".join(facts))
    return "\n".join(lines)


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks tag", description=__doc__)
    parser.add_argument("--roles", default=",".join(ROLES))
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--output", type=Path, help="also write the tables to this file")
    options = parser.parse_args(arguments)
    if "LOGLINEAR_DATA" not in os.environ:
        sys.exit("set LOGLINEAR_DATA to the folder of corpora (conll2000/, imst/)")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(Path(os.environ["LOGLINEAR_DATA"]), folder)
        results = {role: run(role, folder) for role in options.roles.split(",")}
    text = f"{about_run()}\n\n{markdown(results)}"
    print(json.dumps({"machine": about_run(), "results": results}) if options.json else text)
    if options.output:
        options.output.write_text(text + "\n", encoding="utf-8")
