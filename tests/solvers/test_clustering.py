"""Sort-and-block clustering: against the exact optimum, and its invariants."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loglinear import _core
from loglinear.threads import pool


def cluster(x, k, importance=None, split_signs=False):
    groups = np.empty(x.size, dtype=np.int32)
    n = _core.cluster_values(pool(2), x, importance, k, 8, split_signs, groups)
    return groups, n


def error(x, groups, importance=None):
    m = np.ones_like(x) if importance is None else importance
    mass = np.bincount(groups, weights=m)
    mean = np.bincount(groups, weights=m * x) / np.maximum(mass, 1e-300)
    return float(np.sum(m * (x - mean[groups]) ** 2))


def optimal_error(x, k, importance=None):
    """Exact blocks by dynamic programming, O(k n^2)."""
    order = np.argsort(x)
    x = x[order]
    m = np.ones_like(x) if importance is None else importance[order]
    a, b, c = (np.concatenate([[0], np.cumsum(v)]) for v in (m, m * x, m * x * x))
    i, j = np.meshgrid(np.arange(x.size + 1), np.arange(x.size + 1), indexing="ij")
    with np.errstate(all="ignore"):
        cost = np.where(j > i, c[j] - c[i] - (b[j] - b[i]) ** 2 / np.maximum(a[j] - a[i], 1e-300), 0.0)
    best = np.full(x.size + 1, np.inf)
    best[0] = 0
    for _ in range(k):
        best = np.min(best[:, None] + np.where(j >= i, cost, np.inf), axis=0)
    return max(best[-1], 0.0)


@pytest.mark.parametrize("shape", ["normal", "laplace", "heavy"])
@pytest.mark.parametrize("weighted", [False, True])
def test_close_to_optimal(shape, weighted):
    rng = np.random.default_rng(0)
    x = {"normal": rng.normal(size=600), "laplace": rng.laplace(size=600), "heavy": rng.standard_t(2, size=600)}[shape]
    importance = rng.uniform(0.1, 5, size=600) if weighted else None
    for k in (10, 30, 60):
        groups, n = cluster(x, k, importance)
        assert n <= k
        assert error(x, groups, importance) <= 1.5 * optimal_error(x, k, importance)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(-1e3, 1e3, width=32), min_size=1, max_size=60), st.integers(1, 20), st.booleans())
def test_blocks_are_contiguous_and_ordered(values, k, split):
    x = np.array(values)
    groups, n = cluster(x, k, split_signs=split)
    assert set(groups) == set(range(n))
    assert n <= k + 2 * split
    order = np.argsort(x, kind="stable")
    assert np.all(np.diff(groups[order]) >= 0)
    if split:
        for g in range(n):
            assert len(set(np.sign(x[groups == g]))) == 1


def test_millions_and_ties():
    x = np.zeros(2_000_000)
    x[:1000] = np.random.default_rng(0).normal(size=1000)
    groups, n = cluster(x, 100)
    assert n <= 100
    assert error(x, groups) < 0.01 * np.sum(x**2)
    same, n = cluster(np.full(1000, 3.5), 10)
    assert n == 1
    assert not same.any()


def test_refusals():
    with pytest.raises(ValueError, match="must be finite"):
        cluster(np.array([1.0, np.nan]), 2)
    with pytest.raises(ValueError, match="at least 1"):
        cluster(np.array([1.0]), 0)
