"""LanguageModel.partial_fit: text in pieces, its answers, and what it refuses."""

import pickle
import signal

import numpy as np
import pytest
from online_models import Examined
from test_language_model import TEST, TRAIN, assert_sums_to_one

from loglinear import LanguageModel, load
from loglinear.errors import InterruptedWarning

OPTIONS = {"order": 3, "verbose": 0, "solver_options": {"batch_tokens": 100}}


@pytest.mark.parametrize("penalty", ["tree-linf", "tree-l2", "elastic_net", "l1", "l2"])
def test_text_in_pieces_gives_a_model_like_any_other(penalty, tmp_path):
    model = LanguageModel(penalty=penalty, **OPTIONS)
    assert model.partial_fit(TRAIN[:200]) is model
    first = model.perplexity(TEST)
    for _ in range(4):
        model.partial_fit(TRAIN[200:])
    assert model.n_tokens_ == sum(len(s.split()) + 1 for s in TRAIN + 3 * TRAIN[200:])
    assert model.perplexity(TEST) < 1.02 * first
    assert model.n_weights_ > len(model.vocabulary_)
    assert_sums_to_one(model)
    model.save(tmp_path / "m.ll")
    again = load(tmp_path / "m.ll")
    assert again.perplexity(TEST) == model.perplexity(TEST)
    unpickled = pickle.loads(pickle.dumps(model))
    assert unpickled.perplexity(TEST) == model.perplexity(TEST)
    for made in (again, unpickled):
        with pytest.raises(ValueError, match="keeps no counts to go on from"):
            made.partial_fit(TRAIN)


def test_many_passes_approach_fit():
    options = {**OPTIONS, "penalty": "tree-linf", "strength": 0.5, "l2": 0.1}
    fitted = LanguageModel(**{**options, "solver_options": None}).fit(TRAIN)
    model = LanguageModel(**options).partial_fit(TRAIN)
    for k in range(30):
        Examined.epoch(model.online_, k)
    for name in ("queries_", "order_"):
        model.__dict__.pop(name, None)
    assert model.perplexity(TEST) == pytest.approx(fitted.perplexity(TEST), rel=0.03)


def test_later_words_are_unknown():
    model = LanguageModel(penalty="tree-linf", **OPTIONS).partial_fit(["the cat sees", "the dog"])
    model.partial_fit(["the zebra sees"])
    assert "zebra" not in model.vocabulary_
    assert model.online_.tree()[0].trie.entry_count[model.vocabulary_.unknown] == 1
    given = LanguageModel(penalty="tree-linf", vocabulary=["the", "zebra"], **OPTIONS).partial_fit(["the cat"])
    assert "zebra" in given.vocabulary_


def test_unbounded_histories():
    model = LanguageModel(penalty="tree-linf", **{**OPTIONS, "order": None}).partial_fit(TRAIN)
    assert model.order_ > 5
    assert_sums_to_one(model)


def test_fit_begins_anew():
    model = LanguageModel(penalty="tree-linf", **OPTIONS).partial_fit(TRAIN)
    model.set_params(solver_options=None).fit(TRAIN)
    assert not hasattr(model, "online_")
    with pytest.raises(ValueError, match="keeps no counts"):
        model.set_params(solver_options=None).partial_fit(TRAIN)


def test_an_interrupted_pass_keeps_what_was_learnt(monkeypatch):
    model = LanguageModel(penalty="tree-linf", **OPTIONS).partial_fit(TRAIN[:100])
    before = model.n_tokens_
    learn = model.online_._native.learn

    def once(*args):
        signal.raise_signal(signal.SIGINT)
        return learn(*args)

    class Native:
        def __getattr__(self, name):
            return once if name == "learn" else getattr(native, name)

    native = model.online_._native
    monkeypatch.setattr(model.online_, "_native", Native())
    with pytest.warns(InterruptedWarning, match="interrupted"):
        model.partial_fit(TRAIN)
    assert before < model.n_tokens_ < before + 200
    assert model.status_ == "interrupted"
    assert np.isfinite(model.perplexity(TEST))


def test_progress_in_lines(monkeypatch, capsys):
    monkeypatch.setattr("loglinear.models.language_model.stream._EVERY", 0.0)
    LanguageModel(penalty="tree-linf", **{**OPTIONS, "verbose": 1}).partial_fit(TRAIN[:50])
    assert "tokens, perplexity before they were learnt" in capsys.readouterr().err


def test_settings_of_fit_are_refused():
    for options, message in [
        ({"estimator": "kneser-ney"}, "partial_fit trains estimator='maxent'"),
        ({"tune": "validation"}, "are settings of fit"),
        ({"prune_entropy": 1e-8}, "are settings of fit"),
        ({"min_count": 2}, "min_count is a setting of fit"),
        ({"solver_options": {"memory": 3}}, "batch_tokens, gain and mu, not memory"),
        ({"solver_options": {"batch_tokens": 0}}, "batch_tokens is 0"),
    ]:
        model = LanguageModel(**{**OPTIONS, **options})
        with pytest.raises(ValueError, match=message):
            model.partial_fit(TRAIN)
        assert not hasattr(model, "queries_")
