"""Constrained prediction: only legal labellings, with the probabilities that they have among the legal ones."""

import itertools

import numpy as np
import pytest
import taggers
from taggers import ESTIMATORS, TEMPLATES, columns_of, fitted, named, words

from loglinear import Tagger
from loglinear.data.chain_base import ChainBase
from loglinear.features import schemes
from loglinear.models.tagger.constraints import as_constraint, constraint_base, forbidden_transitions, scheme_base

KINDS = [(estimator, order) for estimator in ESTIMATORS for order in (1, 2)]
X = [[("a", "A"), ("b", "C"), ("c", "B")], [("c", "B")], [("b", "A"), ("a", "C"), ("c", "C"), ("a", "B")]]
FORBIDDEN = [("A", "B"), ("C", "C"), ("B", "A")]


@pytest.fixture(params=KINDS, ids=lambda kind: f"{kind[0]}-{kind[1]}")
def tagger(request):
    return fitted(*request.param)


def legal_pairs(labels):
    return not any(pair in FORBIDDEN for pair in itertools.pairwise(labels))


def check(tagger, fits, **limits):
    """Everything asked under the limits against the distribution given that ``fits(sequence, labels)``."""
    best, nbest = tagger.predict(X, **limits), tagger.predict_nbest(X, 200, **limits)
    marginals, edges = tagger.marginal_array(X, **limits), tagger.edge_marginal_array(X, **limits)
    drawn = tagger.sample(X, 50, **limits)
    for i, twin in enumerate(taggers.twins(tagger, X)):
        scores = taggers.scores(tagger, twin)
        names = [named(tagger, y) for y in twin.labellings]
        allowed = np.array([fits(i, labels) for labels in names])
        scores = np.where(allowed, scores, -np.inf)
        p = np.exp(scores - np.logaddexp.reduce(scores))
        assert scores[names.index(best[i])] == pytest.approx(scores.max(), rel=1e-12)
        assert len(nbest[i]) == np.count_nonzero(scores > -np.inf)
        assert sum(q for _, q in nbest[i]) == pytest.approx(1.0, abs=1e-9)
        for labels, q in nbest[i]:
            assert q == pytest.approx(p[names.index(labels)], rel=1e-8, abs=1e-14)
        np.testing.assert_allclose(marginals[twin.first : twin.end], twin.node_marginals(scores), atol=1e-9)
        np.testing.assert_allclose(marginals[twin.first : twin.end].sum(axis=1), 1.0, atol=1e-9)
        np.testing.assert_allclose(edges[twin.first + 1 : twin.end].sum(axis=(1, 2)), 1.0, atol=1e-9)
        assert all(fits(i, labels) for labels in drawn[i])


def test_forbidden_pairs(tagger):
    check(tagger, lambda _, labels: legal_pairs(labels), constraint=FORBIDDEN)
    assert tagger.predict(X, constraint=iter(FORBIDDEN)) == tagger.predict(X, constraint=tuple(FORBIDDEN))
    assert tagger.predict(X, constraint=()) == tagger.predict(X)


def test_fixed_and_limited_labels(tagger):
    allowed = [["A", None, {"A", "C"}], [["B", "C"]], [None, None, frozenset("B"), ("A", "B")]]

    def fits(i, labels):
        return all(k is None or label in k for k, label in zip(allowed[i], labels))

    if tagger.hmm_ is not None and tagger.has_base:  # an HMM forbids what it has not seen
        allowed[2] = [None, None, None, ("A", "B")]
    check(tagger, fits, allowed=allowed)


def test_both_together():
    tagger = fitted("memm", 2)
    allowed = [["A", None, None], [None], [None, {"A", "C"}, None, None]]

    def fits(i, labels):
        return legal_pairs(labels) and all(k is None or label in k for k, label in zip(allowed[i], labels))

    check(tagger, fits, allowed=allowed, constraint=FORBIDDEN)


def test_a_constraint_of_the_estimator():
    data, labels = taggers.toy()
    tagger = Tagger(templates=TEMPLATES, strength=0.1, constraint=FORBIDDEN).fit(data, labels)
    plain = fitted("crf", 1)
    np.testing.assert_array_equal(tagger.weights_, plain.weights_)  # training does not see it
    assert tagger.predict(X) == plain.predict(X, constraint=FORBIDDEN)
    assert tagger.predict(X, constraint=()) == plain.predict(X)


