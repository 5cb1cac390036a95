"""The protocols everything is composed from.

A power is an optional ability with a protocol of its own: a solver lists the powers it requires, and ``minimise``
refuses a loss or penalty that lacks one by name. The objective is always

    sum of losses + strength * penalty,        l2 = |w|^2 / 2,  l1 = |w|_1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from loglinear.arrays import FloatArray
from loglinear.structure.tying import Tying


# ---- losses ---------------------------------------------------------------------------------------------------------
@runtime_checkable
class Loss(Protocol):
    """A smooth convex function of the weights: a sum over examples."""

    @property
    def n_weights(self) -> int: ...  # noqa: D102
    def value_and_gradient(self, w: FloatArray, out: FloatArray) -> float:
        """Return the value at ``w`` and write the gradient into ``out``."""


class Hessian(Protocol):
    """Second derivatives at one point."""

    def diagonal(self, out: FloatArray) -> None:
        """Write the diagonal."""

    def product(self, v: FloatArray, out: FloatArray) -> None:
        """Write H v."""


@runtime_checkable
class Curvature(Protocol):
    """Power of a loss: second derivatives."""

    def hessian(self, w: FloatArray) -> Hessian:
        """The Hessian at ``w``; it stays valid when ``w`` changes."""


@runtime_checkable
class Scaled(Protocol):
    """Power of a loss: how fast its gradient may change along each weight, roughly; not only at one point."""

    def curvature_estimate(self, out: FloatArray) -> None:
        """Write one positive number per weight."""


@runtime_checkable
class Stochastic(Protocol):
    """Power of a loss: it is the sum of losses over disjoint random parts of its examples."""

    def partition(self, n_parts: int, rng: np.random.Generator) -> Sequence[Loss]:
        """The parts."""


@runtime_checkable
class Tied(Protocol):
    """Power of a loss: the same loss under shared weights."""

    def tied(self, tying: Tying) -> Loss:
        """The loss u -> loss(tying.up(u)), evaluated without expanding the weights."""


@runtime_checkable
class Restrict(Protocol):
    """Power of a loss: the same loss with most weights held at zero, at the cost of those that are not."""

    def restrict(self, active: NDArray[np.bool_]) -> tuple[Loss, NDArray[np.intp]]:
        """(the smaller loss, the numbers of its weights); it may keep more weights than asked."""


@runtime_checkable
class Expectations(Protocol):
    """Power of a loss that is minus a log-likelihood with features of 0 and 1: their totals, observed and expected.

    The gradient is expected - observed.
    """

    @property
    def features_per_event(self) -> int:
        """The largest number of features that are active in one event."""

    def empirical(self, out: FloatArray) -> None:
        """Write how often each feature was observed: [n_weights]."""

    def expectations(self, w: FloatArray, out: FloatArray) -> float:
        """Return the value at ``w`` and write how often each feature is expected: [n_weights]."""


@runtime_checkable
class SplitExpectations(Expectations, Protocol):
    """Power of a loss: expectations by the number of features that are active in the event."""

    def expectations_by_total(self, w: FloatArray, out: FloatArray) -> float:
        """Return the value; out[m - 1] [features_per_event, n_weights] gets the share of events with m features."""


# ---- penalties ------------------------------------------------------------------------------------------------------
@runtime_checkable
class Penalty(Protocol):
    """A convex function of the weights, simple enough to have a proximal map."""

    def value(self, w: FloatArray) -> float:
        """The penalty at ``w``, strength included."""

    def prox(self, z: FloatArray, step: Any, out: FloatArray) -> None:
        """Write argmin_x |x - z|^2 / (2 step) + penalty(x)."""

    def violation(self, w: FloatArray, gradient: FloatArray) -> float:
        """Distance from optimality: largest entry of the least subgradient, given the gradient of the loss."""

    def max_strength(self, gradient_at_zero: FloatArray) -> float:
        """The least multiple of this penalty under which zero penalised weights are optimal, given the gradient there.

        Infinity where there is none (a ridge). Of a penalty of strength 1 it is the strength a path begins with.
        """


@runtime_checkable
class Smooth(Protocol):
    """Power of a penalty: it has a gradient and a Hessian."""

    def add_gradient(self, w: FloatArray, gradient: FloatArray) -> float:
        """Add the gradient at ``w`` to ``gradient``; return the value."""

    def add_hessian_vector(self, w: FloatArray, v: FloatArray, out: FloatArray) -> None:
        """Add (Hessian at w) v to ``out``."""

    def add_curvature_diagonal(self, w: FloatArray, out: FloatArray) -> None:
        """Add the diagonal of the Hessian at ``w`` to ``out``."""


@runtime_checkable
class Metric(Protocol):
    """Power of a penalty: ``prox`` also takes one step per weight, and it knows the curvature of its smooth part."""

    def add_curvature_diagonal(self, w: FloatArray, out: FloatArray) -> None:
        """Add the second derivatives of the smooth part to ``out``."""


@runtime_checkable
class OwnMetric(Protocol):
    """Power of a penalty: its ``prox`` is exact in steps along a diagonal of its own only."""

    def own_metric(self, out: FloatArray) -> None:
        """Overwrite ``out`` with that diagonal d: steps must satisfy 1 / step + ridge = L d for one number L.

        Entries of weights that any step will do for stay as they are.
        """


@runtime_checkable
class Split(Protocol):
    """Power of a penalty: its ridge can be told from the rest, so that a solver may count it to the smooth side."""

    @property
    def rest(self) -> Penalty:
        """The same penalty without its ridge."""

    def add_smooth_gradient(self, w: FloatArray, gradient: FloatArray) -> float:
        """Add the gradient of the ridge; return the value of the ridge."""


@runtime_checkable
class Orthant(Protocol):
    """Power of a penalty: smooth within each orthant, as OWL-QN needs."""

    def add_smooth_gradient(self, w: FloatArray, gradient: FloatArray) -> float:
        """Add the gradient of the smooth part; return the value of the smooth part."""

    def pseudo_gradient(self, w: FloatArray, smooth_gradient: FloatArray, out: FloatArray) -> None:
        """Write the least subgradient of the whole objective."""

    def align(self, w: FloatArray, pseudo: FloatArray, direction: FloatArray) -> None:
        """Zero the entries of ``direction`` that would move a weight off zero, but not downhill."""

    def project(self, start: FloatArray, pseudo: FloatArray, w: FloatArray) -> None:
        """Zero the entries of ``w`` that left the orthant of ``start``."""


@runtime_checkable
class Separable(Protocol):
    """Power of a penalty: a sum over weights, so weights can be tied exactly."""

    def tied(self, tying: Tying) -> Penalty:
        """The penalty u -> penalty(tying.up(u))."""

    def restrict(self, kept: NDArray[np.intp]) -> Penalty:
        """The penalty of these weights alone."""


@runtime_checkable
class Tunable(Protocol):
    """Power of a penalty: a sum of parts, each with a strength of its own that can be tuned (by gradient)."""

    @property
    def strengths(self) -> FloatArray: ...  # noqa: D102
    def with_strengths(self, strengths: FloatArray) -> Penalty:
        """The same penalty with other strengths; one that was zero must stay so."""

    def hold(self, w: FloatArray, v: FloatArray) -> None:
        """Zero the entries of ``v`` whose weights rest in a corner, where small changes of strength leave them."""

    def strength_sums(self, w: FloatArray, v: FloatArray) -> FloatArray:
        """For every strength k, sum_j v_j d_kj with d_kj the derivative of its part by w_j."""

    def strength_products(self, w: FloatArray, v: FloatArray) -> FloatArray:
        """For every two strengths, sum_j v_j d_kj d_lj: a matrix."""
