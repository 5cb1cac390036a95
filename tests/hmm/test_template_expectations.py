"""Template features under an HMM: exact expectations against samples run through the featuriser itself."""

import numpy as np
import pytest
from hmm_problems import all_features, all_sequences, random_hmm

from loglinear.data.sequence import SequenceData
from loglinear.errors import IncompatibleError
from loglinear.features.columns import Columns
from loglinear.features.templates import TemplateFeatures
from loglinear.features.vocabulary import Vocabulary
from loglinear.hmm.counts import feature_counts
from loglinear.hmm.expectations import expectations
from loglinear.hmm.sampled import sampled_expectations
from loglinear.hmm.templates import column_attributes, template_observations
from loglinear.threads import pool

TEMPLATES = """
U1:%x[0,0]
U2:%x[-1,0]/%x[0,1]
*3:%x[1,0]/%x[2,1]
B4:%x[-2,1]
U5:%X[0,0]/%t[0,0,"^\\u"]
*6:%m[-1,0,"^."]/%x[-1,0]/%x[1,0]
U7:%x[-4,0]
B
"""
VOCABULARIES = [Vocabulary.from_strings(["Ab", "ab", "c"]), Vocabulary.from_strings(["N", "V"])]


@pytest.mark.parametrize("order", [1, 2])
def test_every_sequence_of_a_finite_model(order):
    hmm = random_hmm(order, 3, (3, 2), seed=order, acyclic=True)
    ids, labels, ptr = all_sequences(hmm, 3)
    columns = Columns(ptr, ids, VOCABULARIES)
    featuriser = TemplateFeatures(TEMPLATES)
    rows = featuriser.fit_transform(columns)
    features = all_features(3, featuriser.n_attributes)
    data = SequenceData(ptr, rows, featuriser.n_attributes, labels, 3)
    counts = feature_counts(data, features, pool(1))
    p = np.exp(hmm.log_probability(ids, labels, ptr))
    weighted = counts.values * np.repeat(p, np.diff(counts.indptr))
    exact = np.bincount(counts.indices, weights=weighted, minlength=features.n_weights)
    ours = expectations(hmm, features, template_observations(featuriser, columns))
    np.testing.assert_allclose(ours, exact, rtol=1e-11, atol=1e-15)


def test_samples_come_through_the_featuriser():
    hmm = random_hmm(2, 3, (3, 2), seed=5)
    ids, _, ptr = hmm.sample(200, np.random.default_rng(0))
    columns = Columns(ptr, ids, VOCABULARIES)
    featuriser = TemplateFeatures(TEMPLATES)
    featuriser.fit_transform(columns)
    features = all_features(3, featuriser.n_attributes)
    exact = expectations(hmm, features, template_observations(featuriser, columns))
    attributes = column_attributes(featuriser, VOCABULARIES)
    n = 40_000
    sampled = sampled_expectations(hmm, features, attributes, n, np.random.default_rng(1))
    assert np.max(np.abs(sampled - exact)) < 6 * 5 / np.sqrt(n)
    np.testing.assert_allclose(sampled.sum(), exact.sum(), rtol=0.03)


def test_what_has_no_exact_expectation_is_refused():
    columns = Columns.from_lists([["a", "b"], ["a"]])
    hashed = TemplateFeatures("U:%x[0,0]", hash_bits=8)
    hashed.fit_transform(columns)
    with pytest.raises(IncompatibleError, match="hashed attributes have no exact expectations"):
        template_observations(hashed, columns)
    absolute = TemplateFeatures("U0:%x[0,0]\nU:%x[@1,0]")
    absolute.fit_transform(columns)
    with pytest.raises(IncompatibleError, match="template line 2 has a row counted from an end"):
        template_observations(absolute, columns)
