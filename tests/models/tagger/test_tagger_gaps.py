"""Taggers that look at any row before or after a token: every estimator trains and decodes with such templates."""

import numpy as np
import pytest
import taggers
from taggers import toy

from loglinear import Tagger, load
from loglinear.data.sequence import SequenceData
from loglinear.features.columns import Columns
from loglinear.hmm.counts import feature_counts
from loglinear.hmm.expectations import expectations
from loglinear.hmm.sampled import sampled_expectations
from loglinear.hmm.templates import column_attributes, template_observations
from loglinear.threads import pool

GAPS = "U0:%x[0,0]\nUbefore=%x[0,1]/%x[<,0]\n*after=%x[>,1]\nU:%x[1,0]/%x[>,0]\nB\n"
KINDS = [("crf", 1), ("crf", 2), ("memm", 1), ("pseudolikelihood", 1), ("m-estimation", 1), ("m-estimation", 2)]


def negated(n=60, seed=0):
    """(X, y): the last word is Y, unless a "not" came anywhere before it; other words say nothing."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        words = [f"w{k}" for k in rng.integers(0, 4, size=rng.integers(6, 11))]
        if no := rng.random() < 0.5:
            words[rng.integers(0, 3)] = "not"
        X.append([*words, "end"])
        y.append(["O"] * len(words) + ["N" if no else "Y"])
    return X, y


@pytest.mark.parametrize(("estimator", "order"), KINDS)
def test_labels_are_those_of_enumeration(estimator, order):
    X, y = toy()
    tagger = Tagger(estimator, GAPS, order=order, strength=0.5).fit(X, y)
    short = X[:6]
    best, logs = tagger.predict(short), tagger.log_probability(short, y[:6])
    for i, twin in enumerate(taggers.twins(tagger, short)):
        scores = taggers.scores(tagger, twin)
        place = twin.labellings.index(tuple(tagger.classes_.index(label) for label in best[i]))
        assert scores[place] == pytest.approx(scores.max(), rel=1e-10)
        gold = twin.labellings.index(tuple(tagger.classes_.index(label) for label in y[i]))
        assert logs[i] == pytest.approx(scores[gold] - np.logaddexp.reduce(scores), abs=1e-9)
        if estimator != "memm":
            explained = tagger.explain(short[i])
            assert sum(token.score for token in explained.tokens) == pytest.approx(scores[place], rel=1e-9)


@pytest.mark.parametrize(
    ("settings", "least"), [({"strength": 0.1}, 1.0), ({"estimator": "m-estimation", "base": "empirical"}, 0.8)]
)
def test_they_see_what_a_window_cannot(settings, least):
    X, y = negated(100)
    new, right = negated(60, seed=1)
    window = "U0:%x[0,0]\nU1:%x[-1,0]\nB\n"
    shares = []
    for templates in (window, window + "U3:%x[0,0]/%x[<,0]\n"):
        found = Tagger(templates=templates, **{"strength": 0.02, **settings}).fit(X, y).predict(new)
        shares.append(np.mean([labels[-1] == gold[-1] for labels, gold in zip(found, right)]))
    assert shares[0] < 0.75
    assert shares[1] >= least


@pytest.mark.parametrize("order", [1, 2])
def test_exact_expectations_are_those_of_samples(order):
    X, y = toy(n=40)
    tagger = Tagger("m-estimation", GAPS, order=order).fit(X, y)
    reader, hmm = tagger.reader_, tagger.hmm_
    columns = reader.read(X, 1).columns
    exact = expectations(hmm, tagger.features_, template_observations(reader.featuriser, columns))
    attributes = column_attributes(reader.featuriser, columns.vocabularies)
    n = 20_000
    sampled = sampled_expectations(hmm, tagger.features_, attributes, n, np.random.default_rng(0))
    assert exact.max() > 0.5
    np.testing.assert_allclose(sampled, exact, atol=0.12)
    assert np.mean(np.abs(sampled - exact)) < 0.01


def test_an_m_estimate_matches_its_moments():
    """At the optimum,  mean of exp(-w f) f = E[f] + strength w:  counts made here, of a model with gaps."""
    X, y = toy(n=40)
    tagger = Tagger("m-estimation", GAPS, strength=0.5, tolerance=1e-12).fit(X, y)
    columns = tagger.reader_.oov.fit_transform(Columns.from_lists(X))
    rows = tagger.reader_.featuriser.transform(columns)
    labels = np.array([tagger.classes_.index(label) for labels in y for label in labels], dtype=np.int32)
    data = SequenceData(columns.sequence_ptr, rows, tagger.reader_.n_attributes, labels, 3)
    observed = template_observations(tagger.reader_.featuriser, columns)
    expected = expectations(tagger.hmm_, tagger.features_, observed)
    total = np.zeros(tagger.features_.n_weights)
    counts = feature_counts(data, tagger.features_, pool(1))
    for i in range(len(X)):
        own = slice(counts.indptr[i], counts.indptr[i + 1])
        f = np.bincount(counts.indices[own], weights=counts.values[own], minlength=total.size)
        total += np.exp(-f @ tagger.weights_) * f / len(X)
    np.testing.assert_allclose(total, expected + 0.5 * tagger.weights_, atol=1e-4)


def test_an_attribute_that_several_rows_share_is_explained_once():
    X, y = toy()
    tagger = Tagger("crf", "Ubefore=%x[<,0]\nB", strength=0.5).fit(X, y)
    last = tagger.explain([("a", "A"), ("a", "A"), ("b", "B"), ("a", "A"), ("c", "A")]).tokens[-1]
    assert {push.feature: push.value for push in last.pushes} == {"Ubefore=a": 3.0, "Ubefore=b": 1.0}
    assert len(last.pushes) == 2


def test_files(tmp_path):
    X, y = toy()
    tagger = Tagger("crf", GAPS, strength=0.5).fit(X, y)
    tagger.save(tmp_path / "m.ll")
    again = load(tmp_path / "m.ll")
    np.testing.assert_allclose(again.log_probability(X, y), tagger.log_probability(X, y), atol=1e-12)
    assert ("Ubefore=A/a", "A") in again.state_features_


def test_what_a_chain_cannot_decode_is_refused():
    X, y = toy()
    message = r"<templates>:2: the template 'U1:.*' asks for a label any number of rows away, .* %x\[<,0\]"
    with pytest.raises(ValueError, match=message):
        Tagger(templates="U0:%x[0,0]\nU1:%y[<]/%x[0,0]\nB").fit(X, y)


def test_sequences_that_are_too_long_are_refused():
    X, y = [["a"] * 70_000], [["A"] * 70_000]
    with pytest.raises(ValueError, match=r"make 2449965000 attributes of these sequences, .* split long sequences"):
        Tagger(templates="U:%x[<,0]").fit(X, y)
