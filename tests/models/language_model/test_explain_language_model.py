"""Explanations of sentences: contributions add up, weights are those of the model, for every kind of n-gram model."""

import math

import numpy as np
import pytest
from backoff_models import arrange, dictionaries

from loglinear import FormatError, LanguageModel
from loglinear.backoff.interpolation import loglinear_weights
from loglinear.features.word_vocabulary import WordVocabulary
from loglinear.models import load_predictor

TEXT = [
    "the dog sees a cat .", "the cat sees the dog .", "a dog barks .", "the dog barks .", "a cat sees a dog .",
    "the old dog sees the old cat .", "the cat likes the dog .", "a dog likes a cat .",
]  # fmt: skip
SENTENCES = ["the dog sees the cat .", "a dog likes unheard things .", "", "zebra", "the the", "the old dog barks ."]
MODELS = {
    "maxent": {},
    "l2": {"penalty": "l2", "strength": 0.1, "nonnegative": False},
    "tree": {"penalty": "tree-linf", "order": 4},
    "pruned": {"prune_entropy": 0.01},
    "unigrams": {"order": 1},
    "kneser-ney": {"estimator": "kneser-ney"},
    "witten-bell": {"estimator": "witten-bell", "order": 4},
    "add-k": {"estimator": "add-k"},
    "characters": {"units": "characters", "estimator": "kneser-ney", "order": 4},
}


@pytest.fixture(scope="module", params=MODELS)
def model(request):
    return LanguageModel(**{"order": 3, "verbose": 0, **MODELS[request.param]}).fit(TEXT)


@pytest.mark.parametrize("sentence", SENTENCES)
def test_contributions_sum_to_the_log_probability(model, sentence):
    found = model.explain(sentence)
    scores = list(model.queries_.full_scores(" ".join(model.split(sentence))))
    assert [token.word for token in found.tokens] == [*model.split(sentence), "</s>"]
    for token, (log10, length, unknown) in zip(found.tokens, scores):
        assert sum(push.contribution for push in token.pushes) == pytest.approx(token.log_probability, abs=1e-12)
        assert token.log_probability == pytest.approx(log10 * math.log(10), abs=1e-6)
        assert (token.order, token.unknown) == (length, unknown)
        assert all(push.contribution == push.value * push.weight for push in token.pushes)
    assert found.log_probability == pytest.approx(sum(log10 for log10, _, _ in scores) * math.log(10), abs=1e-5)
    assert found.perplexity == pytest.approx(math.exp(-found.log_probability / len(scores)))


@pytest.mark.parametrize("context", ["", "the", "a dog", "zebra sees"])
def test_the_next_words_are_explained_as_in_their_sentences(model, context):
    units = model.split(context)
    candidates = [word for word, _ in model.top(context, 5)]
    for word, found in zip([*candidates, "q"], model.explain_next(context, [*candidates, "q"])):
        told = model.explain(units if word == "</s>" else [*units, word]).tokens[len(units)]
        assert (found.word, found.pushes) == (word, told.pushes)
        p = model.next_distribution(context)[max(numbers_of(model, [word])[0], int(found.unknown))]
        assert math.exp(found.log_probability) == pytest.approx(p, rel=1e-5)


def numbers_of(model, words):
    known = {word: k for k, word in enumerate(model.vocabulary_)}
    return tuple(model.vocabulary_.begin if word == "<s>" else known.get(word, 1) for word in words)


@pytest.mark.parametrize("name", ["maxent", "l2", "tree"])
def test_a_log_linear_model_is_explained_by_its_weights(name):
    model = LanguageModel(**{"order": 3, "verbose": 0, **MODELS[name]}).fit(TEXT)
    backoff = model.queries_.to_backoff()
    listed, _ = dictionaries(backoff)
    weights = dict(zip(listed, loglinear_weights(backoff).tolist()))
    for sentence in SENTENCES:
        history = ["<s>"]
        for token in model.explain(sentence).tokens:
            first, *others = token.pushes
            (word,) = numbers_of(model, [token.word])
            assert first.weight == pytest.approx(weights[(), word], abs=1e-5)  # the unigram's log-probability
            expected = {}
            for n in range(1, model.order_):
                before = numbers_of(model, history[-n:])[::-1]
                weight = weights.get((before, word), 0.0)
                if len(before) == n and abs(weight) > 1e-4:
                    expected[" ".join([*(name_of(model, w) for w in before[::-1]), name_of(model, word)])] = weight
            found = {push.feature: push.weight for push in others if push.value == 1 and abs(push.weight) > 1e-4}
            assert found == pytest.approx(expected, abs=1e-5)
            normalisers = [push for push in others if push.value == -1]
            assert all(push.feature.startswith("log Z after ") for push in normalisers)
            assert len(normalisers) == 1 or not expected
            history.append(token.word)


