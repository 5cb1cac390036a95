"""Write the page and its figures from the results; nothing is measured here."""

from __future__ import annotations

import math
from pathlib import Path

from benchmarks.figures import canvas, save_figure
from experiments.m_estimation.beyond_page import MORE_SECTIONS
from experiments.record import Json, table, write_page

PAPER_TABLE1 = {  # precision, recall, F1
    "hmm/HMM": (85.60, 88.68, 87.11),
    "hmm/CRF": (90.40, 89.56, 89.98),
    "hmm/PL": (80.31, 81.37, 80.84),
    "hmm/MEMM": (86.03, 88.62, 87.31),
    "hmm/M-est.": (85.57, 88.65, 87.08),
    "extended/CRF": (94.04, 93.68, 93.86),
    "extended/PL": (91.88, 91.79, 91.83),
    "extended/MEMM": (90.89, 92.15, 91.51),
    "extended/M-est.": (88.88, 90.42, 89.64),
}
PAPER_TABLE2 = {
    "HMM/f1": (88.88, 90.42, 89.64),
    "HMM/precision": (88.88, 90.42, 89.64),
    "l.u./f1": (72.91, 57.56, 64.33),
    "l.u./precision": (84.40, 37.68, 52.10),
    "emp./f1": (84.38, 89.43, 86.83),
    "input-only/f1": (None, None, 89.33),
}
PAPER_COUNTS = {
    "tags": 46,
    "words": 9014,
    "hmm parameters": 27213,
    "extended features": 630862,
    "locally uniform F1": 0.0,
}


def write(output: Path, parts: Json) -> Path:
    """Write m_estimation.md and its figures; parts that were not measured are left out."""
    introduction = [
        "# M-estimation of sequence models",
        "",
        'After Smith, Vail and Lafferty, "Computationally Efficient M-Estimation of Log-Linear Structure Models" (ACL',
        "2007), section 5: noun phrases of CoNLL-2000, labels B-NP, I-NP and O, second-order models. The first",
        "occurrence of every word and tag in training is replaced by a symbol for unknown ones. Features are those",
        "that occur in training: of words and tags alone (HMM features) or Sha and Pereira's predicates with the label",
        "and with the pair of labels (extended), and runs of two and three labels. L-BFGS, 100 iterations at most;",
        "c is seven values from 0.1 to 10 and infinity, chosen on the tuning sentences (the last 900 of the training",
        "file). Strength is 1/c: of the sum of losses, for M-estimation of the mean over sentences.",
        "",
        "    LOGLINEAR_DATA=... python -m experiments.m_estimation",
    ]
    return write_page(output / "m_estimation.md", introduction, SECTIONS, parts)


