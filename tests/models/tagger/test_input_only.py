"""Features of the input alone: counted, expected, trained beside the others, and seen by the score of an input only."""

import dataclasses
from collections import Counter

import numpy as np
import pytest
from taggers import TEMPLATES, toy, twins

from loglinear import Tagger, load
from loglinear.data.sequence import SequenceData
from loglinear.errors import ModelFileError
from loglinear.features.columns import Columns
from loglinear.hmm.counts import feature_counts
from loglinear.models import archive as archives
from loglinear.models.tagger.input_only import InputOnly, ngram_templates
from loglinear.threads import pool

BIGRAMS = ngram_templates(2, 2)


def grams(tagger, sequence):
    """The n-grams of a sequence, up to two tokens of each column, by the names that their attributes have."""
    (columns,) = list(tagger.encode([sequence]).columns)
    padded = [("_B-1", "_B-1"), *columns]
    found = Counter()
    for t, token in enumerate(columns):
        for c in (0, 1):
            found[f"U{c}.1:{token[c]}"] += 1
            found[f"U{c}.2:{padded[t][c]}/{token[c]}"] += 1
    return found


@pytest.fixture(scope="module")
def tagger():
    X, y = toy(n=40)
    return Tagger("m-estimation", TEMPLATES, input_only=2, strength=0.3, tolerance=1e-10).fit(X, y)


def test_they_cancel_in_labels_and_count_in_inputs(tagger):
    X = toy(seed=3)[0]
    weight = dict(zip(tagger.input_only_.featuriser.names(), tagger.input_only_.weights))
    assert np.abs(tagger.input_only_.weights).max() > 0.01
    scores, marginals = tagger.input_log_probability(X), tagger.predict_marginals(X)
    for i, twin in enumerate(twins(tagger, X)):
        extra = sum(n * weight.get(name, 0.0) for name, n in grams(tagger, X[i]).items())
        assert scores[i] == pytest.approx(twin.log_z + extra, abs=1e-10)
        ours = [[token[label] for label in tagger.classes_] for token in marginals[i]]
        np.testing.assert_allclose(ours, twin.node_marginals(twin.scores), atol=1e-12)


def test_the_weights_are_optimal(tagger):
    """The gradient of equation 14, with counts made here and expectations from a large sample of the base."""
    X, y = toy(n=40)
    w, v = tagger.weights_, tagger.input_only_.weights
    names = tagger.input_only_.featuriser.names()
    # The first occurrence of every value is unknown in training: as the model encoded it when it was fitted.
    columns = tagger.reader_.oov.fit_transform(Columns.from_lists(X))
    counts = tagger.input_only_.counts(columns)
    dense = np.zeros((len(X), v.size))
    dense[np.repeat(np.arange(len(X)), np.diff(counts.indptr)), counts.indices] = counts.values
    assert dense.sum() == 2 * 2 * sum(map(len, X))
    assert all(dense[0, a] == n for name, n in _plain(columns[0]).items() for a in [names.index(name)])
    numbers = np.array([tagger.classes_.index(label) for labels in y for label in labels], dtype=np.int32)
    rows = tagger.reader_.featuriser.transform(columns)
    data = SequenceData(columns.sequence_ptr, rows, tagger.reader_.n_attributes, numbers, len(tagger.classes_))
    known = feature_counts(data, tagger.features_, pool(1))
    margins = np.zeros(len(X))
    known.margins(pool(1), w, None, 1, margins)
    weights = np.exp(-margins - dense @ v) / len(X)
    expected = tagger.input_only_.expectations(tagger.hmm_, columns)
    np.testing.assert_allclose(expected - dense.T @ weights + 0.3 * v, 0.0, atol=1e-4)
    ids, _, ptr = tagger.hmm_.sample(40_000, np.random.default_rng(0))
    drawn = InputOnly(tagger.input_only_.featuriser).counts(Columns(ptr, ids, columns.vocabularies))
    sampled = np.bincount(drawn.indices, weights=drawn.values, minlength=v.size) / 40_000
    np.testing.assert_allclose(sampled, expected, atol=0.05)


