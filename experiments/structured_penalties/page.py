"""Write the page and its figures from the results; nothing is measured here.

``claims`` compares what the paper says with our figures.
"""

from __future__ import annotations

from pathlib import Path

from benchmarks.figures import canvas, save_figure
from experiments.record import Json, table, write_page
from experiments.structured_penalties import norms_page
from experiments.structured_penalties.claims import claims, mean, targets
from experiments.structured_penalties.task import FIGURE_2A, FIGURE_2B, KINDS

PAPER_ALPHA = {"w-l2": 0.5, "w-l1": 0.7, "w-tree-l2": 1.1, "w-tree-linf": 0.85}
PAPER_TABLE_1 = {  # good generalisation, memory, time of a prox
    "ℓ1": ("no", "O(\\|T\\|)", "O(\\|T\\|)"),
    "ℓ2²": ("no", "O(\\|T\\|)", "O(\\|T\\|)"),
    "ℓ2ᵀ": ("yes", "O(\\|S\\|)", "O(\\|S\\|)"),
    "ℓ∞ᵀ, random pivot": ("yes", "O(\\|T\\|)", "O(\\|T\\|²)"),
    "ℓ∞ᵀ, heap": ("yes", "O(\\|T\\|)", "O(\\|T\\| log \\|T\\|)"),
}
COLOURS = {kind: f"C{k}" for k, kind in enumerate(("kn-modified", "l2", "l1", "tree-l2", "tree-linf"))}


def write(output: Path, parts: Json) -> Path:
    """Write structured_penalties.md and its figures; parts that were not measured are left out."""
    introduction = [
        "# Structured penalties on the suffix tree",
        "",
        'After Nelakanti, Archambeau, Mairal, Bach and Bouchard, "Structured Penalties for Log-linear Language Models"',
        "(EMNLP 2013), section 6. The paper took four subsets of a news corpus, 100,000 words to train and 20,000 to",
        "test; here four disjoint ones each of Brown, PTB and Gutenberg. Numbers, proper nouns (Brown) and words that",
        "are rare in the whole corpus are replaced by symbols; no two pieces share a document of Brown or a book of",
        "Gutenberg, pieces of PTB are consecutive. Each sentence begins anew.",
        "",
        "Perplexity is the paper's: per token of the vocabulary, which is the words of the training text; other words",
        "are left out of the sum but stand in contexts. Ends of sentences are tokens. Strengths (and, for weighted",
        "kinds, how they grow with depth) are chosen once for each corpus and kind of model, on 30,000 words to train",
        "and 10,000 to validate that are in no subset. Training is full-batch and exact; weights above unigrams are",
        "nonnegative.",
        "",
        "    LOGLINEAR_DATA=... python -m experiments.structured_penalties",
    ]
    return write_page(output / "structured_penalties.md", introduction, SECTIONS, parts)


# ---- perplexity ------------------------------------------------------------------------------------------------------
def perplexity(part: Json, parts: Json, output: Path) -> list[str]:
    curves(part, output / "structured_penalties_perplexity.png")
    lines = ["## Figure 2(a, b): perplexity against order", "", *chosen(part), ""]
    for corpus, found in part["corpora"].items():
        lines += [f"### {corpus}", "", described(found["texts"]), "", *perplexities(found["rows"], part["orders"]), ""]
    lines += [
        "![perplexity](structured_penalties_perplexity.png)",
        "",
        "### What the paper says, and what is so here",
        "",
    ]
    names = list(part["corpora"])
    said = claims(part)
    lines += table(["the paper", *names], [[text, *(verdict[name] for name in names)] for text, verdict in said])
    lines += ["", "### Targets", "", *table(["what", *names, "met"], targets(part))]
    return lines


def described(texts: list[Json]) -> str:
    words = ", ".join(f"{text['vocabulary']:,}" for text in texts)
    share = sum(t["unknown"] for t in texts) / sum(t["test"] for t in texts)
    return (
        f"Vocabularies of {words} words; {100 * share:.1f}% of the words of the test texts are not among them. Mean of "
        f"{len(texts)} subsets."
    )


def perplexities(rows: Json, orders: list[int]) -> list[str]:
    lines = []
    for kind, by_order in rows.items():
        values = {n: mean(by_order[str(n)], "perplexity") for n in orders}
        best = min(values, key=values.__getitem__)
        cells = [f"**{v:.1f}**" if n == best else f"{v:.1f}" for n, v in values.items()]
        rise = 100 * (values[orders[-1]] / values[best] - 1)
        without = mean(by_order[str(best)], "perplexity_without_ends")
        seconds = mean(by_order[str(orders[-1])], "seconds")
        lines.append([KINDS[kind].title, *cells, f"{rise:+.1f}%", f"{without:.1f}", f"{seconds:.2f} s"])
    head = ["", *map(str, orders), f"best to {orders[-1]}", "best, ends not counted", f"time at {orders[-1]}"]
    return table(head, lines)


