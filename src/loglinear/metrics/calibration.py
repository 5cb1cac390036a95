"""Whether probabilities mean what they say: of predictions made with probability 0.8, are eight in ten right?"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

N_BINS = 10


def calibration(probabilities: ArrayLike, right: ArrayLike, n_bins: int = N_BINS) -> dict[str, Any]:
    """Compare probabilities of predictions [n] with whether they were right [n], in bins of equal width.

    Returns ``bins``, those that are not empty: "low" and "high" ends, "n" predictions, their mean "probability" and
    their "accuracy"; and ``error``, the expected calibration error: the mean difference of the two, weighted by n.
    """
    p, is_right = np.asarray(probabilities, np.float64), np.asarray(right, np.float64)
    if p.shape != is_right.shape or p.ndim != 1:
        raise ValueError(f"probabilities of shape {p.shape} and outcomes of shape {is_right.shape}")
    place: NDArray[np.int64] = np.minimum((p * n_bins).astype(np.int64), n_bins - 1)
    counts = np.bincount(place, minlength=n_bins)
    means, shares = (np.bincount(place, x, n_bins) / np.maximum(counts, 1) for x in (p, is_right))
    bins = [
        {
            "low": k / n_bins, "high": (k + 1) / n_bins, "n": int(counts[k]), "probability": float(means[k]),
            "accuracy": float(shares[k]),
        }
        for k in np.flatnonzero(counts).tolist()
    ]  # fmt: skip
    error = float(np.abs(means - shares) @ counts / p.size) if p.size else 0.0
    return {"bins": bins, "error": error}
