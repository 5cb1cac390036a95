"""exp, log and logsumexp on every instruction set this machine has, in units in the last place."""

import numpy as np
import pytest

from loglinear import _core

longdouble = pytest.mark.skipif(np.finfo(np.longdouble).eps > 1e-18, reason="long double is no wider than double here")


@pytest.fixture(params=["baseline", "avx2", "avx512"], autouse=True)
def simd(request):
    if not _core.simd_select(request.param):
        pytest.skip(f"this machine has no {request.param}")
    yield request.param
    _core.simd_select("auto")


def ulps(ours, exact):
    return np.abs((ours - exact) / np.spacing(np.maximum(np.abs(exact).astype(float), 5e-324))).max()


def test_selected(simd):
    assert _core.simd_name() == simd


@longdouble
def test_exp_accuracy():
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.uniform(-745, 709.7, 100_000), rng.uniform(-1, 1, 100_000), rng.normal(size=1000) * 1e-9])
    out = np.empty_like(x)
    _core.exp(x, out)
    assert ulps(out, np.exp(x.astype(np.longdouble))) < 1.0


@longdouble
def test_log_accuracy():
    rng = np.random.default_rng(1)
    wide, near = np.exp(rng.uniform(-700, 700, 100_000)), rng.uniform(0.5, 2, 100_000)
    x = np.concatenate([wide, near, 1 + rng.normal(size=1000) * 1e-8, [5e-324, 1e-310]])
    out = np.empty_like(x)
    _core.log(x, out)
    assert ulps(out, np.log(x.astype(np.longdouble))) < 1.0


def test_edges():
    x = np.array([np.inf, -np.inf, np.nan, 0.0, 710.0, -745.2, -800.0])
    out = np.empty_like(x)
    _core.exp(x, out)
    np.testing.assert_array_equal(out, [np.inf, 0, np.nan, 1, np.inf, 0, 0])
    x = np.array([np.inf, -np.inf, np.nan, 0.0, -1.0, 1.0])
    out = np.empty_like(x)
    _core.log(x, out)
    np.testing.assert_array_equal(out, [np.inf, np.nan, np.nan, -np.inf, np.nan, 0])


def test_logsumexp_is_shifted():
    x = np.array([-700.0, 700.0, 699.0, 1e300 * 0])
    assert _core.logsumexp(x) == pytest.approx(700 + np.log1p(np.exp(-1)), rel=1e-15)
    assert _core.logsumexp(np.full(9, -1e5)) == pytest.approx(-1e5 + np.log(9), rel=1e-15)
    assert _core.logsumexp(np.array([])) == -np.inf
