"""docs/results/tree_estimation.md from the results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from experiments.record import Json, write_page

INTRODUCTION = """# Estimators of trees

What Smith, Vail and Lafferty (2007) compare for chunking, for whole trees: a grammar counted from trees (`pcfg`), its
correction by M-estimation, which needs no inference, and a random field trained for the conditional likelihood of
trees (`crf`). One set of features for both: rules alone, or words at the boundaries of spans and lengths too (extended,
the default). Data: the 5% sample of the Penn Treebank, 3,914 trees in the order of the file, 3,000 for training, 400 to
choose strengths and 514 for testing; empty elements and functions are stripped, words seen once are known by their
spelling, tags are predicted. Labelled bracketing is counted as by evalb. Symbols remember one sibling; "parents" adds
the parent's label.
""".splitlines()


def _table(part: Json, _: Json, __: Path) -> list[str]:
    lines = [
        "## Table 1: precision, recall and time", "",
        "| model | P | R | F1 | exact | tags | weights | strength | passes | seconds to train | sentences/s |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]  # fmt: skip
    for name, row in part["rows"].items():
        shares = " | ".join(f"{100 * row[key]:.2f}" for key in ("precision", "recall", "f1", "exact_match"))
        if "weights" not in row:
            lines.append(f"| {name} | {shares} | – | – | – | – | – | – |")
            continue
        counted = name.startswith("pcfg")
        lines.append(
            f"| {name} | {shares} | {100 * row['tag_accuracy']:.2f} | {0 if counted else row['weights']:,} | "
            f"{'–' if counted else format(row['strength'], 'g')} | {'–' if counted else row['passes']} | "
            f"{row['train_seconds']:.1f} | "
            f"{row['sentences_per_second']:.0f} |"
        )
    for name, row in part["rows"].items():
        if row.get("pruning"):
            cost = row["pruning"]
            lines += ["", f"`{name}` prunes at {cost['threshold']:g}: {cost['kept']:.1%} of the chart is kept, and "
                      f"{cost['gold_lost']:.2%} of the gold trees' symbols would be lost in training."]  # fmt: skip
    return lines


def _curves(part: Json, _: Json, __: Path) -> list[str]:
    sizes = part["sizes"]
    head = ["| model | " + " | ".join(f"{n:,}" for n in sizes) + " |", "|---" * (len(sizes) + 1) + "|"]
    lines = ["## Figure 2: learning curves", "", "F1 on the test sentences by the number of training trees:", "", *head]
    for name, row in part["rows"].items():
        lines.append(f"| {name} | " + " | ".join(f"{100 * run['f1']:.2f}" for run in row) + " |")
    lines += ["", "Seconds to train:", "", *head]
    for name, row in part["rows"].items():
        lines.append(f"| {name} | " + " | ".join(f"{run['train_seconds']:.1f}" for run in row) + " |")
    return lines


def _times(part: Json, _: Json, __: Path) -> list[str]:
    lines = [
        "## Figures 1 and 3: accuracy against training time", "",
        f"F1 on the dev set and seconds of training, {part['trees']:,} trees, one point per strength:", "",
        "| model | strength | F1 | passes | seconds |", "|---|---|---|---|---|",
    ]  # fmt: skip
    for name, row in part["rows"].items():
        for run in row:
            strength = "–" if name.startswith("pcfg") else format(run["strength"], "g")
            lines.append(f"| {name} | {strength} | {100 * run['dev']:.2f} | {run['passes']} | {run['seconds']:.1f} |")
    return lines


def _variants(part: Json, _: Json, __: Path) -> list[str]:
    lines = [
        "## Other symbols, other pruning", "",
        f"Random fields with extended features at strength 1, {part['trees']:,} trees, F1 on the dev set:", "",
        "| variant | symbols | chart kept | gold symbols lost | F1 | seconds |", "|---|---|---|---|---|---|",
    ]  # fmt: skip
    for name, run in part["rows"].items():
        cost = run["pruning"]
        lines.append(
            f"| {name} | {run['symbols']:,} | {cost['kept']:.1%} | {cost['gold_lost']:.2%} | {100 * run['dev']:.2f} | "
            f"{run['seconds']:.0f} |"
        )
    return lines


SECTIONS: dict[str, Any] = {"table": _table, "times": _times, "curves": _curves, "variants": _variants}


def write(folder: Path, parts: Json) -> Path:
    """Write the page."""
    return write_page(folder / "tree_estimation.md", INTRODUCTION, SECTIONS, parts)
