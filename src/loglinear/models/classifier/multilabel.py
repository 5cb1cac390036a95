"""One binary problem per label, on the same features, several at a time: several labels per example, or one of many.

    minimise   sum over labels c of  [ sum_i s_i log(1 + exp(-t_ic (w_c . x_i + b_c))) + strength * penalty(w_c) ]

with t_ic = 1 where example i has label c, else -1. The problems share nothing but the features, so that each is solved
to the tolerance by itself; what is told of the training is told of their sum. Solutions are kept without their zeros,
so that under l1 thousands of labels need memory for the weights that are not zero, and for one problem per thread.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loglinear.arrays import FloatArray
from loglinear.data.matrix import Rows, SparseRows, as_dense
from loglinear.data.multiclass import MulticlassData
from loglinear.models.classifier.label_sets import LabelSets
from loglinear.models.classifier.training import LinearProblem
from loglinear.optimise.minimise import History, Result
from loglinear.optimise.training import Settings, Solution
from loglinear.status import Status
from loglinear.threads import pool

MANY_WEIGHTS = 1 << 24  # labels times features from which on mostly zero weights stay sparse: 128 MB

_NOTHING = np.empty(0)
_CERTAIN = 1e300  # the intercept of a label that all examples have: its probability is one


@dataclass(frozen=True, eq=False)
class LabelSolution:
    """The solution of one label's problem: its weights that are not zero, and how they were found."""

    solution: Solution  # without weights
    features: NDArray[np.int64]
    weights: FloatArray
    intercept: float

    @classmethod
    def of(cls, solution: Solution, n_features: int) -> LabelSolution:
        """Keep what is not zero."""
        w = solution.weights
        kept = np.flatnonzero(w[:n_features])
        bare = replace(solution, weights=_NOTHING, coordinates=_NOTHING, result=_bare(solution.result))
        return cls(bare, kept, w[kept], float(w[n_features]) if w.size > n_features else 0.0)


def _bare(result: Result) -> Result:
    return replace(result, weights=_NOTHING, history=History())


class MultilabelProblem:
    """Binary problems of all labels on the same rows, equal columns of which are looked for once."""

    def __init__(
        self, rows: Rows, labels: LabelSets, settings: Settings, *, intercept: bool,
        sample_weight: Any = None, balanced: bool = False,
    ) -> None:  # fmt: skip
        if rows.n_rows != labels.n_examples:
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: [{rows.n_rows}, {labels.n_examples}]"
            )
        self.labels, self.intercept, self.balanced = labels, intercept, balanced
        if sample_weight is not None and np.ndim(sample_weight) == 0:
            sample_weight = np.full(rows.n_rows, float(sample_weight))
        n = min(pool(settings.n_threads).size, labels.classes.size)
        self.n_at_once = n
        self.settings = replace(settings, n_threads=1, verbose=0) if n > 1 else replace(settings, verbose=0)
        data = MulticlassData(rows, np.zeros(rows.n_rows, dtype=np.int32), 2, sample_weight)
        self.sample_weight = data.sample_weight
        self.whole = LinearProblem(data, settings, intercept=intercept)
        merged = self.whole.loss.data.rows
        if isinstance(merged, SparseRows):
            merged.columns(pool(settings.n_threads))  # made here, before threads share them

    def solve(self, start: Callable[[int], FloatArray] | None = None) -> list[LabelSolution]:
        """Return the solutions, in the order of the labels, from given weights if any. Ctrl-C ends the training."""
        stop = threading.Event()
        numbers = range(self.labels.classes.size)
        with ThreadPoolExecutor(self.n_at_once) as threads:
            futures = [threads.submit(self._solve, c, start, stop) for c in numbers]
            try:
                return [future.result() for future in futures]
            except BaseException:
                stop.set()
                threads.shutdown(wait=True, cancel_futures=True)
                raise

    def _solve(self, c: int, start: Callable[[int], FloatArray] | None, stop: threading.Event) -> LabelSolution:
        n, chosen = self.labels.n_examples, self.labels.with_label(c)
        if chosen.size in (0, n) and self.intercept:
            return self._constant(c, chosen.size == n)
        labels = np.zeros(n, dtype=np.int32)
        labels[chosen] = 1
        weight = self.sample_weight
        if self.balanced:
            ones = np.ones(n) if weight is None else weight
            sums = np.bincount(labels, ones, 2)
            weight = ones * (sums.sum() / (2 * np.where(sums > 0, sums, 1.0)))[labels]
        rows = self.whole.loss.data.rows
        problem = LinearProblem(
            MulticlassData(rows, labels, 2, weight), self.settings, intercept=self.intercept, merged_by=self.whole
        )
        found = problem.solve(start=None if start is None else start(c), callback=lambda *_: stop.is_set())
        return LabelSolution.of(found, self.whole.n_features)

    def _constant(self, c: int, always: bool) -> LabelSolution:
        """Return the solution for a label that all examples have, or none: a certain prediction."""
        which = "every" if always else "no"
        warnings.warn(f"{which} example has label {self.labels.classes.tolist()[c]!r}", stacklevel=2)
        found = Result(_NOTHING, 0.0, 0.0, 0.0, True, True, Status.CONVERGED, 0, History(), "none")
        solution = Solution(_NOTHING, found, "none", "all examples agree on the label", _NOTHING)
        return LabelSolution(solution, np.empty(0, np.int64), _NOTHING, _CERTAIN if always else -_CERTAIN)


