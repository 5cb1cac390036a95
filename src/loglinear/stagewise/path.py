"""The path of a stagewise method: every step, and loss, norm and held-out errors after each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loglinear.arrays import FloatArray
from loglinear.errors import IncompatibleError
from loglinear.status import Status


class HeldOutPath(ABC):
    """Points 0 .. n_steps, each with weights, of which held-out lists choose one; point 0 has the base scores alone."""

    base: FloatArray  # [n_base] fixed weights of base scores
    dev_errors: FloatArray | None  # [n_steps + 1] errors of the candidates chosen from held-out lists

    @property
    @abstractmethod
    def n_steps(self) -> int:
        """Return the number of steps."""

    @property
    def best(self) -> int:
        """Return the first point with the fewest held-out errors, or the last point without held-out lists."""
        return self.n_steps if self.dev_errors is None else int(np.argmin(self.dev_errors))

    def features_at(self, at: int | None = None) -> FloatArray:
        """Return the weights of features at a point: [n_features]; None: at the best one."""
        at = self.best if at is None else int(at)
        if not 0 <= at <= self.n_steps:
            raise IndexError(f"the path has points 0 to {self.n_steps}, not {at}")
        return self._features(at)

    @abstractmethod
    def _features(self, at: int) -> FloatArray:
        """Return the weights of features at a point of the path."""

    def weights(self, at: int | None = None) -> FloatArray:
        """Return all weights at a point, base scores first: [n_base + n_features]; None: at the best one."""
        return np.concatenate([self.base, self.features_at(at)])


@dataclass(frozen=True, eq=False)
class StagewisePath(HeldOutPath):
    """Points 0 .. n_steps; point 0 has the base scores alone. Step t leads from point t to t + 1."""

    settings: dict[str, Any]  # they determine the steps; a path can be continued only under the same ones
    lists: str  # fingerprint of the training lists
    base: FloatArray
    n_features: int
    feature: NDArray[np.int32]  # [n_steps] the feature whose weight changed
    change: FloatArray  # [n_steps] the change of that weight
    backward: NDArray[np.bool_]  # [n_steps] whether the step went back towards zero
    loss: FloatArray  # [n_steps + 1]
    l1: FloatArray  # [n_steps + 1] sum of |w| over features
    n_nonzeros: NDArray[np.int64]  # [n_steps + 1]
    alpha: FloatArray  # [n_steps + 1] of the lasso loss; NaN at point 0 and where the method has none
    dev_errors: FloatArray | None
    stopped: Status  # why it ended
    fresh_at: int = 0  # the point at which sums were last recomputed: a continued path replays the steps since then

    @property
    def n_steps(self) -> int:
        """Return the number of steps."""
        return self.feature.size

    def _features(self, at: int) -> FloatArray:
        weights = np.zeros(self.n_features)
        np.add.at(weights, self.feature[:at], self.change[:at])  # one after the other, as the steps were taken
        return weights

    def point(self, *, l1: float | None = None, loss: float | None = None) -> int:
        """Return the first point whose L1 norm is at least ``l1``, or whose loss is at most ``loss``; else the last."""
        if (l1 is None) == (loss is None):
            raise ValueError("give an L1 norm or a loss")
        reached = self.l1 >= np.asarray(l1) if l1 is not None else self.loss <= np.asarray(loss)
        return int(np.argmax(reached)) if reached.any() else self.n_steps

    def check_continues(self, settings: dict[str, Any], lists: str) -> None:
        """Raise IncompatibleError unless the path can be continued under these settings on these lists."""
        changed = [name for name, value in settings.items() if self.settings.get(name) != value]
        if changed:
            raise IncompatibleError(
                "a path can be continued only under the settings it began with: "
                + ", ".join(f"{name} was {self.settings.get(name)!r}, not {settings[name]!r}" for name in changed)
            )
        if self.lists != lists:
            raise IncompatibleError("the path was begun on other lists; train on those, or begin a new path")
