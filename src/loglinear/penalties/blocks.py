"""Consecutive blocks of the weights with a penalty each:  sum_b penalty_b(w[start_b : start_b + n_b]).

Over disjoint weights the prox is that of each block, and the violation the largest of theirs. N-gram models use it for
a small ridge on unigrams and a norm of trees on all longer n-grams.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from loglinear.arrays import FloatArray
from loglinear.protocols import Dual, Metric, OwnMetric, Penalty, Split


def _checked(blocks: Sequence[tuple[int, Penalty]]) -> tuple[tuple[int, Penalty], ...]:
    pairs = tuple((int(n), penalty) for n, penalty in blocks)
    if not pairs:
        raise ValueError("no blocks: give a list of (number of weights, penalty)")
    for k, (n, penalty) in enumerate(pairs):
        if n < 0:
            raise ValueError(f"block {k} has {n} weights; a number of weights is not negative")
        if not isinstance(penalty, Penalty):
            raise TypeError(f"block {k} is {penalty!r}, which is no penalty: it lacks value, prox or violation")
    return pairs


class Blocks:
    """Powers: Dual, Split; Metric where all blocks have it, and then OwnMetric where one has it.

    A block without the power Split belongs to the rest as a whole. Blocks are computed one after the other, each with
    threads of its own.
    """

    def __new__(cls, blocks: Sequence[tuple[int, Penalty]] = (), **_: Any) -> Blocks:
        """Make the subclass that has the powers of the blocks."""
        parts = [penalty for _, penalty in blocks]
        if cls is not Blocks or not all(isinstance(penalty, Metric) for penalty in parts):
            return super().__new__(cls)
        own = any(isinstance(penalty, OwnMetric) for penalty in parts)
        return super().__new__(OwnMetricBlocks if own else MetricBlocks)

    def __init__(self, blocks: Sequence[tuple[int, Penalty]], *, n_threads: int | None = None) -> None:
        self.blocks = _checked(blocks)
        self.n_threads = n_threads
        ends = np.cumsum([n for n, _ in self.blocks]).tolist()
        self.parts = [slice(begin, end) for begin, end in zip([0, *ends], ends)]
        self.n_weights: int = ends[-1]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({list(self.blocks)!r})"

    def _over(self, *vectors: FloatArray) -> Iterator[tuple[Any, ...]]:
        """Yield (penalty, its part of each vector), block by block."""
        for vector in vectors:
            if vector.shape != (self.n_weights,):
                raise ValueError(f"the blocks have {self.n_weights} weights together, not {vector.size}")
        for (_, penalty), part in zip(self.blocks, self.parts):
            yield penalty, *(vector[part] for vector in vectors)

    # Penalty
    def value(self, w: FloatArray) -> float:
        """Return the sum of the blocks' values."""
        return sum(penalty.value(own) for penalty, own in self._over(w))

    def prox(self, z: FloatArray, step: float | FloatArray, out: FloatArray) -> None:
        """Write the prox of every block, with its part of the steps."""
        if np.ndim(step) == 0 or np.size(step) == 1:
            for penalty, inside, outside in self._over(z, out):
                penalty.prox(inside, float(np.reshape(step, ())), outside)
            return
        for penalty, inside, steps, outside in self._over(z, np.asarray(step), out):
            penalty.prox(inside, steps, outside)

    def violation(self, w: FloatArray, gradient: FloatArray) -> float:
        """Return the largest of the blocks' violations."""
        violations = [penalty.violation(own, g) for penalty, own, g in self._over(w, gradient)]
        return float(np.max(violations))  # NaN stays NaN

    def max_strength(self, gradient_at_zero: FloatArray) -> float:
        """Return the largest of the blocks' strengths: infinity where one of them is a ridge."""
        return max(penalty.max_strength(g) for penalty, g in self._over(gradient_at_zero))

    # Dual
    def dual(self, gradient: FloatArray, scale: float) -> tuple[float, float, float]:
        """Return the parts of the blocks' conjugates put together; the ratio is infinity if a block has none."""
        parts = [
            penalty.dual(g, scale) if isinstance(penalty, Dual) else (0.0, math.inf, 0.0)
            for penalty, g in self._over(gradient)
        ]
        ridge, ratio, free = zip(*parts)
        return sum(ridge), max(ratio), sum(free)

    # Split
    @cached_property
    def rest(self) -> Blocks:
        """Return the blocks without the smooth parts that ``add_smooth_gradient`` adds."""
        parts = [(n, penalty.rest if isinstance(penalty, Split) else penalty) for n, penalty in self.blocks]
        return Blocks(parts, n_threads=self.n_threads)

    def add_smooth_gradient(self, w: FloatArray, gradient: FloatArray) -> float:
        """Add the gradient of the smooth parts of the blocks that split; return their value."""
        split = [one for one in self._over(w, gradient) if isinstance(one[0], Split)]
        return sum(penalty.add_smooth_gradient(own, g) for penalty, own, g in split)


class MetricBlocks(Blocks):
    """Blocks whose prox takes one step per weight."""

    def add_curvature_diagonal(self, w: FloatArray, out: FloatArray) -> None:
        """Add every block's second derivatives."""
        for penalty, own, part in self._over(w, out):
            penalty.add_curvature_diagonal(own, part)


class OwnMetricBlocks(MetricBlocks):
    """Blocks of which at least one has a metric of its own."""

    def own_metric(self, out: FloatArray) -> None:
        """Let the blocks with a metric of their own overwrite their part of ``out``; the rest stays as it is."""
        for penalty, part in self._over(out):
            if isinstance(penalty, OwnMetric):
                penalty.own_metric(part)
