"""The locally uniform base model, which knows of labels only which of them may follow which.

    q0(x, y) = prod_i ( 1 / N_{y_{i-1}}  prod_c p_c(x_ic) )  1 / N_{y_k}

(Smith, Vail and Lafferty, "Computationally Efficient M-Estimation of Log-Linear Structure Models", section 5.1,
equation 15). N_y is the number of labels that follow y in the training data, and one for the end of the sequence, which
may follow any label. The start is such a label too: there are empty sequences, as in the paper's count of 3 for it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from loglinear.hmm.model import HMM, Ids, check_sequences, smoothed_rows, transition_counts


def locally_uniform(
    ids: Ids, vocabulary_sizes: Sequence[int], sequence_ptr: NDArray[np.int64], labels: NDArray[np.int32],
    n_labels: int, smoothing: float = 1.0,
) -> HMM:
    """Return the model above as a first-order HMM whose labels all have the unigram distribution of each column."""
    check_sequences(ids, vocabulary_sizes, sequence_ptr, labels, n_labels)
    start, steps, _ = transition_counts(sequence_ptr, labels, n_labels, 1)
    first, follows = (start > 0).astype(np.float64), (steps > 0).astype(np.float64)
    ways = follows.sum(axis=1) + 1.0
    emissions = []
    for column, size in zip(ids, vocabulary_sizes):
        unigram = smoothed_rows(np.bincount(column, minlength=size).astype(np.float64)[None, :], smoothing)
        emissions.append(np.repeat(unigram, n_labels, axis=0))
    return HMM(first / (first.sum() + 1.0), 1.0 / ways, tuple(emissions), transitions=follows / ways[:, None])