def name_of(model, number):
    return "<s>" if number == model.vocabulary_.begin else model.vocabulary_.word(number)


def test_log_z_is_the_sum_over_all_words():
    model = LanguageModel(3, verbose=0).fit(TEXT)
    total = 0.0
    for word in model.vocabulary_:
        if word == "</s>":
            token = model.explain("the dog").tokens[-1]
        else:
            token = model.explain(f"the dog {word}").tokens[2]
        *parts, normaliser = token.pushes
        assert normaliser.feature == "log Z after the dog"
        total += math.exp(sum(push.contribution for push in parts))
    assert normaliser.weight == pytest.approx(math.log(total), abs=1e-5)


def test_a_back_off_model_is_explained_by_the_ngram_found_and_the_back_offs():
    model = LanguageModel(3, "kneser-ney", verbose=0).fit(TEXT)
    listed, backoffs = dictionaries(model.queries_.to_backoff())
    seen, unseen, *_ = model.explain("the zebra").tokens
    the, unknown, begin = numbers_of(model, ["the", "zebra", "<s>"])
    (push,) = seen.pushes
    assert (push.feature, push.weight) == ("<s> the", pytest.approx(listed[(begin,), the], abs=1e-6))
    assert unseen.unknown
    assert [p.feature for p in unseen.pushes] == ["<unk>", "back-off from the", "back-off from <s> the"]
    expected = [listed[(), unknown], backoffs[(the,)], backoffs[(the, begin)]]
    np.testing.assert_allclose([p.weight for p in unseen.pushes], expected, atol=1e-6)


def test_files_predictors_and_arpa_explain_alike(tmp_path):
    model = LanguageModel(3, "kneser-ney", verbose=0).fit(TEXT)
    model.save(tmp_path / "m.ll")
    model.to_arpa(tmp_path / "m.arpa", full_precision=True)
    expected = model.explain("the dog zebra")
    assert load_predictor(tmp_path / "m.ll").explain("the dog zebra") == expected
    assert LanguageModel.load(tmp_path / "m.arpa").explain("the dog zebra") == expected


def test_an_explanation_prints_every_word_and_the_total():
    model = LanguageModel(2, "kneser-ney", verbose=0).fit(TEXT)
    found = model.explain(["the", "zebra"])
    lines = str(found).splitlines()
    first, unseen = found.tokens[:2]
    assert lines[0] == f"the: log-probability {first.log_probability:.4f}"
    assert lines[1] == f"    {first.pushes[0].contribution:+9.4f}  <s> the"
    assert lines[2] == f"zebra (unknown): log-probability {unseen.log_probability:.4f}"
    assert lines[-1] == f"log-probability {found.log_probability:.4f} of 3 tokens, perplexity {found.perplexity:.4f}"


def test_words_without_probability_are_explained_too():
    silent = LanguageModel.from_backoff(
        arrange(WordVocabulary.from_words(["a", "b"]), 2, {((), 0): -1.0, ((), 1): -1.0, ((), 2): -1.0,
                ((), 3): -math.inf, ((2,), 2): -math.inf}, {(2,): -0.5})
    )  # fmt: skip
    silent.estimator = "maxent"
    impossible, after, end = silent.explain("b a").tokens
    assert (impossible.log_probability, [p.feature for p in impossible.pushes]) == (-math.inf, ["b"])
    assert (after.log_probability, end.log_probability) == (-1.0, -1.5)
    assert silent.explain("a a").tokens[1].log_probability == -math.inf


def test_refusals():
    closed = LanguageModel(2, "kneser-ney", unknown="error", verbose=0).fit(TEXT)
    with pytest.raises(FormatError, match="'zebra' is not in the vocabulary, which is closed"):
        closed.explain("the zebra")
    with pytest.raises(FormatError, match="reserved for the ends of sentences"):
        closed.explain("the <s> dog")
    with pytest.raises(TypeError, match="explain takes one sentence: a string or a list of words, not int"):
        closed.explain(3)
    with pytest.raises(TypeError, match="explain takes one sentence"):
        closed.explain([["the", "dog"]])
