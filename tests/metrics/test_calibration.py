import numpy as np
import pytest

from loglinear.metrics.calibration import calibration


def test_bins_compare_probabilities_with_shares_of_right_predictions():
    found = calibration([0.55, 0.58, 0.95, 0.97, 1.0, 0.91], [1, 0, 1, 1, 1, 0])
    low, high = found["bins"]
    assert (low["low"], low["high"], low["n"], low["accuracy"]) == (0.5, 0.6, 2, 0.5)
    assert low["probability"] == pytest.approx(0.565)
    assert (high["n"], high["accuracy"]) == (4, 0.75)
    assert found["error"] == pytest.approx((2 * abs(0.565 - 0.5) + 4 * abs(0.9575 - 0.75)) / 6)


def test_probabilities_that_mean_what_they_say_have_no_error():
    rng = np.random.default_rng(0)
    p = rng.uniform(0.5, 1.0, 200_000)
    assert calibration(p, rng.uniform(size=p.size) < p)["error"] < 0.005
    assert calibration(np.minimum(1.0, p + 0.1), rng.uniform(size=p.size) < p)["error"] == pytest.approx(0.09, abs=0.02)


def test_nothing_and_nonsense():
    assert calibration([], []) == {"bins": [], "error": 0.0}
    with pytest.raises(ValueError, match="shape"):
        calibration([0.5], [1, 0])
