"""Relations between the patterns of features, and the digraph that they form (Wu 2002, section 3.3 and 3.5.2).

A *pattern* is a set of history variables with the word to predict. It is *nested* in another whose variables it
contains: where it is active, so is the other (definitions 1 and 2; features must not be cut off so that this fails).
Two patterns that are not nested *overlap* if some history has words with both active, else they do not (definition 3):
that is counted in data, on a sample of histories.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from loglinear.sources.extraction import SourceFeatures
from loglinear.sources.problem import CompositeProblem

SAMPLE = 1000  # histories on which overlaps are counted
UNIGRAM = "unigram"


@dataclass(frozen=True)
class Pattern:
    """Features of one source and depth."""

    name: str
    variables: frozenset[str]
    table: int = -1
    depth: int = 0


@dataclass(frozen=True)
class Relation:
    """How two patterns relate; words per history with each active, and with both."""

    first: str
    second: str
    kind: str  # "nested" (the first in the second), "overlapping" or "non-overlapping"
    first_words: float = 0.0
    second_words: float = 0.0
    both_words: float = 0.0


def patterns_of(features: Sequence[SourceFeatures]) -> list[Pattern]:
    """Return the unigram pattern and those of all sources."""
    out = [Pattern(UNIGRAM, frozenset())]
    for i, one in enumerate(features):
        chain = one.source.variables
        for d in range(1, one.table.depth + 1):
            out.append(Pattern(" ".join(reversed(chain[:d])), frozenset(chain[:d]), i, d))
    return out


def is_nested(first: Pattern, second: Pattern) -> bool:
    """Return whether the first pattern is nested in the second."""
    return second.variables < first.variables


def relations_of(
    patterns: Sequence[Pattern], problem: CompositeProblem, *, sample: int = SAMPLE, seed: int = 0
) -> list[Relation]:
    """Return the relation of every two patterns but the unigrams, which all others are nested in."""
    rng = np.random.default_rng(seed)
    n = problem.n_histories
    share = problem.count / problem.count.sum()
    chosen = np.arange(n) if n <= sample else rng.choice(n, sample, replace=False, p=share)
    words = {}
    for p in patterns:
        if p.depth:
            table = problem.tables[p.table]
            contexts = table.ancestors(problem.leaves[p.table][chosen], p.depth)
            bounds = table.context_entry[contexts], table.context_entry[contexts + 1]
            words[p.name] = [table.entry_word[int(a) : int(b)] for a, b in zip(*bounds)]
    out = []
    above = [p for p in patterns if p.depth]
    for k, first in enumerate(above):
        for second in above[k + 1 :]:
            a, b = (second, first) if is_nested(second, first) else (first, second)
            both = [np.intersect1d(x, y, assume_unique=True).size for x, y in zip(words[a.name], words[b.name])]
            kind = "nested" if is_nested(a, b) else "overlapping" if any(both) else "non-overlapping"
            sizes = [float(np.mean([w.size for w in words[p.name]])) for p in (a, b)]
            out.append(Relation(a.name, b.name, kind, sizes[0], sizes[1], float(np.mean(both))))
    return out


def arcs(patterns: Sequence[Pattern]) -> list[tuple[str, str]]:
    """Return the arcs of the feature digraph: from each pattern to those it is nested in, without the implied ones."""
    out = []
    for first in patterns:
        nests = [second for second in patterns if is_nested(first, second)]
        for second in nests:
            if not any(is_nested(other, second) for other in nests):
                out.append((first.name, second.name))
    return out


def hierarchise(patterns: Sequence[Pattern]) -> list[tuple[frozenset[str], list[str]]]:
    """Return nested super-features, the highest first: (variables, patterns it is made of) (maximal first, 3.5.2)."""
    rest, out = list(patterns), []
    while rest:
        top = [p for p in rest if not any(is_nested(other, p) for other in rest)]
        rest = [p for p in rest if p not in top]
        variables = frozenset().union(*(p.variables for p in (*top, *rest)))  # nested: it contains all lower ones
        out.append((variables, [p.name for p in top]))
    return out


def digraph_text(patterns: Sequence[Pattern]) -> str:
    """Return the digraph as lines, and the super-features."""
    lines = [f"{a} -> {b}" for a, b in arcs(patterns)]
    lines.append("")
    for level, (_, names) in enumerate(reversed(hierarchise(patterns)), start=1):
        lines.append(f"super-feature {level}: {' | '.join(names)}")
    return "\n".join(lines)


def digraph_svg(patterns: Sequence[Pattern], relations: Sequence[Relation] = ()) -> str:
    """Return the digraph as an SVG drawing: nested patterns by arrows, overlapping ones by dashed lines."""
    rows: dict[int, list[Pattern]] = {}
    for p in patterns:
        rows.setdefault(len(p.variables), []).append(p)
    width = 40 + max(sum(9 * len(p.name) + 40 for p in row) for row in rows.values())
    place: dict[str, tuple[float, float]] = {}
    for level, row in rows.items():
        for k, p in enumerate(row):
            place[p.name] = (width * (k + 1) / (len(row) + 1), 40 + 90.0 * level)
    height = 80 + 90 * max(rows)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}" font-family="sans-serif" '
        'font-size="14" text-anchor="middle">',
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" '
        'orient="auto"><path d="M0 0 8 4 0 8z"/></marker></defs>',
    ]
    for relation in relations:
        if relation.kind == "overlapping":
            parts.append(_line(place[relation.first], place[relation.second], 'stroke="#999" stroke-dasharray="4 4"'))
    for a, b in arcs(patterns):
        parts.append(_line(place[a], place[b], 'stroke="black" marker-end="url(#arrow)"'))
    for name, (x, y) in place.items():
        w = 9 * len(name) + 16
        parts.append(f'<rect x="{x - w / 2:.1f}" y="{y - 14:.1f}" width="{w}" height="28" rx="6" fill="white" '
                     f'stroke="black"/><text x="{x:.1f}" y="{y + 5:.1f}">{escape(name)}</text>')  # fmt: skip
    return "\n".join([*parts, "</svg>"])


def _line(a: tuple[float, float], b: tuple[float, float], style: str) -> str:
    up = 14 if a[1] > b[1] else -14 if a[1] < b[1] else 0
    return f'<line x1="{a[0]:.1f}" y1="{a[1] - up:.1f}" x2="{b[0]:.1f}" y2="{b[1] + up:.1f}" {style}/>'
