"""Weights of base scores, fitted to the exponential loss before the features and then fixed.

A base score (a language model's log-probability, a recogniser's score) has another range than features that are counts,
so its weight is chosen first, with all features at zero (Collins and Koo 2005; Gao, Suzuki and Yu 2006, figure 2,
step 1).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from loglinear.arrays import FloatArray
from loglinear.data.candidates import CandidateLists
from loglinear.data.matrix import SparseRows
from loglinear.losses.candidate_lists import ExponentialMarginLoss
from loglinear.optimise.minimise import minimise
from loglinear.optimise.objective import Objective
from loglinear.optimise.solver_choice import choose_solver
from loglinear.penalties import NoPenalty


def fit_base_weights(data: CandidateLists, *, by_errors: bool = False, n_threads: int | None = None) -> FloatArray:
    """Return the weights [n_base] that minimise the exponential loss; without a minimum, where Newton's method ends."""
    if not data.n_base or not data.n_pairs:
        return np.zeros(data.n_base)
    scale = np.abs(data.base).max(axis=0)  # so that the range of scores does not matter
    scale[scale == 0.0] = 1.0
    none = SparseRows(np.zeros(data.n_pairs + 1, dtype=np.int64), np.empty(0, dtype=np.int32), np.empty(0), 0)
    alone = replace(data, rows=none, base=data.base / scale)
    loss = ExponentialMarginLoss(alone, by_errors=by_errors, n_threads=n_threads)
    objective = Objective(loss, NoPenalty())
    result = minimise(objective, choose_solver(objective)[0], violation_tolerance=1e-10, max_iterations=100)
    return result.weights / scale


def base_margins(data: CandidateLists, weights: FloatArray) -> FloatArray:
    """Return the margins of the pairs under the base scores alone: [n_pairs]."""
    if weights.shape != (data.n_base,):
        raise ValueError(f"{weights.size} weights for {data.n_base} base scores")
    return np.ascontiguousarray(data.base @ weights)
