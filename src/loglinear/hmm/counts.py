"""Counts of the features that labelled sequences have: f(x_i, y_i), one sparse row per sequence."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from loglinear import _core
from loglinear._core import ThreadPool
from loglinear.data.chain_features import ChainFeatures
from loglinear.data.matrix import SparseRows
from loglinear.data.sequence import SequenceData


def feature_counts(data: SequenceData, features: ChainFeatures, pool: ThreadPool) -> SparseRows:
    """Return rows [n_sequences, n_weights]: the features of the gold labels, with the sums of their attributes' values.

    Features without a weight are left out; sequences with unknown labels are refused.
    """
    if data.n_attributes != features.n_attributes or data.n_labels != features.n_labels:
        raise ValueError(
            f"data of {data.n_attributes} attributes and {data.n_labels} labels, "
            f"but features of {features.n_attributes} and {features.n_labels}"
        )
    indptr, indices, values = _core.count_features(
        pool, data.sequence_ptr, data.labels, data.rows.indptr, data.rows.indices, data.rows.values, data.n_labels,
        features.node_ptr, features.node_label, features.pair_ptr, features.pair_code, features.transition_code,
        features.trigram_code,
    )
    return SparseRows(indptr, indices, values, features.n_weights)


def mean_counts(counts: SparseRows) -> NDArray[np.float64]:
    """Return the empirical expectation of every feature: its mean count per sequence [n_weights]."""
    total = np.bincount(counts.indices, weights=counts.values, minlength=counts.n_columns)
    return total / max(counts.n_rows, 1)
