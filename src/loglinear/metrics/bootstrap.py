"""The bootstrap: units of a text drawn with replacement (Efron and Tibshirani, 1993, chapter 13; Koehn, 2004)."""

from __future__ import annotations

import numpy as np

from loglinear.arrays import FloatArray


def resampled(sums: FloatArray, n_samples: int, random_state: int) -> FloatArray:
    """Return sums over units [n_units, k] drawn with replacement: [n_samples, k].

    The last column is the size of a unit; samples of size zero, which have no rate, are drawn again.
    """
    if n_samples < 1:
        raise ValueError(f"the number of samples must be at least 1, not {n_samples}")
    rng, n = np.random.default_rng(random_state), len(sums)
    drawn = np.zeros((n_samples, sums.shape[1]))
    for sample in drawn:
        while sample[-1] == 0.0:
            sample[:] = np.bincount(rng.integers(n, size=n), minlength=n) @ sums
    return drawn


def interval(samples: FloatArray) -> tuple[float, float]:
    """Return the 2.5th and the 97.5th percentile."""
    low, high = np.percentile(samples, [2.5, 97.5])
    return float(low), float(high)


def two_sided(differences: FloatArray) -> float:
    """Return the two-sided p-value: twice the smaller share of samples on either side of zero."""
    tail = min(np.count_nonzero(differences <= 0), np.count_nonzero(differences >= 0))
    return min(1.0, 2 * (1 + tail) / (differences.size + 1))