def percent(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def strength(c: str) -> str:
    return "∞" if math.isinf(float(c)) else f"{float(c):.2g}"


def scored(run: Json, paper: tuple[float | None, ...]) -> list[str]:
    """Return cells: c, our three numbers, the paper's three, the difference in F1, our F1 on the tuning sentences."""
    ours = [run["test"][key] for key in ("precision", "recall", "f1")]
    difference = "" if paper[2] is None else f"{ours[2] - paper[2]:+.2f}"
    c = "" if "status" not in run else strength(run["c"])
    return [c, *map(percent, ours), *map(percent, paper), difference, percent(run["tune"]["f1"])]


HEAD = ["c", "precision", "recall", "F1", "paper: precision", "recall", "F1", "difference", "tuning F1"]


def table1(part: Json, parts: Json, output: Path) -> list[str]:
    counts, rows = part["counts"], part["rows"]
    lines = [
        "## Table 1: methods",
        "",
        f"{counts['train']:,} sentences to train on, {counts['tune']:,} to tune, {counts['test']:,} to test.",
        "",
    ]
    cells = [[*name.split("/"), *scored(rows[name], paper)] for name, paper in PAPER_TABLE1.items()]
    lines += table(["features", "method", *HEAD], cells)
    lines += ["", "Counts that show how near the replication is:", ""]
    checks = [[name, f"{counts[name]:,g}", f"{paper:,g}"] for name, paper in PAPER_COUNTS.items()]
    checks.append(["HMM tuning F1", percent(rows["hmm/HMM"]["tune"]["f1"]), "86.3"])
    checks.append(["HMM features", f"{counts['hmm features']:,}", ""])
    return lines + table(["", "ours", "paper"], checks)


def table2(part: Json, parts: Json, output: Path) -> list[str]:
    none = (None, None, None)
    cells = [[*name.split("/"), *scored(run, PAPER_TABLE2.get(name, none))] for name, run in part["rows"].items()]
    by_c = [
        [name, *(percent(f1) + "*" * (status == "unbounded below") for _, f1, status in runs)]
        for name, runs in part["by_c"].items()
    ]
    return [
        "## Table 2: base models, and input-only features",
        "",
        "Extended features. `input-only` (section 5.2): the HMM as base, and one weight more for each n-gram of words",
        "and of tags up to three, whatever the labels; the paper's tuning F1 for it is 89.51.",
        "",
        *table(["base", "selection", *HEAD], cells),
        "",
        "Tuning F1 by c (* the objective is unbounded below; the run was given up):",
        "",
        *table(["base", *(strength(c) for c, *_ in part["by_c"]["HMM"])], by_c),
    ]


def times(part: Json, parts: Json, output: Path) -> list[str]:
    cells, names, before, optimise = [], [], [], []
    reference = part["rows"]["CRF"]
    for name, row in part["rows"].items():
        prepared = row["preparation"]["precomputation"] + row["preparation"]["base"]
        ratio = total(reference) / max(total(row), 1e-9)
        seconds = [f"{s:.1f}" for s in (row["preparation"]["features"], prepared, row["seconds"])]
        cells.append([name, *seconds, steps(row), f"{total(row):.1f}", f"{ratio:.1f}x"])
        names.append(name)
        before.append(prepared)
        optimise.append(row["seconds"])
    figure, ((axes,),) = canvas(size=(7, 4))
    axes.barh(names, before, label="precomputation")
    axes.barh(names, optimise, left=before, label="optimisation")
    axes.set(xlabel="seconds", title="Training time, extended features")
    axes.legend()
    save_figure(figure, output / "m_estimation_times.png")
    head = ["method", "features", "precomputation", "optimisation", "iterations (evaluations)", "total", "CRF / this"]
    return [
        "## Figure 1: training time",
        "",
        "Seconds for at most 100 iterations at c = 1. Extracting features is the same for all and not in the total. In",
        "the paper M-estimation took 64 minutes, 6 of them for expectations.",
        "",
        *table(head, cells),
        "",
        "![training time](m_estimation_times.png)",
    ]


def steps(row: Json) -> str:
    return f"{row['iterations']} ({row['evaluations']})"


def total(row: Json) -> float:
    return row["seconds"] + row["preparation"]["precomputation"] + row["preparation"]["base"]


def curves(part: Json, parts: Json, output: Path) -> list[str]:
    figure, ((axes,),) = canvas(size=(7, 4))
    for name, points in part["curve"].items():
        axes.semilogx([p["n"] for p in points], [p["test"] for p in points], marker="o", label=name)
    axes.set(xlabel="training sentences", ylabel="test F1", title="Learning curves")
    axes.legend()
    save_figure(figure, output / "m_estimation_curves.png")
    figure, ((axes,),) = canvas(size=(7, 4))
    for colour, (name, groups) in enumerate(part["cloud"].items()):
        for k, group in enumerate(groups):
            points = group["points"]
            axes.semilogx(
                [p[1] for p in points], [p[2] for p in points], marker="o", markersize=3, linewidth=0.8,
                color=f"C{colour}", label=name if k == 0 else None,
            )  # fmt: skip
    axes.set(xlabel="training seconds", ylabel="tuning F1", title="A line for each size, a point for each c")
    axes.legend()
    save_figure(figure, output / "m_estimation_cloud.png")
    sizes = [p["n"] for p in part["curve"]["HMM"]]
    cells = [[name, *(percent(p["test"]) for p in points)] for name, points in part["curve"].items()]
    return [
        "## Figures 2 and 3: learning curves, and accuracy against time",
        "",
        "Test F1 by number of training sentences, c chosen anew for each:",
        "",
        *table(["method", *(f"{n:,}" for n in sizes)], cells),
        "",
        "![learning curves](m_estimation_curves.png)",
        "",
        "![accuracy against time](m_estimation_cloud.png)",
    ]


def hit(found: Json | None, seconds: float = 0.0) -> str:
    return "not reached" if found is None else f"{found['seconds'] + seconds:.1f} ({found['evaluations']})"


def initialiser(part: Json, parts: Json, output: Path) -> list[str]:
    figure, ((axes,),) = canvas(size=(7, 4))
    cells = []
    for name, row in part["rows"].items():
        gaps = [max(value / part["best"] - 1, 1e-8) for _, value in row["curve"]]
        axes.loglog([max(seconds, 1e-2) for seconds, _ in row["curve"]], gaps, label=f"from {name}")
        targets = [hit(row[key], row["before"]) for key in ("to plain", "to optimum")]
        cells.append([name, f"{row['before']:.1f}", f"{row['first objective']:,.0f}", *targets])
    axes.set(xlabel="seconds, the M-estimate included", ylabel="relative gap to the optimum", title="CRF, c = 1")
    axes.legend()
    save_figure(figure, output / "m_estimation_initialiser.png")
    head = ["start", "seconds for the start", "objective there", "to what 100 iterations from zero reach"]
    return [
        "## A CRF that starts from an M-estimate",
        "",
        "Extended features, c = 1. Seconds (evaluations of the CRF); the seconds include those of the M-estimate. Best",
        f"objective known: {part['best']:.3f}; after 100 iterations from zero: {part['plain objective']:.3f}.",
        "",
        *table([*head, "to 1e-4 of the optimum"], cells),
        "",
        "![starts](m_estimation_initialiser.png)",
    ]


def clustered(part: Json, parts: Json, output: Path) -> list[str]:
    figure, grid = canvas(len(part["tasks"]), 2, (5, 3.2))
    cells = []
    for (left, right), (task, found) in zip(grid, part["tasks"].items()):
        for solver, run in found["solvers"].items():
            gaps = [max(value / found["best"] - 1, 1e-8) for _, value in run["curve"]]
            left.loglog([max(seconds, 1e-2) for seconds, _ in run["curve"]], gaps, label=solver)
            right.semilogx([max(s, 1e-2) for s, _ in run["scores"]], [f1 for _, f1 in run["scores"]], label=solver)
            cells.append([task, f"{found['n_features']:,}", solver, *map(hit, run["to"]), percent(run["final"]["f1"])])
        left.set(xlabel="seconds", ylabel="relative gap", title=task)
        right.set(xlabel="seconds", ylabel="test F1", title=task)
        left.legend()
    save_figure(figure, output / "m_estimation_clustered.png")
    head = ["task", "features", "solver", "seconds (evaluations) to 1e-2", "1e-3", "1e-4", "test F1"]
    return [
        "## Clustered L-BFGS on CRFs",
        "",
        "c = 1; noun phrases with extended features, second order; entities (WNUT-17) with the templates `ner`, first",
        "order, all six types or persons alone. Gaps are relative to the best objective known.",
        "",
        *table(head, cells),
        "",
        "![clustered](m_estimation_clustered.png)",
    ]


def labels22(part: Json, parts: Json, output: Path) -> list[str]:
    rows, cells = part["rows"], []
    for name, row in rows.items():
        per_step = row["seconds"] / max(row["evaluations"], 1)
        sizes = [str(row["labels"]), f"{row['n_features']:,}"]
        seconds = [f"{total(row) - row['seconds']:.1f}", f"{row['seconds']:.1f}", steps(row), f"{per_step:.3f}"]
        cells.append([name, *sizes, *seconds, row["status"], percent(row["test"]["f1"])])
    paces = {name: row["seconds"] / max(row["iterations"], 1) for name, row in rows.items()}
    whole = {name: 100 * paces[name] + total(row) - row["seconds"] for name, row in rows.items()}
    ratio, pace = whole["CRF"] / whole["M-est."], paces["CRF"] / paces["M-est."]
    head = ["method", "labels", "features", "precomputation", "optimisation", "iterations (evaluations)"]
    return [
        "## All chunk labels",
        "",
        f"Extended features, second order, c = 1. At these paces 100 iterations of the CRF take {ratio:.1f} times as",
        f"long as M-estimation with its precomputation; one iteration takes {pace:.1f} times as long. A run that was",
        "stopped by the callback had used up its time.",
        "",
        *table([*head, "seconds per evaluation", "ended", "test F1"], cells),
    ]


SECTIONS = {
    "table1": table1,
    "table2": table2,
    "times": times,
    "curves": curves,
    "initialiser": initialiser,
    "clustered": clustered,
    "labels22": labels22,
    **MORE_SECTIONS,
}
