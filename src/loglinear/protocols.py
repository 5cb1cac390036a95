"""The protocols of losses and penalties, from which every objective is composed.

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
    """A smooth convex function of the weights: a sum over examples. Weights and gradients are [n_weights]."""

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
        """Return the Hessian at ``w``; it stays valid when ``w`` changes."""


@runtime_checkable
class Scaled(Protocol):
    """Power of a loss: a rough estimate of how fast its gradient changes along each weight, anywhere."""

    def curvature_estimate(self, out: FloatArray) -> None:
        """Write one positive number per weight."""


@runtime_checkable
class Sized(Protocol):
    """Power of a loss: the sizes of its features, by which solvers measure weights where sizes differ a lot."""

    def feature_sizes(self, out: FloatArray) -> None:
        """Write the root mean square of the non-zero values of every weight's feature; 1 where there is none."""


@runtime_checkable
class Spread(Protocol):
    """Power of a loss: a sum of log-partition functions, or of exponentials, of scores that are linear in the weights.

    It has lower bounds beyond its tangents: see optimise/certificate.py.
    """

    floor: float  # a lower bound of the loss

    def spread(self, step: FloatArray) -> float:
        """Return an upper bound of how far apart ``step`` moves the scores of any two outcomes of one example."""


@runtime_checkable
class FreeWeights(Protocol):
    """Power of a loss: some weights carry no penalty, but are solved for exactly, given the others (intercepts)."""

    def solve_free(self, w: FloatArray) -> None:
        """Overwrite the free entries of ``w`` with those that minimise the loss."""

    def correct_free(self, w: FloatArray, gradient: FloatArray, out: FloatArray) -> None:
        """Write into the free entries of ``out`` the step p for which (gradient + H p), H at ``w``, vanishes there."""


@runtime_checkable
class Stochastic(Protocol):
    """Power of a loss: it is the sum of losses over disjoint random parts of its examples."""

    def partition(self, n_parts: int, rng: np.random.Generator) -> Sequence[Loss]:
        """Return the losses of the parts."""


@runtime_checkable
class StepsInSweep(Protocol):
    """Power of a loss: it takes the steps of an accelerated proximal method while its gradient is in cache."""

    def value_and_step(
        self, path: Any, penalty: Any, momentum: float, next_momentum: float, lipschitz: float, largest: float
    ) -> tuple[float, tuple[float, ...]]:
        """Return the value at the weights ``path.x`` and the sums of native/linear/accelerated.hh; take a step there.

        ``largest`` is at least max |path.x|, infinity where that is not known.
        """


@runtime_checkable
class Approach(Protocol):
    """Power of a loss: it comes near the optimum by other means than evaluations, to begin from there."""

    def approach(self, ridge: float, passes: int, out: FloatArray) -> int:
        """Write weights to begin from to ``out``; return the passes over the data that they took, 0 for none.

        ridge : strength of the penalty, which is strength * |w|^2 / 2; passes : at most
        """


@runtime_checkable
class Tied(Protocol):
    """Power of a loss: the same loss under shared weights."""

    def tied(self, tying: Tying) -> Loss:
        """Return the loss u -> loss(tying.up(u)), evaluated without expanding the weights."""


@runtime_checkable
class Restrict(Protocol):
    """Power of a loss: the same loss with most weights held at zero, at a cost that depends only on the others."""

    def work(self) -> float:
        """Return the cost of one evaluation, in any unit; that of a restricted loss is a share of that of the whole."""

    def restrict(self, active: NDArray[np.bool_]) -> tuple[Loss, NDArray[np.intp]]:
        """Return (the smaller loss, the numbers of its weights [n_kept]); it may keep more weights than asked."""


