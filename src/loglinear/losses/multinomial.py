"""Multinomial (and binary) log-loss, the loss of maximum-entropy classifiers.

    L(W, b) = sum_i s_i ( log sum_k exp m_ik - m_{i y_i} ),        m_i = W^T x_i + b

Weights are laid out [feature][class], intercepts last. Two classes share one weight vector and a sigmoid, so that
scikit-learn's C is 1 / strength there too; more classes have one vector each.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from loglinear import _core
from loglinear.arrays import FloatArray
from loglinear.data.matrix import SparseRows
from loglinear.data.multiclass import MulticlassData
from loglinear.losses.free_weights import free_step, solve_free_weights
from loglinear.structure.tying import Tying
from loglinear.threads import pool


class MultinomialLoss:
    """Log-loss of ``data``; powers: Curvature, Sized, Spread, FreeWeights, Stochastic, Restrict, Tied."""

    floor = 0.0  # minus the logarithm of a probability

    def __init__(self, data: MulticlassData, *, intercept: bool = True, n_threads: int | None = None) -> None:
        self.data, self.intercept, self.n_threads = data, intercept, n_threads
        self.n_columns = 1 if data.n_classes <= 2 else data.n_classes  # K
        self.n_weights = (data.n_features + intercept) * self.n_columns
        self.free = slice(data.n_features * self.n_columns, self.n_weights)  # intercepts
        self._margins = np.empty(data.n_examples * self.n_columns)

    def split(self, w: FloatArray) -> tuple[FloatArray, FloatArray | None]:
        """Return weights [n_features * K] and intercepts [K], as views."""
        if w.size != self.n_weights:
            raise ValueError(f"{w.size} weights for a loss of {self.n_weights}")
        if not self.intercept:
            return w, None
        return w[: -self.n_columns], w[-self.n_columns :]

    def margins(self, w: FloatArray, out: FloatArray) -> None:
        """Write the scores of every class: out [n, K]."""
        weights, bias = self.split(w)
        self.data.rows.margins(pool(self.n_threads), weights, bias, self.n_columns, out)

    def _margins_to_weights(self, residuals: FloatArray, out: FloatArray, power: int = 1) -> None:
        """Write dL/dw given residuals dL/dm [n, K]."""
        weights, bias = self.split(out)
        threads = pool(self.n_threads)
        self.data.rows.gradient(threads, residuals, self.n_columns, weights, power)
        if bias is not None:
            _core.column_sums(threads, residuals, self.n_columns, bias)

    def _loss(self, margins: FloatArray) -> float:
        data = self.data
        return _core.log_loss(pool(self.n_threads), margins, data.labels, data.sample_weight, self.n_columns)

    # Loss
    def value_and_gradient(self, w: FloatArray, out: FloatArray) -> float:
        """Return the value and write the gradient, by one pass over the rows and one over the columns."""
        self.margins(w, self._margins)
        value = self._loss(self._margins)
        self._margins_to_weights(self._margins, out)
        return value

    # Curvature
    def hessian(self, w: FloatArray) -> MultinomialHessian:
        """Return X^T D X with D the covariance of the classes in each example."""
        return MultinomialHessian(self, w)

    # Sized
    def feature_sizes(self, out: FloatArray) -> None:
        """Write the size of every feature to the weights of all its classes, and 1 to the intercepts."""
        weights, bias = self.split(out)
        weights[:] = np.repeat(self.data.rows.column_sizes(pool(self.n_threads)), self.n_columns)
        if bias is not None:
            bias[:] = 1.0

    # Spread
    def spread(self, step: FloatArray) -> float:
        """Return the largest difference between the scores of two classes; a single vector scores against zero."""
        margins = np.empty_like(self._margins)
        self.margins(step, margins)
        if self.n_columns == 1:
            return float(np.abs(margins).max(initial=0.0))
        return float(np.ptp(margins.reshape(-1, self.n_columns), axis=1).max(initial=0.0))

    # FreeWeights
    def solve_free(self, w: FloatArray) -> None:
        """Solve for the intercepts by Newton's method on the margins, which costs no pass over the features."""
        if self.intercept:
            solve_free_weights(self.free_loss(w), w[self.free])

    def correct_free(self, w: FloatArray, gradient: FloatArray, out: FloatArray) -> None:
        """Write the intercepts' step that cancels their entries of the gradient."""
        if self.intercept:
            out[self.free] = free_step(self.free_loss(w).curvature(np.zeros(self.n_columns)), gradient[self.free])

    def free_loss(self, w: FloatArray) -> InterceptLoss:
        """Return the loss as a function of what is added to the intercepts of ``w``."""
        return InterceptLoss(self, w)

    # Stochastic
    def partition(self, n_parts: int, rng: np.random.Generator) -> Sequence[MultinomialLoss]:
        """Return the losses of random parts of nearly equal size."""
        order = rng.permutation(self.data.n_examples)
        parts = np.array_split(order, min(n_parts, order.size))
        make = type(self)
        return [make(self.data.take(np.sort(p)), intercept=self.intercept, n_threads=self.n_threads) for p in parts]

    # Restrict
    def work(self) -> float:
        """Return values times classes, and an exponential, as dear as ten of them, per margin."""
        return float(self.n_columns) * (2.0 * self.data.rows.n_nonzeros + 10.0 * self.data.n_examples)

    def restrict(self, active: NDArray[np.bool_]) -> tuple[MultinomialLoss, NDArray[np.intp]]:
        """Keep all weights of features with an active weight, and the intercepts."""
        K, d = self.n_columns, self.data.n_features
        features = np.flatnonzero(active[: d * K].reshape(d, K).any(axis=1))
        rows = self.data.rows.take_columns(pool(self.n_threads), features)
        data = MulticlassData(rows, self.data.labels, self.data.n_classes, self.data.sample_weight)
        kept = (features[:, None] * K + np.arange(K)).ravel()
        if self.intercept:
            kept = np.concatenate([kept, np.arange(d * K, self.n_weights)])
        return MultinomialLoss(data, intercept=self.intercept, n_threads=self.n_threads), kept

    # Tied
    def tied(self, tying: Tying) -> MultinomialLoss | TiedMultinomialLoss:
        """Return a smaller problem of summed columns for one class vector, else a loss that ties in its loops."""
        K, n = self.n_columns, self.data.n_features * self.n_columns
        if self.intercept:
            tail = np.arange(tying.n_groups - K, tying.n_groups)
            if not np.array_equal(tying.groups[n:], tail) or np.any(tying.groups[:n] >= tail[0]):
                raise ValueError("intercepts must stay untied, as the last groups")
        if K == 1:
            n_shared = tying.n_groups - self.intercept
            rows = self.data.rows.tie_columns(pool(self.n_threads), tying.groups[:n], tying.scale[:n_shared])
            data = MulticlassData(rows, self.data.labels, self.data.n_classes, self.data.sample_weight)
            return MultinomialLoss(data, intercept=self.intercept, n_threads=self.n_threads)
        return TiedMultinomialLoss(self, tying)


