"""Online training of first-order taggers: averaged perceptron, passive-aggressive, AROW, stochastic gradient descent.

They see one sequence after another, in an order drawn from ``random_state``, and the same settings give the same bits.
The equations are in native/chain/online.hh. The first three minimise no objective: they end when the losses of a pass
are at most ``epsilon`` per sequence, or after ``max_iterations`` passes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from loglinear import _core
from loglinear.arrays import FloatArray
from loglinear.data.chain_features import ChainFeatures
from loglinear.data.sequence import SequenceData


class Pass(NamedTuple):
    """Where a pass over the sequences ended."""

    weights: FloatArray  # to predict with
    loss: float
    more: dict[str, Any]  # figures of the method
    ends: bool = False  # whether the method's own criterion is met


@dataclass(frozen=True)
class Perceptron:
    """Averaged perceptron (Collins 2002)."""

    epsilon: float = 0.0  # share of wrong labels below which training ends

    def passes(self, chain: Any, orders: Iterator[np.ndarray]) -> Iterator[Pass]:
        """Yield the averaged weights after every pass."""
        for order in orders:
            loss = chain.perceptron(order)
            yield Pass(_averaged(chain), loss, {}, loss < self.epsilon * order.size)


@dataclass(frozen=True)
class PassiveAggressive:
    """Passive-aggressive updates (Crammer, Dekel, Keshet, Shalev-Shwartz and Singer 2006)."""

    type: int = 1  # 0: no slack, 1: PA-I, 2: PA-II
    c: float = 1.0  # aggressiveness of PA-I and PA-II
    error_sensitive: bool = True  # the cost of a sequence grows with the square root of its wrong labels
    averaging: bool = True
    epsilon: float = 0.0  # mean cost below which training ends

    def __post_init__(self) -> None:
        if self.type not in (0, 1, 2):
            raise ValueError(f"the type of passive-aggressive updates must be 0, 1 or 2, not {self.type!r}")
        if self.type and not self.c > 0:
            raise ValueError(f"c, the aggressiveness, must be positive, not {self.c!r}")

    def passes(self, chain: Any, orders: Iterator[np.ndarray]) -> Iterator[Pass]:
        """Yield the weights after every pass."""
        for order in orders:
            loss = chain.passive_aggressive(order, self.type, self.c, self.error_sensitive)
            weights = _averaged(chain) if self.averaging else _last(chain)
            yield Pass(weights, loss, {}, loss < self.epsilon * order.size)


@dataclass(frozen=True)
class Arow:
    """Adaptive regularisation of weight vectors (Crammer, Kulesza and Dredze 2009)."""

    variance: float = 1.0  # of every weight at the start
    gamma: float = 1.0  # how much a sequence weighs less than what was learnt
    epsilon: float = 0.0  # mean cost at which training ends

    def __post_init__(self) -> None:
        if not self.variance > 0 or not self.gamma > 0:
            raise ValueError("variance and gamma must be positive")

    def passes(self, chain: Any, orders: Iterator[np.ndarray]) -> Iterator[Pass]:
        """Yield the mean of the weights after every pass."""
        for order in orders:
            loss = chain.arow(order, self.variance, self.gamma)
            yield Pass(_last(chain), loss, {}, loss <= self.epsilon * order.size)


@dataclass(frozen=True)
class Sgd:
    """Stochastic gradient descent on a CRF with c2 |w|^2 (Shalev-Shwartz, Singer and Srebro 2007).

    The first step is chosen by passes over some sequences: ``calibration_eta`` times powers of ``calibration_rate``.
    The weights of the pass with the lowest loss win.
    """

    c2: float = 1.0
    period: int = 10
    delta: float = 1e-6  # relative decrease of the loss over ``period`` passes below which training ends
    calibration_eta: float = 0.1
    calibration_rate: float = 2.0
    calibration_samples: int = 1000
    calibration_candidates: int = 10
    calibration_max_trials: int = 20

    def __post_init__(self) -> None:
        if not self.c2 > 0:
            raise ValueError(f"l2sgd divides its steps by c2, which must be positive, not {self.c2!r}")
        if not self.calibration_eta > 0 or not self.calibration_rate > 1:
            raise ValueError("calibration_eta must be positive and calibration_rate above 1")
        if self.period < 1:
            raise ValueError(f"period must be at least 1, not {self.period!r}")

    def passes(self, chain: Any, orders: Iterator[np.ndarray]) -> Iterator[Pass]:
        """Yield the weights after every pass; ``more`` has the step and the improvement."""
        order = next(orders)
        strength = 2.0 * self.c2 / order.size
        eta = self._calibrate(chain, order, strength)
        chain.clear()
        time, losses = 1.0 / (strength * eta), list[float]()
        best: tuple[float, FloatArray] | None = None
        for order in orders:
            loss = chain.sgd(order, strength, time)
            time += order.size
            weights = _last(chain)
            loss += self.c2 * float(weights @ weights)
            losses.append(loss)
            more: dict[str, Any] = {"eta": 1.0 / (strength * (time - 1)), "norm": float(np.linalg.norm(weights))}
            if best is None or loss < best[0]:
                best = loss, weights
            ends = not math.isfinite(loss)
            if len(losses) > self.period:
                more["improvement"] = (losses[-1 - self.period] - loss) / loss
                ends = ends or more["improvement"] < self.delta
            yield Pass(best[1], loss, more, ends)

    def _calibrate(self, chain: Any, order: np.ndarray, strength: float) -> float:
        """Return the first step with which one pass over a sample ends with the lowest loss."""
        sample = order[: self.calibration_samples]
        chain.clear()
        start = self._trial(chain, sample, strength, 1e-12 * self.calibration_eta)
        best, best_loss, eta, shrinking = self.calibration_eta, math.inf, self.calibration_eta, False
        left = self.calibration_candidates
        for _ in range(max(self.calibration_max_trials - 1, 1)):
            loss = self._trial(chain, sample, strength, eta)
            good = loss < start
            left -= good
            if loss < best_loss:
                best, best_loss = eta, loss
            if shrinking:
                eta /= self.calibration_rate
            elif good and left > 0:
                eta *= self.calibration_rate
            else:
                shrinking, left = True, self.calibration_candidates
                eta = self.calibration_eta / self.calibration_rate
            if shrinking and left <= 0:
                break
        return best

    def _trial(self, chain: Any, sample: np.ndarray, strength: float, eta: float) -> float:
        chain.clear()
        loss: float = chain.sgd(sample, strength, 1.0 / (strength * eta))
        weights = _last(chain)
        return loss + 0.5 * strength * sample.size * float(weights @ weights)


Method = Perceptron | PassiveAggressive | Arow | Sgd


def train_online(
    data: SequenceData, features: ChainFeatures, method: Method, *, max_iterations: int, random_state: int = 0,
) -> Iterator[Pass]:
    """Yield the end of every pass over the sequences, at most ``max_iterations``; all labels must be known."""
    chain = _core.OnlineChain(features.native, data.native, data.labels)
    rng = np.random.default_rng(random_state)

    def orders() -> Iterator[np.ndarray]:
        while True:
            yield rng.permutation(data.n_examples).astype(np.int64, copy=False)

    for _, found in zip(range(max_iterations), method.passes(chain, orders())):
        yield found
        if found.ends:
            return


def _averaged(chain: Any) -> FloatArray:
    out = np.empty(chain.n_weights)
    chain.average(out)
    return out


def _last(chain: Any) -> FloatArray:
    out = np.empty(chain.n_weights)
    chain.weights(out)
    return out
