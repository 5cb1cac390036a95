"""The averaged perceptron on n-best lists (Collins 2002; Roark, Saraclar and Collins 2004): a baseline.

Where the model prefers a candidate with more errors than the reference, the difference of their features is added to
the weights. A pass yields the average of the weights over all lists met so far. The base scores keep the weights that
minimise the exponential loss (base_scores.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from loglinear import _core
from loglinear.arrays import FloatArray
from loglinear.data.candidates import CandidateLists
from loglinear.interrupts import CtrlC
from loglinear.stagewise.base_scores import fit_base_weights
from loglinear.stagewise.method import list_arrays
from loglinear.stagewise.path import HeldOutPath
from loglinear.status import Status


@dataclass(frozen=True, eq=False)
class PerceptronPath(HeldOutPath):
    """Points 0 .. n_passes; point 0 has the base scores alone."""

    base: FloatArray
    weights_by_epoch: list[FloatArray]  # of features, averaged, at every point
    n_updates: list[int]  # of every pass
    train_errors: FloatArray  # [n_passes + 1] of the averaged weights
    dev_errors: FloatArray | None
    stopped: Status

    @property
    def n_steps(self) -> int:
        """Return the number of passes."""
        return len(self.weights_by_epoch) - 1

    def _features(self, at: int) -> FloatArray:
        return self.weights_by_epoch[at]


@dataclass(frozen=True)
class AveragedPerceptron:
    """Settings of the averaged perceptron.

    max_iterations : maximum number of passes over the lists
    patience : number of passes without fewer held-out errors after which it ends; None: never
    random_state : seed of the order of lists
    """

    max_iterations: int = 20
    patience: int | None = None
    random_state: int | None = 0
    n_threads: int | None = None

    def __post_init__(self) -> None:
        if self.max_iterations < 0:
            raise ValueError(f"max_iterations must not be negative, not {self.max_iterations!r}")
        if self.patience is not None and self.patience < 1:
            raise ValueError(f"patience must be at least 1, not {self.patience!r}")

    def follow(
        self,
        data: CandidateLists,
        dev: CandidateLists | None = None,
        *,
        base: FloatArray | None = None,
        report: Callable[[int, float], object] | None = None,
    ) -> PerceptronPath:
        """Pass over the lists until no list needs an update, held-out errors fall no more, or passes are used up."""
        if dev is not None:
            data.check_same_space(dev, "the held-out lists")
        base = fit_base_weights(data, n_threads=self.n_threads) if base is None else np.asarray(base, dtype=float)
        state = _core.ListPerceptron(list_arrays(data, base))
        rng = np.random.default_rng(self.random_state)
        weights, updates = [np.zeros(data.n_features)], []
        train, held_out = [_errors(data, base, weights[0])], [_errors(dev, base, weights[0])]
        stopped = Status.MAX_STEPS
        with CtrlC() as ctrl_c:
            for epoch in range(1, self.max_iterations + 1):
                updates.append(state.pass_over(rng.permutation(data.n_lists)))
                weights.append(np.empty(data.n_features))
                state.average(weights[-1])
                train.append(_errors(data, base, weights[-1]))
                held_out.append(_errors(dev, base, weights[-1]))
                if report is not None:
                    report(epoch, held_out[-1])
                if not updates[-1]:
                    stopped = Status.NO_UPDATE
                elif dev is not None and self.patience and epoch - int(np.argmin(held_out)) >= self.patience:
                    stopped = Status.PATIENCE
                elif ctrl_c.pressed:
                    stopped = Status.INTERRUPTED
                else:
                    continue
                break
        dev_errors = None if dev is None else np.asarray(held_out)
        return PerceptronPath(base, weights, updates, np.asarray(train), dev_errors, stopped)


def _errors(lists: CandidateLists | None, base: FloatArray, weights: FloatArray) -> float:
    return 0.0 if lists is None else float(lists.chosen_errors(np.concatenate([base, weights])).sum())
