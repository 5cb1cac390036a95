"""The section on both definitions of the norms: perplexities, strengths chosen at every order, the paper's claims."""

from __future__ import annotations

from pathlib import Path

from benchmarks.figures import canvas, save_figure
from experiments.record import Json, table
from experiments.structured_penalties.claims import claims, mean
from experiments.structured_penalties.task import KINDS, PAPER

STYLES = {  # of the figure: colour by penalty, line by definition
    "kn-modified": ("k", "--"),
    "l2": ("C1", "-"),
    "w-l2": ("C1", "-"),
    "l1": ("C2", "-"),
    "w-l1": ("C2", "-"),
    "tree-l2": ("C3", "-"),
    "plain-tree-l2": ("C3", ":"),
    "w-tree-l2": ("C3", "-"),
    "alpha-plain-tree-l2": ("C3", ":"),
    "tree-linf": ("C4", "-"),
    "w-tree-linf": ("C4", "-"),
    "alpha-tree-linf": ("C4", ":"),
}
UNWEIGHTED = ("kn-modified", "l2", "l1", "tree-l2", "plain-tree-l2", "tree-linf")
WEIGHTED = ("kn-modified", "w-l2", "w-l1", "w-tree-l2", "alpha-plain-tree-l2", "w-tree-linf", "alpha-tree-linf")


def section(part: Json, parts: Json, output: Path) -> list[str]:
    """Return the lines of the section, and write its figure."""
    curves(part, output / "structured_penalties_norms.png")
    lines = [
        "## Both definitions of the norms",
        "",
        "The same experiment, with strengths chosen at every order. *Plain* norms are the paper's √(Σ θ²), the others",
        "√(Σ (c_i / c_g) θ²). *w* has strengths of groups that grow with depth; *α* multiplies features by αᵈ, as the",
        "paper does, so penalties are those of θ / αᵈ. For ℓ1 and ℓ2² these are the same. αℓ∞ᵀ is trained on all",
        "n-grams: under α the n-grams of a path have different weights. The paper's figure 2(a) has ℓ2ᵀ, plain, and",
        "ℓ∞ᵀ; its figure 2(b) has αℓ2ᵀ, plain, and αℓ∞ᵀ.",
        "",
    ]
    for corpus, found in part["corpora"].items():
        lines += [f"### {corpus}, perplexity", "", f"Mean of {len(found['texts'])} subsets.", ""]
        lines += [*perplexities(found["rows"], part["orders"]), ""]
        lines += [f"### {corpus}, strengths at depth d", "", *chosen(found["values"], part["orders"]), ""]
    lines += ["![perplexity under both definitions](structured_penalties_norms.png)", ""]
    lines += ["### What the paper says, with strengths of every order", ""]
    names = list(part["corpora"])
    ours, theirs = claims(renamed(part, {})), claims(renamed(part, PAPER))
    head = ["the paper", *(f"{name}, {which}" for name in names for which in ("our norms", "the paper's"))]
    rows = [
        [text, *(said[name] for name in names for said in (verdict, other))]
        for (text, verdict), (_, other) in zip(ours, theirs)
    ]
    return [*lines, *table(head, rows)]


def perplexities(rows: Json, orders: list[int]) -> list[str]:
    """Return a table with a row for every kind, its best order in bold."""
    lines = []
    for kind, by_order in rows.items():
        values = {n: mean(by_order[str(n)], "perplexity") for n in orders}
        best = min(values, key=values.__getitem__)
        cells = [f"**{v:.1f}**" if n == best else f"{v:.1f}" for n, v in values.items()]
        kept = mean(by_order[str(orders[-1])], "n_nonzero") / mean(by_order[str(orders[-1])], "n_weights")
        lines.append([KINDS[kind].title, *cells, f"{100 * (values[orders[-1]] / values[best] - 1):+.1f}%"])
        lines[-1].append("" if KINDS[kind].counted else f"{100 * kept:.0f}%")
    return table(["", *map(str, orders), f"best to {orders[-1]}", f"not zero at {orders[-1]}"], lines)


def chosen(values: Json, orders: list[int]) -> list[str]:
    """Return a table of strengths by order, with the growth or the decay of weighted kinds."""
    rows = []
    for kind, by_order in values.items():
        k = KINDS[kind]
        weights = [f" · {growth:.2f}ᵈ" if not k.features else f", α {growth:.2f}" for _, growth, _ in by_order]
        cells = [f"{s:.2f}" + weight * (k.weighted and n > 2) for n, (s, *_), weight in zip(orders, by_order, weights)]
        rows.append([k.title, *cells])
    return table(["", *map(str, orders)], rows)


def renamed(part: Json, names: dict[str, str]) -> Json:
    """Return the part in the form of ``claims``: kinds by their names in the figures, values of the highest order.

    A decay of features counts as the growth that it is for single weights.
    """
    corpora = {}
    for corpus, found in part["corpora"].items():
        rows = dict(found["rows"])
        last = {kind: by_order[-1] for kind, by_order in found["values"].items()}
        values = {kind: [s, 1 / g if KINDS[kind].features else g, r] for kind, (s, g, r) in last.items()}
        for name, kind in names.items():
            rows[name], values[name] = rows[kind], values[kind]
        corpora[corpus] = {"rows": rows, "values": values}
    return {"orders": part["orders"], "corpora": corpora}


def curves(part: Json, path: Path) -> None:
    figure, grid = canvas(2, len(part["corpora"]), (4.2, 3.3))
    for column, (corpus, found) in enumerate(part["corpora"].items()):
        for axes, kinds in zip(grid[:, column], (UNWEIGHTED, WEIGHTED)):
            for kind in kinds:
                values = [mean(found["rows"][kind][str(n)], "perplexity") for n in part["orders"]]
                colour, line = STYLES[kind]
                axes.plot(part["orders"], values, line, color=colour, marker=".", label=KINDS[kind].title)
            axes.set(xlabel="order", ylabel="perplexity", title=corpus)
            axes.legend(fontsize=7)
    save_figure(figure, path)
