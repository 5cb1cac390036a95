"""The penalties of maximum-entropy n-gram models, as the parameters of LanguageModel describe them.

    NgramPenalty   sum over n-grams of  strength_n (l1_ratio |theta| + (1 - l1_ratio) theta^2 / 2)
    TreePenalty    strength * sum over n-grams g of weight_g * norm(weights of g and of all n-grams that extend it)
                   + l2 / 2 sum of theta^2

with weight_g = depth_growth ** d, d = order of g - 2. Unigrams are in no group: they have a small ridge, and signs.

Nelakanti et al. (2013) multiply *features* by alpha ** d instead, so penalties are those of theta / alpha ** d
(feature_decay = alpha). For l1 that is depth_growth = 1 / alpha, for l2 it is 1 / alpha^2; for a norm of n-grams of
several orders it is no depth_growth at all.

Of tree-l2, the norm is  sqrt(sum of (c_i / c_g) theta_i^2), c the counts  (group_norm "counts"), or that of the paper,
sqrt(sum of theta_i^2)  ("plain").
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from loglinear.arrays import FloatArray
from loglinear.data.ngram_classes import NgramClasses
from loglinear.penalties import ByClass

PENALTIES = ("elastic_net", "l1", "l2", "none")
TREES = ("tree-l2", "tree-linf")
GROUP_NORMS = ("counts", "plain")
MAX_LOG_GROWTH = 200 * math.log(10)  # of depth_growth ** depth: the squares of such strengths are still finite


def check_growth(penalty: NgramPenalty | TreePenalty, order: int = 2) -> None:
    """Raise ValueError if depth growth or feature decay (its square) leave the range of numbers at an order."""
    for name, power in (("depth_growth", 1), ("feature_decay", 2)):
        growth, depth = getattr(penalty, name), order - 2
        if not (math.isfinite(growth) and growth > 0):
            raise ValueError(f"{name} must be a positive, finite number, not {growth!r}")
        if abs(math.log(growth)) * depth * power > MAX_LOG_GROWTH:
            raise ValueError(
                f"{name} {growth:g} becomes {'too large' if growth > 1 else 'too small'} at n-grams of {order} words: "
                f"{growth:g}^{depth}; choose one nearer to 1, or a lower order"
            )


@dataclass(frozen=True)
class NgramPenalty:
    """A penalty of each n-gram by itself, with strengths by order from the second; the last holds for the rest."""

    penalty: str = "elastic_net"
    strength: Sequence[float] = (1.0,)
    l1_ratio: Sequence[float] = (0.8,)
    unigram_strength: float = 0.01  # a ridge: unigrams are signed, and those of unseen words need a bound
    nonnegative: bool = True
    depth_growth: float = 1.0  # multiplies the strength once more with every order above the second
    feature_decay: float = 1.0  # alpha: the penalty is that of theta / alpha ** (order - 2)

    def __post_init__(self) -> None:
        if self.penalty not in PENALTIES:
            raise ValueError(f"unknown penalty {self.penalty!r}; known: {', '.join(PENALTIES)}")
        for name in ("strength", "l1_ratio"):
            values = np.asarray(getattr(self, name), dtype=np.float64)
            if values.ndim != 1 or values.size == 0 or not np.all(np.isfinite(values) & (values >= 0)):
                raise ValueError(f"{name} must be one nonnegative number, or one per order from the second")
        if max(self.l1_ratio) > 1:
            raise ValueError(f"l1_ratio must lie between 0 and 1, not {self.l1_ratio!r}")
        check_growth(self)

    def of_order(self, n: int) -> tuple[float, float]:
        """Return the strengths (l1, l2) of the n-grams of an order."""
        if n == 1:
            return 0.0, self.unigram_strength
        strength = self.strength[min(n - 2, len(self.strength) - 1)]
        ratio = {"l1": 1.0, "l2": 0.0}.get(self.penalty, self.l1_ratio[min(n - 2, len(self.l1_ratio) - 1)])
        strength *= 0.0 if self.penalty == "none" else self.depth_growth ** (n - 2)
        unit = self.feature_decay ** (n - 2)
        return strength * ratio / unit, strength * (1 - ratio) / unit**2

    def on(self, classes: NgramClasses, n_threads: int | None = None) -> ByClass:
        """Return the penalty of the weights of a trie, whose n-grams are divided into classes."""
        check_growth(self, max(classes.orders))
        strengths = np.array([self.of_order(n) for n in classes.orders])
        signs = np.array([self.nonnegative and n > 1 for n in classes.orders])
        return ByClass(classes.numbers, strengths[:, 0], strengths[:, 1], signs, n_threads=n_threads)


@dataclass(frozen=True)
class TreePenalty:
    """A norm of every n-gram together with all longer ones that end in it."""

    penalty: str
    strength: float
    depth_growth: float
    l2: float = 0.0  # a ridge beside it, of all n-grams above unigrams
    unigram_strength: float = 0.01
    nonnegative: bool = True
    group_norm: str = "counts"  # of tree-l2: sqrt(sum (c_i / c_g) theta_i^2); "plain": sqrt(sum theta_i^2)
    feature_decay: float = 1.0  # alpha: norm and ridge are those of theta / alpha ** (order - 2)

    def __post_init__(self) -> None:
        if self.penalty not in TREES:
            raise ValueError(f"unknown tree penalty {self.penalty!r}; known: {', '.join(TREES)}")
        if self.group_norm not in GROUP_NORMS:
            raise ValueError(f"group_norm must be one of {', '.join(GROUP_NORMS)}, not {self.group_norm!r}")
        for name in ("strength", "l2", "unigram_strength"):
            value = getattr(self, name)
            if not (isinstance(value, (int, float)) and math.isfinite(value) and value >= 0):
                raise ValueError(
                    f"{name} of {self.penalty} must be one nonnegative number, not {value!r}; depth_growth says "
                    "how it changes with the order"
                )
        check_growth(self)

    @property
    def values(self) -> tuple[float, float, float]:
        """What is tuned: (strength, depth growth, l2)."""
        return float(self.strength), float(self.depth_growth), float(self.l2)

    def with_values(self, values: FloatArray) -> TreePenalty:
        """Return the same penalty with another strength, depth growth and l2."""
        strength, growth, l2 = (float(v) for v in values)
        return replace(self, strength=strength, depth_growth=growth, l2=l2)

    def by_order(self, order: int) -> list[dict[str, float | str]]:
        """Return a row per order: the strength of the groups whose shortest n-gram has that order, and the ridge."""
        rows: list[dict[str, float | str]] = [
            {"ngrams": "1-grams", "order": 1, "group": 0.0, "l2": self.unigram_strength}
        ]
        for n in range(2, order + 1):
            group = self.strength * self.depth_growth ** (n - 2)
            rows.append({"ngrams": f"{n}-grams", "order": n, "group": group, "l2": self.l2})
        return rows


# Tuned on held-out newswire; on balanced English they come within a percent of the elastic net. Those of tree-l2 serve
# plain norms too, whose own optimum (0.42, 1.04, 0.13) is 0.1% better.
DEFAULTS = {
    "tree-l2": TreePenalty("tree-l2", strength=0.44, depth_growth=1.09, l2=0.12),
    "tree-linf": TreePenalty("tree-linf", strength=0.4, depth_growth=1.24, l2=0.13),
}
WITHOUT_RIDGE = {  # tuned likewise, for l2 = 0
    "tree-l2": TreePenalty("tree-l2", strength=0.79, depth_growth=0.84),
    "tree-linf": TreePenalty("tree-linf", strength=0.72, depth_growth=1.05),
}
