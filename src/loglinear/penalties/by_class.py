"""Penalties by class of weight:  sum_j a_k |w_j| + b_k w_j^2 / 2,  k = the class of weight j,  some with w_j >= 0.

A class number takes one or two bytes per weight, where two strengths per weight would take sixteen. N-gram models use
it for signed unigrams under a small ridge and nonnegative higher orders, each with an l1 and an l2 of its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from loglinear import _core
from loglinear.arrays import FloatArray
from loglinear.penalties.separable import SeparableBase, SeparablePenalty, SmoothBase, SmoothSeparable, check_same_zeros
from loglinear.structure.tying import Tying
from loglinear.threads import pool

_MOST = 2**16


def _class_numbers(classes: Any, n_classes: int) -> NDArray[Any]:
    """Return the class numbers in one byte per weight, or two; raise ValueError for a class without strengths."""
    array = np.asarray(classes)
    if array.ndim != 1 or array.dtype.kind not in "ui":
        raise ValueError("classes must be a vector of whole numbers, one per penalised weight")
    if n_classes > _MOST:
        raise ValueError(f"{n_classes} classes of weights, and {_MOST} is the limit")
    if array.size and (int(array.min()) < 0 or int(array.max()) >= n_classes):
        raise ValueError(
            f"classes run from {int(array.min())} to {int(array.max())}, but there are strengths for {n_classes} "
            f"(0 to {n_classes - 1})"
        )
    return np.ascontiguousarray(array, dtype=np.uint8 if n_classes <= 256 else np.uint16)


def _per_class(l1: Any, l2: Any, nonnegative: Any, n_classes: int) -> tuple[FloatArray, FloatArray, NDArray[np.bool_]]:
    """Return the three tables, with single numbers repeated for all classes."""
    tables = []
    for name, given in (("l1", l1), ("l2", l2), ("nonnegative", nonnegative)):
        table = np.atleast_1d(np.asarray(given, dtype=bool if name == "nonnegative" else np.float64))
        if table.ndim != 1 or table.size not in (1, n_classes):
            raise ValueError(f"{name} must be one number or one per class: {table.size} for {n_classes} classes")
        if not np.all(np.isfinite(table)) or np.any(table < 0):
            raise ValueError(f"the strength of a penalty must be finite and not negative; {name} is {table.tolist()}")
        tables.append(np.ascontiguousarray(np.broadcast_to(table, n_classes)))
    return tables[0], tables[1], tables[2]


class ByClass(SeparableBase):
    """Strengths ``l1[k]``, ``l2[k]`` and sign constraint ``nonnegative[k]`` for the weights of class k = classes[j].

    The last ``n_free`` weights have no class and no penalty. Where it is smooth (no l1, no sign constraint) it is a
    SmoothByClass, which has the power Smooth.
    """

    def __new__(cls, classes: Any = (), l1: Any = 0.0, l2: Any = 0.0, nonnegative: Any = False, **_: Any) -> ByClass:
        """Make a SmoothByClass where there is neither l1 nor a sign constraint."""
        smooth = not np.any(np.asarray(l1)) and not np.any(np.asarray(nonnegative))
        return super().__new__(SmoothByClass if cls is ByClass and smooth else cls)

    def __init__(
        self,
        classes: Any,
        l1: Any = 0.0,
        l2: Any = 0.0,
        nonnegative: Any = False,
        *,
        n_free: int = 0,
        n_threads: int | None = None,
    ) -> None:
        super().__init__(n_free, n_threads)
        n_classes = max(np.size(l1), np.size(l2), np.size(nonnegative))
        if n_classes == 1:  # the same for all: as many as there are classes
            n_classes = int(np.max(classes, initial=0)) + 1
        self.l1, self.l2, self.nonnegative = _per_class(l1, l2, nonnegative, n_classes)
        self.classes = _class_numbers(classes, n_classes)

    def __repr__(self) -> str:
        tables = f"l1={self.l1.tolist()}, l2={self.l2.tolist()}, nonnegative={self.nonnegative.tolist()}"
        return f"{type(self).__name__}({tables})"

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.l1.size

    def _make_native(self, n_penalised: int) -> _core.Separable:
        if n_penalised != self.classes.size:
            raise ValueError(f"the penalty has {self.classes.size} classes for {n_penalised} penalised weights")
        signs = self.nonnegative.view(np.uint8)
        return _core.Separable(pool(self.n_threads), self.classes, self.l1, self.l2, signs)

    # Tunable
    @property
    def strengths(self) -> FloatArray:
        """Return [l1 of every class, l2 of every class]."""
        return np.concatenate([self.l1, self.l2])

    def with_strengths(self, strengths: FloatArray) -> ByClass:
        """Return the same classes with other strengths; those that were zero must stay zero."""
        check_same_zeros(self.strengths, strengths)
        l1, l2 = np.split(np.asarray(strengths, dtype=np.float64), 2)
        return ByClass(self.classes, l1, l2, self.nonnegative, n_free=self.n_free, n_threads=self.n_threads)

    # Separable
    def restrict(self, kept: Any) -> ByClass:
        """Return the same penalty on the weights with these numbers, the last ``n_free`` (without penalty) included."""
        inside = self.classes[kept[: len(kept) - self.n_free]]
        return ByClass(inside, self.l1, self.l2, self.nonnegative, n_free=self.n_free, n_threads=self.n_threads)

    def tied(self, tying: Tying) -> ByClass | SeparablePenalty:
        """Return the same penalty on shared weights, exact: groups of equal strengths form the new classes.

        Each of the m members of a group holds u / sqrt(m): the strength of |u| is sum a / sqrt(m), that of u^2 / 2 is
        mean b, and u is nonnegative where a member is. Too many classes become one strength per group; where only some
        of those groups are nonnegative, ValueError is raised.
        """
        self._check_free_stay_apart(tying)
        n = tying.n_groups - self.n_free
        groups, counts = tying.groups[: self.classes.size], np.maximum(tying.counts[:n], 1)
        l1 = np.bincount(groups, weights=self.l1[self.classes], minlength=n) / np.sqrt(counts)
        l2 = np.bincount(groups, weights=self.l2[self.classes], minlength=n) / counts
        signed = np.bincount(groups, weights=self.nonnegative[self.classes], minlength=n) > 0
        rows, classes = np.unique(np.column_stack([l1, l2, signed]), axis=0, return_inverse=True)
        if len(rows) <= _MOST:
            tables = (rows[:, 0], rows[:, 1], rows[:, 2] > 0) if len(rows) else (self.l1, self.l2, self.nonnegative)
            return ByClass(classes.reshape(-1), *tables, n_free=self.n_free, n_threads=self.n_threads)
        if signed.any() and not signed.all():
            raise ValueError(
                f"tied weights would need {len(rows)} classes, and {_MOST} is the limit where only some are "
                "nonnegative: tie within classes, or use a solver that ties nothing"
            )
        options: dict[str, Any] = {"l2_scale": l2, "n_free": self.n_free, "n_threads": self.n_threads}
        if isinstance(self, SmoothByClass):
            return SmoothSeparable(0.0, 1.0, **options)
        return SeparablePenalty(1.0, 1.0, l1_scale=l1, nonnegative=bool(signed.all()), **options)


class SmoothByClass(ByClass, SmoothBase):
    """A smooth penalty by class: ridges alone."""
