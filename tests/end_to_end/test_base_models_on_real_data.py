"""HMMs and expectations on a chunking corpus, where there is one."""

import os
from pathlib import Path

import numpy as np
import pytest

from loglinear.features.columns import Columns
from loglinear.formats.conll import read_conll
from loglinear.hmm.expectations import transition_expectations
from loglinear.hmm.locally_uniform import locally_uniform
from loglinear.hmm.model import HMM, previous_labels
from loglinear.hmm.oov import OovMap

TRAIN = Path(os.environ.get("LOGLINEAR_DATA", "/nonexistent")) / "conll2000" / "train.txt.gz"
pytestmark = pytest.mark.skipif(not TRAIN.exists(), reason="LOGLINEAR_DATA has no chunking corpus")


@pytest.fixture(scope="module")
def noun_phrases():
    """(columns with unknown values replaced, sizes of the vocabularies, labels B I O of noun phrases)."""
    data = Columns.from_conll(read_conll(TRAIN))
    kinds = {"B-NP": 0, "I-NP": 1}
    label = np.array([kinds.get(name, 2) for name in data.vocabularies[2]], dtype=np.int32)
    oov = OovMap()
    columns = oov.fit_transform(data.without(2))
    return columns, oov.sizes, label[data.ids[2]]


def test_shape_and_moments(noun_phrases):
    columns, sizes, labels = noun_phrases
    hmm = HMM.fit(columns.ids, sizes, columns.sequence_ptr, labels, 3)
    assert sizes[1] == 45  # 44 tags and the symbol
    assert hmm.n_parameters - 3 * sum(sizes) < 40  # a handful of transitions: I follows neither O nor the start
    assert hmm.states.n_states == 10
    before, _ = previous_labels(columns.sequence_ptr, labels, 3)
    inner = before < 3
    pairs = np.bincount(before[inner] * 3 + labels[inner], minlength=9) / len(columns)
    np.testing.assert_allclose(transition_expectations(hmm, np.arange(9, dtype=np.int32)), pairs, rtol=1e-9)
    scores = hmm.input_log_probability(columns.ids, columns.sequence_ptr)
    assert np.all(np.isfinite(scores))
    assert np.all(scores >= hmm.log_probability(columns.ids, labels, columns.sequence_ptr) - 1e-9)


def test_locally_uniform_has_the_counts_of_the_paper(noun_phrases):
    columns, sizes, labels = noun_phrases
    hmm = locally_uniform(columns.ids, sizes, columns.sequence_ptr, labels, 3)
    np.testing.assert_allclose(1 / hmm.stop, [4, 4, 3])
    np.testing.assert_allclose(hmm.start, [1 / 3, 0, 1 / 3])
