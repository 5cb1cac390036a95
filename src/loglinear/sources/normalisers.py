"""Methods that compute all normalisers and expectations of a composite model, all exact, behind one interface.

    naive                     every history is summed over all words
    caching                   unigram caching: words without a feature are summed once
    cluster-expansion         intersections of all sets of patterns, nothing nested (Lafferty and Suhm 1996)
    sharing                   intersections of sets of sources, the patterns of each source nested (lemma 2 of Wu 2002,
                              by differences along each source: generalised hierarchical with 2^M sharing)
    hierarchical              generalised hierarchical training: patterns of one order form a level (equation 3.37)
    partition                 divide and conquer: a partition source is folded into the unigrams (section 3.6)
    partition-hierarchical    both: the partition source outside, the orders of the others inside (section 3.8.2)
    dense                     every outcome of every history, by rows of weights: where outcomes are few, as classes

Each counts its terms: the summands of all normalisers of one evaluation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from loglinear import _core
from loglinear.sources.problem import CompositeProblem
from loglinear.threads import pool

FloatArray = NDArray[np.float64]
UNLIMITED = 1 << 62
METHODS = (
    "naive", "caching", "cluster-expansion", "sharing", "hierarchical", "partition", "partition-hierarchical",
    "dense",
)  # fmt: skip
OF_PARTITIONS = ("partition", "partition-hierarchical")
MAX_PARTITIONS, FEW_PARTITIONS = 100_000, 1_000


class Normaliser(Protocol):
    """One way to evaluate a problem."""

    @property
    def terms(self) -> int:
        """Return the summands of all normalisers, once an evaluation has been made."""

    @property
    def nbytes(self) -> int:
        """Return the memory that the method takes beside the problem."""

    def value_and_gradient(self, w: FloatArray, out: FloatArray) -> float:
        """Return the loss; write its gradient, expected minus observed."""

    def hessian_vector(self, w: FloatArray, v: FloatArray, out: FloatArray) -> None:
        """Write the derivative of the expectations along ``v``."""

    def log_z(self, w: FloatArray) -> FloatArray:
        """Return log Z of every history: [n_histories]."""


class Naive:
    """Sums over all words of every history: slow, and what the others are checked by."""

    def __init__(self, problem: CompositeProblem, n_threads: int | None = None) -> None:
        self.problem, self.n_threads = problem, n_threads
        self.terms = problem.n_histories * problem.n_words
        self.nbytes = 8 * 8 * problem.n_weights

    def value_and_gradient(self, w: FloatArray, out: FloatArray) -> float:
        """Return the loss; write its gradient."""
        return float(self.problem.native.naive(pool(self.n_threads), w, out)[0])

    def hessian_vector(self, w: FloatArray, v: FloatArray, out: FloatArray) -> None:
        """Write the central difference of the gradient: this method only checks others."""
        step = 1e-6 / max(float(np.abs(v).max(initial=0.0)), 1e-300)
        ahead = np.empty_like(w)
        self.value_and_gradient(w + step * v, ahead)
        self.value_and_gradient(w - step * v, out)
        np.divide(ahead - out, 2 * step, out=out)

    def log_z(self, w: FloatArray) -> FloatArray:
        """Return log Z of every history."""
        out = np.empty(self.problem.n_histories)
        self.problem.native.naive_log_z(pool(self.n_threads), w, out)
        return out


class Kernel:
    """A method of the extension."""

    def __init__(
        self, native: _core.CompositeLevels | _core.CompositeClusters | _core.CompositeDense, problem: CompositeProblem,
        n_threads: int | None, order: NDArray[np.intp] | None = None,
    ) -> None:  # fmt: skip
        self.native, self.problem, self.n_threads, self._order = native, problem, n_threads, order

    @property
    def terms(self) -> int:
        """Return the summands of all normalisers."""
        return int(self.native.terms)

    @property
    def nbytes(self) -> int:
        """Return the memory that the method takes beside the problem."""
        return int(self.native.bytes)

    def value_and_gradient(self, w: FloatArray, out: FloatArray) -> float:
        """Return the loss; write its gradient."""
        return self.native.value_and_gradient(pool(self.n_threads), w, out)

    def hessian_vector(self, w: FloatArray, v: FloatArray, out: FloatArray) -> None:
        """Write the derivative of the expectations along ``v``."""
        self.native.hessian_vector(pool(self.n_threads), w, v, out)

    def log_z(self, w: FloatArray) -> FloatArray:
        """Return log Z of every history."""
        out = np.empty(self.problem.n_histories)
        self.native.log_z(pool(self.n_threads), w, out)
        if self._order is not None:
            sorted_ = out
            out = np.empty_like(sorted_)
            out[self._order] = sorted_
        return out


def make_normaliser(
    problem: CompositeProblem,
    method: str,
    *,
    partition: int | None = None,
    apart: Sequence[tuple[int, ...]] = (),
    max_bytes: int | None = None,
    n_threads: int | None = None,
) -> Normaliser:
    """Prepare a method for a problem.

    partition : the table whose contexts of depth 1 partition the histories (methods of partitions)
    apart : sets of tables whose words are taken for disjoint; the result is then an approximation ("sharing")
    max_bytes : raise MemoryError if the intersections take more
    """
    if method not in METHODS:
        raise ValueError(f"unknown method {method!r}; known: {', '.join(METHODS)}")
    if apart and method != "sharing":
        raise ValueError("only the method 'sharing' can take nearly disjoint features for disjoint")
    if problem.groups is not None and method != "dense":
        raise ValueError("only the method 'dense' normalises groups of outcomes by themselves")
    if method == "naive":
        return Naive(problem, n_threads)
    threads = pool(n_threads)
    if method in ("sharing", "cluster-expansion"):
        of, bits, order = problem.native, [_bits(problem, one) for one in apart], None
        if method == "cluster-expansion":
            of, order = problem.flat, flat_order(problem)
        try:
            native = _core.CompositeClusters(threads, of, bits, UNLIMITED if max_bytes is None else max_bytes)
        except ValueError as error:
            raise MemoryError(f"{method}: {error}") from None
        return Kernel(native, problem, n_threads, order)
    if method == "dense":
        groups = () if problem.groups is None else (problem.groups.start, problem.groups.of)
        return Kernel(_core.CompositeDense(problem.native, *groups), problem, n_threads)
    levels = levels_of(problem, method, partition)
    position = {i: place for place, i in enumerate(problem.kernel_order)}
    given = [[(position[i], d) for i, d in level] for level in levels]
    return Kernel(_core.CompositeLevels(threads, problem.native, given), problem, n_threads)


@dataclass(frozen=True)
class DisjointnessError:
    """What it costs to take nearly disjoint features for disjoint, at given weights."""

    largest: float  # |difference of log Z| over all histories
    mean: float  # the same by token: how far the log-probability of a token is off
    terms: int  # with the approximation
    exact_terms: int


def disjointness_error(
    problem: CompositeProblem, apart: Sequence[tuple[int, ...]], w: FloatArray, *, n_threads: int | None = None
) -> DisjointnessError:
    """Compare the normalisers with sets of tables taken for disjoint with the exact ones."""
    exact = make_normaliser(problem, "sharing", n_threads=n_threads)
    near = make_normaliser(problem, "sharing", apart=apart, n_threads=n_threads)
    off = np.abs(near.log_z(w) - exact.log_z(w))
    mean = float(off @ problem.count / problem.count.sum())
    return DisjointnessError(float(off.max(initial=0.0)), mean, near.terms, exact.terms)


def levels_of(problem: CompositeProblem, method: str, partition: int | None = None) -> list[list[tuple[int, int]]]:
    """Return the patterns (table, depth) of every level of a method that works by levels."""
    patterns = problem.patterns
    if method == "caching":
        return [patterns]
    if method == "hierarchical":
        return by_order(patterns)
    if partition is None or not 0 <= partition < len(problem.tables):
        raise ValueError(f"{method} needs a partition source, such as Topic")
    check_partition(problem, partition)
    outside, inside = [p for p in patterns if p[0] == partition], [p for p in patterns if p[0] != partition]
    if not inside:
        return [outside]
    return [outside, inside] if method == "partition" else [outside, *by_order(inside)]


def by_order(patterns: Sequence[tuple[int, int]]) -> list[list[tuple[int, int]]]:
    """Return the patterns by depth: the levels of super-features of sources that are chains."""
    return [[p for p in patterns if p[1] == d] for d in range(1, max(d for _, d in patterns) + 1)]


def check_partition(problem: CompositeProblem, partition: int) -> None:
    """Raise ValueError for a partition variable with too many values or with deeper contexts."""
    table = problem.tables[partition]
    n = table.n_contexts - 1
    if table.depth != 1:
        raise ValueError(f"a partition variable has one symbol; this source has {table.depth}")
    if n > MAX_PARTITIONS or (n > FEW_PARTITIONS and n > problem.n_histories // 2):
        raise ValueError(
            f"the partition variable has {n:,} values for {problem.n_histories:,} histories: too many to divide by; "
            "use a source with fewer values (topics, tags), or another method"
        )


def usable_partition(problem: CompositeProblem, partition: int | None) -> int | None:
    """Return the partition variable, or None where there is none or it has too many values for this problem."""
    if partition is not None:
        try:
            check_partition(problem, partition)
        except ValueError:
            return None
    return partition


def flat_order(problem: CompositeProblem) -> NDArray[np.intp]:
    """Return the order of histories that ``problem.flat`` has."""
    tables = [(problem.tables[i].entries_of_depth(d), i, d) for i, d in problem.patterns]
    _, i, d = max(tables, key=lambda t: t[0].stop - t[0].start)
    leaf = problem.tables[i].ancestors(problem.leaves[i], d)
    first = int(problem.tables[i].depth_start[d])
    return np.argsort(np.where(leaf == 0, 0, leaf.astype(np.int64) - first + 1).astype(np.uint32), kind="stable")


def _bits(problem: CompositeProblem, tables: Sequence[int]) -> int:
    position = {i: place for place, i in enumerate(problem.kernel_order)}
    return sum(1 << position[i] for i in set(tables))
