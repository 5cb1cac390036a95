"""The Markov chain over the states of an HMM, and sums over all paths through it.

A state of a first-order HMM is a label; of a second-order one, a pair (previous label, label). With T the transitions
between states, the expected number of visits i and the weight of all continuations o solve two linear systems (Smith,
Vail and Lafferty, "Computationally Efficient M-Estimation of Log-Linear Structure Models", equations 9-11):

    i = enter + T' i,        o = leave + T o.

They have a solution exactly where the end can be reached from every state that can be visited: then the powers of T
vanish and (I - T)^-1 = I + T + T^2 + ... exists.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loglinear import _core
from loglinear.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class States:
    """The states that can be visited; T as sparse rows with ascending columns."""

    n_labels: int
    label: NDArray[np.int32]  # [S]
    previous: NDArray[np.int32] | None  # [S], n_labels at the start; None for a first-order chain
    indptr: NDArray[np.int64]  # [S + 1]
    indices: NDArray[np.int32]
    values: FloatArray
    enter: FloatArray  # [S]
    leave: FloatArray  # [S]

    @classmethod
    def of(cls, start: FloatArray, steps: FloatArray, stop: FloatArray) -> States:
        """Make them of start [L], steps [L, L] or [L + 1, L, L] and stop; unreachable states are left out."""
        L = start.size
        second_order = steps.ndim == 3
        places = np.nonzero(steps)
        *context, label = places
        if second_order:
            source, target = context[0] * L + context[1], context[1] * L + label
            enter = np.zeros((L + 1) * L)
            enter[L * L :] = start
        else:
            source, target, enter = context[0], label, start
        values, leave = steps[places], stop.ravel()

        kept = _closure(enter > 0, source, target)
        number = np.cumsum(kept) - 1
        inside = kept[source]  # then the target is kept too
        source, target, values = number[source[inside]], number[target[inside]], values[inside]
        order = np.lexsort((target, source))
        indptr = np.searchsorted(source[order], np.arange(kept.sum() + 1)).astype(np.int64)
        states = np.flatnonzero(kept)
        return cls(
            L, (states % L).astype(np.int32), (states // L).astype(np.int32) if second_order else None, indptr,
            target[order].astype(np.int32), np.ascontiguousarray(values[order]), np.ascontiguousarray(enter[kept]),
            np.ascontiguousarray(leave[kept]),
        )

    @property
    def n_states(self) -> int:
        """Number of states, S."""
        return self.label.size

    @cached_property
    def native(self) -> _core.StateChain:
        """Return the arrays for the kernels."""
        return _core.StateChain(
            self.n_labels, self.label, self.previous, self.indptr, self.indices, self.values, self.enter, self.leave
        )

    @cached_property
    def source(self) -> NDArray[np.int64]:
        """Return the state that each transition leaves."""
        return np.repeat(np.arange(self.n_states), np.diff(self.indptr))

    def number(self, label: Any, previous: Any = None) -> NDArray[np.int64]:
        """Return the state of each label (or pair of labels), -1 where no sequence passes through it."""
        L = self.n_labels
        table = np.full(L if self.previous is None else (L + 1) * L, -1, dtype=np.int64)
        own = self.label.astype(np.int64) + (0 if self.previous is None else self.previous.astype(np.int64) * L)
        table[own] = np.arange(self.n_states)
        return table[np.asarray(label) + (0 if previous is None else np.asarray(previous) * L)]

    @cached_property
    def path_sums(self) -> tuple[FloatArray, FloatArray]:
        """Return (i, o): expected visits of each state, and the weight of all that can follow it."""
        return self._solve(self.enter, transposed=True), self._solve(self.leave)

    @cached_property
    def gap_sums(self) -> tuple[FloatArray, FloatArray]:
        """Return sums over all rows before, and after, that have a label [L, S] each; T^0 + T^1 + ... is in both.

        The first is i, where the label is y, times (I - T)^-1; the second (I - T)^-1 times o, where it is y.
        """
        into, out_of = self.path_sums
        has = (self.label == np.arange(self.n_labels)[:, None]).T  # [S, L]
        before, after = self._solve(has * into[:, None], transposed=True), self._solve(has * out_of[:, None])
        return np.ascontiguousarray(before.T), np.ascontiguousarray(after.T)

    def steps_ahead(self, v: FloatArray) -> FloatArray:
        """Return (T + T^2 + T^3 + ...) v, the sum over positions ahead at any distance; v is [S] or [S, n]."""
        return self._solve(v) - v

    @cached_property
    def _factors(self) -> Any:
        from scipy.sparse import csc_matrix, identity
        from scipy.sparse.linalg import splu

        self._check_proper()
        T = csc_matrix((self.values, (self.source, self.indices)), shape=(self.n_states, self.n_states))
        try:
            return splu(csc_matrix(identity(self.n_states, format="csc") - T))
        except RuntimeError:
            raise ValueError(_IMPROPER.format("some label")) from None

    def _solve(self, v: FloatArray, transposed: bool = False) -> FloatArray:
        if self.n_states == 0:
            return np.zeros_like(v)
        x = self._factors.solve(np.asarray(v, dtype=np.float64), "T" if transposed else "N")
        if not np.all(np.isfinite(x)):
            raise ValueError(_IMPROPER.format("some label"))
        return np.ascontiguousarray(x)

    def _check_proper(self) -> None:
        stopping = _closure(self.leave > 0, self.indices.astype(np.int64), self.source)
        if not np.all(stopping):
            state = int(np.flatnonzero(~stopping)[0])
            before = "" if self.previous is None else f" after {int(self.previous[state])}"
            raise ValueError(_IMPROPER.format(f"label {int(self.label[state])}{before}"))


_IMPROPER = (
    "this HMM is improper: from {} the end of a sequence is never reached, so sequences have no finite expected "
    "length and features no expectations; give every label a way to stop"
)


def _closure(reached: NDArray[np.bool_], source: NDArray[Any], target: NDArray[Any]) -> NDArray[np.bool_]:
    """Return the states that can be reached from ``reached`` along the edges."""
    reached = reached.copy()
    while True:
        new = target[reached[source] & ~reached[target]]
        if new.size == 0:
            return reached
        reached[new] = True
