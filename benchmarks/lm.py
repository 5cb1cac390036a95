"""Language models against KenLM and against the limits, in one run: building, quality, ARPA, queries.

    LOGLINEAR_DATA=... LMPLZ=.../bin/lmplz python -m benchmarks lm [--only build,sweep,quality,arpa,queries]

Needs the corpora ptb/, brown/lm/ and gutenberg/ and the kenlm package. KenLM's programs have no package: LMPLZ names
its builder, QUERY its query program and BUILD_BINARY the maker of its binary files (both are looked for beside the
builder); what they would do is skipped, and said so, where they are missing. Nothing else should run meanwhile.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from benchmarks.classify import machine
from benchmarks.lm_workshop import ORDER, Workshop
from benchmarks.processes import Failed

NO_BUILDER = "KenLM's builder was skipped: LMPLZ is not set."
TUNING_SECONDS = 180.0
PERPLEXITY = {  # at most, on the test text, at order 5: by the classes whose strengths are tuned
    ("ptb", "order"): 138.2,
    ("ptb", "fine"): 137.4,
    ("brown", "order"): 200.0,
}


@dataclass
class Report:
    """What a section found: rows of a table, remarks, and targets (what, target, reached, met)."""

    title: str
    rows: list[dict] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    targets: list[tuple[str, str, str, bool]] = field(default_factory=list)

    def at_most(self, what: str, value: float, limit: float, style: str) -> None:
        self.targets.append((what, "at most " + style.format(limit), style.format(value), value <= limit))

    def at_least(self, what: str, value: float, limit: float, style: str) -> None:
        self.targets.append((what, "at least " + style.format(limit), style.format(value), value >= limit))


def build(shop: Workshop) -> Report:
    """Gutenberg, 5-gram: from text to a saved model."""
    report = Report("Building: Gutenberg, 5-gram, from text to a saved model")
    text = shop.text("gutenberg", "train")
    empty = shop.ours("baseline").run.megabytes
    plain = shop.ours("count", text=text, order=ORDER)
    unit, n_ngrams = plain.found["reading"] + plain.found["sorting"], plain.found["n-grams"]

    def row(name: str, seconds: float, megabytes: float, **more: object) -> None:
        measured = {"seconds": seconds, "passes": seconds / unit, "peak MB": megabytes}
        report.rows.append({"": name, **measured, "bytes per n-gram": megabytes * 1e6 / n_ngrams, **more})

    row("one pass: reading and sorting", unit, plain.run.megabytes)
    if shop.lmplz is not None:
        peer = shop.kenlm_build("gutenberg", ORDER)
        row("KenLM's lmplz, to ARPA", peer.seconds, peer.megabytes)
    else:
        report.remarks.append(NO_BUILDER)
    limits = {"kneser-ney": 20.0, "maxent": 60.0}
    for estimator, limit in limits.items():
        made = shop.train("gutenberg", estimator, fresh=True)
        seconds, peak = made.run.seconds, made.run.megabytes
        shown = ("fit", "saving", "kept", "file MB", "steps")
        row(f"ours, {estimator}", seconds, peak, **{key: made.found[key] for key in shown})
        report.at_most(f"{estimator}, text to saved model", seconds, limit, "{:.1f} s")
        if estimator == "kneser-ney":
            report.at_most("its peak memory", peak, 1800.0, "{:.0f} MB")
        else:
            above = (peak - empty) * 1e6 / n_ngrams
            report.at_most("its peak above the interpreter's, per distinct n-gram", above, 160.0, "{:.0f} bytes")
    report.remarks.append(
        f"{plain.found['tokens']:,} tokens, {n_ngrams:,} distinct n-grams, {plain.found['contexts']:,} contexts. One "
        f"pass: reading {plain.found['reading']:.2f} s, sorting {plain.found['sorting']:.2f} s. The others are whole "
        f"processes from start to end, fit and saving seconds of them. Python with its imports holds {empty:.0f} MB."
    )
    return report


def sweep(shop: Workshop) -> Report:
    """Gutenberg, 5-gram: one value and gradient."""
    report = Report("One value and gradient: Gutenberg, 5-gram")
    found = shop.ours("sweep", text=shop.text("gutenberg", "train"), order=ORDER).found
    report.rows.append({"": "at Kneser-Ney's weights", **found})
    report.at_most("one value and gradient on 2 threads", found["seconds on 2"], 0.5, "{:.2f} s")
    report.remarks.append(
        "Bytes moved: weight 8, parent 4, count 4, gradient 8 and 8 more since a line is read before it is written, 12 "
        "per context. A copy of an array as long as the weights is counted likewise: 24 bytes per number."
    )
    return report


def quality(shop: Workshop) -> Report:
    """Test perplexity on PTB and Brown."""
    report = Report("Quality: test perplexity")
    for problem in ("ptb", "brown"):
        if shop.lmplz is not None:
            built, perplexity = shop.kenlm_build(problem, ORDER), shop.kenlm_perplexity(problem)
            row = _quality_row(problem, f"KenLM's lmplz {ORDER}", perplexity, built.seconds, built.megabytes)
            report.rows.append(row)
        for name, settings in contenders(problem):
            try:
                found = shop.train(problem, name, settings=settings, evaluate=True, fresh=True).found
            except Failed as error:
                report.remarks.append(f"{problem}, {name}: {error}")
                continue
            row = _quality_row(problem, f"ours, {name}", found["perplexity"], found["fit"], found["peak MB"])
            report.rows.append({**row, "n-grams kept": found["kept"], "rounds": found.get("rounds")})
            limit = PERPLEXITY.get((problem, settings.get("strength_classes", "order")))
            if settings.get("strength") == "auto" and settings["order"] == ORDER and limit is not None:
                report.at_most(f"{problem}, {name}", found["perplexity"], limit, "{:.2f}")
                if problem == "ptb":
                    report.at_most("its time", found["fit"], TUNING_SECONDS, "{:.0f} s")
    if shop.lmplz is None:
        report.remarks.append(NO_BUILDER)
    report.remarks.append("Per token, ends of sentences and unknown words included. Seconds of fit, tuning included.")
    return report


def _quality_row(problem: str, model: str, perplexity: float, seconds: float, megabytes: float) -> dict:
    return {"text": problem, "model": model, "perplexity": perplexity, "seconds": seconds, "peak MB": megabytes}


def contenders(problem: str) -> list[tuple[str, dict]]:
    """Names and settings."""
    auto = {"estimator": "maxent", "order": ORDER, "strength": "auto"}
    found: list[tuple[str, dict]] = [
        (f"kneser-ney {ORDER}", {"estimator": "kneser-ney", "order": ORDER}),
        (f"maxent {ORDER}, default strengths", {"estimator": "maxent", "order": ORDER}),
        (f"maxent {ORDER}, tuned by order", auto),
        (f"maxent {ORDER}, tuned by fine classes", {**auto, "strength_classes": "fine"}),
    ]
    if problem == "ptb":
        found.append(("maxent 7, tuned by fine classes", {**auto, "order": 7, "strength_classes": "fine"}))
    return found


def arpa(shop: Workshop) -> Report:
    """Our ARPA files, read by the kenlm package."""
    report = Report("ARPA: log10 of the sentences of the test text, ours against the kenlm package on our ARPA file")
    for problem in ("ptb", "brown"):
        test = shop.text(problem, "test")
        for estimator in ("kneser-ney", "maxent"):
            model = shop.train(problem, estimator).path
            found = shop.ours("arpa", model=model, arpa=model.with_suffix(".arpa"), test=test).found
            report.rows.append({"text": problem, "estimator": estimator, **found})
            report.at_most(f"{problem}, {estimator}", found["largest difference"], 1e-4, "{:.1e}")
    return report


def queries(shop: Workshop) -> Report:
    """Scoring from Python in batch, and from the command line on one thread."""
    report = Report("Queries: Kneser-Ney 5-gram models, tokens per second")
    for problem in ("ptb", "gutenberg"):
        model, peer = shop.train(problem, "kneser-ney").path, shop.kenlm_model(problem)
        text = shop.sample("gutenberg", 10) if problem == "gutenberg" else shop.kenlm_text(problem, "test")
        found = shop.ours("batch", model=model, peer=peer, text=text).found
        report.rows.append({"": f"{problem}, from Python", **found})
        report.at_least(f"{problem}, batch on 2 threads over kenlm's loop", found["ratio"], 3.0, "{:.1f}x")
    lines = shop.command_line("gutenberg")
    report.rows.append({"": "gutenberg, command line", **lines})
    if "ours on 1" in lines:
        report.at_least("`lm score` on 1 thread", lines["ours on 1"] / 1e6, 3.0, "{:.2f}M tokens/s")
    if "kenlm" not in lines:
        report.remarks.append("KenLM's query program was skipped: neither QUERY nor LMPLZ leads to it.")
    source = "its own builder's ARPA" if shop.build_binary else "our ARPA, read by the package"
    report.remarks.append(
        f"Tokens include ends of sentences. KenLM's model: probing, of {source}. From Python: a list of strings, all "
        "in one call of ours, one call of kenlm's each. The command line reads text and writes a line per sentence; "
        "the seconds of loading, measured on a text of one line, are taken off."
    )
    return report


SECTIONS: dict[str, Callable[[Workshop], Report]] = {
    f.__name__: f for f in (build, sweep, quality, arpa, queries)
}  # fmt: skip


def cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        size = abs(value)
        return f"{value:,.0f}" if size >= 1000 else f"{value:.2f}" if size >= 0.01 or size == 0 else f"{value:.1e}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def table(rows: list[dict]) -> list[str]:
    if not rows:
        return []
    columns = list(dict.fromkeys(key for row in rows for key in row))
    lines = ["| " + " | ".join(columns) + " |", "|---" * len(columns) + "|"]
    return lines + ["| " + " | ".join(cell(row.get(c)) for c in columns) + " |" for row in rows]


def markdown(report: Report) -> str:
    heads = ("what", "target", "reached", "met")
    targets = [dict(zip(heads, (*t[:3], "yes" if t[3] else "no"))) for t in report.targets]
    parts = [[f"## {report.title}"], table(report.rows), *([remark] for remark in report.remarks), table(targets)]
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks lm", description=__doc__)
    parser.add_argument("--only", default=",".join(SECTIONS), help="sections to run, of " + ", ".join(SECTIONS))
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--output", type=Path, help="also write the tables to this file")
    parser.add_argument("--folder", type=Path, help="where texts and models are kept for another run (several GB)")
    options = parser.parse_args(arguments)
    chosen = options.only.split(",")
    if unknown := set(chosen) - set(SECTIONS):
        sys.exit(f"unknown sections {', '.join(sorted(unknown))}; known: {', '.join(SECTIONS)}")
    if "LOGLINEAR_DATA" not in os.environ:
        sys.exit("set LOGLINEAR_DATA to the folder of corpora (ptb/, brown/lm/, gutenberg/)")
    with tempfile.TemporaryDirectory() as name:
        folder = options.folder or Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        shop = Workshop(Path(os.environ["LOGLINEAR_DATA"]), folder)
        about = f"{machine()}; KenLM's programs: {shop.programs()}"
        if not options.json:
            print(about + "\n", flush=True)
        reports = {}
        for section in chosen:
            try:
                reports[section] = SECTIONS[section](shop)
            except Failed as error:  # the other sections still have something to say
                reports[section] = Report(section.capitalize(), remarks=[f"Failed: {error}"])
            if not options.json:
                print(markdown(reports[section]), flush=True)
    if options.json:
        print(json.dumps({"machine": about, "results": {s: asdict(r) for s, r in reports.items()}}))
    if options.output:
        text = "\n".join([about + "\n", *(markdown(r) for r in reports.values())])
        options.output.write_text(text, encoding="utf-8")
