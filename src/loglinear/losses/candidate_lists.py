"""Losses of n-best lists: how far the reference of each list is ahead of its other candidates.

With margins m_p of pairs (data/candidates.py), errors e_p and q_p = exp(-m_p) / (1 + sum_r exp(-m_r)) within a list:

    ExponentialMarginLoss   sum_p exp(-m_p)                              boosting; Gao, Suzuki and Yu 2006, eq. 6
    ListLogLoss             sum over lists of log(1 + sum_p exp(-m_p))   -log p(reference | list), maximum entropy
    ExpectedErrorLoss       sum_p e_p q_p                                expected number of errors; not convex

With ``by_errors`` the first is sum_p e_p exp(-m_p), so that worse candidates weigh more (Collins and Koo 2005), and the
second log(1 + sum_p exp(e_p - m_p)), so that worse candidates are kept farther away (softmax-margin). Below a margin of
-200 the exponential goes on as its tangent. Weights are laid out base scores first, then features.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from loglinear import _core
from loglinear.arrays import FloatArray
from loglinear.data.candidates import CandidateLists
from loglinear.data.matrix import SparseRows
from loglinear.losses.free_weights import free_step, solve_free_weights
from loglinear.registry import Registry
from loglinear.structure.tying import Tying
from loglinear.threads import pool


class ListLoss:
    """The common part of the losses of lists. Powers: Stochastic, Scaled, Restrict, Tied."""

    kind: ClassVar[str]

    def __init__(self, data: CandidateLists, *, by_errors: bool = False, n_threads: int | None = None) -> None:
        self.data, self.by_errors, self.n_threads = data, by_errors, n_threads
        self.n_weights = data.n_weights
        self._margins = np.empty(data.n_pairs)
        self._errors = data.errors if by_errors else None

    def _like(self, data: CandidateLists) -> ListLoss:
        return type(self)(data, by_errors=self.by_errors, n_threads=self.n_threads)

    def _to_weights(self, residuals: FloatArray, out: FloatArray, power: int = 1) -> None:
        """Write for every weight the sum over pairs of residual * difference ** power."""
        data = self.data
        out[: data.n_base] = (data.base**power).T @ residuals
        data.rows.gradient(pool(self.n_threads), residuals, 1, out[data.n_base :], power)

    def value_of(self, margins: FloatArray) -> float:
        """Return the value at these margins, which become its derivatives."""
        return _core.list_loss(pool(self.n_threads), self.kind, self.data.list_ptr, self._errors, margins)

    def probabilities(self, margins: FloatArray) -> FloatArray:
        """Turn the margins of all pairs into q; for the exponential loss, e exp(-m)."""
        _core.list_probabilities(pool(self.n_threads), self.kind, self.data.list_ptr, self._errors, margins)
        return margins

    def base_curvature(self, q: FloatArray) -> FloatArray:
        """Return the second derivatives by the weights of the base scores: [n_base, n_base]."""
        columns = self.data.base.T.copy()
        for column in columns:
            _core.list_loss_hessian(pool(self.n_threads), self.kind, self.data.list_ptr, q, column)
        return columns @ self.data.base

    # Loss
    def value_and_gradient(self, w: FloatArray, out: FloatArray) -> float:
        """Return the value and write the gradient, by one pass over the pairs and one over the features."""
        data = self.data
        data.margins(w, self._margins)
        value = self.value_of(self._margins)
        self._to_weights(self._margins, out)
        return value

    # Stochastic
    def partition(self, n_parts: int, rng: np.random.Generator) -> Sequence[ListLoss]:
        """Return the losses of random parts with nearly equal numbers of lists."""
        order = rng.permutation(self.data.n_lists)
        return [self._like(self.data.take(np.sort(p))) for p in np.array_split(order, min(n_parts, order.size))]

    # Scaled
    def curvature_estimate(self, out: FloatArray) -> None:
        """Write the curvature of the log-loss where all candidates are equally likely, covariances left out."""
        sizes = np.repeat(np.diff(self.data.list_ptr), np.diff(self.data.list_ptr))
        self._to_weights(1.0 / (1.0 + sizes), out, power=2)
        np.maximum(out, 1e-3, out=out)

    # Sized
    def feature_sizes(self, out: FloatArray) -> None:
        """Write the sizes of base scores and features."""
        base, n_base = self.data.base, self.data.n_base
        mean = np.sum(base**2, axis=0) / np.maximum(np.count_nonzero(base, axis=0), 1)
        out[:n_base] = np.where(mean > 0, np.sqrt(mean), 1.0)
        out[n_base:] = self.data.rows.column_sizes(pool(self.n_threads))

    # Restrict
    def work(self) -> float:
        """Return the number of values, twice, and an exponential, as dear as ten of them, per pair."""
        return 2.0 * self.data.rows.n_nonzeros + (10.0 + 2.0 * self.data.n_base) * self.data.n_pairs

    def restrict(self, active: NDArray[np.bool_]) -> tuple[ListLoss, NDArray[np.intp]]:
        """Keep the active features and all base scores."""
        n_base = self.data.n_base
        features = np.flatnonzero(active[n_base:])
        rows = self.data.rows.take_columns(pool(self.n_threads), features)
        return self._like(replace(self.data, rows=rows)), np.concatenate([np.arange(n_base), n_base + features])

    # Tied
    def tied(self, tying: Tying) -> ListLoss:
        """Return a smaller problem of summed columns, base scores among them."""
        from scipy import sparse

        data = self.data
        rows = data.rows
        features = sparse.csr_matrix((rows.values, rows.indices, rows.indptr), shape=(rows.n_rows, rows.n_columns))
        both = sparse.hstack([sparse.csr_matrix(data.base), features], format="csr")
        shared = SparseRows.from_scipy(both).tie_columns(pool(self.n_threads), tying.groups, tying.scale)
        return self._like(replace(data, rows=shared, base=np.zeros((data.n_pairs, 0)), base_names=()))


class _ConvexListLoss(ListLoss):
    floor = 0.0  # minus the logarithm of a probability, or an exponential

    @property
    def free(self) -> slice:
        """The weights of base scores."""
        return slice(0, self.data.n_base)

    # Spread
    def spread(self, step: FloatArray) -> float:
        """Bound the differences by twice the largest change of a margin."""
        return 2.0 * float(np.abs(self.data.margins(step)).max(initial=0.0))

    # Curvature
    def hessian(self, w: FloatArray) -> ListHessian:
        """Return the second derivatives at ``w``."""
        return ListHessian(self, w)

    # FreeWeights
    def solve_free(self, w: FloatArray) -> None:
        """Solve for the weights of base scores, which rerankers leave without a penalty, by Newton's method."""
        if self.data.n_base:
            solve_free_weights(self.free_loss(w), w[self.free])

    def correct_free(self, w: FloatArray, gradient: FloatArray, out: FloatArray) -> None:
        """Write the step of the base scores' weights that cancels their entries of the gradient."""
        if self.data.n_base:
            out[self.free] = free_step(self.hessian(w).of_base(), gradient[self.free])

    def free_loss(self, w: FloatArray) -> BaseLoss:
        """Return the loss as a function of what is added to the weights of base scores in ``w``."""
        return BaseLoss(self, w)


