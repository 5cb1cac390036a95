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
        "## Precision, recall and time", "",
        "| model | P | R | F1 | exact | tags | weights | strength | seconds to train | sentences/s |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]  # fmt: skip
    for name, row in part["rows"].items():
        shares = " | ".join(f"{100 * row[key]:.2f}" for key in ("precision", "recall", "f1", "exact_match"))
        if "weights" not in row:
            lines.append(f"| {name} | {shares} | – | – | – | – | – |")
            continue
        counted = name.startswith("pcfg")
        lines.append(
            f"| {name} | {shares} | {100 * row['tag_accuracy']:.2f} | {0 if counted else row['weights']:,} | "
            f"{'–' if counted else format(row['strength'], 'g')} | {row['train_seconds']:.1f} | "
            f"{row['sentences_per_second']:.0f} |"
        )
    for name, row in part["rows"].items():
        if row.get("pruning"):
            cost = row["pruning"]
            lines += ["", f"`{name}` prunes at {cost['threshold']:g}: {cost['kept']:.1%} of the chart is kept, and "
                      f"{cost['gold_lost']:.2%} of the gold trees' symbols would be lost in training."]  # fmt: skip
    return lines


def _curves(part: Json, _: Json, __: Path) -> list[str]:
    lines = ["## F1 and the number of trees", "", "| model | " + " | ".join(f"{n:,}" for n in part["sizes"]) + " |"]
    lines.append("|---" * (len(part["sizes"]) + 1) + "|")
    lines += [f"| {name} | " + " | ".join(f"{100 * f:.2f}" for f in row) + " |" for name, row in part["rows"].items()]
    return lines


def _speed(part: Json, _: Json, __: Path) -> list[str]:
    lines = [
        "## Speed of exact parsing", "",
        f"{part['sentences']:,} test sentences of up to 40 words ({part['words']:,} words), the grammar of the "
        f"training trees ({part['rules']:,} rules without words): {part['seconds']:.2f} s, "
        f"**{part['sentences'] / part['seconds']:.0f} sentences/s**.",
    ]  # fmt: skip
    if "nltk_seconds" in part:
        ratio = part["nltk_seconds"] / part["short_seconds"]
        agree = "agree" if part["nltk_agrees"] else "do not agree"
        lines += ["", f"Sentences of {', '.join(map(str, part['short']))} words: {part['short_seconds']:.3f} s; NLTK's "
                  f"`ViterbiParser` with the same rules {part['nltk_seconds']:.1f} s, {ratio:,.0f} times as long. "
                  f"The probabilities of the best trees {agree}."]  # fmt: skip
    return lines


SECTIONS: dict[str, Any] = {"table": _table, "curves": _curves, "speed": _speed}


def write(folder: Path, parts: Json) -> Path:
    """Write the page."""
    return write_page(folder / "tree_estimation.md", INTRODUCTION, SECTIONS, parts)
