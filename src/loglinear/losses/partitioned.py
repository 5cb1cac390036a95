"""A loss that is the sum of losses of parts of the examples, which live elsewhere: in other processes or machines.

A part knows the weights of its own features only, so only these travel to it, and only their gradients come back. Sums
are taken in the order of the parts: the same bits in every run with the same parts. What a part does is a method of
``Shard``; who carries the calls is a ``Parts``, such as that of ``loglinear.dask``. The whole has those of the powers
below that the losses of its parts have.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from loglinear import _core
from loglinear.arrays import FloatArray
from loglinear.losses.free_weights import FreeLoss, HasFree, free_step, solve_free_weights
from loglinear.protocols import Curvature, Hessian, Scaled, Sized, Spread
from loglinear.threads import pool


class Parts(Protocol):
    """Shards, or what was derived from them, that live elsewhere."""

    def call(self, method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Return what a method of every shard returns for its own arguments."""

    def derive(self, method: str, arguments: Sequence[tuple[Any, ...]]) -> Parts:
        """Return the shards that a method of every shard returns; they stay where they are."""


class Facts(NamedTuple):
    """The weights that a part has, which of them are free, its number of examples, the work of one evaluation, the
    class of its loss, and that of the whole, which has the powers that the loss of the part has."""

    kept: NDArray[np.intp]
    free: slice  # of kept
    n_examples: int
    work: float
    kind: type
    whole: type[PartitionedLoss]


class Shard:
    """The loss of one part, and which weights of the whole it has: ``kept`` [n_weights of the part], ascending."""

    def __init__(self, loss: Any, kept: NDArray[np.intp], n_examples: int) -> None:
        self.loss, self.kept, self.n_examples = loss, kept, n_examples

    def facts(self) -> Facts:
        """Return what the whole must know of the part."""
        free = self.loss.free if isinstance(self.loss, HasFree) else slice(0, 0)
        return Facts(self.kept, free, self.n_examples, float(self.loss.work()), type(self.loss), _whole_of(self.loss))

    def value_and_gradient(self, w: FloatArray) -> tuple[float, FloatArray]:
        """Return the value and the gradient of the part."""
        out = np.empty(w.size)
        return self.loss.value_and_gradient(w, out), out

    def hessian(self, w: FloatArray) -> HessianShard:
        """Return the second derivatives of the part at ``w``."""
        return HessianShard(self.loss.hessian(np.array(w)))

    def curvature_estimate(self) -> FloatArray:
        """Return the part's estimate of the curvature."""
        out = np.empty(self.kept.size)
        self.loss.curvature_estimate(out)
        return out

    def feature_sizes(self) -> FloatArray:
        """Return the sizes of the part's features, 1 where its loss does not tell them."""
        out = np.ones(self.kept.size)
        if isinstance(self.loss, Sized):
            self.loss.feature_sizes(out)
        return out

    def spread(self, step: FloatArray) -> float:
        """Return the part's bound of how far apart ``step`` moves the scores of two outcomes."""
        return float(self.loss.spread(step))

    def free_loss(self, w: FloatArray) -> FreeLoss:
        """Return the part's loss as a function of its free weights, which all parts have."""
        problem: FreeLoss = self.loss.free_loss(w)
        return problem

    def restrict(self, active: NDArray[np.bool_]) -> Shard:
        """Return the part with most weights held at zero; ``kept`` numbers the weights of this part."""
        loss, kept = self.loss.restrict(active)
        return Shard(loss, kept, self.n_examples)


class HessianShard:
    """The second derivatives of one part at a point."""

    def __init__(self, hessian: Hessian) -> None:
        self._hessian = hessian

    def diagonal(self, n_weights: int) -> FloatArray:
        """Return the diagonal."""
        out = np.empty(n_weights)
        self._hessian.diagonal(out)
        return out

    def product(self, v: FloatArray) -> FloatArray:
        """Return the product with ``v``."""
        out = np.empty(v.size)
        self._hessian.product(v, out)
        return out


