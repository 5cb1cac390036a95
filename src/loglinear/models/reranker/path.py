"""The path of a reranker: its points from no change to the end of training, and the figures of each.

Point 0 is no change: base scores alone, with weights fitted to the loss. The points after it are steps (boosting,
BLasso), epochs (perceptron) or falling strengths of a penalty. Held-out errors choose the point; without them it is the
last. Among points with equal errors the first wins, so that every change lowers the errors.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from loglinear.arrays import FloatArray
from loglinear.models.notebook import Shown, curve_section
from loglinear.models.validation import old_name

if TYPE_CHECKING:
    from loglinear.display.page import Section
    from loglinear.optimise.training import Solution

_MAX_POINTS = 300  # of a path in a file: enough for a smooth plot


class HasWeights(Protocol):
    """A path that keeps the weights of all its points."""

    def weights(self, at: int | None = None) -> FloatArray:
        """Return the weights [n_base + n_features] of a point; None: the best."""
        ...


@dataclass(frozen=True, eq=False)
class RerankerPath(Shown):
    """The figures of the points of a path, and their weights unless it was read from a file."""

    point: NDArray[np.int64]  # [n], ascending from 0
    loss: FloatArray  # [n], of the training lists, without penalty
    l1: FloatArray  # [n], sum of |weight| of features
    n_nonzeros: NDArray[np.int64]  # [n], features with a weight
    chosen: int
    stopped: str = ""  # why the path ends
    validation_errors: FloatArray | None = None  # [n], errors in all held-out lists
    train_errors: FloatArray | None = None  # [n]
    strength: FloatArray | None = None  # [n], of the penalty; infinity at point 0
    alpha: FloatArray | None = None  # [n], of the l1 norm, as BLasso goes along; NaN where there is none
    backward: NDArray[np.bool_] | None = None  # [n], whether the step to this point was a backward one
    source: HasWeights | None = None
    solutions: tuple[Solution, ...] = ()  # of the points after the first, where a solver found them

    dev_errors = old_name("dev_errors", "validation_errors")

    def sections(self) -> list[Section]:
        """Return the errors along the path, or without any, the loss."""
        points = self.point.tolist()
        errors = {"held-out lists": self.validation_errors, "training lists": self.train_errors}
        curves = {name: values.tolist() for name, values in errors.items() if values is not None}
        if curves:
            return [curve_section("Errors along the path", "point", points, curves, y_label="errors")]
        return [curve_section("Loss along the path", "point", points, {"loss": self.loss.tolist()}, y_label="loss")]

    @property
    def n_points(self) -> int:
        """Return the number of points, including those that a file left out."""
        return int(self.point[-1]) + 1

    def weights(self, at: int | None = None) -> FloatArray:
        """Return the weights of a point, of base scores first: [n_base + n_features]; None: the chosen one."""
        if self.source is None:
            raise ValueError(
                f"a model file keeps the weights of the chosen point ({self.chosen}) only; fit the model again to take "
                "another"
            )
        return self.source.weights(self.check(self.chosen if at is None else at))

    def check(self, at: int) -> int:
        """Return the point; raise ValueError if it is not on the path."""
        if not 0 <= at < self.n_points:
            raise ValueError(f"point {at} is not on the path, whose points are 0 to {self.n_points - 1}")
        return int(at)

    def index(self, at: int) -> int:
        """Return the index of the figures of a point, or of the nearest point before it."""
        return int(np.searchsorted(self.point, self.check(at), side="right")) - 1

    def thinned(self) -> RerankerPath:
        """Return about 300 points at most, including the chosen one, without weights: for a file."""
        n = self.point.size
        kept = np.arange(n)
        if n > _MAX_POINTS:
            even = np.linspace(0, n - 1, _MAX_POINTS).round().astype(np.int64)
            kept = np.union1d(even, [self.index(self.chosen)])
        arrays = {
            name: array[kept]
            for name in ("point", "loss", "l1", "n_nonzeros", *OPTIONAL_FIGURES)
            if (array := getattr(self, name)) is not None
        }
        return replace(self, **arrays, source=None, solutions=())


OPTIONAL_FIGURES = ("validation_errors", "train_errors", "strength", "alpha", "backward")


@dataclass(frozen=True, eq=False)
class ListedWeights:
    """A path as the list of the weights of its points."""

    points: list[FloatArray]

    def weights(self, at: int | None = None) -> FloatArray:
        """Return the weights of a point; None: the last."""
        return self.points[-1 if at is None else at]


def best_point(errors: FloatArray | None, n_points: int) -> int:
    """Return the first point with the fewest errors; without held-out lists, the last point."""
    return n_points - 1 if errors is None else int(np.argmin(errors))
