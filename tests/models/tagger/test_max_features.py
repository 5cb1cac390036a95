"""Features chosen by an M-estimate, and a tagger trained on those alone."""

import numpy as np
import pytest
from taggers import PAIRS, TEMPLATES, as_dicts, toy

from loglinear import Tagger, load
from loglinear.losses.m_estimation import rank_features

X, Y = toy(n=60)


def chosen(tagger):
    """The features of attributes, by name."""
    f, names = tagger.features_, tagger.attribute_names()
    node = {(names[a], int(y)) for a, y in zip(f.attribute_of(), f.node_label)}
    of_pair = np.repeat(np.arange(f.n_attributes), np.diff(f.pair_ptr))
    return node | {(names[a], "pair", int(code)) for a, code in zip(of_pair, f.pair_code)}


@pytest.mark.parametrize("estimator", ["crf", "memm", "pseudolikelihood", "m-estimation"])
def test_they_are_those_of_largest_m_estimated_weight(estimator):
    settings = {"order": 2, "oov": True}
    joint = Tagger("m-estimation", PAIRS, strength=1.0, solver="lbfgs", **settings).fit(X, Y)
    n = int(joint.features_.offsets[2])
    everything = list(_named(joint))
    best = {everything[i] for i in np.argsort(-np.abs(joint.weights_[:n]), kind="stable")[:20]}
    small = Tagger(estimator, PAIRS, max_features=20, strength=0.5, **settings).fit(X, Y)
    assert chosen(small) == best
    offsets = small.features_.offsets
    assert offsets[2] == 20
    np.testing.assert_array_equal(small.features_.transition_code, joint.features_.transition_code)
    np.testing.assert_array_equal(small.features_.trigram_code, joint.features_.trigram_code)


def _named(tagger):
    f, names = tagger.features_, tagger.attribute_names()
    yield from ((names[a], int(y)) for a, y in zip(f.attribute_of(), f.node_label))
    of_pair = np.repeat(np.arange(f.n_attributes), np.diff(f.pair_ptr))
    yield from ((names[a], "pair", int(code)) for a, code in zip(of_pair, f.pair_code))


def test_the_ranking_is_that_of_rank_features():
    joint = Tagger("m-estimation", TEMPLATES).fit(X, Y)

    class Loss:
        n_weights = joint.weights_.size

    order = rank_features(Loss(), joint.weights_)
    assert np.all(np.diff(np.abs(joint.weights_[order])) <= 0)


def test_all_of_them_change_nothing_and_files_hold_the_rest(tmp_path):
    whole = Tagger(templates=TEMPLATES, strength=0.5).fit(X, Y)
    same = Tagger(templates=TEMPLATES, strength=0.5, max_features=10**6).fit(X, Y)
    np.testing.assert_array_equal(same.weights_, whole.weights_)
    small = Tagger(templates=TEMPLATES, strength=0.5, max_features=8).fit(X, Y)
    assert small.objective_ > whole.objective_
    small.save(tmp_path / "m.ll")
    again = load(tmp_path / "m.ll")
    assert again.reader_.n_attributes <= 8
    assert again.predict(X) == small.predict(X)


@pytest.mark.parametrize(
    ("settings", "data", "message"),
    [
        ({"max_features": 0}, X, "max_features must be a whole number of at least 1, not 0"),
        ({"max_features": 10.0}, X, "max_features must be a whole number"),
        ({"max_features": 5, "estimator": "hmm"}, X, "an HMM has none: leave it out"),
        ({"max_features": 5, "hash_bits": 10}, X, "hashed attributes have no exact expectations"),
        ({"max_features": 5, "templates": "U:%x[@1,0]"}, X, "use sampled expectations"),
    ],
)
def test_refusals(settings, data, message):
    with pytest.raises(ValueError, match=message):
        Tagger(**{"templates": TEMPLATES, **settings}).fit(data, Y)


def test_attributes_have_no_columns_to_rank_under():
    with pytest.raises(ValueError, match="ranks features under an HMM of columns: name templates, or leave it out"):
        Tagger(max_features=5).fit(as_dicts(X), Y)