@pytest.mark.parametrize("scheme", schemes.SCHEMES)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind[0]}-{kind[1]}")
def test_schemes(kind, scheme):
    inputs, y = words()
    y = schemes.convert(y, "bio", scheme)
    # Labels at random places make illegal predictions likely.
    rng = np.random.default_rng(0)
    y = [[row[k] for k in rng.permutation(len(row))] if i % 2 else row for i, row in enumerate(y)]
    with pytest.warns(UserWarning, match="illegal"):
        tagger = Tagger(kind[0], TEMPLATES, order=kind[1], strength=0.01).fit(columns_of(inputs), y)
    found = tagger.predict(columns_of(inputs), constraint=scheme)
    assert schemes.illegal(found, scheme)[0] == 0
    free = tagger.predict(columns_of(inputs))
    assert tagger.has_base or schemes.illegal(free, scheme)[0] > 0
    for nbest in tagger.predict_nbest(columns_of(inputs[:5]), 5, constraint=scheme):
        assert schemes.illegal([labels for labels, _ in nbest], scheme)[0] == 0
    assert tagger.predict(columns_of(inputs), constraint="auto") == free  # the training labels break their scheme


@pytest.mark.parametrize("kind", [("crf", 1), ("crf", 2), ("memm", 1), ("hmm", 2)])
def test_contradictions_name_their_place(kind):
    tagger = fitted(*kind)
    everything = [(a, b) for a in "ABC" for b in "ABC"]
    for ask in (tagger.predict, tagger.marginal_array, tagger.predict_nbest, tagger.sample):
        with pytest.raises(ValueError, match=r"sequence 0, token 1 \(counting from 0\): no legal path"):
            ask(X, constraint=everything)
    assert tagger.predict(X[1:2], constraint=everything) == tagger.predict(X[1:2])
    with pytest.raises(ValueError, match=r"sequence 1, token 2 .*no legal path"):
        tagger.predict([X[1], X[0]], constraint=[("A", "B")], allowed=[[None], [None, "A", "B"]])


def test_limits_are_checked():
    tagger = fitted("crf", 1)
    with pytest.raises(ValueError, match=r"label 'Q' \(sequence 0, token 1\) was not seen in training; known: A, B, C"):
        tagger.predict(X, allowed=[["A", "Q", None], [None], [None] * 4])
    with pytest.raises(ValueError, match=r"label 'Q' \(sequence 1, token 0\)"):
        tagger.predict(X, allowed=[[None] * 3, [{"Q"}], [None] * 4])
    with pytest.raises(ValueError, match="sequence 0 has 3 tokens but 1 labels"):
        tagger.predict(X, allowed=[[None]])
    with pytest.raises(ValueError, match="3 sequences but labels for 1"):
        tagger.predict(X, allowed=[[None] * 3])
    with pytest.raises(ValueError, match="no label scheme 'iobx'"):
        tagger.predict(X, constraint="iobx")
    with pytest.raises(ValueError, match="pairs to forbid"):
        tagger.predict(X, constraint=[("A", "B", "C")])


# ---- the tables -----------------------------------------------------------------------------------------------------
def test_tables_of_scores():
    base = scheme_base(["B-X", "I-X", "O"], "bio")
    assert base.start.tolist() == [0.0, -np.inf, 0.0]
    assert base.transitions.tolist() == [[0.0] * 3, [0.0] * 3, [0.0, -np.inf, 0.0]]
    pairs = forbidden_transitions(["a", "b"], [("a", "b")])
    assert pairs.transitions.tolist() == [[0.0, -np.inf], [0.0, 0.0]]
    assert constraint_base(["a"], None) is None
    assert as_constraint([["a", "b"]]) == (("a", "b"),)
    assert (as_constraint("auto"), as_constraint("auto", None), as_constraint("bio", None)) == ("auto", None, "bio")


def test_bases_are_added():
    by_pair, by_label = np.arange(12.0).reshape(4, 3), np.array([0.0, -np.inf, 1.0])
    both = ChainBase(stop=by_pair).plus(ChainBase(stop=by_label, start=by_label))
    np.testing.assert_array_equal(both.stop.reshape(4, 3), by_pair + by_label)
    np.testing.assert_array_equal(both.start, by_label)
    turned = ChainBase(stop=by_label).plus(ChainBase(stop=by_pair))
    np.testing.assert_array_equal(turned.stop.reshape(4, 3), by_pair + by_label)
    assert both.transitions is None
