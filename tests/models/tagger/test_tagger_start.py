"""A CRF that starts from an M-estimate: a better start, the same end."""

import numpy as np
import pytest

from loglinear import Tagger


@pytest.fixture(scope="module")
def sentences():
    """Words that say much of their labels, with tags that say more."""
    rng = np.random.default_rng(0)
    X, y = [], []
    for _ in range(80):
        labels, inside = [], False
        for _ in range(rng.integers(3, 12)):
            label = "I-X" if inside and rng.random() < 0.5 else rng.choice(["B-X", "O"])
            inside = label != "O"
            labels.append(str(label))
        X.append([(f"{label[0]}{rng.integers(6)}", label[0] if rng.random() < 0.8 else "?") for label in labels])
        y.append(labels)
    return X, y


def tagger(**options):
    return Tagger(templates="sha-pereira", order=2, oov=True, n_threads=1, verbose=0, **options)


def test_the_start_is_nearer_and_the_end_the_same(sentences):
    X, y = sentences
    plain = tagger(tolerance=1e-13).fit(X, y)
    started = tagger(tolerance=1e-13, initialise="m-estimation").fit(X, y)
    assert started.history_.objective[0] < plain.history_.objective[0]
    assert started.objective_ == pytest.approx(plain.objective_, rel=1e-6)
    np.testing.assert_allclose(started.weights_, plain.weights_, atol=1e-3)
