"""Exact expectations against the enumeration of all sequences, and against samples."""

import dataclasses
import itertools

import numpy as np
import pytest
from hmm_problems import SIZES, TEMPLATES, VIEWS, Extractor, all_features, all_sequences, identity, random_hmm

from loglinear.data.chain_features import ChainFeatures
from loglinear.hmm.counts import feature_counts, mean_counts
from loglinear.hmm.expectations import (
    ANY_AFTER,
    ANY_BEFORE,
    ColumnView,
    Observations,
    behind_end,
    expectations,
    gap_expectations,
    input_expectations,
    transition_expectations,
)
from loglinear.hmm.model import HMM
from loglinear.hmm.sampled import sampled_expectations
from loglinear.threads import pool


def enumerated(hmm, max_length, templates=TEMPLATES, views=VIEWS):
    """(features, observations, extractor, expectations by summing over sequences, mass of those)."""
    ids, labels, ptr = all_sequences(hmm, max_length)
    extractor = Extractor(templates, views, ids, ptr)
    features = all_features(hmm.n_labels, extractor.observations.n_attributes)
    counts = feature_counts(extractor.data(ids, ptr, labels, hmm.n_labels), features, pool(1))
    p = np.exp(hmm.log_probability(ids, labels, ptr))
    exact = np.bincount(
        counts.indices, weights=counts.values * np.repeat(p, np.diff(counts.indptr)), minlength=features.n_weights
    )
    return features, extractor, exact, p.sum()


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("empty", [0.0, 0.2])
def test_every_sequence_of_a_finite_model(order, empty):
    hmm = random_hmm(order, 3, SIZES, seed=order, acyclic=True, empty=empty)
    features, extractor, exact, mass = enumerated(hmm, 3)
    assert mass == pytest.approx(1.0)
    np.testing.assert_allclose(expectations(hmm, features, extractor.observations), exact, rtol=1e-11, atol=1e-15)


@pytest.mark.parametrize("order", [1, 2])
def test_attributes_with_any_label(order):
    hmm = random_hmm(order, 3, SIZES, seed=order, acyclic=True, empty=0.1)
    features, extractor, exact, _ = enumerated(hmm, 3)
    node = features.split(exact)[0].reshape(-1, 3)
    np.testing.assert_allclose(input_expectations(hmm, extractor.observations), node.sum(axis=1), rtol=1e-11)


@pytest.mark.parametrize("order", [1, 2])
def test_boundaries_in_longer_sequences(order):
    """Four tokens: positions at which both ends, one end or none are in sight."""
    hmm = random_hmm(order, 4, (2,), seed=7, acyclic=True, stop=0.1)
    templates = [[(-1, 0), (1, 0)], [(-2, 0), (2, 0)], [(-3, 0)], [(3, 0), (1, 0)], [(-5, 0)], [(5, 0), (-4, 0)]]
    features, extractor, exact, mass = enumerated(hmm, 4, templates, [identity(0, 2)])
    assert mass == pytest.approx(1.0)
    np.testing.assert_allclose(expectations(hmm, features, extractor.observations), exact, rtol=1e-11, atol=1e-15)


@pytest.mark.parametrize("order", [1, 2])
def test_cyclic_model_up_to_its_tail(order):
    hmm = random_hmm(order, 2, (2, 2), seed=3, stop=0.96)
    views = [identity(0, 2), identity(1, 2)]
    templates = [[(0, 0)], [(-1, 0), (0, 1)], [(1, 1)], [(-1, 1), (1, 0)]]
    features, extractor, exact, mass = enumerated(hmm, 5, templates, views)
    tail = 1.0 - mass
    assert 0 < tail < 1e-6
    np.testing.assert_allclose(expectations(hmm, features, extractor.observations), exact, atol=20 * tail)