def _plain(columns):
    found, before = Counter(), ("_B-1", "_B-1")
    for token in columns:
        for c in (0, 1):
            found[f"U{c}.1:{token[c]}"] += 1
            found[f"U{c}.2:{before[c]}/{token[c]}"] += 1
        before = token
    return found


@pytest.mark.parametrize(
    "settings",
    [{"base": "empirical"}, {"base": "locally-uniform"}, {"expectation": "sample", "n_samples": 5000}, {"order": 2}],
)
def test_with_every_base(settings):
    X, y = toy(n=40)
    common = {"strength": 0.3, "random_state": 0, **settings}
    plain = Tagger("m-estimation", TEMPLATES, **common).fit(X, y)
    more = Tagger("m-estimation", TEMPLATES, input_only=BIGRAMS, **common).fit(X, y)
    assert more.objective_ < plain.objective_  # more weights, the same loss at zero of them
    assert more.features_.n_weights == plain.features_.n_weights


def test_files_and_clones(tagger, tmp_path):
    X = toy(seed=3)[0]
    tagger.save(tmp_path / "m.ll")
    again = load(tmp_path / "m.ll")
    assert again.input_only == 2
    np.testing.assert_allclose(again.input_log_probability(X), tagger.input_log_probability(X), atol=1e-12)
    assert again.predict(X) == tagger.predict(X)
    sparse = Tagger("m-estimation", TEMPLATES, input_only=2, penalty="elastic_net", strength=0.3).fit(*toy(n=40))
    sparse.save(tmp_path / "l1.ll")
    again = load(tmp_path / "l1.ll")
    kept = np.count_nonzero(sparse.input_only_.weights)
    assert again.input_only_.weights.size == kept < tagger.input_only_.weights.size
    np.testing.assert_allclose(again.input_log_probability(X), sparse.input_log_probability(X), atol=1e-12)


@pytest.mark.parametrize(
    "change", [{"input_weights": np.ones(3)}, {"input_weights": None}, {"input_only.attribute_values": None}]
)
def test_damaged_files_are_refused(tagger, tmp_path, change):
    tagger.save(tmp_path / "m.ll")
    archive = archives.load(tmp_path / "m.ll")
    arrays = {name: array for name, array in {**archive.arrays, **change}.items() if array is not None}
    archives.save(tmp_path / "bad.ll", dataclasses.replace(archive, arrays=arrays))
    with pytest.raises(ModelFileError, match="input"):
        load(tmp_path / "bad.ll")


def test_tuning_keeps_the_weights_of_the_best(tagger):
    X, y = toy(n=40)
    tuned = Tagger("m-estimation", TEMPLATES, input_only=2, tune=[0.3], tolerance=1e-10).fit(X, y, validation=(X, y))
    np.testing.assert_allclose(tuned.input_only_.weights, tagger.input_only_.weights, atol=1e-5)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"estimator": "crf", "input_only": 2}, r"cancel in p\(y \| x\), so the estimator 'crf' cannot learn"),
        ({"input_only": 0}, "input_only must be a length of n-grams from 1 to 10, a file of templates or their text"),
        ({"input_only": True}, "input_only must be a length"),
        ({"input_only": "U:%x[0,0]\nB\n"}, "begins with B or .* begin every line with U"),
        ({"input_only": "no-such-file"}, "no such file, and no built-in set of templates"),
        ({"input_only": "U:%x[0,7]"}, "looks at column 7, but the data have 2"),
    ],
)
def test_refusals(settings, message):
    X, y = toy()
    with pytest.raises(ValueError, match=message):
        Tagger(**{"estimator": "m-estimation", "templates": TEMPLATES, **settings}).fit(X, y)
