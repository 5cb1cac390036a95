"""A loss in parts equals the loss of the whole: values, gradients, second derivatives, intercepts."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from loglinear import _core
from loglinear.data.matrix import SparseRows
from loglinear.data.multiclass import MulticlassData
from loglinear.losses.candidate_lists import ExpectedErrorLoss, ExponentialMarginLoss, ListLogLoss
from loglinear.losses.multinomial import MultinomialLoss
from loglinear.losses.partitioned import PartitionedLoss, Shard
from loglinear.protocols import Curvature, FreeWeights, Scaled, Spread
from loglinear.threads import pool
from tests.candidate_problems import random_data

N, D = 60, 7


class Here:
    """Parts in this process."""

    def __init__(self, shards):
        self.shards = shards

    def call(self, method, arguments):
        return [getattr(shard, method)(*own) for shard, own in zip(self.shards, arguments)]

    def derive(self, method, arguments):
        return Here(self.call(method, arguments))


def problem(n_classes, weighted, intercept=True):
    """The loss of the whole, and the same in three parts, of which the last lacks two features."""
    rng = np.random.default_rng(n_classes)
    X = rng.normal(size=(N, D)) * (rng.random((N, D)) < 0.6)
    X[40:, [1, 4]] = 0.0
    y = rng.integers(n_classes, size=N).astype(np.int32)
    weight = rng.random(N) if weighted else None

    def loss(rows, columns):
        matrix = sparse.csr_matrix(X[rows][:, columns])
        own = None if weight is None else weight[rows]
        return MultinomialLoss(
            MulticlassData(SparseRows.from_scipy(matrix), y[rows], n_classes, own), intercept=intercept, n_threads=1
        )

    K = 1 if n_classes == 2 else n_classes
    shards = []
    for rows, columns in [
        (slice(0, 25), np.arange(D)), (slice(25, 40), np.arange(D)), (slice(40, N), np.array([0, 2, 3, 5, 6])),
    ]:  # fmt: skip
        kept = (columns[:, None] * K + np.arange(K)).ravel()
        if intercept:
            kept = np.concatenate([kept, D * K + np.arange(K)])
        shards.append(Shard(loss(rows, columns), kept, y[rows].size))
    whole = loss(slice(0, N), np.arange(D))
    return whole, PartitionedLoss.of(Here(shards), len(shards), whole.n_weights), rng


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_whole_is_the_sum_of_its_parts(n_classes, weighted):
    whole, parts, rng = problem(n_classes, weighted)
    w, v = rng.normal(size=(2, whole.n_weights))
    found, expected = np.empty((2, w.size))
    assert parts.value_and_gradient(w, found) == pytest.approx(whole.value_and_gradient(w, expected), rel=1e-13)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    for mine, theirs in ((parts.hessian(w), whole.hessian(w)),):
        mine.product(v, found), theirs.product(v, expected)
        np.testing.assert_allclose(found, expected, atol=1e-12)
        mine.diagonal(found), theirs.diagonal(expected)
        np.testing.assert_allclose(found, expected, atol=1e-12)
    assert parts.spread(v) == pytest.approx(whole.spread(v))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_intercepts_are_solved_for_in_all_parts_at_once(n_classes, weighted):
    whole, parts, rng = problem(n_classes, weighted)
    K = 1 if n_classes == 2 else n_classes
    assert isinstance(parts, FreeWeights)
    w = rng.normal(size=whole.n_weights)
    w[-K:] += 2.0 * np.arange(K)
    solved, gradient = w.copy(), np.empty_like(w)
    parts.solve_free(solved)
    assert np.array_equal(solved[:-K], w[:-K])
    whole.value_and_gradient(solved, gradient)
    assert np.abs(gradient[-K:]).max() < 1e-10  # the gradient of the whole vanishes there
    expected = w.copy()
    whole.solve_free(expected)
    np.testing.assert_allclose(solved, expected, atol=1e-8)
    residual, step, product = rng.normal(size=w.size), np.zeros_like(w), np.empty_like(w)
    residual[-K:] -= residual[-K:].mean() if K > 1 else 0.0  # a common shift of all classes changes nothing
    parts.correct_free(solved, residual, step)
    whole.hessian(solved).product(step, product)
    np.testing.assert_allclose((residual + product)[-K:], 0.0, atol=1e-9)
    assert not step[:-K].any()


@pytest.mark.parametrize("by_errors", [False, True])
@pytest.mark.parametrize("kind", [ListLogLoss, ExponentialMarginLoss, ExpectedErrorLoss])
def test_losses_of_lists_in_parts(kind, by_errors):
    """Base scores, the first weights, are free; the expected error, which is not convex, has no bounds."""
    data = random_data(40, scores=("a", "b"))
    by_errors = by_errors or kind is ExpectedErrorLoss
    whole, shards = kind(data, by_errors=by_errors, n_threads=1), []
    for lists in np.array_split(np.arange(data.n_lists), 3):
        part = data.take(lists)
        used = np.unique(part.rows.indices)
        part = replace(part, rows=part.rows.take_columns(pool(1), used))
        kept = np.concatenate([np.arange(data.n_base), data.n_base + used])
        shards.append(Shard(kind(part, by_errors=by_errors, n_threads=1), kept.astype(np.intp), lists.size))
    parts = PartitionedLoss.of(Here(shards), len(shards), whole.n_weights)
    rng = np.random.default_rng(0)
    w, v = rng.normal(size=(2, whole.n_weights))
    found, expected = np.empty((2, w.size))
    assert parts.value_and_gradient(w, found) == pytest.approx(whole.value_and_gradient(w, expected), rel=1e-13)
    np.testing.assert_allclose(found, expected, atol=1e-11)
    convex = kind is not ExpectedErrorLoss
    assert [isinstance(parts, power) for power in (Curvature, FreeWeights, Spread)] == [convex] * 3
    assert isinstance(parts, Scaled) or convex
    if convex:
        assert parts.spread(v) == pytest.approx(whole.spread(v))
        parts.solve_free(w)
        assert np.abs(_gradient(whole, w)[: data.n_base]).max() < 1e-9
        parts.correct_free(w, v, found), whole.correct_free(w, v, expected)
        np.testing.assert_allclose(found[: data.n_base], expected[: data.n_base], atol=1e-9)


def _gradient(loss, w):
    out = np.empty_like(w)
    loss.value_and_gradient(w, out)
    return out


def test_without_intercepts_nothing_is_free():
    whole, parts, rng = problem(3, False, intercept=False)
    w = rng.normal(size=whole.n_weights)
    solved, step = w.copy(), np.zeros_like(w)
    parts.solve_free(solved)
    parts.correct_free(w, w, step)
    assert np.array_equal(solved, w)
    assert not step.any()


@pytest.mark.parametrize("density", [0.0, 0.01, 0.5, 0.999, 1.0])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_a_part_gets_and_adds_the_entries_that_it_has(density, n_threads):
    rng = np.random.default_rng(0)
    whole = rng.normal(size=100_000)
    positions = np.flatnonzero(rng.random(whole.size) < density)
    subset = _core.Subset(positions, whole.size)
    part = np.empty(len(subset))
    subset.gather(pool(n_threads), whole, part)
    assert np.array_equal(part, whole[positions])
    expected = whole.copy()
    expected[positions] += 3.0 * part
    subset.add(pool(n_threads), 3.0 * part, whole)
    assert np.array_equal(whole, expected)


@pytest.mark.parametrize("positions", [[1, 0], [0, 0], [-1, 2], [0, 5]])
def test_positions_that_do_not_ascend_within_the_whole_are_refused(positions):
    with pytest.raises(ValueError, match="positions must ascend"):
        _core.Subset(np.array(positions), 5)
