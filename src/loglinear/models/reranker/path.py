"""The path of a reranker: every point on the way from no change to the end, and what is known of it.

Point 0 is no change: base scores alone, with weights fitted to the loss. The points after it are steps (boosting,
BLasso), epochs (perceptron) or falling strengths of a penalty. Held-out errors choose the point; without them it is the
last. Of equal ones the first wins, so that a change must earn its place.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from loglinear.arrays import FloatArray
from loglinear.optimise.training import Solution

_MOST_POINTS = 300  # of a path in a file


class HasWeights(Protocol):
    """A path that can say the weights of any of its points."""

    def weights(self, at: int | None = None) -> FloatArray:
        """[n_base + n_features] at a point; None: the best."""
        ...


@dataclass(frozen=True, eq=False)
class RerankerPath:
    """Figures of the points of a path; weights too, unless it comes from a file."""

    point: NDArray[np.int64]  # [n], ascending from 0
    loss: FloatArray  # [n], of the training lists, without penalty
    l1: FloatArray  # [n], sum of |weight| of features
    n_nonzeros: NDArray[np.int64]  # [n], features with a weight
    chosen: int
    stopped: str = ""  # why the path ends
    dev_errors: FloatArray | None = None  # [n], errors in all held-out lists
    train_errors: FloatArray | None = None  # [n]
    strength: FloatArray | None = None  # [n], of the penalty; infinity at point 0
    alpha: FloatArray | None = None  # [n], of the l1 norm, as BLasso goes along; NaN where there is none
    backward: NDArray[np.bool_] | None = None  # [n], whether the step to this point was a backward one
    source: HasWeights | None = None
    solutions: tuple[Solution, ...] = ()  # of the points after the first, where a solver found them

    @property
    def n_points(self) -> int:
        """The last point and all before it, those that a file left out included."""
        return int(self.point[-1]) + 1

    def weights(self, at: int | None = None) -> FloatArray:
        """Weights of a point, of base scores first: [n_base + n_features]; None: the chosen one."""
        if self.source is None:
            raise ValueError(
                "the path of a loaded model has figures alone: its weights are those of the chosen point "
                f"({self.chosen}). Fit the model again to take another"
            )
        return self.source.weights(self.check(self.chosen if at is None else at))

    def check(self, at: int) -> int:
        """Refuse a point that is not on the path."""
        if not 0 <= at < self.n_points:
            raise ValueError(f"point {at} is not on the path, whose points are 0 to {self.n_points - 1}")
        return int(at)

    def index(self, at: int) -> int:
        """Where the figures of a point are, or those of the nearest before it."""
        return int(np.searchsorted(self.point, self.check(at), side="right")) - 1

    def thinned(self) -> RerankerPath:
        """At most three hundred points or so, the chosen one among them, and no weights: for a file."""
        n = self.point.size
        kept = np.arange(n)
        if n > _MOST_POINTS:
            even = np.linspace(0, n - 1, _MOST_POINTS).round().astype(np.int64)
            kept = np.union1d(even, [self.index(self.chosen)])
        arrays = {
            name: array[kept]
            for name in ("point", "loss", "l1", "n_nonzeros", *OPTIONAL_FIGURES)
            if (array := getattr(self, name)) is not None
        }
        return replace(self, **arrays, source=None, solutions=())


OPTIONAL_FIGURES = ("dev_errors", "train_errors", "strength", "alpha", "backward")


@dataclass(frozen=True, eq=False)
class ListedWeights:
    """The weights of every point, one after another."""

    points: list[FloatArray]

    def weights(self, at: int | None = None) -> FloatArray:
        """Of a point; None: the last."""
        return self.points[-1 if at is None else at]


def best_point(dev_errors: FloatArray | None, n_points: int) -> int:
    """The first of those with the fewest errors; without held-out lists, the last."""
    return n_points - 1 if dev_errors is None else int(np.argmin(dev_errors))