def chosen(part: Json) -> list[str]:
    """Return strengths and depth growths, and the paper's alpha as the growth of the penalty of a single weight."""
    names, rows = list(part["corpora"]), []
    for kind in next(iter(part["corpora"].values()))["values"]:
        cells = []
        for name in names:
            strength, growth, ridge = part["corpora"][name]["values"][kind]
            cells.append(
                f"{strength:.3g}" + f" · {growth:.3g}ᵈ" * KINDS[kind].weighted + f" + {ridge:.2g}" * (ridge > 0)
            )
        alpha = PAPER_ALPHA.get(kind)
        paper = "" if alpha is None else f"α = {alpha:g}"
        if kind in ("w-l2", "w-l1"):
            paper = f"{PAPER_ALPHA[kind] ** (-2 if kind == 'w-l2' else -1):.2g}ᵈ ({paper})"
        rows.append([KINDS[kind].title, *cells, paper])
    return [
        "Strengths at depth d (bigrams have depth 0), and the ridge where there is one. The paper multiplies features",
        "by αᵈ, which is a penalty growing as α⁻²ᵈ for ℓ2² and as α⁻ᵈ for ℓ1; for tree norms the growth of groups is",
        "another way to weigh orders ([both below](#both-definitions-of-the-norms)).",
        "",
        *table(["", *names, "growth in the paper"], rows),
    ]


def curves(part: Json, path: Path) -> None:
    figure, grid = canvas(2, len(part["corpora"]), (4.2, 3.3))
    for column, (corpus, found) in enumerate(part["corpora"].items()):
        for axes, kinds in zip(grid[:, column], (FIGURE_2A, FIGURE_2B)):
            for kind in kinds:
                values = [mean(found["rows"][kind][str(n)], "perplexity") for n in part["orders"]]
                plain = kind.removeprefix("w-").removesuffix("+l2")
                style = {"kn": "k:", "kn-modified": "k--"}.get(kind, ":" if kind.endswith("+l2") else "-")
                options = {} if KINDS[kind].counted else {"color": COLOURS[plain]}
                axes.plot(part["orders"], values, style, marker=".", label=KINDS[kind].title, **options)
            axes.set(xlabel="order", ylabel="perplexity", title=corpus)
            axes.legend(fontsize=7)
    save_figure(figure, path)


# ---- parameters ------------------------------------------------------------------------------------------------------
def parameters(part: Json, parts: Json, output: Path) -> list[str]:
    trained = parts.get("perplexity", {}).get("corpora", {})
    lines = [
        "## Figure 2(c): number of parameters",
        "",
        "Above unigrams. S is the trie of all n-grams of the first subset, T its collapsed tree; of trained",
        "models, the mean over subsets. KN has a parameter for each n-gram; wℓ2ᵀ is trained on S, wℓ∞ᵀ on T. *paths*",
        "are constant-value non-branching paths that are not zero (definition 3), what a saved model needs.",
        "",
    ]
    figure, grid = canvas(1, len(part["corpora"]), (4.2, 3.3))
    for axes, (corpus, sizes) in zip(grid[0], part["corpora"].items()):
        orders = [key for key in sizes if key != "None"]
        series = {"S: KN, and what wℓ2ᵀ is trained on": [sizes[n]["S"] for n in orders]}
        series["T: what wℓ∞ᵀ is trained on"] = [sizes[key]["T"] for key in sizes]
        rows = trained.get(corpus, {}).get("rows", {})
        if rows:
            series["wℓ2ᵀ, not zero"] = [round(mean(rows["w-tree-l2"][n], "n_nonzero")) for n in orders]
            series["wℓ∞ᵀ on T, not zero"] = [round(mean(rows["w-tree-linf"][n], "n_nonzero")) for n in orders]
            series["wℓ∞ᵀ, paths"] = [round(mean(rows["w-tree-linf"][n], "n_parameters")) for n in orders]
        for name, values in series.items():
            axes.plot([int(n) for n in orders], values[: len(orders)], marker=".", label=name)
        axes.set(xlabel="order", ylabel="parameters", title=corpus, ylim=(0, None))
        axes.legend(fontsize=7)
        cells = [
            [name, *(f"{v:,}" for v in values), *([""] if len(values) == len(orders) else []), grown(orders, values)]
            for name, values in series.items()
        ]
        longest = sizes["None"]["longest"]
        head = ["", *orders, f"unbounded ({longest})", f"{near(orders)} to {orders[-1]}"]
        lines += [f"### {corpus}", "", *table(head, cells), ""]
    save_figure(figure, output / "structured_penalties_parameters.png")
    return [*lines, "![parameters](structured_penalties_parameters.png)"]