@pytest.mark.parametrize("order", [1, 2])
def test_threads_agree_to_the_bit(order):
    hmm = random_hmm(order, 3, (40, 30), seed=5)
    rng = np.random.default_rng(0)
    n = 6000
    templates = [[(-1, 0), (0, 1)], [(0, 0), (1, 0)], [(-1, 1), (0, 0), (1, 1)]]
    values = rng.integers(-3, 30, size=(n, 3)).astype(np.int32)
    observations = Observations(
        templates, [identity(0, 40), identity(1, 30)], rng.integers(0, 3, size=n).astype(np.int32), values
    )
    features = all_features(3, n)
    results = [expectations(hmm, features, observations, n_threads=k) for k in (1, 2, 3)]
    assert results[0].max() > 0
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])


@pytest.mark.parametrize("order", [1, 2])
def test_identities(order):
    """Sums over labels, over values and over positions agree with each other."""
    hmm = random_hmm(order, 3, SIZES, seed=11)
    into, out_of = hmm.states.path_sums
    np.testing.assert_allclose(out_of, 1.0)  # whatever is begun is ended
    visits = np.bincount(hmm.states.label, weights=into, minlength=3)
    _, extractor, _, _ = enumerated(random_hmm(order, 3, SIZES, seed=1, acyclic=True), 3, [[(0, 0)], [(0, 1)]], VIEWS)
    observations = extractor.observations
    features = all_features(3, observations.n_attributes)
    node = expectations(hmm, features, observations)[: features.offsets[1]].reshape(-1, 3)
    for t in (0, 1):
        np.testing.assert_allclose(node[observations.attribute_template == t].sum(axis=0), visits)
    pairs = transition_expectations(hmm, np.arange(9, dtype=np.int32)).reshape(3, 3)
    np.testing.assert_allclose(pairs.sum(axis=0) + hmm.start, visits)
    assert pairs.sum() == pytest.approx(visits.sum() - 1.0)  # all tokens but the first of each sequence


@pytest.mark.parametrize("order", [1, 2])
def test_relative_frequencies_match_the_data(order):
    """Maximum likelihood is moment matching: an unsmoothed HMM expects its own features as often as the data have them.

    The gradient of M-estimation at zero is then zero: nothing is left to correct.
    """
    source = random_hmm(2, 3, SIZES, seed=9)
    ids, labels, ptr = source.sample(60, np.random.default_rng(0))
    hmm = HMM.fit(ids, SIZES, ptr, labels, 3, order, smoothing=0.0)
    extractor = Extractor([[(0, 0)], [(0, 1)]], VIEWS, ids, ptr)
    complete = all_features(3, extractor.observations.n_attributes)
    no_pairs = np.zeros_like(complete.pair_ptr)
    trigrams = complete.trigram_code if order == 2 else complete.trigram_code[:0]
    features = dataclasses.replace(
        complete, pair_ptr=no_pairs, pair_code=complete.pair_code[:0], trigram_code=trigrams
    )
    counts = feature_counts(extractor.data(ids, ptr, labels, 3), features, pool(1))
    np.testing.assert_allclose(expectations(hmm, features, extractor.observations), mean_counts(counts), atol=1e-12)