class ExponentialMarginLoss(_ConvexListLoss):
    """Sum over pairs of exp(-margin); more powers: Curvature, Spread, FreeWeights."""

    kind = "exponential"


class ListLogLoss(_ConvexListLoss):
    """Minus the log-probability of the reference among its candidates; more powers: Curvature, Spread, FreeWeights."""

    kind = "log"


class ExpectedErrorLoss(ListLoss):
    """Expected number of errors beyond those of the references. Not convex: solvers end at a stationary point."""

    kind = "expected_error"

    def __init__(self, data: CandidateLists, *, by_errors: bool = True, n_threads: int | None = None) -> None:
        if not by_errors:
            raise ValueError("the expected error counts errors: by_errors must be true")
        super().__init__(data, by_errors=True, n_threads=n_threads)


class ListHessian:
    """Second derivatives of a convex list loss at one point."""

    def __init__(self, loss: ListLoss, w: FloatArray) -> None:
        self.loss = loss
        self.q = loss.probabilities(loss.data.margins(w))
        self._work = np.empty(self.q.size)

    def product(self, v: FloatArray, out: FloatArray) -> None:
        """Write X^T H X v, H the Hessian by the margins."""
        loss, data = self.loss, self.loss.data
        data.margins(v, self._work)
        _core.list_loss_hessian(pool(loss.n_threads), loss.kind, data.list_ptr, self.q, self._work)
        loss._to_weights(self._work, out)

    def diagonal(self, out: FloatArray) -> None:
        """Write the diagonal: for the log-loss, the variances of each feature within its lists, summed."""
        loss, data = self.loss, self.loss.data
        threads = pool(loss.n_threads)
        columns = data.columns.native
        assert isinstance(columns, _core.SparseMatrix32)  # numbers of pairs always fit 32 bits
        _core.list_loss_curvature(threads, loss.kind, data.list_ptr, columns, self.q, out[data.n_base :])
        out[: data.n_base] = np.diag(self.of_base())

    def of_base(self) -> FloatArray:
        """Return the second derivatives by the weights of the base scores: [n_base, n_base]."""
        return self.loss.base_curvature(self.q)


class BaseLoss:
    """A list loss as a function of what is added to the weights of base scores; features are looked at once."""

    def __init__(self, loss: ListLoss, w: FloatArray) -> None:
        self._loss, self._margins = loss, loss.data.margins(w)

    def _shifted(self, shift: FloatArray) -> FloatArray:
        margins: FloatArray = self._margins + self._loss.data.base @ shift
        return margins

    def value_and_slopes(self, shift: FloatArray) -> tuple[float, FloatArray]:
        """Return the value and the first derivatives."""
        residuals = self._shifted(shift)
        value = self._loss.value_of(residuals)
        slopes: FloatArray = self._loss.data.base.T @ residuals
        return value, slopes

    def curvature(self, shift: FloatArray) -> FloatArray:
        """Return the second derivatives."""
        return self._loss.base_curvature(self._loss.probabilities(self._shifted(shift)))


LIST_LOSSES: Registry[Callable[..., ListLoss]] = Registry(
    "loss of lists",
    {"exponential": ExponentialMarginLoss, "log": ListLogLoss, "expected_error": ExpectedErrorLoss},
)
