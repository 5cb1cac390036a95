"""A problem whose examples are elsewhere, made ready for the solvers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from loglinear import penalties
from loglinear.arrays import FloatArray
from loglinear.losses.partitioned import PartitionedLoss
from loglinear.optimise.checkpoint import Checkpoint
from loglinear.optimise.minimise import Callback
from loglinear.optimise.objective import Objective
from loglinear.optimise.training import Settings, Solution, train


@dataclass
class SpreadProblem:
    """It can be solved at one strength after another.

    data : what a checkpoint knows the examples by, however they are cut into parts
    n_free : number of weights without penalty, the last ones
    features : of a tagger
    """

    loss: PartitionedLoss
    settings: Settings
    data: Known
    n_free: int = 0
    features: Any = None

    @property
    def intercept(self) -> bool:
        """Whether there are weights without penalty."""
        return self.n_free > 0

    def objective(self, strength: float) -> Objective:
        """Return loss + penalty."""
        s = self.settings
        penalty = penalties.make(
            s.penalty, strength, nonnegative=s.nonnegative, l1_ratio=s.l1_ratio, n_free=self.n_free,
            n_threads=s.n_threads,
        )  # fmt: skip
        return Objective(self.loss, penalty, s.n_threads)

    def solve(
        self, strength: float | None = None, *, start: Solution | FloatArray | None = None,
        callback: Callback | None = None, checkpoint: Checkpoint | None = None,
        score: Callable[[FloatArray], float] | None = None,
    ) -> Solution:  # fmt: skip
        """Train, from an earlier solution, from weights, or from zero; a strength of None is that of the settings.

        ``score`` is as in ``train``.
        """
        s = self.settings
        w0 = start.weights if isinstance(start, Solution) else start
        strength = s.strength if strength is None else strength
        return train(self.objective(strength), s, w0, callback=callback, checkpoint=checkpoint, score=score)


@dataclass(frozen=True)
class Known:
    """A fingerprint that does not depend on the parts."""

    text: str

    def fingerprint(self) -> str:
        """Return it."""
        return self.text