@pytest.mark.parametrize("order", [1, 2])
def test_templates_with_gaps(order):
    """A label, or a pair of labels, with observations around it and at any distance, by enumeration."""
    hmm = random_hmm(order, 4, (2, 2), seed=4 + order, acyclic=True, stop=0.1)
    templates = [
        [(ANY_BEFORE, 0)],
        [(ANY_AFTER, 1)],
        [(0, 0), (ANY_BEFORE, 1)],
        [(ANY_BEFORE, 0), (-1, 1)],
        [(ANY_BEFORE, 0), (1, 1), (ANY_BEFORE, 1)],
        [(ANY_AFTER, 0), (1, 0), (ANY_AFTER, 0)],
        [(-1, 0), (ANY_AFTER, 1)],
        [(-2, 1), (ANY_BEFORE, 0)],
        [(2, 1), (ANY_AFTER, 0)],
    ]
    features, extractor, exact, mass = enumerated(hmm, 4, templates, [identity(0, 2), identity(1, 2)])
    assert mass == pytest.approx(1.0)
    ours = expectations(hmm, features, extractor.observations)
    np.testing.assert_allclose(ours, exact, rtol=1e-11, atol=1e-15)
    assert np.all(features.split(ours)[0].reshape(-1, 4).sum(axis=1) > 0)
    node = gap_expectations(hmm, np.eye(4), hmm.emissions[1])  # a label, and a value after it
    places = [extractor.number[1, (value,)] for value in (0, 1)]
    np.testing.assert_allclose(features.split(ours)[0].reshape(-1, 4)[places].T, node, rtol=1e-11)
    any_label = input_expectations(hmm, extractor.observations)
    np.testing.assert_allclose(any_label, features.split(exact)[0].reshape(-1, 4).sum(axis=1), rtol=1e-11)


@pytest.mark.parametrize("order", [1, 2])
def test_gaps_of_any_length(order):
    """Pairs of labels, and a label with a value, at any distance, by enumeration."""
    hmm = random_hmm(order, 4, (2,), seed=2, acyclic=True, stop=0.15)
    ids, labels, ptr = all_sequences(hmm, 4)
    p = np.exp(hmm.log_probability(ids, labels, ptr))
    pairs, values = np.zeros((4, 4)), np.zeros((4, 2))
    for k, (begin, end) in enumerate(itertools.pairwise(ptr.tolist())):
        for i in range(begin, end):
            for j in range(i + 1, end):
                pairs[labels[i], labels[j]] += p[k]
                values[labels[i], ids[0][j]] += p[k]
    np.testing.assert_allclose(gap_expectations(hmm, np.eye(4), np.eye(4)), pairs, rtol=1e-11, atol=1e-15)
    np.testing.assert_allclose(gap_expectations(hmm, np.eye(4), hmm.emissions[0]), values, rtol=1e-11, atol=1e-15)


def test_gaps_of_a_geometric_length():
    """One label that stops with probability s: E[pairs] = E[n (n - 1) / 2] = (1 - s) / s^2."""
    s = 0.2
    hmm = HMM(np.ones(1), np.array([s]), (np.ones((1, 1)),), transitions=np.array([[1 - s]]))
    assert gap_expectations(hmm, np.eye(1), np.eye(1))[0, 0] == pytest.approx((1 - s) / s**2)


class TestSampled:
    @pytest.mark.parametrize("order", [1, 2])
    def test_converges_as_the_root_of_the_sample(self, order):
        hmm = random_hmm(order, 3, SIZES, seed=4)
        templates = [[(0, 0)], [(-1, 0), (0, 1)], [(2, 1)]]
        ids, _, ptr = all_sequences(random_hmm(order, 3, SIZES, seed=1, acyclic=True), 3)
        extractor = Extractor(templates, VIEWS, ids, ptr)
        features = all_features(3, extractor.observations.n_attributes)
        exact = expectations(hmm, features, extractor.observations)
        rng = np.random.default_rng(0)
        errors = []
        for n in (200, 5000):
            estimate = sampled_expectations(hmm, features, extractor.rows, n, rng)
            errors.append(np.sqrt(np.mean((estimate - exact) ** 2)) * np.sqrt(n))
        assert 0.5 < errors[1] / errors[0] < 2.0  # the error times sqrt(n) does not change
        # Every expectation lies within a few standard errors; counts of a sequence vary no more than its length does.
        assert np.max(np.abs(estimate - exact)) < 6 * 5 / np.sqrt(5000)

    def test_smoothing_is_a_mixture(self):
        hmm = random_hmm(1, 2, (2,), seed=4)
        extractor = Extractor([[(0, 0)]], [identity(0, 2)], [np.array([0, 1], dtype=np.int32)], np.array([0, 2]))
        features = all_features(2, 2)
        prior = np.arange(features.n_weights, dtype=float)
        plain = sampled_expectations(hmm, features, extractor.rows, 50, np.random.default_rng(1))
        mixed = sampled_expectations(
            hmm, features, extractor.rows, 50, np.random.default_rng(1), smoothing=10.0, prior=prior
        )
        np.testing.assert_allclose(mixed, (50 * plain + 10 * prior) / 60)
        with pytest.raises(ValueError, match="smoothing needs a prior"):
            sampled_expectations(hmm, features, extractor.rows, 50, np.random.default_rng(1), smoothing=1.0)
        with pytest.raises(ValueError, match="n_samples must be positive"):
            sampled_expectations(hmm, features, extractor.rows, 0, np.random.default_rng(1))


