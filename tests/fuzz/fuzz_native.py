"""The native fuzz targets, each for its share of the time: executions, coverage and findings.

python tests/fuzz/fuzz_native.py build/fuzz/fuzz --minutes 10 [--targets arpa,kenlm]

Seeds are made by the targets from our own writers, and by a plain writer of KenLM's binary files. Corpora, findings and
the record of all runs stay beside the binary. With libFuzzer, an input may take 10 s, and 512 MB in one allocation.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
import kenlm_binaries

LIMITS = ["-timeout=10", "-rss_limit_mb=2048", "-malloc_limit_mb=512", "-max_len=4096", "-print_final_stats=1"]
NGRAMS = {
    ("<unk>",): (-1.0, None), ("<s>",): (-99.0, -0.5), ("</s>",): (-0.75, None), ("a",): (-0.25, -0.25),
    ("b",): (-1.0, -0.125), ("<s>", "a"): (-0.25, -0.125), ("a", "b"): (-0.5, -0.25), ("b", "</s>"): (-0.5, None),
    ("<s>", "a", "b"): (-0.125, None), ("a", "b", "</s>"): (-0.25, None),
}  # fmt: skip


def write_seeds(binary: Path, target: str, folder: Path) -> None:
    """Write the inputs that fuzzing begins from."""
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run([binary, f"--target={target}", f"--seeds={folder}"], check=True)
    if target == "kenlm":
        for kind in range(6):
            for words in (True, False):
                head = b"\0\x07a b a x"  # one thread, and a text to score
                data = kenlm_binaries.binary(NGRAMS, kind, words=words)
                (folder / f"binary{kind}{words:d}").write_bytes(head + data)


def fuzz(binary: Path, target: str, seconds: float, seed: int) -> dict[str, object]:
    """Run a target, and return its figures."""
    corpus, findings = binary.parent / "corpus" / target, binary.parent / "findings"
    write_seeds(binary, target, corpus)
    findings.mkdir(exist_ok=True)
    before = set(findings.glob(f"{target}-*"))
    options = [f"-max_total_time={max(1, round(seconds))}", f"-seed={seed}", *LIMITS]
    options += [f"-artifact_prefix={findings}/{target}-"]
    if (words := corpus.with_suffix(".dict")).stat().st_size:
        options.append(f"-dict={words}")
    begin = time.monotonic()
    command = [binary, f"--target={target}", *([] if _is_plain(binary) else [corpus]), *options]
    run = subprocess.run(command, capture_output=True, errors="replace", check=False, cwd=findings)
    said = run.stdout + run.stderr
    executed = re.search(r"stat::number_of_executed_units: (\d+)", said)
    covered = re.findall(r"\bcov: (\d+)", said)
    found = sorted(path.name for path in set(findings.glob(f"{target}-*")) - before)
    if run.returncode and not found:
        found = [f"exit {run.returncode}"]
    if found:
        (findings / f"{target}.log").write_text(said[-20_000:])
    return {
        "target": target, "seconds": round(time.monotonic() - begin, 1), "edges": int(covered[-1]) if covered else None,
        "executions": int(executed[1]) if executed else 0, "findings": found,
    }  # fmt: skip


def _is_plain(binary: Path) -> bool:
    """Whether the binary has no libFuzzer, and thus no corpora."""
    return b"LLVMFuzzerTestOneInput" not in binary.read_bytes()


def main() -> None:
    """Run the targets for the minutes given; exit 1 if one of them has a finding."""
    parser = argparse.ArgumentParser()
    parser.add_argument("binary", type=Path)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--targets", help="names, separated by commas (default: all)")
    arguments = parser.parse_args()
    binary = arguments.binary.resolve()
    known = subprocess.run([binary, "--list"], capture_output=True, text=True, check=True).stdout.split()
    targets = arguments.targets.split(",") if arguments.targets else known
    record = binary.parent / "runs.jsonl"
    with record.open("a") as file:
        for target in targets:
            run = fuzz(binary, target, 60 * arguments.minutes / len(targets), arguments.seed)
            file.write(json.dumps(run) + "\n")
            file.flush()
    runs = [json.loads(line) for line in record.read_text().splitlines()]
    print(f"{'target':<12} {'executions':>12} {'edges':>7}  findings   (all runs of {binary.parent})")
    for target in known:
        own = [run for run in runs if run["target"] == target]
        executions, edges = sum(run["executions"] for run in own), max((run["edges"] or 0 for run in own), default=0)
        found = " ".join(f for run in own for f in run["findings"]) or "-"
        print(f"{target:<12} {executions:>12,} {edges or '-':>7}  {found}")
    print(f"{'total':<12} {sum(run['executions'] for run in runs):>12,}")
    if any(run["findings"] for run in runs[-len(targets) :]):
        sys.exit(f"findings: see {binary.parent / 'findings'}")


if __name__ == "__main__":
    main()
