"""The base distribution q0 of a tagger: counted from labelled sequences, and as scores that decoding adds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from loglinear.data.chain_base import ChainBase
from loglinear.data.sequence import SequenceData
from loglinear.features.columns import Columns
from loglinear.hmm.locally_uniform import locally_uniform
from loglinear.hmm.model import HMM

# The log-probability of starts, successions and ends that never occurred in training. Maximum likelihood gives them
# probability zero, and then an input may have no labelling at all (a sentence of one word, say, where training had
# none). exp(-50) is small enough that no other probability changes.
NEVER_SEEN = -50.0


def fit_base(name: str, columns: Columns, data: SequenceData, order: int, smoothing: float) -> HMM:
    """Count the distribution q0: an HMM, or the locally uniform one (equation 15 of Smith, Vail and Lafferty)."""
    if np.any(data.labels < 0):
        raise ValueError(
            "an HMM, to start from or to rank features under, needs the label of every token: leave out initialise and "
            "max_features, or the sequences that are partly labelled"
        )
    sizes = [len(vocabulary) for vocabulary in columns.vocabularies]
    arguments = (columns.ids, sizes, data.sequence_ptr, data.labels, data.n_labels)
    if name == "locally-uniform":
        return locally_uniform(*arguments, smoothing=smoothing)
    return HMM.fit(*arguments, order=order, smoothing=smoothing)


def chain_of(hmm: HMM) -> ChainBase:
    """Return the scores log q0 of starts, successions and ends, at least ``NEVER_SEEN``."""
    parts = (hmm.log_start, hmm.log_stop, hmm.log_transitions, hmm.log_trigrams)
    return ChainBase(*(None if part is None else np.maximum(part, NEVER_SEEN) for part in parts))


def hmm_base(hmm: HMM, columns: Columns) -> ChainBase:
    """Return the scores log q0 of all tokens, beside those of ``chain_of``."""
    return replace(chain_of(hmm), nodes=hmm.emission_scores(columns.ids))