class TestRefusals:
    def features(self):
        return ChainFeatures(2, np.array([0, 1]), np.array([0], dtype=np.int32), np.zeros(2, dtype=np.int64),
                             *(np.zeros(0, dtype=np.int32) for _ in range(3)))

    def observe(self, value, offset=0, view=0):
        return Observations([[(offset, view)]], [identity(0, 2)], np.zeros(1, dtype=np.int32),
                            np.array([[value]], dtype=np.int32))

    def test_improper(self):
        hmm = HMM(np.array([0.5, 0.5]), np.array([0.5, 0.0]), (np.full((2, 2), 0.5),),
                  transitions=np.array([[0.25, 0.25], [0.0, 1.0]]))
        with pytest.raises(ValueError, match="improper: from label 1 the end of a sequence is never reached"):
            expectations(hmm, self.features(), self.observe(0))

    def test_a_trap_that_is_never_entered_is_no_matter(self):
        hmm = HMM(np.array([1.0, 0.0]), np.array([0.5, 0.0]), (np.full((2, 2), 0.5),),
                  transitions=np.array([[0.5, 0.0], [0.0, 1.0]]))
        assert expectations(hmm, self.features(), self.observe(0)) == pytest.approx([1.0])

    def test_impossible_attributes_have_expectation_zero(self):
        hmm = random_hmm(1, 2, (2,))
        for value, offset in ((-1, 0), (-2, 0), (-2, 1), (behind_end(1), -1), (behind_end(3), 2), (-(2**31), 2)):
            assert expectations(hmm, self.features(), self.observe(value, offset))[0] == 0.0

    @pytest.mark.parametrize(
        ("value", "offset", "view", "message"),
        [(2, 0, 0, "outside its view"), (0, 10001, 0, "10000 tokens away"), (0, 0, 1, "template 0 looks at a view")],
    )
    def test_numbers_out_of_range(self, value, offset, view, message):
        with pytest.raises(ValueError, match=message):
            expectations(random_hmm(1, 2, (2,)), self.features(), self.observe(value, offset, view))

    def test_sizes(self):
        with pytest.raises(ValueError, match="maps 3 values, but the HMM emits 2"):
            expectations(random_hmm(1, 2, (2,)), self.features(),
                         Observations([[(0, 0)]], [identity(0, 3)], np.zeros(1, dtype=np.int32),
                                      np.zeros((1, 1), dtype=np.int32)))
        with pytest.raises(ValueError, match="over 2 labels, but an HMM over 3"):
            expectations(random_hmm(1, 3, (2,)), self.features(), self.observe(0))
        with pytest.raises(ValueError, match="features of 1 attributes, but 2"):
            expectations(random_hmm(1, 2, (2,)), self.features(),
                         Observations([[(0, 0)]], [identity(0, 2)], np.zeros(2, dtype=np.int32),
                                      np.zeros((2, 1), dtype=np.int32)))
        bad = ColumnView(0, np.array([0, 5], dtype=np.int32), 2)
        with pytest.raises(ValueError, match=r"outside \[0, 2\)"):
            bad.table(random_hmm(1, 2, (2,)))
