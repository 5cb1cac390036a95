"""Hidden Markov models of labelled sequences with several observed columns.

    q0(x, y) = prod_i t(y_i | y_{i-2}, y_{i-1}) prod_c e_c(x_ic | y_i)  .  t(stop | y_{k-1}, y_k)

(Smith, Vail and Lafferty, "Computationally Efficient M-Estimation of Log-Linear Structure Models", equation 8 and
section 5). Every column is emitted independently given the label. Transitions, start and stop are relative
frequencies; emissions are smoothed by adding a constant to each count, over fixed vocabularies with a symbol for
unknown values (oov.py). A second-order HMM is a first-order one over pairs of labels (states.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loglinear import _core
from loglinear.arrays import FloatArray
from loglinear.errors import ModelFileError
from loglinear.hmm.states import States
from loglinear.threads import pool

Ids = Sequence[NDArray[np.int32]]


@dataclass(frozen=True, eq=False)
class HMM:
    """Probabilities of an HMM over L labels; of ``transitions`` and ``trigrams`` it has the one of its order.

    The probability of an empty sequence is 1 minus the sum of ``start``. A context that was never seen
    has zeros in place of a distribution.
    """

    start: FloatArray  # [L]
    stop: FloatArray  # order 1: [L]; order 2: [L + 1, L], after (y', y), y' = L at the start
    emissions: tuple[FloatArray, ...]  # per column [L, V_c]
    transitions: FloatArray | None = None  # order 1: [L, L]
    trigrams: FloatArray | None = None  # order 2: [L + 1, L, L], first index L at the start

    def __post_init__(self) -> None:
        if (self.transitions is None) == (self.trigrams is None):
            raise ValueError("an HMM has either transitions (order 1) or trigrams (order 2)")
        L = self.start.size
        contexts = (L,) if self.trigrams is None else (L + 1, L)
        if self.start.shape != (L,) or L == 0 or self._steps.shape != (*contexts, L) or self.stop.shape != contexts:
            raise ValueError(f"start, stop and transitions do not fit {L} labels at order {self.order}")
        for c, table in enumerate(self.emissions):
            if table.ndim != 2 or table.shape[0] != L or table.shape[1] == 0:
                raise ValueError(f"emissions of column {c} must have {L} rows and one column per value")
            _check_distributions(table.sum(axis=1), table, f"emissions of column {c}", may_be_zero=False)
        _check_distributions(self._steps.sum(axis=-1) + self.stop, self._steps, "transitions", may_be_zero=True)
        if np.any(self.stop < 0) or np.any(self.start < 0) or not self.start.sum() <= 1 + 1e-8:
            raise ValueError("start and stop must be probabilities")

    # ---- estimation ----------------------------------------------------------------------------------------------
    @classmethod
    def fit(
        cls, ids: Ids, vocabulary_sizes: Sequence[int], sequence_ptr: NDArray[np.int64], labels: NDArray[np.int32],
        n_labels: int, order: int = 2, smoothing: float = 1.0,
    ) -> HMM:
        """Count transitions, as relative frequencies, and emissions (count + smoothing) / (total + smoothing * V)."""
        check_sequences(ids, vocabulary_sizes, sequence_ptr, labels, n_labels)
        if not (np.isfinite(smoothing) and smoothing >= 0):
            raise ValueError(f"smoothing must not be negative, not {smoothing!r}")
        counts = transition_counts(sequence_ptr, labels, n_labels, order)
        start, steps, stop = counts
        total = steps.sum(axis=-1) + stop
        scale = np.divide(1.0, total, out=np.zeros_like(total), where=total > 0)
        emissions = tuple(
            smoothed_rows(emission_counts(column, V, labels, n_labels), smoothing)
            for column, V in zip(ids, vocabulary_sizes)
        )
        steps *= scale[..., None]
        stop *= scale
        start /= max(sequence_ptr.size - 1, 1)
        return cls(start, stop, emissions, **{"transitions" if order == 1 else "trigrams": steps})

    # ---- shape ---------------------------------------------------------------------------------------------------
    @property
    def _steps(self) -> FloatArray:
        steps = self.transitions if self.trigrams is None else self.trigrams
        assert steps is not None
        return steps

    @property
    def order(self) -> int:
        """Return how many labels the next one depends on: 1 or 2."""
        return 1 if self.trigrams is None else 2

    @property
    def n_labels(self) -> int:
        """Number of labels, L."""
        return self.start.size

    @property
    def n_parameters(self) -> int:
        """Return the number of emission probabilities and of nonzero transition, start and stop probabilities."""
        transitions = sum(int(np.count_nonzero(a)) for a in (self.start, self._steps, self.stop))
        return transitions + sum(table.size for table in self.emissions)

    @cached_property
    def states(self) -> States:
        """Return the Markov chain over the states that sequences pass through."""
        return States.of(self.start, self._steps, self.stop)

    # ---- logarithms ----------------------------------------------------------------------------------------------
    @cached_property
    def log_start(self) -> FloatArray:
        """Log start [L], -inf where zero."""
        return _log(self.start)

    @cached_property
    def log_stop(self) -> FloatArray:
        """Log stop, shaped as ``stop``."""
        return _log(self.stop)

    @cached_property
    def log_transitions(self) -> FloatArray | None:
        """Log transitions [L, L] of a first-order HMM."""
        return None if self.transitions is None else _log(self.transitions)

    @cached_property
    def log_trigrams(self) -> FloatArray | None:
        """Log trigrams [L + 1, L, L] of a second-order HMM."""
        return None if self.trigrams is None else _log(self.trigrams)

    @cached_property
    def log_emissions(self) -> tuple[FloatArray, ...]:
        """Log emissions, per column [V_c, L]: the values are rows, so that looking one up reads one line of memory."""
        return tuple(np.ascontiguousarray(_log(table).T) for table in self.emissions)

    # ---- scores --------------------------------------------------------------------------------------------------
    def emission_scores(self, ids: Ids) -> FloatArray:
        """Return the sum over columns of log e(x_c | y) [n_tokens, L]."""
        check_ids(ids, [table.shape[1] for table in self.emissions])
        if not self.emissions:
            raise ValueError("this HMM has no columns to score")
        scores = self.log_emissions[0][ids[0]]
        for table, column in zip(self.log_emissions[1:], ids[1:]):
            scores += table[column]
        return scores

    def log_probability(self, ids: Ids, labels: NDArray[np.int32], sequence_ptr: NDArray[np.int64]) -> FloatArray:
        """Return log q0(x, y) of labelled sequences [n_sequences]; -inf for a transition that was never seen."""
        check_sequences(ids, [t.shape[1] for t in self.emissions], sequence_ptr, labels, self.n_labels)
        scores = np.zeros(labels.size)
        for table, column in zip(self.log_emissions, ids):
            scores += table[column, labels]
        before, second = previous_labels(sequence_ptr, labels, self.n_labels)
        inner = before < self.n_labels
        earlier = () if self.order == 1 else (second[inner],)
        places = (*earlier, before[inner], labels[inner])
        scores[inner] += _log(self._steps)[places]
        scores[~inner] += self.log_start[labels[~inner]]
        filled = np.flatnonzero(np.diff(sequence_ptr) > 0)
        last = sequence_ptr[filled + 1] - 1
        scores[last] += self.log_stop[(labels[last],) if self.order == 1 else (before[last], labels[last])]
        empty = 1.0 - float(self.start.sum())
        out = np.full(sequence_ptr.size - 1, np.log(empty) if empty > 1e-12 else -np.inf)
        if filled.size:
            out[filled] = np.add.reduceat(scores, sequence_ptr[filled])
        return out

    def input_log_probability(
        self, ids: Ids, sequence_ptr: NDArray[np.int64], n_threads: int | None = None
    ) -> FloatArray:
        """Return log q0(x) of every input, summed over all labellings [n_sequences]."""
        out = np.empty(sequence_ptr.size - 1)
        scores = self.emission_scores(ids)
        _core.input_log_probabilities(pool(n_threads), self.states.native, sequence_ptr, scores, out)
        return out

    def sample(
        self, n: int, rng: np.random.Generator, *, max_length: int = 100_000, n_threads: int | None = None
    ) -> tuple[list[NDArray[np.int32]], NDArray[np.int32], NDArray[np.int64]]:
        """Draw ``n`` sequences (ids of each column, labels, sequence_ptr); the same for any number of threads.

        A sequence of more than ``max_length`` tokens is an error: cutting it would falsify expectations.
        """
        if n < 0 or max_length < 1:
            raise ValueError("n must not be negative and max_length must be positive")
        seed = int(rng.integers(2**63))
        tables = [np.ascontiguousarray(table) for table in self.emissions]
        ids, labels, ptr = _core.sample_sequences(pool(n_threads), self.states.native, tables, n, seed, max_length)
        return list(ids), labels, ptr

    # ---- saving --------------------------------------------------------------------------------------------------
    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays of a model file."""
        arrays = {"start": self.start, "stop": self.stop, "steps": self._steps}
        return arrays | {f"emissions.{c}": table for c, table in enumerate(self.emissions)}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> HMM:
        """Return the HMM of a model file; ModelFileError where arrays are not probabilities or do not fit together."""
        names = ["start", "stop", "steps", *(f"emissions.{c}" for c in range(len(arrays) - 3))]
        if set(names) != set(arrays):
            raise ModelFileError(f"HMM: expected the arrays {', '.join(names)}, not {', '.join(sorted(arrays))}")
        try:
            start, stop, steps, *emissions = (np.asarray(arrays[name], dtype=np.float64) for name in names)
            return cls(start, stop, tuple(emissions), **{"transitions" if steps.ndim == 2 else "trigrams": steps})
        except ValueError as error:
            raise ModelFileError(f"HMM: {error}") from None

    def __getstate__(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)}  # cached properties are recomputed


