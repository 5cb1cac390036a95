"""Losses of label chains: crf, memm and pseudolikelihood over one set of features.

    crf               sum_i  log Z(x_i) - score(x_i, y_i)              (Lafferty, McCallum and Pereira 2001)
    memm              sum_i sum_t  -log p(y_t | y_{t-1}, y_{t-2}, x)   (McCallum, Freitag and Pereira 2000)
    pseudolikelihood  sum_i sum_t  -log p(y_t | all other labels, x)   (Besag 1975)

score(x, y) = w . f(x, y) + log q0, where q0 may be a base distribution or a constraint (data/chain_base.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loglinear import _core
from loglinear.arrays import FloatArray
from loglinear.data.chain_base import ChainBase
from loglinear.data.chain_features import ChainFeatures
from loglinear.data.sequence import SequenceData
from loglinear.data.token_arrays import squared_sums, total_by_sequence
from loglinear.features.sequences import TokenRows
from loglinear.losses.chain_start import StochasticStart, can_start
from loglinear.structure.tying import Tying
from loglinear.threads import pool

KINDS = ("crf", "memm", "pseudolikelihood")


def _ranges(weights: FloatArray, ptr: NDArray[Any]) -> FloatArray:
    """Return how far apart the weights [ptr[i], ptr[i + 1]) are, those of labels without a weight being zero."""
    out, filled = np.zeros(ptr.size - 1), np.diff(ptr) > 0
    if filled.any():
        starts = ptr[:-1][filled]
        out[filled] = np.maximum.reduceat(np.maximum(weights, 0.0), starts)
        out[filled] -= np.minimum.reduceat(np.minimum(weights, 0.0), starts)
    return out


class ChainLoss:
    """One of KINDS; powers: Scaled, Sized, Spread, Approach, Stochastic, Tied, Restrict."""

    floor = 0.0  # minus the logarithm of a probability

    def __init__(
        self,
        data: SequenceData,
        features: ChainFeatures,
        kind: str = "crf",
        *,
        base: ChainBase | None = None,
        machine: str = "auto",
        n_threads: int | None = None,
    ) -> None:
        if kind not in KINDS:
            raise ValueError(f"unknown chain loss {kind!r}; known: {', '.join(KINDS)}")
        self.data, self.features, self.kind, self.n_threads = data, features, kind, n_threads
        self.base = base or ChainBase()
        self.machine = machine
        self.n_weights = features.n_weights
        self._model = self.base.model(features, machine)
        if data.n_attributes != features.n_attributes:
            raise ValueError("sequences and features differ in attributes")
        self._resolved: _core.ChainTokens | None = None

    @property
    def _tokens(self) -> _core.ChainTokens:
        """The tokens with their attributes resolved to weights, made when first needed."""
        if self._resolved is None:
            self._resolved = self._resolve(self.n_threads)
        return self._resolved

    def _resolve(self, n_threads: int | None) -> _core.ChainTokens:
        plain = self.base.transitions is None and self.base.trigrams is None
        listed = self.kind == "crf" and plain and self.machine != "dense"
        return _core.ChainTokens(pool(n_threads), self.features.native, self.data.native, listed)

    # Loss
    def value_and_gradient(self, w: FloatArray, out: FloatArray) -> float:
        """Return the loss and write its gradient to ``out``: scores, inference and residuals in one pass."""
        data, threads = self.data, pool(self.n_threads)
        return _core.chain_loss(
            threads, self.kind, self._model, data.native, self._tokens, self.base.nodes, data.labels, data.allowed, w,
            out,
        )

    # Scaled
    def curvature_estimate(self, out: FloatArray) -> None:
        """Write a quarter of the sum of squared values to ``out``: the bound of p (1 - p), were tokens independent."""
        data, features = self.data, self.features
        total, step = np.zeros(data.n_attributes), 1 << 18  # in pieces: bincount widens what it is given
        for begin in range(0, data.rows.indices.size, step):
            piece = slice(begin, begin + step)
            squares = None if data.rows.values is None else data.rows.values[piece] ** 2
            total += np.bincount(data.rows.indices[piece], weights=squares, minlength=data.n_attributes)
        if data.numbers:
            total[-data.n_numbers :] = squared_sums(data.numbers, data.n_numbers)
        total /= 4
        node, pair, transition, trigram = features.split(out)
        node[:] = np.repeat(total, np.diff(features.node_ptr))
        pair[:] = np.repeat(total, np.diff(features.pair_ptr))
        transition[:] = trigram[:] = data.n_tokens / max(data.n_labels, 2)

    # Sized
    def feature_sizes(self, out: FloatArray) -> None:
        """Write the size of every attribute to its weights, and 1 to those of transitions."""
        out[:] = 1.0
        rows, n, numbers = self.data.rows, self.data.n_attributes, self.data.numbers
        if rows.values is None and not numbers:
            return
        values = np.ones(rows.indices.size) if rows.values is None else rows.values
        squares = np.bincount(rows.indices, weights=values**2, minlength=n)
        counts = np.bincount(rows.indices, weights=values != 0, minlength=n)
        if numbers:
            squares[-self.data.n_numbers :] = squared_sums(numbers, self.data.n_numbers)
            counts[-self.data.n_numbers :] = self.data.n_tokens
        sizes = np.where(squares > 0, np.sqrt(squares / np.maximum(counts, 1)), 1.0)
        node, pair, _, _ = self.features.split(out)
        node[:] = np.repeat(sizes, np.diff(self.features.node_ptr))
        pair[:] = np.repeat(sizes, np.diff(self.features.pair_ptr))

    # Spread
    def spread(self, step: FloatArray) -> float:
        """Bound the differences by the ranges of all tokens of a sequence, each label chosen by itself."""
        data, features = self.data, self.features
        node, pair, transition, trigram = features.split(step)
        by_attribute = _ranges(node, features.node_ptr) + _ranges(pair, features.pair_ptr)
        rows = data.rows
        weights = by_attribute[rows.indices]
        if rows.values is not None:
            weights *= np.abs(rows.values)
        upto = np.concatenate([[0.0], np.cumsum(weights)])[rows.indptr[data.sequence_ptr]]
        lengths = np.diff(data.sequence_ptr)
        chain = sum(float(part.max(initial=0.0) - part.min(initial=0.0)) for part in (transition, trigram))
        totals = np.diff(upto) + chain * lengths
        if data.numbers:
            totals += total_by_sequence(data.numbers, by_attribute[-data.n_numbers :])
        return float(totals.max(initial=0.0))

    # Approach
    def approach(self, ridge: float, passes: int, out: FloatArray) -> int:
        """Write weights after some passes of stochastic steps; 0 where this chain has more than they know."""
        plain = self.kind == "crf" and self.data.allowed is None and self.base.is_zero
        if not (plain and passes and can_start(self.data, self.features)):
            return 0
        start = StochasticStart(self.data, self.features, self.n_threads)
        with ThreadPoolExecutor(1) as beside:  # the steps take one thread: another resolves for the evaluations to come
            resolved = None if self._resolved is not None else beside.submit(self._resolve, 1)
            found = start.weights(ridge, passes)
        if resolved is not None:
            self._resolved = resolved.result()
        if found is None:
            return 0
        out[:] = found
        return passes

    # Stochastic
    def partition(self, n_parts: int, rng: np.random.Generator) -> Sequence[ChainLoss]:
        """Return random parts of near-equal numbers of sequences."""
        order = rng.permutation(self.data.n_examples)
        parts = [np.sort(p) for p in np.array_split(order, min(n_parts, order.size))]
        return [self._with(self.data.take(p), self.features, self.base.take(self.data, p)) for p in parts]

    # Tied
    def tied(self, tying: Tying) -> TiedChainLoss:
        """Return the loss of shared weights. Copying them out costs little beside inference."""
        return TiedChainLoss(self, tying)

    # Restrict
    def work(self) -> float:
        """Return the weights that scores are made of, twice, and the cost of the recursions over label pairs."""
        labels = self.data.n_labels
        weights = np.diff(self.features.node_ptr) + np.diff(self.features.pair_ptr)
        listed = float(weights[self.data.rows.indices].sum()) + self.data.n_tokens * self.data.n_numbers * labels
        return 2.0 * listed + 4.0 * self.data.n_tokens * labels**2

    def restrict(self, active: NDArray[np.bool_]) -> tuple[ChainLoss, NDArray[np.intp]]:
        """Return the loss of the active features alone; attributes without any are dropped from the tokens."""
        kept = self.features.keep(active)
        used = kept.used_attributes()
        features, _ = kept.take_attributes(used)
        number = np.full(self.data.n_attributes, -1, dtype=np.int32)
        number[used] = np.arange(used.size, dtype=np.int32)
        d, rows = self.data, self.data.rows
        smaller = TokenRows(rows.indptr, number[rows.indices], rows.values).keep_known()
        data = SequenceData(
            d.sequence_ptr, smaller, used.size, d.labels, d.n_labels, d.allowed, d.numbers, d.emissions
        )
        return self._with(data, features, self.base), np.flatnonzero(active)

    def _with(self, data: SequenceData, features: ChainFeatures, base: ChainBase) -> ChainLoss:
        return ChainLoss(data, features, self.kind, base=base, machine=self.machine, n_threads=self.n_threads)


class TiedChainLoss:
    """u -> loss(tying.up(u))."""

    def __init__(self, loss: ChainLoss, tying: Tying) -> None:
        self.loss, self.tying = loss, tying
        self.n_weights = tying.n_groups
        self._gradient = np.empty(loss.n_weights)

    def value_and_gradient(self, u: FloatArray, out: FloatArray) -> float:
        """Return the loss at ``tying.up(u)`` and write the gradient with respect to u to ``out``."""
        value = self.loss.value_and_gradient(self.tying.up(u), self._gradient)
        out[:] = self.tying.down(self._gradient)
        return value
