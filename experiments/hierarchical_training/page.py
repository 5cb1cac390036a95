"""Write the page from the results; nothing is measured here."""

from __future__ import annotations

from pathlib import Path

from experiments.record import Json, origin_line, remark, remarks_of, table

PAPER_36 = [  # task, model size, terms: naive, unigram caching, hierarchical; nominal speed-up
    ["SWBD (paper)", "500K", "6·10⁹", "1.6·10⁸", "9·10⁵", "170"],
    ["BN (paper)", "9.1M", "3.6·10¹¹", "2.4·10¹⁰", "4.3·10⁷", "560"],
]
PAPER_37 = [
    ["SWBD (paper)", "1.6M", "", "3.2·10⁹", "2.1·10⁶", "1,600"],
    ["BN (paper)", "13M", "", "3.4·10¹²", "9.4·10⁷", "36,000"],
]
PAPER_38 = [["SWBD (paper)", "", "2 h", "", "0.06 h", "30", ""], ["BN (paper)", "", "60 h", "", "0.7 h", "85", ""]]


def write(output: Path, results: Json) -> Path:
    """Write hierarchical_training.md."""
    output.mkdir(parents=True, exist_ok=True)
    page = output / "hierarchical_training.md"
    remarks = remarks_of(page)
    lines = [
        "# Hierarchical training of n-gram models",
        "",
        'After Wu, "Maximum entropy language modeling with non-local dependencies" (dissertation, Johns Hopkins',
        "University, 2002), chapter 3, sections 3.2 and 3.9.1 to 3.9.2, and Wu and Khudanpur (2000). Every n-gram of",
        "the training text has a feature; none are cut off. A history is a distinct context of order - 1 words, or",
        "fewer after the beginning of a sentence. Terms are those summed for the normalisers of all histories, once.",
        "Models of several information sources are the [second part](hierarchical_training_sources.md).",
        "",
        "    LOGLINEAR_DATA=... python -m experiments.hierarchical_training",
        "",
        *remark("summary", remarks),
        "",
        *section_terms("Table 3.6: terms of trigram models", "3", results["terms"], PAPER_36),
        "",
        *section_terms("Table 3.7: terms of four-gram models", "4", results["terms"], PAPER_37),
        "",
        "The nominal speed-up is unigram caching's terms over those of hierarchical training. The paper's models leave",
        "out rare n-grams: its hierarchical terms are n-grams seen, its model sizes those kept.",
        "",
        *remark("terms", remarks),
        "",
        *section_times(results["times"]),
        "",
        *remark("times", remarks),
        "",
    ]
    for title, found in results["race"].items():
        lines += [*section_race(title, found), "", *remark(f"race-{title.lower()}", remarks), ""]
    lines.append(origin_line(results))
    page.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return page


def section_terms(title: str, order: str, found: Json, paper: list[list[str]]) -> list[str]:
    rows = []
    for corpus, by_order in found.items():
        f = by_order[order]
        sizes = " + ".join(f"{n:,}" for n in f["entries"])
        numbers = [f"{f[key]:.2g}" for key in ("naive", "unigram_caching", "hierarchical")]
        rows.append([corpus, f"{sum(f['entries']):,}", *numbers, f"{f['nominal']:,.0f}", sizes, f"{f['histories']:,}"])
    rows += [[*row, "", ""] for row in paper]
    head = ["task", "model size", "naive", "unigram caching", "hierarchical", "nominal speed-up", "n-grams by order"]
    return [f"## {title}", "", *table([*head, "histories"], rows)]


def clock(seconds: float) -> str:
    return f"{seconds:,.0f} s" if seconds >= 100 else f"{seconds:.3g} s"


def section_times(found: Json) -> list[str]:
    rows = []
    for corpus, f in found.items():
        hierarchical = f["hierarchical"]["seconds"]
        caching, shared = f["unigram caching"]["seconds"], f["shared products"]["seconds"]
        rows.append(
            [
                corpus,
                clock(f["naive"]["seconds"]),
                clock(caching),
                clock(shared),
                clock(hierarchical),
                f"{caching / hierarchical:.0f}",
                f"{shared / hierarchical:.0f}",
            ]
        )
    sampled = next(iter(found.values()))["naive"]["sampled"]
    return [
        "## Table 3.8: real time of an iteration, trigrams",
        "",
        "One evaluation of the loss and its gradient: all normalisers and all expectations. Unigram caching is done",
        "term by term as equation 3.8 reads: for each history, each word that follows its last word in training, and",
        "the product of the parameters of that word. The column *shared products* is the strongest version of it that",
        "we could make: products are kept for all histories that end in the same word, which is half of the idea of",
        "hierarchical training, and the sums are left, done with vector instructions. Naive summation is timed on",
        f"{sampled:,} histories drawn at random and multiplied up; it takes an exponential per term.",
        "",
        *table(
            [
                "task",
                "naive, extrapolated",
                "unigram caching",
                "shared products",
                "hierarchical",
                "real speed-up",
                "over shared products",
            ],
            rows + PAPER_38,
        ),
    ]


def section_race(title: str, found: Json) -> list[str]:
    gaps = list(next(iter(found["rows"].values()))["reached"])
    rows = []
    for name, row in found["rows"].items():
        cells = [
            f"{hit[2]:.1f} s ({hit[0]:,} / {hit[1]:,})" if (hit := row["reached"][gap]) else "not reached"
            for gap in gaps
        ]
        rows.append([name, *cells, f"{row['final gap']:.1e}", clock(row["seconds per iteration"])])
    return [
        f"## Solvers to equal objective: {title}, trigrams",
        "",
        f"{found['n_weights']:,} weights from zero, a ridge of strength {found['strength']:g} for all solvers, the",
        f"sweeps of hierarchical training for all expectations; {found['seconds']:.0f} s for each. Time (iterations /",
        "evaluations) until the objective is within a relative gap of the best that any run found,",
        f"{found['best']:,.0f}.",
        "",
        *table(["solver", *gaps, "gap at the end", "per iteration"], rows),
    ]
