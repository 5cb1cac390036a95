"""Write the page from the results; nothing is measured here."""

from __future__ import annotations

from pathlib import Path

from experiments.record import Json, table, write_page

ABOUT = {
    "none": "no classes", "task-200": "200 classes from the words of the tasks",
    "all-200": "200 classes from all text", "all-1000": "1,000 classes from all text",
}  # fmt: skip
SCORES = {"wnut17": "F1", "ewt": "accuracy (XPOS)", "conll2000": "F1"}
TEXTS = {"ptb": "Penn Treebank", "gutenberg": "Gutenberg"}


def write(output: Path, parts: Json) -> Path:
    """Write word_classes.md."""
    introduction = [
        "# Word classes",
        "",
        "How good and how quick the clustering of words is beside its peers, and what classes gain as features of",
        "taggers. The log-likelihood is that of the class bigram model, ends of sentences included, for everybody's",
        "classes; the time is that from text to classes, on two threads.",
        "",
        "    LOGLINEAR_DATA=... python -m experiments.word_classes --peers FOLDER",
    ]
    sections = {"ptb": _text("ptb"), "gutenberg": _text("gutenberg"), "features": _features}
    return write_page(output / "word_classes.md", introduction, sections, parts)


def _text(name: str):  # type: ignore[no-untyped-def]
    def section(part: Json, parts: Json, folder: Path) -> list[str]:
        runs = part["runs"]
        best = max(run["log_likelihood"] for run in runs.values())
        long = max((run["log_likelihood"] for key, run in runs.items() if key.startswith("long")), default=best)
        rows = [
            [key, f"{run['log_likelihood']:,.0f}", f"{100 * (best - run['log_likelihood']) / -best:.2f}%",
             f"{run['perplexity']:.1f}", "" if run["passes"] is None else str(run["passes"]), f"{run['seconds']:.1f} s"]
            for key, run in sorted(runs.items(), key=lambda item: -item[1]["log_likelihood"])
        ]  # fmt: skip
        head = ["run", "log-likelihood", "below the best", "perplexity", "passes", "time"]
        ours = runs["exchange"]["log_likelihood"]
        ahead = (ours - long) / -long
        return [
            f"## {TEXTS[name]}: {part['tokens']:,} tokens, {part['words']:,} words, {part['n_classes']} classes",
            "",
            *table(head, rows),
            "",
            "*exchange*, *bidirectional* and *brown* are the methods of `WordClasses` at their defaults; a *long run*",
            f"is an exchange of up to 200 passes from random classes. The exchange is {abs(ahead):.2%} "
            f"{'above' if ahead >= 0 else 'below'} the best long run.",
        ]

    return section


def _features(part: Json, parts: Json, folder: Path) -> list[str]:
    lines = ["## Classes as features", ""]
    rows = []
    for task, score in SCORES.items():
        runs = {s: part["runs"][f"{task}/{s}"] for s in ABOUT if f"{task}/{s}" in part["runs"]}
        chosen = max(runs, key=lambda s: runs[s]["dev"])
        for setting, run in runs.items():
            gain = "" if setting == "none" else f"{100 * (run['test'] - runs['none']['test']):+.2f}"
            mark = " ←" if setting == chosen and len(runs) > 1 else ""
            dev, test = f"{100 * run['dev']:.2f}", f"{100 * run['test']:.2f}"
            rows.append([task, score, ABOUT[setting] + mark, dev, test, gain, f"{run['strength']:g}",
                         f"{run['weights']:,}", f"{run['seconds']:.0f} s"])  # fmt: skip
    head = ["task", "score", "classes", "dev", "test", "gain", "strength", "weights", "training and tuning"]
    return [
        *lines,
        *table(head, rows),
        "",
        "CRFs with the built-in templates ner, pos and chunking, and those for classes beside them. The arrow marks",
        "what the dev set chooses; CoNLL-2000 has none, so the last 1,000 sentences of its training set are one.",
        "Classes are learnt from words without labels: those of all three tasks, test sets included (*words of the",
        "tasks*); *all text* adds the Brown corpus, Reuters, PTB and 13M words of Gutenberg books. All of it is in",
        "lower case.",
    ]
