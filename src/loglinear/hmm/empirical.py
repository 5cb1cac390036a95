"""A base model that takes its inputs from the training data: q0(x, y) = q0(y | x) p~(x).

The labels follow the HMM given the observations, the observations are those of the data, each sequence equally likely
(Smith, Vail and Lafferty, "Computationally Efficient M-Estimation of Log-Linear Structure Models", section 5.1,
equation 16). Expectations take one forward and one backward pass over the data. They exist for any attributes, and
their values are respected, but nothing outside the data has probability: p~ is ignored in decoding.
"""

from __future__ import annotations

import numpy as np

from loglinear import _core
from loglinear.arrays import FloatArray
from loglinear.data.chain_features import ChainFeatures
from loglinear.data.sequence import SequenceData
from loglinear.hmm.model import HMM, Ids
from loglinear.threads import pool


def empirical_expectations(
    hmm: HMM, features: ChainFeatures, data: SequenceData, ids: Ids, n_threads: int | None = None
) -> FloatArray:
    """Return E[f] under q0(y | x) p~(x) [n_weights]; ``ids`` are the columns of the HMM. Labels are not used."""
    if data.n_attributes != features.n_attributes:
        raise ValueError(f"data of {data.n_attributes} attributes, but features of {features.n_attributes}")
    out = np.empty(features.n_weights)
    _core.posterior_counts(
        pool(n_threads), hmm.states.native, data.sequence_ptr, data.labels, data.rows.indptr, data.rows.indices,
        data.rows.values, hmm.emission_scores(ids), features.n_labels, features.node_ptr, features.node_label,
        features.pair_ptr, features.pair_code, features.transition_code, features.trigram_code, out,
    )
    out /= max(data.n_examples, 1)
    return out
