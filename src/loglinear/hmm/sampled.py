"""Expectations of arbitrary features under an HMM, from a sample.

    E_q0[f_j]  <-  ( sum over s sampled sequences of f_j  +  smoothing * prior_j )  /  ( s + smoothing )

Without smoothing this is equation 7 of Smith, Vail and Lafferty, "Computationally Efficient M-Estimation of Log-Linear
Structure Models", unbiased, with an error that falls as 1 / sqrt(s). A feature that the sample lacks then has
expectation zero, and its weight runs off to infinity (section 4.3).

The smoothing here mixes the sample with ``smoothing`` sequences of another distribution, whose expectations are
``prior``: the mean counts of the training data, where nothing better is known. Adding a constant to every count, as one
does to word counts, would give expectations that no distribution has (an attribute's features must add up over the
labels, a pair's over its halves); those of a mixture are consistent, positive for every feature of the training data
(which keeps the loss bounded below), and tend to the exact ones as the sample grows. Towards the training mean is the
careful direction: there the gradient at zero vanishes, so a feature that was never sampled keeps weight zero.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from loglinear.arrays import FloatArray
from loglinear.data.chain_features import ChainFeatures
from loglinear.data.matrix import SparseRows
from loglinear.data.sequence import SequenceData
from loglinear.features.sequences import TokenRows
from loglinear.hmm.counts import feature_counts
from loglinear.hmm.model import HMM
from loglinear.threads import pool

Attributes = Callable[[list[NDArray[np.int32]], NDArray[np.int64]], TokenRows]
InputCounts = Callable[[list[NDArray[np.int32]], NDArray[np.int64]], SparseRows]
_BATCH = 4096  # sequences drawn at a time: memory does not grow with the sample


def sampled_expectations(
    hmm: HMM, features: ChainFeatures, attributes: Attributes, n_samples: int, rng: np.random.Generator, *,
    smoothing: float = 0.0, prior: FloatArray | None = None, input_counts: InputCounts | None = None,
    max_length: int = 100_000, n_threads: int | None = None,
) -> FloatArray:
    """Return estimates of E_q0[f] [n_weights]; ``attributes(ids, sequence_ptr)`` featurises sampled tokens.

    With ``input_counts(ids, sequence_ptr)``, features of the inputs alone per sequence, theirs follow.
    """
    if n_samples < 1:
        raise ValueError(f"n_samples must be positive, not {n_samples}")
    if not (np.isfinite(smoothing) and smoothing >= 0):
        raise ValueError(f"smoothing must not be negative, not {smoothing!r}")
    if smoothing and prior is None:
        raise ValueError("smoothing needs a prior: the expectations to smooth towards, such as mean_counts(counts)")
    total: FloatArray | None = None
    threads = pool(n_threads)
    for done in range(0, n_samples, _BATCH):
        n = min(_BATCH, n_samples - done)
        ids, labels, ptr = hmm.sample(n, rng, max_length=max_length, n_threads=n_threads)
        data = SequenceData(ptr, attributes(ids, ptr), features.n_attributes, labels, features.n_labels)
        counts = feature_counts(data, features, threads)
        if input_counts is not None:
            counts = counts.beside(input_counts(ids, ptr))
        total = np.zeros(counts.n_columns) if total is None else total
        total += np.bincount(counts.indices, weights=counts.values, minlength=total.size)
    assert total is not None
    if prior is not None and prior.shape != total.shape:
        raise ValueError(f"a prior of {prior.size} expectations for {total.size} features")
    if smoothing and prior is not None:
        total += smoothing * prior
    return total / (n_samples + smoothing)
