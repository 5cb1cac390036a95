"""Norms over the subtrees of a forest (Zhao et al. 2009; Jenatton et al. 2011; Nelakanti et al. 2013).

Every node g of the tree is a group: its subtree. Where a node's weight vanishes, so do all weights below it. The weight
of group g is ``weights[g] * depth_growth ** depth[g]``.

Nelakanti et al. multiply *features* by alpha ** depth instead (``feature_decay`` = alpha): the whole penalty is then
that of v_i = w_i / alpha ** depth[i]. For l1 and squared l2 this is the same as strengths that grow by 1 / alpha or its
square per level; for norms of several weights it is not, since the weights of one group lie at several depths. The
loops are native (native/tree/).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from loglinear import _core
from loglinear.arrays import FloatArray
from loglinear.errors import IncompatibleError
from loglinear.structure.tree import Tree, growth_by_depth
from loglinear.threads import pool

Self = TypeVar("Self", bound="TreePenalty")


def _finite(name: str, number: float) -> float:
    if not (math.isfinite(number) and number >= 0):
        raise ValueError(f"the strength of a penalty must be finite and not negative; {name} is {number!r}")
    return float(number)


def per_node(tree: Tree, name: str, given: Any, *, positive: bool) -> FloatArray | None:
    """Return one checked number per node; None stays None."""
    if given is None:
        return None
    array = np.ascontiguousarray(given, dtype=np.float64)
    if array.ndim != 1 or array.size != tree.n_nodes:
        raise ValueError(f"{name} must have one entry per node: {array.size} for a tree of {tree.n_nodes} nodes")
    bad = ~np.isfinite(array) | ((array <= 0) if positive else (array < 0))
    if bad.any():
        at = int(np.flatnonzero(bad)[0])
        least = "positive" if positive else "not negative"
        raise ValueError(f"{name} must be finite and {least}; that of node {at} is {float(array[at])!r}")
    return array


def _powers(tree: Tree, decay: float) -> FloatArray:
    """Return decay ** depth for every node."""
    return growth_by_depth(tree, decay, name="feature_decay")[tree.depth]


class TreePenalty(ABC):
    """The common part of both norms; a subclass makes the native form of its own (``_make_native``)."""

    _native: Any  # _core.TreeL2 or _core.TreeLinf

    def __init__(
        self,
        tree: Tree,
        strength: float = 1.0,
        *,
        weights: Any = None,
        depth_growth: float = 1.0,
        feature_decay: float = 1.0,
        scale: Any = None,
        l2: float = 0.0,
        nonnegative: bool = False,
        n_threads: int | None = None,
    ) -> None:
        if not isinstance(tree, Tree):
            raise TypeError(f"the tree of a penalty is a loglinear.structure.Tree, not {type(tree).__name__}")
        self.tree, self.n_threads = tree, n_threads
        self.strength, self.l2 = _finite("strength", strength), _finite("l2", l2)
        self.weights = per_node(tree, "weights", weights, positive=False)
        self.scale = per_node(tree, "scale", scale, positive=True)
        self.depth_growth, self.nonnegative = float(depth_growth), bool(nonnegative)
        self.feature_decay = float(feature_decay)
        # w_i / v_i; None for ones
        self._unit = None if feature_decay == 1.0 else _powers(tree, self.feature_decay)
        self._growth = None if depth_growth == 1.0 else growth_by_depth(tree, self.depth_growth, self.strength)
        self._depth = None if self._growth is None else tree.depth
        self._native = self._make_native()

    @classmethod
    def from_settings(
        cls: type[Self], strength: float, *, tree: Tree | None = None, l1_ratio: float = 0.5, **options: Any
    ) -> Self:
        """Return the penalty of a model's settings, of which a tree is one."""
        if tree is None:
            raise IncompatibleError(f"{cls.__name__} needs tree=, a loglinear.structure.Tree over its weights")
        return cls(tree, strength, **options)

    @abstractmethod
    def _make_native(self) -> _core.TreeL2 | _core.TreeLinf:
        """Return the native form."""

    def _native_arguments(self, multiplicity: FloatArray | None) -> tuple[Any, ...]:
        groups = (self.strength, self.weights, multiplicity, self._growth, self._depth)
        return self.tree.native, *groups, self._native_scale, self.l2, self.nonnegative

    @property
    def _native_scale(self) -> FloatArray | None:
        """The scale as the metric of v."""
        return self.scale if self._unit is None or self.scale is None else self.scale * self._unit**2

    def _options(self) -> dict[str, Any]:
        """Return the keywords that make the same penalty again, besides tree and strength."""
        return {
            "weights": self.weights,
            "depth_growth": self.depth_growth,
            "feature_decay": self.feature_decay,
            "scale": self.scale,
            "l2": self.l2,
            "nonnegative": self.nonnegative,
            "n_threads": self.n_threads,
        }

    def _like(self: Self, **changes: Any) -> Self:
        """Return the same penalty with some options changed."""
        return type(self)(self.tree, changes.pop("strength", self.strength), **{**self._options(), **changes})

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.tree!r}, strength={self.strength:g}, depth_growth={self.depth_growth:g}, "
            f"feature_decay={self.feature_decay:g}, l2={self.l2:g}, nonnegative={self.nonnegative})"
        )

    def _check(self, w: FloatArray) -> None:
        if w.size != self.tree.n_nodes:
            raise ValueError(f"the tree of the penalty has {self.tree.n_nodes} nodes for {w.size} weights")

    # Penalty
    def value(self, w: FloatArray) -> float:
        """Return strength times the norm, plus the ridge."""
        self._check(w)
        return float(self._native.value(pool(self.n_threads), w if self._unit is None else w / self._unit))

    def prox(self, z: FloatArray, step: float | FloatArray, out: FloatArray) -> None:
        """Write the prox, exact, ridge and sign constraint included; ``out`` may be ``z``."""
        self._check(z)
        self._native_prox(*self._of_features(z, step), out)
        if self._unit is not None:
            out *= self._unit

    def _of_features(self, z: FloatArray, step: float | FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return z and the steps in units of v."""
        steps = np.ascontiguousarray(step, dtype=np.float64).reshape(-1)
        return (z, steps) if self._unit is None else (z / self._unit, steps / self._unit**2)

    def _native_prox(self, z: FloatArray, steps: FloatArray, out: FloatArray) -> None:
        self._native.prox(pool(self.n_threads), z, steps, out)

    def violation(self, w: FloatArray, gradient: FloatArray) -> float:
        """Return the largest entry of D (w - prox(w - gradient / D)), D = scale: zero at the optimum and only there.

        The gradient includes the ridge here, and prox is that of the norm alone with steps of 1 / D. Under a
        feature decay, w and the gradient are those of v.
        """
        self._check(w)
        unit = self._unit
        given = (w, gradient) if unit is None else (w / unit, gradient * unit)
        return float(self._native.violation(pool(self.n_threads), *given))

    def max_strength(self, gradient_at_zero: FloatArray) -> float:
        """Return the least multiple of this penalty that holds all weights at zero; infinity if no group has weight."""
        self._check(gradient_at_zero)
        gradient = gradient_at_zero if self._unit is None else gradient_at_zero * self._unit
        return float(self._native.max_strength(pool(self.n_threads), gradient))

    # Dual
    def dual(self, gradient: FloatArray, scale: float) -> tuple[float, float, float]:
        """Return (ridge, ratio, 0), the ratio being the dual norm of the gradient.

        With a ridge, the norm takes the largest share of the gradient that it can hold and the ridge the rest:
        an upper bound of the conjugate.
        """
        ratio = scale * self.max_strength(gradient)
        if self.l2 == 0.0 or ratio <= 1.0:
            return 0.0, ratio, 0.0
        share = 1.0 - (1.0 / ratio if math.isfinite(ratio) else 0.0)
        return 0.5 * (scale * share) ** 2 * float(np.sum(gradient * gradient / self._ridge)), 1.0, 0.0

    # Metric
    def add_curvature_diagonal(self, w: FloatArray, out: FloatArray) -> None:
        """Add the second derivative of the ridge."""
        out += self._ridge

    # Split
    @cached_property
    def rest(self: Self) -> Self:
        """Return the norm alone, without the ridge."""
        return self if self.l2 == 0.0 else self._like(l2=0.0)

    def add_smooth_gradient(self, w: FloatArray, gradient: FloatArray) -> float:
        """Add ridge * w to the gradient; return the value of the ridge at ``w``."""
        if self.l2 == 0.0:
            return 0.0
        pull = self._ridge * w
        gradient += pull
        return 0.5 * float(pull @ w)

    @cached_property
    def _ridge(self) -> float | FloatArray:
        """The second derivatives of the ridge."""
        return self.l2 if self._unit is None or self.l2 == 0.0 else self.l2 / self._unit**2
