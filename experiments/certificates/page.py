"""Write the page from the results; nothing is measured here."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from experiments.record import Json, table, write_page

ROUNDING = 1e-11  # relative: differences of objectives below it are rounding errors
TOLERANCE = 1e-4


def write(output: Path, parts: Json) -> Path:
    """Write certificates.md."""
    introduction = [
        '# Is "converged" true?',
        "",
        "Every problem is trained as a user would, at tolerance 1e-4, and then solved again to a gap of 1e-10, or as",
        "near as floating point and 50,000 passes (5,000 for taggers) come. The true gap is (objective - optimum) /",
        "optimum, the optimum being the least objective that any run found. Data are beginnings of the corpora: 800",
        "texts of R8, 4,000 examples of a9a, 250 sentences of CoNLL-2000 and of WNUT-17, 1,500 of PTB, 400 lists of",
        "atis; digits and wine are scikit-learn's, whole; badly scaled: 30 features, one of them of size 1e5.",
        "",
        "    LOGLINEAR_DATA=... python -m experiments.certificates",
        "",
        *_summary([run for part in parts.values() for run in part["runs"].values()]),
    ]
    return write_page(output / "certificates.md", introduction, {kind: _section(kind) for kind in parts}, parts)


def _summary(runs: list[Json]) -> list[str]:
    """Return the table of the claims."""
    bounds = [run for run in runs if run["is_bound"]]
    resolved = [run for run in bounds if run["true"] > ROUNDING]
    ratios = np.array([run["gap"] / run["true"] for run in resolved])
    converged = [run for run in runs if run["converged"]]
    below = sum(run["gap"] < run["true"] - ROUNDING for run in bounds)
    wrong = sum(run["true"] > TOLERANCE for run in converged)
    estimates = [run for run in converged if not run["is_bound"]]
    tight = f"{np.mean(ratios <= 10):.0%} (median {np.median(ratios):.1f} times)" if resolved else "none to judge"
    rows = [
        ["problems", str(len(runs))],
        ["converged", str(len(converged))],
        ["converged, but the true gap is above the tolerance", str(wrong)],
        ["gap is a bound", str(len(bounds))],
        ["bounds below the true gap", str(below)],
        ["bounds within 10 times the true gap", tight],
        ["converged by an estimate", str(len(estimates))],
        ["estimates below the true gap", str(sum(run["gap"] < run["true"] for run in estimates))],
    ]
    return table(["claim", "found"], rows)


def _section(kind: str):
    def section(part: Json, parts: Json, folder: Path) -> list[str]:
        head = ["data", "problem", "solver", "passes", "gap", "", "true gap", "converged"]
        rows = [
            [
                key.split("/")[1], key.split("/")[2], run["solver"], f"{run['passes']:,}", f"{run['gap']:.1e}",
                "bound" if run["is_bound"] else "estimate", f"{run['true']:.1e}",
                "yes" if run["converged"] else run["status"],
            ]
            for key, run in part["runs"].items()
        ]  # fmt: skip
        return [f"## {kind.capitalize()}", "", *table(head, rows)]

    return section