class InterceptLoss:
    """A MultinomialLoss as a function of a shift of its intercepts [K]: margins are kept, features are not read."""

    def __init__(self, loss: MultinomialLoss, w: FloatArray) -> None:
        self._loss, self._margins = loss, np.empty_like(loss._margins)
        self._work = np.empty_like(loss._margins)
        loss.margins(w, self._margins)

    def value_and_slopes(self, shift: FloatArray) -> tuple[float, FloatArray]:
        """Return the value and the derivatives by the intercepts [K]."""
        loss, slopes = self._loss, np.empty(self._loss.n_columns)
        _core.add_bias(pool(loss.n_threads), self._margins, shift, self._work)
        value = loss._loss(self._work)  # leaves the residuals in the margins
        _core.column_sums(pool(loss.n_threads), self._work, loss.n_columns, slopes)
        return value, slopes

    def curvature(self, shift: FloatArray) -> FloatArray:
        """Return the second derivatives by the intercepts [K, K]."""
        loss, K, weight = self._loss, self._loss.n_columns, self._loss.data.sample_weight
        _core.add_bias(pool(loss.n_threads), self._margins, shift, self._work)
        _core.probabilities(pool(loss.n_threads), self._work, K, False)
        p = self._work.reshape(-1, K)
        weighted = p if weight is None else p * weight[:, None]
        if K == 1:
            return np.array([[weighted[:, 0] @ (1.0 - p[:, 0])]])
        return np.diag(weighted.sum(axis=0)) - weighted.T @ p


class MultinomialHessian:
    """Second derivatives of a MultinomialLoss at one point."""

    def __init__(self, loss: MultinomialLoss, w: FloatArray) -> None:
        self.loss = loss
        self.probabilities = np.empty_like(loss._margins)
        self._work = np.empty_like(loss._margins)
        loss.margins(w, self.probabilities)
        _core.probabilities(pool(loss.n_threads), self.probabilities, loss.n_columns, False)

    def product(self, v: FloatArray, out: FloatArray) -> None:
        """Write X^T D X v."""
        loss = self.loss
        loss.margins(v, self._work)
        weight = loss.data.sample_weight
        _core.log_loss_hessian(pool(loss.n_threads), self.probabilities, weight, loss.n_columns, self._work)
        loss._margins_to_weights(self._work, out)

    def diagonal(self, out: FloatArray) -> None:
        """Write sum_i s_i x_ij^2 p_ik (1 - p_ik) for feature j and class k."""
        loss = self.loss
        weight = loss.data.sample_weight
        _core.log_loss_curvature(pool(loss.n_threads), self.probabilities, weight, loss.n_columns, self._work)
        loss._margins_to_weights(self._work, out, power=2)


class TiedMultinomialLoss:
    """u -> loss(tying.up(u)) for several classes; weights are looked up through the group map inside the loops."""

    def __init__(self, loss: MultinomialLoss, tying: Tying) -> None:
        if not isinstance(loss.data.rows, SparseRows):
            raise ValueError("weights of a dense multinomial loss cannot be tied: pass the features as a sparse matrix")
        self.loss, self.tying = loss, tying
        self.n_weights = tying.n_groups
        n = loss.data.n_features * loss.n_columns
        self._map = tying.groups[:n]
        self._n_shared = tying.n_groups - (loss.n_columns if loss.intercept else 0)

    def value_and_gradient(self, u: FloatArray, out: FloatArray) -> float:
        """Evaluate MultinomialLoss through the map."""
        loss, K, rows = self.loss, self.loss.n_columns, self.loss.data.rows
        assert isinstance(rows, SparseRows)
        threads = pool(loss.n_threads)
        shared = u[: self._n_shared] * self.tying.scale[: self._n_shared]
        bias = np.ascontiguousarray(u[self._n_shared :]) if loss.intercept else None
        rows.native.tied_margins(threads, shared, self._map, bias, K, loss._margins)
        value = loss._loss(loss._margins)
        rows.columns(threads).native.tied_gradient(threads, loss._margins, self._map, K, out[: self._n_shared])
        out[: self._n_shared] *= self.tying.scale[: self._n_shared]
        if loss.intercept:
            _core.column_sums(threads, loss._margins, K, out[self._n_shared :])
        return value
