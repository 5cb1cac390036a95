"""The claims of Nelakanti et al. (2013) about their figures, checked on ours, and the targets of the experiment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from experiments.structured_penalties.task import KINDS

Json = dict[str, Any]


def mean(runs: list[Json], name: str) -> float:
    return sum(run[name] for run in runs) / len(runs)


class Curves:
    """The perplexities of one corpus, by kind and order: means over its subsets."""

    def __init__(self, part: Json, corpus: str) -> None:
        found = part["corpora"][corpus]
        self.orders, self.values = part["orders"], found["values"]
        self.at = {
            kind: {n: mean(rows[str(n)], "perplexity") for n in self.orders} for kind, rows in found["rows"].items()
        }

    def best(self, kind: str) -> float:
        return min(self.at[kind].values())

    def best_order(self, kind: str) -> int:
        return min(self.at[kind], key=self.at[kind].__getitem__)

    def rise(self, kind: str) -> float:
        """Return the rise in percent from the best order to the highest."""
        return 100 * (self.at[kind][self.orders[-1]] / self.best(kind) - 1)

    def gain(self, kind: str) -> float:
        """Return the gain in percent of weights by depth at the highest order."""
        return 100 * (1 - self.at[f"w-{kind}"][self.orders[-1]] / self.at[kind][self.orders[-1]])


def yes(holds: bool, why: str) -> str:
    return ("yes: " if holds else "no: ") + why


def _falls_then_rises(c: Curves) -> str:
    holds = all(c.rise(kind) > 0.5 for kind in ("l1", "l2"))
    return yes(
        holds, ", ".join(f"{KINDS[k].title} best at {c.best_order(k)}, then {c.rise(k):+.1f}%" for k in ("l1", "l2"))
    )


def _no_rise(kind: str) -> Callable[[Curves], str]:
    return lambda c: yes(c.rise(kind) <= 1.0, f"{c.rise(kind):+.1f}% from order {c.best_order(kind)}")


def _rise(kind: str) -> Callable[[Curves], str]:
    return lambda c: yes(c.rise(kind) > 0.5, f"{c.rise(kind):+.1f}% from order {c.best_order(kind)}")


def _near_kneser_ney(c: Curves) -> str:
    change = 100 * (c.best("tree-l2") / c.best("kn") - 1)
    return yes(abs(change) <= 3.0, f"{change:+.1f}% at the best orders")


def _linf_best_at_5(c: Curves) -> str:
    order = 5 if 5 in c.orders else c.orders[-1]
    kinds = ("kn", "kn-modified", "l2", "l1", "tree-l2", "tree-linf")
    winner = min(kinds, key=lambda kind: c.at[kind][order])
    return yes(
        winner == "tree-linf", f"{KINDS[winner].title} {c.at[winner][order]:.1f}, ℓ∞ᵀ {c.at['tree-linf'][order]:.1f}"
    )


def _weighted_l2(c: Curves) -> str:
    change = 100 * (c.best("w-l2") / min(c.best("tree-l2"), c.best("tree-linf")) - 1)
    return yes(abs(change) <= 2.0, f"{change:+.1f}% of the better of them")


def _weighted_l1(c: Curves) -> str:
    others = [c.best(kind) for kind in ("w-l2", "w-tree-l2", "w-tree-linf")]
    return yes(
        c.best("w-l1") > max(others), f"wℓ1 {c.best('w-l1'):.1f}, the others {min(others):.1f} to {max(others):.1f}"
    )


def _gains_most(c: Curves) -> str:
    gains = {kind: c.gain(kind) for kind in ("l2", "l1", "tree-l2", "tree-linf")}
    said = ", ".join(f"{KINDS[kind].title} {gain:.1f}%" for kind, gain in gains.items())
    return yes(max(gains, key=gains.__getitem__) == "tree-l2", said)


def _best_weighted(c: Curves) -> str:
    kinds = ("w-l2", "w-l1", "w-tree-l2", "w-tree-linf")
    winner = min(kinds, key=c.best)
    return yes(winner == "w-tree-l2", f"{KINDS[winner].title} {c.best(winner):.1f}, wℓ2ᵀ {c.best('w-tree-l2'):.1f}")


def _long_contexts(c: Curves) -> str:
    best = c.best_order("w-tree-l2")
    return yes(best >= 8, f"up to order {best}")


def _growths(c: Curves) -> str:
    growths = {kind: c.values[kind][1] for kind in ("w-l2", "w-l1", "w-tree-l2", "w-tree-linf")}
    holds = growths["w-tree-l2"] < 1 and all(g > 1 for kind, g in growths.items() if kind != "w-tree-l2")
    return yes(holds, ", ".join(f"{KINDS[kind].title} {g:.2f}" for kind, g in growths.items()))


CLAIMS: list[tuple[str, Callable[[Curves], str]]] = [
    ("ℓ1 and ℓ2² improve up to a low order and then degrade", _falls_then_rises),
    ("ℓ2ᵀ does not degrade (within 1%)", _no_rise("tree-l2")),
    ("ℓ2ᵀ is like interpolated Kneser-Ney (within 3%)", _near_kneser_ney),
    ("ℓ∞ᵀ is the best of all at order 5", _linf_best_at_5),
    ("ℓ∞ᵀ degrades at higher orders", _rise("tree-linf")),
    ("longer n-grams want a stronger penalty, but for ℓ2ᵀ, where they want a weaker one", _growths),
    ("wℓ1 stays behind the other weighted ones", _weighted_l1),
    ("wℓ2² is comparable to the unweighted trees (within 2%)", _weighted_l2),
    ("wℓ∞ᵀ no longer degrades (within 1%)", _no_rise("w-tree-linf")),
    ("ℓ2ᵀ gains more from weights than others", _gains_most),
    ("wℓ2ᵀ is the best of the weighted", _best_weighted),
    ("wℓ2ᵀ improves up to about 9-grams", _long_contexts),
]


def claims(part: Json) -> list[tuple[str, dict[str, str]]]:
    """Return rows: what the paper claims, and whether it holds on each corpus."""
    curves = {corpus: Curves(part, corpus) for corpus in part["corpora"]}
    return [(text, {corpus: check(c) for corpus, c in curves.items()}) for text, check in CLAIMS]


def targets(part: Json) -> list[list[str]]:
    """Return rows: what, a cell for each corpus, met or not."""
    curves = [Curves(part, corpus) for corpus in part["corpora"]]
    needed = min(2, len(curves))
    rows = []
    for rival in ("kn", "kn-modified"):
        won = [c.best("w-tree-l2") <= c.best(rival) for c in curves]
        cells = [f"{c.best('w-tree-l2'):.2f} to {c.best(rival):.2f}" for c in curves]
        title = f"wℓ2ᵀ at its best order at most {KINDS[rival].title} at its best, on {needed} of {len(curves)} corpora"
        rows.append([title, *cells, "yes" if sum(won) >= needed else "no"])
    rises = [c.rise("w-tree-l2") for c in curves]
    cells = [f"{rise:+.2f}%" for rise in rises]
    rows.append([f"wℓ2ᵀ from its best order to {curves[0].orders[-1]}: at most +1%", *cells])
    rows[-1].append("yes" if max(rises) <= 1.0 else "no")
    return rows