# ---- counts ------------------------------------------------------------------------------------------------------
def previous_labels(
    sequence_ptr: NDArray[np.int64], labels: NDArray[np.int32], n_labels: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return (label before, label before that) of each token; ``n_labels`` where the sequence had not begun."""
    position = np.arange(labels.size) - np.repeat(sequence_ptr[:-1], np.diff(sequence_ptr))
    before, second = np.full((2, labels.size), n_labels, dtype=np.int32)
    before[1:] = np.where(position[1:] >= 1, labels[:-1], n_labels)
    second[2:] = np.where(position[2:] >= 2, labels[:-2], n_labels)
    return before, second


def transition_counts(
    sequence_ptr: NDArray[np.int64], labels: NDArray[np.int32], n_labels: int, order: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return counts of (first labels, steps from each context, ends after each context), shaped as in an HMM."""
    if order not in (1, 2):
        raise ValueError(f"the order of an HMM must be 1 or 2, not {order!r}")
    L = n_labels
    before, second = (a.astype(np.int64) for a in previous_labels(sequence_ptr, labels, L))
    y = labels.astype(np.int64)
    inner = before < L
    ends = sequence_ptr[1:][np.diff(sequence_ptr) > 0] - 1
    shape: tuple[int, ...] = (L,) if order == 1 else (L + 1, L)
    context = before[inner] if order == 1 else second[inner] * L + before[inner]
    end = y[ends] if order == 1 else before[ends] * L + y[ends]
    n_contexts = int(np.prod(shape))
    start = np.bincount(y[~inner], minlength=L)
    steps = np.bincount(context * L + y[inner], minlength=n_contexts * L).reshape(*shape, L)
    stop = np.bincount(end, minlength=n_contexts).reshape(shape)
    return start.astype(np.float64), steps.astype(np.float64), stop.astype(np.float64)


def emission_counts(column: NDArray[np.int32], size: int, labels: NDArray[np.int32], n_labels: int) -> FloatArray:
    """Return how often each label comes with each value [L, V]."""
    code = labels.astype(np.int64) * size + column
    return np.bincount(code, minlength=n_labels * size).reshape(n_labels, size).astype(np.float64)


def smoothed_rows(counts: FloatArray, smoothing: float) -> FloatArray:
    """Return rows (count + smoothing) / sum; a row whose sum is zero becomes uniform."""
    table = counts + smoothing
    total = table.sum(axis=1, keepdims=True)
    return np.divide(table, total, out=np.full_like(table, 1.0 / counts.shape[1]), where=total > 0)


# ---- checks ------------------------------------------------------------------------------------------------------
def check_ids(ids: Ids, vocabulary_sizes: Sequence[int]) -> None:
    """Raise ValueError for columns that do not fit the vocabularies."""
    if len(ids) != len(vocabulary_sizes):
        raise ValueError(f"{len(ids)} columns for an HMM of {len(vocabulary_sizes)}")
    for c, (column, size) in enumerate(zip(ids, vocabulary_sizes)):
        if size < 1:
            raise ValueError(f"column {c} has an empty vocabulary")
        if column.size != ids[0].size:
            raise ValueError(f"column {c} has {column.size} tokens where column 0 has {ids[0].size}")
        if column.size and (column.min() < 0 or column.max() >= size):
            raise ValueError(f"column {c} has values outside [0, {size}): replace unknown ones by an OOV symbol first")


def check_sequences(
    ids: Ids, vocabulary_sizes: Sequence[int], sequence_ptr: NDArray[np.int64], labels: NDArray[np.int32], n_labels: int
) -> None:
    """Raise ValueError for arrays that do not belong together, and for unknown labels."""
    check_ids(ids, vocabulary_sizes)
    if sequence_ptr.ndim != 1 or sequence_ptr.size < 1 or sequence_ptr[0] != 0 or np.any(np.diff(sequence_ptr) < 0):
        raise ValueError("sequence_ptr must begin at 0 and never decrease")
    for name, n in [("labels", labels.size), *((f"column {c}", column.size) for c, column in enumerate(ids))]:
        if n != sequence_ptr[-1]:
            raise ValueError(f"sequences of {sequence_ptr[-1]} tokens, but {name} of {n}")
    if labels.size and (labels.min() < 0 or labels.max() >= n_labels):
        raise ValueError(f"labels must be known, with numbers below {n_labels}: leave out unlabelled sequences")


def _check_distributions(sums: FloatArray, table: FloatArray, what: str, *, may_be_zero: bool) -> None:
    good = np.abs(sums - 1.0) <= 1e-8
    if may_be_zero:
        good |= sums == 0.0
    if not np.all(good) or np.any(table < 0):
        place = np.argwhere(~good)
        where = f" (row {tuple(int(i) for i in place[0])} sums to {sums[tuple(place[0])]})" if place.size else ""
        raise ValueError(f"{what} must be probabilities that sum to one{where}")


def _log(table: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore"):
        return np.log(table)