class PartitionedLoss:
    """The sum of the losses of all parts, which are of one kind. Powers: Sized, Restrict."""

    def __init__(
        self, parts: Parts, n_weights: int, facts: Sequence[Facts], n_threads: int | None = None
    ) -> None:  # fmt: skip
        self.parts, self.n_weights, self._facts, self.n_threads = parts, n_weights, list(facts), n_threads
        self.kept = [one.kept for one in facts]
        self._subsets = [_core.Subset(kept.astype(np.int64, copy=False), n_weights) for kept in self.kept]
        self.kind: type = facts[0].kind
        self.free = self.kept[0][facts[0].free]  # [n_free], the same in all parts

    @classmethod
    def of(cls, parts: Parts, n_parts: int, n_weights: int, n_threads: int | None = None) -> PartitionedLoss:
        """Ask the shards for the weights that they have; the loss has the powers that theirs have.

        n_threads : threads that cut and add vectors here
        """
        facts = parts.call("facts", [()] * n_parts)
        return facts[0].whole(parts, n_weights, facts, n_threads)

    def _none(self) -> list[tuple[Any, ...]]:
        return [()] * len(self.kept)

    def _sent(self, v: FloatArray) -> list[tuple[Any, ...]]:
        """Return what each part gets of a vector of all weights."""
        sent = []
        for subset in self._subsets:
            own = np.empty(len(subset))
            subset.gather(pool(self.n_threads), v, own)
            sent.append((own,))
        return sent

    def _sum(self, found: Sequence[FloatArray], out: FloatArray) -> None:
        """Write the sum of what the parts found, in their order."""
        out[:] = 0.0
        for subset, one in zip(self._subsets, found):
            subset.add(pool(self.n_threads), one, out)

    # Loss
    def value_and_gradient(self, w: FloatArray, out: FloatArray) -> float:
        """Return the sum of the values; write that of the gradients."""
        found = self.parts.call("value_and_gradient", self._sent(w))
        self._sum([gradient for _, gradient in found], out)
        return float(sum(value for value, _ in found))

    # Sized
    def feature_sizes(self, out: FloatArray) -> None:
        """Write the root of the mean square of the sizes in the parts, each weighed by its number of examples."""
        found = self.parts.call("feature_sizes", self._none())
        weights = [max(one.n_examples, 1e-9) for one in self._facts]
        total = np.zeros(self.n_weights)
        self._sum([size**2 * n for size, n in zip(found, weights)], out)
        for kept, n in zip(self.kept, weights):
            total[kept] += n
        out[:] = np.where(total > 0, np.sqrt(out / np.where(total > 0, total, 1.0)), 1.0)

    # Restrict
    def work(self) -> float:
        """Return the work of all parts."""
        return sum(one.work for one in self._facts)

    def restrict(self, active: NDArray[np.bool_]) -> tuple[PartitionedLoss, NDArray[np.intp]]:
        """Let every part keep what it needs; the smaller loss has the weights that any part keeps."""
        parts = self.parts.derive("restrict", [(active[kept],) for kept in self.kept])
        facts: list[Facts] = parts.call("facts", self._none())
        used = np.zeros(self.n_weights, bool)
        used[active] = True  # weights that no part has a feature for still have a penalty
        mine = [kept[one.kept] for kept, one in zip(self.kept, facts)]
        for one in mine:
            used[one] = True
        number = np.cumsum(used) - 1
        smaller = [fact._replace(kept=number[one]) for fact, one in zip(facts, mine)]
        return type(self)(parts, int(used.sum()), smaller, self.n_threads), np.flatnonzero(used)


class BoundedLoss(PartitionedLoss):
    """Parts whose losses have bounds from below. Powers: Spread besides."""

    floor = 0.0  # minus the logarithm of a probability, in every part

    # Spread
    def spread(self, step: FloatArray) -> float:
        """Return the largest bound of a part."""
        return max(self.parts.call("spread", self._sent(step)), default=0.0)


class CurvedLoss(BoundedLoss):
    """Parts whose losses have second derivatives, and perhaps free weights. Powers: Curvature, FreeWeights besides."""

    # FreeWeights
    def solve_free(self, w: FloatArray) -> None:
        """Solve for the free weights, which all parts share, on the margins that every part keeps."""
        if self.free.size:
            found = w[self.free]
            solve_free_weights(PartitionedFree(self, w), found)
            w[self.free] = found

    def correct_free(self, w: FloatArray, gradient: FloatArray, out: FloatArray) -> None:
        """Write the free weights' step that cancels their entries of the gradient."""
        if self.free.size:
            curvature = PartitionedFree(self, w).curvature(np.zeros(self.free.size))
            out[self.free] = free_step(curvature, gradient[self.free])

    # Curvature
    def hessian(self, w: FloatArray) -> PartitionedHessian:
        """Return the second derivatives at ``w``."""
        return PartitionedHessian(self, self.parts.derive("hessian", self._sent(w)))


class ScaledLoss(PartitionedLoss):
    """Parts whose losses estimate their curvature. Powers: Scaled besides."""

    def curvature_estimate(self, out: FloatArray) -> None:
        """Write the sum of the estimates."""
        self._sum(self.parts.call("curvature_estimate", self._none()), out)


class ScaledBoundedLoss(ScaledLoss, BoundedLoss):
    """Parts whose losses have both, but no second derivatives. Powers: Scaled, Spread besides."""


def _whole_of(loss: Any) -> type[PartitionedLoss]:
    if isinstance(loss, Curvature):
        return CurvedLoss
    if isinstance(loss, Scaled):
        return ScaledBoundedLoss if isinstance(loss, Spread) else ScaledLoss
    return BoundedLoss if isinstance(loss, Spread) else PartitionedLoss


class PartitionedHessian:
    """The sum of the second derivatives of all parts at one point, which stay where the parts are."""

    def __init__(self, loss: PartitionedLoss, parts: Parts) -> None:
        self._loss, self._parts = loss, parts

    def diagonal(self, out: FloatArray) -> None:
        """Write the sum of the diagonals."""
        self._loss._sum(self._parts.call("diagonal", [(kept.size,) for kept in self._loss.kept]), out)

    def product(self, v: FloatArray, out: FloatArray) -> None:
        """Write the sum of the products."""
        self._loss._sum(self._parts.call("product", self._loss._sent(v)), out)


class PartitionedFree:
    """The loss as a function of what is added to the free weights of ``w``; margins stay where the parts are."""

    def __init__(self, loss: PartitionedLoss, w: FloatArray) -> None:
        self._parts = loss.parts.derive("free_loss", loss._sent(w))
        self._n_parts = len(loss.kept)

    def value_and_slopes(self, shift: FloatArray) -> tuple[float, FloatArray]:
        """Return the sums of the values and of the first derivatives."""
        found = self._parts.call("value_and_slopes", [(shift,)] * self._n_parts)
        return float(sum(value for value, _ in found)), np.sum([slopes for _, slopes in found], axis=0)

    def curvature(self, shift: FloatArray) -> FloatArray:
        """Return the sum of the second derivatives."""
        total: FloatArray = np.sum(self._parts.call("curvature", [(shift,)] * self._n_parts), axis=0)
        return total
