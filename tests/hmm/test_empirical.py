import itertools

import numpy as np
import pytest
from hmm_problems import SIZES, TEMPLATES, VIEWS, Extractor, all_features, random_hmm

from loglinear.data.chain_features import ChainFeatures
from loglinear.data.sequence import SequenceData
from loglinear.features.sequences import TokenRows
from loglinear.hmm.counts import feature_counts, mean_counts
from loglinear.hmm.empirical import empirical_expectations
from loglinear.hmm.model import HMM
from loglinear.threads import pool


def problem(order, seed=0, lengths=(1, 4, 0, 2, 5, 3)):
    """(HMM, data without labels, ids, features)."""
    rng = np.random.default_rng(seed)
    ptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    ids = [rng.integers(0, V, size=ptr[-1]).astype(np.int32) for V in SIZES]
    extractor = Extractor(TEMPLATES[:6], VIEWS, ids, ptr)
    rows = extractor.rows(ids, ptr)
    rows = TokenRows(rows.indptr, rows.indices, rng.normal(size=rows.indices.size))
    n_attributes = extractor.observations.n_attributes
    data = SequenceData(ptr, rows, n_attributes, np.full(ptr[-1], -1, dtype=np.int32), 3)
    return random_hmm(order, 3, SIZES, seed=order), data, ids, all_features(3, n_attributes)


def enumerated(hmm, data, ids, features):
    """Every labelling of every sequence, weighted by its posterior probability."""
    out = np.zeros(features.n_weights)
    for i in range(data.n_examples):
        one = data.take(np.array([i]))
        part = slice(data.sequence_ptr[i], data.sequence_ptr[i + 1])
        own = [column[part] for column in ids]
        if one.n_tokens == 0:
            continue
        counts, logs = [], []
        for path in itertools.product(range(3), repeat=one.n_tokens):
            labels = np.array(path, dtype=np.int32)
            logs.append(hmm.log_probability(own, labels, one.sequence_ptr)[0])
            labelled = SequenceData(one.sequence_ptr, one.rows, one.n_attributes, labels, 3)
            counts.append(mean_counts(feature_counts(labelled, features, pool(1))))
        p = np.exp(np.array(logs) - np.logaddexp.reduce(logs))
        out += p @ np.array(counts)
    return out / data.n_examples


@pytest.mark.parametrize("order", [1, 2])
def test_every_labelling(order):
    hmm, data, ids, features = problem(order)
    expected = enumerated(hmm, data, ids, features)
    np.testing.assert_allclose(empirical_expectations(hmm, features, data, ids), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("order", [1, 2])
def test_threads_agree_to_the_bit(order):
    hmm, data, ids, features = problem(order, lengths=np.random.default_rng(0).integers(0, 40, size=400))
    results = [empirical_expectations(hmm, features, data, ids, n_threads=k) for k in (1, 2, 3)]
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])


def test_impossible_sequences_are_refused():
    """Label 1 alone emits value 1, and cannot begin a sequence."""
    hmm = HMM(
        np.array([1.0, 0.0]), np.array([0.5, 0.5]), (np.eye(2),), transitions=np.array([[0.25, 0.25], [0.5, 0.0]])
    )
    empty = np.zeros(0, dtype=np.int32)
    features = ChainFeatures(2, np.zeros(1, dtype=np.int64), empty, np.zeros(1, dtype=np.int64), empty, empty, empty)
    ids = np.array([0, 1, 0], dtype=np.int32)
    rows = TokenRows(np.zeros(4, dtype=np.int64), empty, None)
    data = SequenceData(np.array([0, 1, 3]), rows, 0, np.full(3, -1, dtype=np.int32), 2)
    with pytest.raises(ValueError, match="sequence 1 is impossible under the HMM"):
        empirical_expectations(hmm, features, data, [ids])