def near(orders: list[str]) -> str:
    return "5" if "5" in orders else orders[0]


def grown(orders: list[str], values: list[int]) -> str:
    before = values[orders.index(near(orders))]
    return f"{100 * (values[len(orders) - 1] / max(before, 1) - 1):+.1f}%"


# ---- timing ----------------------------------------------------------------------------------------------------------
def timing(part: Json, parts: Json, output: Path) -> list[str]:
    methods = [name for name in next(iter(part["orders"].values())) if name.startswith(("random", "heap"))]
    figure, grid = canvas(1, 2, (4.2, 3.3))
    for axes, rows, label in zip(grid[0], (part["orders"], part["sizes"]), ("order", "words of training text")):
        for name in methods:
            points = [(int(n), 1e3 * row[name]) for n, row in rows.items()]
            axes.plot(*zip(*points), marker=".", label=name)
        axes.set(xlabel=label, ylabel="ms for a prox")
        axes.legend(fontsize=8)
    grid[0][1].set(xscale="log", yscale="log")
    save_figure(figure, output / "structured_penalties_timing.png")
    lines = [
        "## Figure 3: time of the tree-ℓ∞ prox",
        "",
        f"PTB, one thread, at the strength chosen for ℓ∞ᵀ ({part['strength']:.3g}), in the metric of the counts, after",
        "ten steps of training; milliseconds, median.",
        "",
    ]
    for title, rows in (("order", part["orders"]), ("words", part["sizes"])):
        cells = [[name, *(f"{1e3 * row[name]:.2f}" for row in rows.values())] for name in methods]
        cells += [[f"nodes of {w}", *(f"{row[f'nodes of {w}']:,}" for row in rows.values())] for w in ("S", "T")]
        lines += [*table([title, *(f"{int(n):,}" for n in rows)], cells), ""]
    lines += ["![time of the prox](structured_penalties_timing.png)", "", *table_1(part["table"]), "", *k(part["k"])]
    return lines


def table_1(found: Json) -> list[str]:
    orders = list(dict.fromkeys(key.split("/")[0] for key in found["rows"]))
    cells = []
    for name, paper in PAPER_TABLE_1.items():
        row = [name, *paper]
        for order in orders:
            run = found["rows"][f"{order}/{name}"]
            row += [f"{run['nodes']:,}", f"{1e3 * run['seconds']:.1f} ms"]
        cells.append(row)
    head = ["penalty", "generalises (paper)", "memory (paper)", "time (paper)"]
    head += [f"{what}, order {order}" for order in orders for what in ("weights", "prox")]
    memory = [
        [
            f"training on {where}",
            *(f"{found['rows'][f'{order}/memory of {where}']['megabytes']:,.0f} MB" for order in orders),
        ]
        for where in ("S", "T")
    ]
    return [
        "## Table 1: time and memory",
        "",
        f"{found['words']:,} words of PTB; a prox on one thread.",
        "",
        *table(head, cells),
        "",
        "Memory of training with a tree penalty (n-grams or tree, weights, solver), above that of Python and the text:",
        "",
        *table(["", *(f"order {order}" for order in orders)], memory),
    ]


def k(found: Json) -> list[str]:
    rows = []
    for factor, run in found.items():
        alive = run["counts"][1:]
        total = max(sum(alive), 1)
        shares = [f"{100 * c / total:.1f}%" for c in alive[:6]] + [""] * (6 - len(alive[:6]))
        rest = f"{100 * sum(alive[6:]) / total:.2f}%"
        rows.append([f"{factor} × chosen", f"{run['mean']:.2f}", f"{run['largest']:,}", *shares, rest])
    return [
        "## Values above the pivot",
        "",
        "Section 4.5: k, the number of values above the threshold of a group, is 2.5 on average and at most 10 to 20.",
        "Here, of the groups that do not die as a whole, at the highest order, by strength:",
        "",
        *table(["strength", "mean k", "largest", *map(str, range(1, 7)), "more"], rows),
    ]


SECTIONS = {"perplexity": perplexity, "norms": norms_page.section, "parameters": parameters, "timing": timing}
