"""The normaliser of a joint model over all inputs, which M-estimation never needs, estimated from samples.

    Z = sum_x sum_y q0(x, y) exp(w . f(x, y)) = E_{x ~ q0} [ score(x) / q0(x) ],      score(x) = the sum over y

With it, score(x) / Z is p(x), and models of different classes of inputs can be compared.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from loglinear.arrays import FloatArray
from loglinear.features.columns import Columns
from loglinear.models.tagger.inputs import TokenInputs

_BATCH = 4096  # inputs drawn at a time: memory does not grow with the sample


def estimate_log_normaliser(model: Any, n_samples: int, random_state: int) -> tuple[float, float]:
    """Return an estimate of log Z and its standard error."""
    model.check_fitted()
    if not model.has_base:
        raise ValueError(f"estimator {model.estimator!r} models labels given the input, not the input itself")
    if model.estimator == "hmm":
        return 0.0, 0.0
    if model.base == "empirical":
        raise ValueError("the empirical base has no inputs but those of training, so there is no sum over all inputs")
    if n_samples < 2:
        raise ValueError(f"n_samples must be at least 2, not {n_samples}")
    rng = np.random.default_rng(random_state)
    ratios = [_log_ratios(model, min(_BATCH, n_samples - done), rng) for done in range(0, n_samples, _BATCH)]
    logs = np.concatenate(ratios)
    top = float(logs.max())
    relative = np.exp(logs - top)
    mean = float(relative.mean())
    return top + float(np.log(mean)), float(relative.std(ddof=1) / np.sqrt(n_samples) / mean)


def _log_ratios(model: Any, n: int, rng: np.random.Generator) -> FloatArray:
    """Return log score(x) - log q0(x) of n inputs drawn from q0."""
    reader, hmm = model.reader_, model.hmm_
    ids, _, ptr = hmm.sample(n, rng, n_threads=model.n_threads)
    columns = Columns(ptr, ids, reader.oov.vocabularies)
    rows = reader.featuriser.transform(columns)
    inputs = TokenInputs(ptr, rows, reader.n_attributes, columns)
    filled = np.diff(ptr) > 0  # an empty input has no features: its ratio is 1
    out = np.zeros(n)
    scores = model.input_log_probability(inputs) - hmm.input_log_probability(ids, ptr, model.n_threads)
    out[filled] = scores[filled]
    return out
