"""Penalties that are sums over weights:  sum_j a_j |w_j| + b_j w_j^2 / 2,  optionally with w_j >= 0.

The last ``n_free`` weights (intercepts) carry no penalty. ``scale`` gives every weight its own multiple of the
strength. The loops are native (native/linear/separable.hh).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from loglinear import _core
from loglinear.arrays import FloatArray
from loglinear.structure.tying import Tying
from loglinear.threads import pool


def _check_scale(scale: Any, name: str) -> FloatArray | None:
    if scale is None:
        return None
    array = np.ascontiguousarray(scale, dtype=np.float64)
    if array.ndim != 1 or not np.all(np.isfinite(array)) or np.any(array < 0):
        raise ValueError(f"{name} must be a vector of finite, nonnegative numbers, one per penalised weight")
    return array


def check_same_zeros(old: FloatArray, new: FloatArray) -> None:
    """Raise ValueError unless strengths are zero where they were: log 0 cannot be tuned, and l1 changes the powers."""
    if np.shape(new) != old.shape or np.any((np.asarray(new) == 0) != (old == 0)):
        raise ValueError(f"{old.size} strengths are needed, zero where they were zero; got {np.array(new).tolist()}")


class SeparableBase(ABC):
    """The common part of all sums over weights; a subclass makes the native form (``_make_native``)."""

    def __init__(self, n_free: int, n_threads: int | None) -> None:
        if n_free < 0:
            raise ValueError(f"n_free must not be negative, not {n_free}")
        self.n_free, self.n_threads = n_free, n_threads
        self._native: dict[int, _core.Separable] = {}

    @abstractmethod
    def _make_native(self, n_penalised: int) -> _core.Separable:
        """Return the native form for this many penalised weights."""

    @property
    @abstractmethod
    def strengths(self) -> FloatArray:
        """Return [l1 of every class, l2 of every class]; a penalty without classes has one of each."""

    def native(self, n_weights: int) -> _core.Separable:
        """Return the native form for this many weights, made once."""
        if n_weights not in self._native:
            if n_weights < self.n_free:
                raise ValueError(f"{self.n_free} weights are free of penalty but there are only {n_weights} weights")
            self._native[n_weights] = self._make_native(n_weights - self.n_free)
        return self._native[n_weights]

    # Penalty
    def value(self, w: FloatArray) -> float:
        """Return sum_j a_j |w_j| + b_j w_j^2 / 2."""
        return self.native(w.size).value(pool(self.n_threads), w)

    def prox(self, z: FloatArray, step: float | FloatArray, out: FloatArray) -> None:
        """Write the prox: soft thresholding by step * a, then division by 1 + step * b."""
        steps = np.ascontiguousarray(step, dtype=np.float64).reshape(-1)
        self.native(z.size).prox(pool(self.n_threads), z, steps, out)

    def violation(self, w: FloatArray, gradient: FloatArray) -> float:
        """Return the largest entry of the least subgradient."""
        return self.native(w.size).violation(pool(self.n_threads), w, gradient)

    def max_strength(self, gradient_at_zero: FloatArray) -> float:
        """Return the largest |gradient_j| / a_j: that multiple zeroes all penalised weights; infinity without l1."""
        if not np.any(self.strengths[: self.strengths.size // 2]):
            return math.inf
        return self.native(gradient_at_zero.size).max_strength(pool(self.n_threads), gradient_at_zero)

    # Dual
    def dual(self, gradient: FloatArray, scale: float) -> tuple[float, float, float]:
        """Return sum (g - a)_+^2 / (2 b) over ridges, max g / a without, and sum g of free ones; g = scale |gradient|.

        Where weights are nonnegative g is the negative part of the gradient.
        """
        return self.native(gradient.size).dual(pool(self.n_threads), gradient, scale)

    # Metric
    def add_curvature_diagonal(self, w: FloatArray, out: FloatArray) -> None:
        """Add b, the second derivatives."""
        self.native(out.size).add_curvature(pool(self.n_threads), out)

    # Orthant
    def add_smooth_gradient(self, w: FloatArray, gradient: FloatArray) -> float:
        """Add b w to the gradient; return sum b w^2 / 2."""
        return self.native(w.size).add_smooth(pool(self.n_threads), w, gradient)

    def pseudo_gradient(self, w: FloatArray, smooth_gradient: FloatArray, out: FloatArray) -> None:
        """Write the least subgradient of the whole objective."""
        self.native(w.size).pseudo_gradient(pool(self.n_threads), w, smooth_gradient, out)

    def align(self, w: FloatArray, pseudo: FloatArray, direction: FloatArray) -> None:
        """Zero the entries of the direction that would move a weight away from zero, but not downhill."""
        self.native(w.size).align(pool(self.n_threads), w, pseudo, direction)

    def project(self, start: FloatArray, pseudo: FloatArray, w: FloatArray) -> None:
        """Zero the weights that left the orthant of ``start``."""
        self.native(w.size).project(pool(self.n_threads), start, pseudo, w)

    # Tunable
    def hold(self, w: FloatArray, v: FloatArray) -> None:
        """Zero the entries of ``v`` whose weights rest in a corner."""
        self.native(w.size).hold(pool(self.n_threads), w, v)

    def strength_sums(self, w: FloatArray, v: FloatArray) -> FloatArray:
        """Return, for every strength, the sum over j of v_j times the derivative of its part at w_j: [n_strengths]."""
        return self._sums(w, v, False)

    def strength_products(self, w: FloatArray, v: FloatArray) -> FloatArray:
        """Return, for every two strengths, sums of v_j times both derivatives [n_strengths, n_strengths]."""
        ridge = np.zeros_like(w)
        self.add_smooth_gradient(w, ridge)
        ridge *= v
        crossed = self._sums(w, ridge, False)[: self.strengths.size // 2]
        out = np.diag(self._sums(w, v, True))
        k = np.arange(crossed.size)
        out[k, k + crossed.size] = out[k + crossed.size, k] = crossed
        return out

    def _sums(self, w: FloatArray, v: FloatArray, squared: bool) -> FloatArray:
        out = np.empty(self.strengths.size)
        self.native(w.size).class_sums(pool(self.n_threads), w, v, squared, out)
        return out

    def _check_free_stay_apart(self, tying: Tying) -> None:
        if self.n_free:
            own = np.arange(tying.n_groups - self.n_free, tying.n_groups)
            inside, tail = np.split(tying.groups, [tying.n_weights - self.n_free])
            if not np.array_equal(tail, own) or np.any(inside >= own[0]):
                raise ValueError("weights free of penalty must stay untied, at the end")


class SeparablePenalty(SeparableBase):
    """a_j = l1 * l1_scale[j], b_j = l2 * l2_scale[j]; the base of none, l1, l2 and elastic_net."""

    def __init__(
        self,
        l1: float = 0.0,
        l2: float = 0.0,
        *,
        l1_scale: Any = None,
        l2_scale: Any = None,
        nonnegative: bool = False,
        n_free: int = 0,
        n_threads: int | None = None,
    ) -> None:
        for name, strength in (("l1", l1), ("l2", l2)):
            if not (math.isfinite(strength) and strength >= 0):
                raise ValueError(f"the strength of a penalty must be finite and not negative; {name} is {strength!r}")
        super().__init__(n_free, n_threads)
        self.l1, self.l2 = float(l1), float(l2)
        self.l1_scale = _check_scale(l1_scale, "l1_scale") if l1 else None
        self.l2_scale = _check_scale(l2_scale, "l2_scale") if l2 else None
        self.nonnegative = nonnegative

    @classmethod
    def from_settings(
        cls, strength: float, *, nonnegative: bool = False, l1_ratio: float = 0.5, **options: Any
    ) -> SeparablePenalty:
        """Return the penalty of a model's settings; under the sign constraint it is never a SmoothSeparable."""
        if nonnegative:
            l1, l2 = cls.l1_and_l2(strength, l1_ratio)
            scale = options.pop("scale", None)
            return SeparablePenalty(l1, l2, l1_scale=scale, l2_scale=scale, nonnegative=True, **options)
        return cls(strength, **options)

    @staticmethod
    def l1_and_l2(strength: Any, l1_ratio: Any) -> tuple[Any, Any]:
        """Return the strengths of both parts, single numbers or one per class of weights."""
        raise NotImplementedError("only penalties with a name in PENALTIES are made from settings")

    def __repr__(self) -> str:
        return f"{type(self).__name__}(l1={self.l1:g}, l2={self.l2:g}, nonnegative={self.nonnegative})"

    def _make_native(self, n_penalised: int) -> _core.Separable:
        for scale in (self.l1_scale, self.l2_scale):
            if scale is not None and scale.size != n_penalised:
                raise ValueError(f"the penalty has {scale.size} strengths for {n_penalised} penalised weights")
        return _core.Separable(self.l1, self.l2, self.l1_scale, self.l2_scale, n_penalised, self.nonnegative)

    def _like(self, l1: float, l2: float, l1_scale: FloatArray | None, l2_scale: FloatArray | None) -> SeparablePenalty:
        base = SmoothSeparable if isinstance(self, SmoothSeparable) else SeparablePenalty
        return base(
            l1, l2, l1_scale=l1_scale, l2_scale=l2_scale, nonnegative=self.nonnegative, n_free=self.n_free,
            n_threads=self.n_threads,
        )

    # Tunable
    @property
    def strengths(self) -> FloatArray:
        """Return [l1, l2]."""
        return np.array([self.l1, self.l2])

    def with_strengths(self, strengths: FloatArray) -> SeparablePenalty:
        """Return the same penalty with other strengths; those that were zero must stay zero."""
        check_same_zeros(self.strengths, strengths)
        l1, l2 = (float(s) for s in strengths)
        return self._like(l1, l2, self.l1_scale, self.l2_scale)

    # Separable
    def tied(self, tying: Tying) -> SeparablePenalty:
        """Return the same penalty on shared weights, exact: each of the m members of group g holds u_g / sqrt(m)."""
        self._check_free_stay_apart(tying)
        n_penalised = tying.n_groups - self.n_free

        def grouped(strength: float, scale: FloatArray | None, power: float) -> FloatArray | None:
            if not strength:
                return None
            full = np.ones(tying.n_weights)
            if scale is not None:
                full[: scale.size] = scale
            sums = np.bincount(tying.groups, weights=full, minlength=tying.n_groups)
            out = (sums / np.maximum(tying.counts, 1) ** power)[:n_penalised]
            return None if np.all(out == 1.0) else out

        return self._like(
            self.l1, self.l2, grouped(self.l1, self.l1_scale, 0.5), grouped(self.l2, self.l2_scale, 1.0)
        )

    def restrict(self, kept: Any) -> SeparablePenalty:
        """Return the same penalty on the weights with these numbers, the last ``n_free`` (without penalty) included."""
        inside = kept[: len(kept) - self.n_free]
        l1_scale = None if self.l1_scale is None else self.l1_scale[inside]
        l2_scale = None if self.l2_scale is None else self.l2_scale[inside]
        return self._like(self.l1, self.l2, l1_scale, l2_scale)


class SmoothBase(SeparableBase):
    """The power Smooth of a sum over weights without l1 and without a sign constraint."""

    def add_gradient(self, w: FloatArray, gradient: FloatArray) -> float:
        """Add b w to the gradient; return the value."""
        return self.add_smooth_gradient(w, gradient)

    def add_hessian_vector(self, w: FloatArray, v: FloatArray, out: FloatArray) -> None:
        """Add b v to ``out``."""
        self.add_smooth_gradient(v, out)


class SmoothSeparable(SeparablePenalty, SmoothBase):
    """A smooth separable penalty: l1 = 0 and no sign constraint."""
