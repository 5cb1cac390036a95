"""Tree penalties against SPAMS, against the number of nodes, and in training, in one run.

    LOGLINEAR_DATA=... python -m benchmarks tree [--only prox,scaling,gutenberg,ptb] [--output docs/results/tree.md]

It needs the corpora ptb/, brown/lm/ and gutenberg/; the sections prox and scaling also need the package spams-bin. With
--output the plot of time against nodes is written beside the tables. Nothing else should run meanwhile.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.figures import canvas, save_figure
from benchmarks.lm.workspace import Workspace
from benchmarks.processes import Failed
from benchmarks.report import Report, data_folder, parse, run_sections, section_parser, write_page

ORDER = 5
STRENGTHS = [1e-3, 0.1, 0.5, 1.0, 2.0, 4.0]  # of a prox of standard normal values: from no weight at zero to all
TOKENS = [3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 6_500_000]
PEER_NODES = 3_000_000
STEPS = 120  # of the run whose lowest objective is taken for the optimum
GAP = 1e-3
LIMIT = 1800.0  # seconds for one contender
PLOT = "tree_scaling.png"
SPAMS, THREADS = "SPAMS", 2
SPEED_UP, SECONDS, MINUTES, EVALUATIONS = 3.0, 2.0, 5.0, 60
ALONE, WITH_RIDGE, KNESER_NEY = 141.2, 138.3, 141.2  # perplexities on PTB


def prox(work: Workspace) -> Report:
    """Compare a prox by SPAMS and by us: Brown, 5-gram trie."""
    report = Report("One prox: Brown, 5-gram trie, SPAMS proximalTree and ours")
    text = work.text("brown", "train")
    try:
        found = work.ours("prox", benchmark="tree", text=text, order=ORDER, strengths=STRENGTHS).found
    except Failed as error:
        report.job("prox of tree penalties", peer=SPAMS).misses(SPAMS, error)
        return report
    report.rows += found["rows"]
    for penalty in ("tree-l2", "tree-linf"):
        job = report.job(f"prox of {penalty}, {found['nodes']:,} nodes: sum over strengths", peer=SPAMS)
        rows = [row for row in found["rows"] if row["penalty"] == penalty]
        job.took("loglinear", sum(row[f"ours on {THREADS}, s"] for row in rows))
        job.took(SPAMS, min(sum(row[f"SPAMS on {n}, s"] for row in rows) for n in (1, THREADS)))
        ratio = min(row["ratio"] for row in found["rows"] if row["penalty"] == penalty)
        what = f"{penalty}, ours on 2 threads, times as fast as the better of SPAMS, at the worst strength"
        report.at_least(what, ratio, SPEED_UP, "{:.1f}x")
    report.at_most("largest difference", max(row["difference"] for row in found["rows"]), 1e-8, "{:.1e}")
    report.remarks.append(
        f"{found['nodes']:,} nodes, bigrams are roots; standard normal values, step 1, no sign constraint. SPAMS is "
        "given nodes in its own depth-first order and one group of no price above the roots; putting values in that "
        "order is not counted. Ours takes the order of the trie."
    )
    return report


def scaling(work: Workspace) -> Report:
    """Time a prox against the number of nodes: Gutenberg, 5-gram tries."""
    report = Report("Time against nodes: 5-gram tries of ever more of Gutenberg")
    found = work.ours(
        "scaling", benchmark="tree", text=work.text("gutenberg", "train"), order=ORDER, tokens=TOKENS, strength=1.0,
        peer_nodes=PEER_NODES,
    ).found  # fmt: skip
    report.rows += found["rows"]
    for penalty in ("tree-l2", "tree-linf"):
        # Only tries too large for the caches count: smaller ones are faster than the linear trend.
        rows = [row for row in found["rows"] if row["nodes"] >= 1e5]
        if len(rows) > 1:
            times = [row[f"{penalty} on 2, ms"] for row in rows]
            power = math.log(times[-1] / times[0]) / math.log(rows[-1]["nodes"] / rows[0]["nodes"])
            report.at_most(f"{penalty}: power of the nodes that time grows as, from 1e5", power, 1.2, "{:.2f}")
    report.remarks.append(
        f"Standard normal values, strength 1, step 1; best of five. SPAMS up to {PEER_NODES:,} nodes."
    )
    return report


def gutenberg(work: Workspace) -> Report:
    """Time a gradient, a prox and training: Gutenberg, 5-gram."""
    report = Report(f"Training: Gutenberg, 5-gram, to within {GAP:g} of the optimum")
    for penalty in ("tree-l2", "tree-linf"):
        settings = {"order": ORDER, "penalty": penalty, "steps": STEPS, "gap": GAP}
        found = work.ours("train", benchmark="tree", text=work.text("gutenberg", "train"), **settings).found
        report.rows.append({"": penalty, **found})
        report.at_most(f"{penalty}: one gradient and prox", found["both"], SECONDS, "{:.2f} s")
        report.at_most(f"{penalty}: training", found["seconds"] / 60, MINUTES, "{:.1f} min")
        report.at_most(f"{penalty}: its evaluations", found["evaluations"], EVALUATIONS, "{:.0f}")
    report.remarks.append(
        f"From Kneser-Ney, default strengths. The optimum is taken to be the lowest of {STEPS} steps; what the last of "
        "them still won, relatively, is in the table. tree-l2 is trained on all n-grams, tree-linf on the collapsed "
        "tree. Preparing is reading, counting and Kneser-Ney. Nelakanti et al. (2013) needed 7,583 minutes for one "
        "pass over 13M words."
    )
    return report


def ptb(work: Workspace) -> Report:
    """Compare tree penalties, elastic net and Kneser-Ney on PTB, tuned on the same validation text."""
    report = Report("Models: PTB, strengths tuned on the validation text")
    ridge: list[tuple[float, str]] = []
    for order in (ORDER, 12):
        for name, settings in contenders().items():
            title = f"{name} {order}"
            try:
                found = work.train("ptb", title, settings={"order": order, **settings}, evaluate=True, fresh=True).found
            except Failed as error:
                report.remarks.append(f"{title}: {error}")
                continue
            report.rows.append({"model": title, **_ptb_row(found)})
            if settings.get("penalty", "").startswith("tree") and settings.get("l2") == 0:
                report.at_most(f"{title}, test perplexity below modified KN5", found["perplexity"], ALONE, "{:.2f}")
            elif settings.get("penalty", "").startswith("tree"):
                ridge.append((found["perplexity"], title))
    if ridge:
        report.at_most(f"the best with a little l2², {min(ridge)[1]}", min(ridge)[0], WITH_RIDGE, "{:.2f}")
    _growth(report)
    report.remarks.append(
        "Test perplexity per token, ends of sentences and <unk> included. Parameters above unigrams: n-grams with a "
        "weight that is not zero, and constant-value non-branching paths of them (what a collapsed model holds). "
        "Seconds of fit, tuning included; tuned on the same validation text, each by its own search."
    )
    return report


def _ptb_row(found: dict[str, Any]) -> dict[str, Any]:
    names = {"perplexity": "perplexity", "weights": "not zero", "parameters": "parameters", "file MB": "file MB"}
    row = {title: found[key] for key, title in names.items()}
    return {**row, "seconds": found["fit"], "trials": found.get("rounds"), "peak MB": found["peak MB"]}


def _growth(report: Report) -> None:
    """Report how the parameters of the tree-linf models grow from order 5 to 12."""
    rows = {row["model"]: row for row in report.rows}
    for name in ("tree-linf", "tree-linf with l2²"):
        low, high = rows.get(f"{name} {ORDER}"), rows.get(f"{name} 12")
        if low and high:
            growth = 100 * (high["parameters"] / low["parameters"] - 1)
            report.at_most(f"{name}: parameters from order {ORDER} to 12", growth, 5.0, "{:+.1f}%")


def contenders() -> dict[str, dict[str, Any]]:
    """Return names and settings; all but Kneser-Ney choose their strengths on the validation text."""
    auto = {"tune": "validation"}
    return {
        "kneser-ney": {"estimator": "kneser-ney"},
        "elastic net": {"penalty": "elastic_net", **auto},
        "tree-l2": {"penalty": "tree-l2", "l2": 0.0, **auto},
        "tree-l2 with l2²": {"penalty": "tree-l2", **auto},
        "tree-linf": {"penalty": "tree-linf", "l2": 0.0, **auto},
        "tree-linf with l2²": {"penalty": "tree-linf", **auto},
    }


SECTIONS: dict[str, Callable[[Workspace], Report]] = {f.__name__: f for f in (prox, scaling, gutenberg, ptb)}


def plot(report: Report, path: Path) -> None:
    """Plot time against the number of nodes."""
    figure, ((axes,),) = canvas(size=(6, 4))
    for column in [key for key in report.rows[0] if key != "nodes"]:
        points = [(row["nodes"], row[column]) for row in report.rows if column in row]
        axes.loglog(*zip(*points), ":" if column.startswith("SPAMS") else "-", marker=".", label=column[:-4])
    axes.set(xlabel="nodes", ylabel="ms for a prox", title="5-gram tries of Gutenberg")
    axes.legend(fontsize=8)
    save_figure(figure, path)


def main(arguments: list[str]) -> None:
    parser = section_parser("tree", __doc__, SECTIONS)
    parser.add_argument("--folder", type=Path, help="where texts and models are kept for another run (a GB)")
    options = parse(parser, arguments, only=["prox"])
    with tempfile.TemporaryDirectory() as name:
        work = Workspace(data_folder("ptb/, brown/lm/, gutenberg/"), options.folder or Path(name), LIMIT)
        reports = run_sections(SECTIONS, options, work)
    title = "Tree penalties: against SPAMS, against the number of nodes, and in training"
    write_page(options, "tree", title, reports, plots={"scaling": (PLOT, plot)})