@runtime_checkable
class Expectations(Protocol):
    """Power of a loss that is minus a log-likelihood with features of 0 and 1: their totals, observed and expected.

    The gradient is expected - observed.
    """

    @property
    def features_per_event(self) -> int:
        """Return the largest number of features that are active in one event."""

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
    """A convex function of the weights, simple enough to have a proximal map. All its vectors are [n_weights]."""

    def value(self, w: FloatArray) -> float:
        """Return the penalty at ``w``, strength included."""

    def prox(self, z: FloatArray, step: Any, out: FloatArray) -> None:
        """Write argmin_x |x - z|^2 / (2 step) + penalty(x)."""

    def violation(self, w: FloatArray, gradient: FloatArray) -> float:
        """Return the largest entry of the least subgradient, given the gradient of the loss: zero at the optimum."""

    def max_strength(self, gradient_at_zero: FloatArray) -> float:
        """Return the least multiple of this penalty under which zero is optimal, given the gradient of the loss there.

        It is infinity where there is none (a ridge). For a penalty of strength 1 it is the first strength of a path.
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
    """Power of a penalty: its ``prox`` asks for steps along a diagonal of its own, where it is exact or quickest."""

    def own_metric(self, out: FloatArray) -> None:
        """Overwrite ``out`` with that diagonal d: steps should satisfy 1 / step + ridge = L d for one number L.

        Entries of weights for which any step will do stay as they are.
        """


@runtime_checkable
class Entrywise(Protocol):
    """Power of a penalty: it is a sum over weights in a native form, which a loss may apply to some of them."""

    def native(self, n_weights: int) -> Any:
        """Return the native form for this many weights."""


@runtime_checkable
class Split(Protocol):
    """Power of a penalty: its ridge can be separated from the rest, so that a solver may add it to the loss."""

    @property
    def rest(self) -> Penalty:
        """Return the same penalty without its ridge."""

    def add_smooth_gradient(self, w: FloatArray, gradient: FloatArray) -> float:
        """Add the gradient of the ridge; return the value of the ridge."""


@runtime_checkable
class Dual(Protocol):
    """Power of a penalty: its conjugate, which bounds the optimum from below (optimise/certificate.py)."""

    def dual(self, gradient: FloatArray, scale: float) -> tuple[float, float, float]:
        """Return (ridge, ratio, free): the conjugate of the penalty at -scale * gradient in three parts.

        ridge : the finite part, which weights with a ridge add
        ratio : how many times the rest of the penalty is needed to hold its weights at zero: finite if at most 1
        free : the sum of |scale * gradient| over weights without any penalty: finite only if zero
        """


@runtime_checkable
class Orthant(Protocol):
    """Power of a penalty: smooth within each orthant, as OWL-QN needs."""

    def add_smooth_gradient(self, w: FloatArray, gradient: FloatArray) -> float:
        """Add the gradient of the smooth part; return the value of the smooth part."""

    def pseudo_gradient(self, w: FloatArray, smooth_gradient: FloatArray, out: FloatArray) -> None:
        """Write the least subgradient of the whole objective."""

    def align(self, w: FloatArray, pseudo: FloatArray, direction: FloatArray) -> None:
        """Zero the entries of ``direction`` that would move a weight away from zero, but not downhill."""

    def project(self, start: FloatArray, pseudo: FloatArray, w: FloatArray) -> None:
        """Zero the entries of ``w`` that left the orthant of ``start``."""


@runtime_checkable
class Separable(Protocol):
    """Power of a penalty: a sum over weights, so weights can be tied exactly."""

    def tied(self, tying: Tying) -> Penalty:
        """Return the penalty u -> penalty(tying.up(u))."""

    def restrict(self, kept: NDArray[np.intp]) -> Penalty:
        """Return the penalty of these weights alone."""


@runtime_checkable
class Tunable(Protocol):
    """Power of a penalty: a sum of parts, each with a strength of its own that can be tuned (by gradient)."""

    @property
    def strengths(self) -> FloatArray: ...  # noqa: D102
    def with_strengths(self, strengths: FloatArray) -> Penalty:
        """Return the same penalty with other strengths; those that were zero must stay zero."""

    def hold(self, w: FloatArray, v: FloatArray) -> None:
        """Zero the entries of ``v`` whose weights stay at zero under small changes of the strengths (a corner)."""

    def strength_sums(self, w: FloatArray, v: FloatArray) -> FloatArray:
        """Return the sums over j of v_j d_kj, d_kj the derivative of the part of strength k by w_j: [n_strengths]."""

    def strength_products(self, w: FloatArray, v: FloatArray) -> FloatArray:
        """Return the sums over j of v_j d_kj d_lj for strengths k and l: [n_strengths, n_strengths]."""
