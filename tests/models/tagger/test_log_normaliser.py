"""The normaliser of a joint model: estimates against the sum over all sequences of a finite model."""


import numpy as np
import pytest
from taggers import toy

from loglinear import Tagger

WINDOW = "U0:%x[0,0]\nU1:%x[-1,0]/%x[0,0]\nB\n"


def short_model(input_only):
    """(tagger, its HMM): labels of the base only rise, so that no sequence is longer than three tokens."""
    X = [[("a",)], [("a",), ("b",)], [("b",), ("a",)], [("a",), ("b",), ("a",)], [("b",), ("b",)]] * 8
    y = [["A"], ["A", "B"], ["A", "C"], ["A", "B", "C"], ["B", "C"]] * 8
    return Tagger("m-estimation", WINDOW, strength=0.2, input_only=input_only).fit(X, y)


@pytest.mark.parametrize("input_only", [None, 2])
def test_it_is_the_sum_over_all_inputs(input_only):
    tagger = short_model(input_only)
    vocabulary = list(tagger.reader_.oov.vocabularies[0])
    inputs = [[(word,) for word in words] for n in (1, 2, 3) for words in np.ndindex(*[len(vocabulary)] * n)
              for words in [[vocabulary[k] for k in words]]]
    total = np.logaddexp.reduce(tagger.input_log_probability(inputs))
    estimate, error = tagger.log_normaliser(20_000, random_state=1)
    assert 0 < error < 0.05
    assert abs(estimate - total) < 4 * error
    assert tagger.log_normaliser(20_000, random_state=1) == (estimate, error)


def test_an_hmm_is_normalised_and_others_have_none():
    X, y = toy()
    templates = "U:%x[0,0]\nB"
    assert Tagger("hmm").fit(X, y).log_normaliser() == (0.0, 0.0)
    with pytest.raises(ValueError, match="'crf' models labels given the input"):
        Tagger(templates=templates).fit(X, y).log_normaliser()
    with pytest.raises(ValueError, match="empirical base has no inputs but those of training"):
        Tagger("m-estimation", templates, base="empirical").fit(X, y).log_normaliser()
    with pytest.raises(ValueError, match="n_samples must be at least 2"):
        Tagger("m-estimation", templates).fit(X, y).log_normaliser(1)


def test_without_weights_it_is_zero():
    X, y = toy()
    tagger = Tagger("m-estimation", "U:%x[0,0]\nB", strength=1e9).fit(X, y)
    estimate, error = tagger.log_normaliser(1000)
    assert abs(estimate) < 1e-3
    assert error < 1e-3