def refuse_settings(model: Any) -> None:
    """Raise ValueError for settings of a classifier that are not for several labels per example."""
    for name, wrong in (
        ("tune", model.tune is not None), ("checkpoint", model.checkpoint is not None),
        ("class_weight", model.class_weight not in (None, "balanced")),
    ):  # fmt: skip
        if wrong:
            raise ValueError(f"{name} is for one problem for all labels: leave it out, or train label by label")


def weights_by_label(
    coef: Any, intercept: FloatArray | None, shape: tuple[int, int]
) -> Callable[[int], FloatArray] | None:
    """Return a function to a label's weights, to start from; None where those of a model do not fit."""
    if coef.shape != shape or not (intercept is None or np.all(np.isfinite(intercept))):
        return None

    def weights(c: int) -> FloatArray:
        row = as_dense(coef[[c]]).ravel().astype(np.float64)
        return row if intercept is None else np.append(row, intercept[c])

    return weights


def of_all(found: Sequence[LabelSolution]) -> Solution:
    """Return the result of the sum of all problems, without weights: gaps, weighted by the objectives, add up."""
    solutions = [one.solution for one in found]
    results = [one.result for one in solutions]
    value = sum(one.value for one in results)
    gap = sum(one.gap * one.value for one in results if one.value > 0) / value if value > 0 else 0.0
    late = next((one for one in results if not one.converged), results[0])
    longest = max(solutions, key=lambda one: one.result.n_iterations)
    whole = replace(
        longest.result, value=value, gap=gap, violation=max(one.violation for one in results),
        gap_is_bound=all(one.gap_is_bound for one in results), converged=all(one.converged for one in results),
        status=late.status,
    )  # fmt: skip
    return replace(longest, result=whole)


def weights_of(found: Sequence[LabelSolution], n_features: int) -> tuple[Any, FloatArray]:
    """Return weights [n_labels, n_features], sparse where they are many and mostly zero, and intercepts [n_labels]."""
    intercepts = np.array([one.intercept for one in found])
    size, stored = len(found) * n_features, sum(one.weights.size for one in found)
    if size > MANY_WEIGHTS and 4 * stored < size:
        from scipy import sparse

        ptr = np.concatenate([[0], np.cumsum([one.weights.size for one in found])])
        features = np.concatenate([one.features for one in found])
        weights = np.concatenate([one.weights for one in found])
        return sparse.csr_matrix((weights, features, ptr), (len(found), n_features)), intercepts
    dense = np.zeros((len(found), n_features))
    for row, one in zip(dense, found):
        row[one.features] = one.weights
    return dense, intercepts
