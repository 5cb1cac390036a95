"""Caches: features and normalisation against a plain twin, files, mixtures, linear caches, refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest

from loglinear import load
from loglinear.models import LanguageModel
from loglinear.models.language_model.cache.queries import CachedQueries, CacheSettings, NgramMember, parse_cache
from loglinear.models.language_model.cache.training import cache_loss, word_groups
from loglinear.models.language_model.files import Text, mix
from loglinear.testing import check_loss

TRAIN = [
    "the dog sees a cat", "a dog eats the fish", "the cat sleeps", "a bird sees the dog", "the bird eats a fish",
    "one dog barks", "one cat sees one bird", "the fish swims", "a cat eats", "the dog barks at a bird",
]  # fmt: skip
HELD_OUT = ["the bird sees a bird", "a bird sees a bird", "the fish swims", "the fish swims", "one dog barks at it"] * 3
SETTINGS = {"window": 9, "half_lives": (2.0, 5.0), "ngram_half_life": 4.0, "strength": 0.1}


@pytest.fixture(scope="module", params=[None, 3], ids=["n-grams", "classes"])
def model(request):
    classes = {} if request.param is None else {"classes": request.param}
    return LanguageModel(order=3, cache=SETTINGS, **classes).fit(TRAIN, validation=HELD_OUT)


def twin(words, t, p, settings, weights):
    """Return the distribution before event t, from that of the model, by the formulas of native/cache."""
    first = max(0, t - settings.window)
    sums = {}
    for i in range(first, t):
        if words[i] == 0:
            continue
        for j, life in enumerate(settings.half_lives):
            sums.setdefault(words[i], np.zeros(4))[j] += 2 ** (-(t - i) / life)
        use = 2 ** (-(t - i) / settings.ngram_half_life)
        if i > first and words[i - 1] == words[t - 1]:
            sums[words[i]][2] += use
            if i > first + 1 and t - first > 1 and words[i - 2] == words[t - 2]:
                sums[words[i]][3] += use
    total = sum(sums.values(), np.zeros(4))
    out = p.copy()
    for word, d in sums.items():
        shares = np.divide(d, total, out=np.zeros(4), where=total > 0)
        f = np.concatenate([np.log1p(d), np.log1p(settings.ratio * shares / p[word])])
        out[word] *= math.exp(weights[word] @ f)
    return out / out.sum()


def test_distributions_are_those_of_the_formulas(model):
    queries = model.queries_
    without = CachedQueries(queries.numbering, queries.members, queries.shares)
    documents = model.read(HELD_OUT[:4])
    words = documents.words.tolist()
    scores = queries.score_events(documents).log_probability
    for t in range(documents.n_events):
        p = queries.distribution_at(documents, t)
        assert p.sum() == pytest.approx(1.0, abs=1e-12)
        expected = twin(words, t, without.distribution_at(documents, t), queries.settings, queries.weights)
        np.testing.assert_allclose(p, expected, rtol=1e-9)
        assert scores[t] == pytest.approx(math.log(p[words[t]]), abs=1e-10)


def test_the_loss_is_that_of_the_scores_with_its_gradient_and_curvature(model):
    queries, documents = model.queries_, model.read(HELD_OUT[:6])
    without = CachedQueries(queries.numbering, queries.members, queries.shares)
    loss = cache_loss(without, queries.settings, documents, None)
    w = np.random.default_rng(0).normal(size=loss.n_weights) * 0.3
    check_loss(loss)
    scored = CachedQueries(queries.numbering, queries.members, queries.shares, queries.settings, loss.by_word(w))
    value = loss.value_and_gradient(w, np.empty(w.size))
    assert value == pytest.approx(-scored.score_events(documents).log_probability.sum(), rel=1e-6)
    memory = queries.settings.on(documents, None)
    components = [one.component(documents) for one in queries.members]
    expected = np.zeros((loss.n_features, loss.n_groups))
    for t in range(documents.n_events):
        p, given = without.distribution_at(documents, t), queries.of_components(components, t, t + 1)
        for word in range(p.size):
            f = np.empty(loss.n_features)
            memory.features(t, word, given, f)
            for group in word_groups(queries.members):
                expected[:, group[word]] += p[word] * f**2
    found = np.empty(w.size)
    loss.curvature_estimate(found)
    np.testing.assert_allclose(found, np.maximum(expected.ravel(), 1e-3), rtol=1e-5)


def test_the_cache_helps_text_that_repeats_itself_and_is_saved(model, tmp_path):
    queries = model.queries_
    without = CachedQueries(queries.numbering, queries.members, queries.shares)
    documents = model.read(HELD_OUT)
    assert model.score(HELD_OUT) > without.score_events(documents).log_probability.mean()
    model.save(tmp_path / "m.ll")
    loaded = load(tmp_path / "m.ll")
    assert loaded.perplexity(HELD_OUT) == model.perplexity(HELD_OUT)
    history = {"words": "the bird", "document": ["the bird sees a bird"]}
    np.testing.assert_array_equal(loaded.next_distribution(history), model.next_distribution(history))
    assert len(loaded.sample(2, max_length=5)) == 2


def test_a_document_before_makes_its_words_more_probable(model):
    number = model.vocabulary_.ids(["bird"])[0]
    alone = model.next_distribution("a")[number]
    after = model.next_distribution({"words": "a", "document": ["the bird sees a bird", "a bird sees a bird"]})[number]
    assert after > alone


def test_documents_have_memories_of_their_own(model):
    document = [{"words": line.split()} for line in HELD_OUT[:2]]
    apart = model.read([{"sentences": document}, {"sentences": document}])
    once = model.queries_.score_events(model.read([{"sentences": document}])).log_probability
    twice = model.queries_.score_events(apart).log_probability
    np.testing.assert_allclose(twice, np.concatenate([once, once]), rtol=1e-12)


def test_explanations_add_up(model):
    explained = model.explain("a bird sees a bird")
    assert explained.log_probability == pytest.approx(
        float(model.queries_.token_log_probabilities(model.read(["a bird sees a bird"])).sum()), abs=1e-9)  # fmt: skip
    for token in explained.tokens:
        assert sum(push.contribution for push in token.pushes) == pytest.approx(token.log_probability, abs=1e-9)
    assert any(push.feature.startswith("cache: ") for push in explained.tokens[4].pushes)


def test_chunks_of_a_long_text_agree_with_one_event_at_a_time(model):
    rng = np.random.default_rng(0)
    lines = [" ".join(rng.choice(["dog", "cat", "bird", "the", "a"], 12)) for _ in range(120)]
    documents = model.read(lines)
    scores = model.queries_.score_events(documents).log_probability
    for t in (0, 1, 1022, 1023, 1024, 1025, 1500):
        p = model.queries_.distribution_at(documents, t)
        assert scores[t] == pytest.approx(math.log(p[documents.words[t]]), abs=1e-10)


def test_linear_cache():
    linear = LanguageModel(order=3, cache={**SETTINGS, "kind": "linear"}).fit(TRAIN, validation=HELD_OUT)
    share = float(linear.queries_.weights[0])
    assert 0 < share < 1
    p = linear.next_distribution({"words": "a", "document": ["bird bird"]})
    assert p.sum() == pytest.approx(1.0, abs=1e-12)
    plain = LanguageModel(order=3).fit(TRAIN)
    uses = {"bird": 2 ** (-3 / 2) + 2 ** (-4 / 2), "a": 2 ** (-1 / 2)}
    expected = (1 - share) * plain.next_distribution("a")
    for word, use in uses.items():
        expected[plain.vocabulary_.ids([word])[0]] += share * use / sum(uses.values())
    np.testing.assert_allclose(p, expected, rtol=1e-6)


def test_mixture_under_a_cache(tmp_path):
    models = [LanguageModel(order=3, classes=3).fit(TRAIN), LanguageModel(order=3, estimator="kneser-ney").fit(TRAIN)]
    validation = Text.read(HELD_OUT, models[0])
    mixture = mix(models, validation=validation, cache=SETTINGS)
    merged = mixture.merged()
    assert merged.queries_.shares.sum() == pytest.approx(1.0)
    assert merged.next_distribution({"words": "the", "document": HELD_OUT[:2]}).sum() == pytest.approx(1.0, abs=1e-9)
    assert merged.perplexity(HELD_OUT) < mixture.perplexities(validation)[0]
    merged.save(tmp_path / "mixed.ll")
    assert load(tmp_path / "mixed.ll").perplexity(HELD_OUT) == merged.perplexity(HELD_OUT)
    without = mix(models, weights=[0.25, 0.75]).merged()
    each = [m.next_distribution("the dog") for m in models]
    np.testing.assert_allclose(without.next_distribution("the dog"), 0.25 * each[0] + 0.75 * each[1], rtol=1e-5)


def test_ngram_members_have_the_probabilities_of_their_models():
    for estimator in ("maxent", "kneser-ney", "witten-bell"):
        model = LanguageModel(order=3, estimator=estimator).fit(TRAIN)
        member = NgramMember.of(model.queries_.to_backoff())
        queries = CachedQueries(plain_numbering(model), [member], np.ones(1))
        documents = queries.read(HELD_OUT)
        expected = model.queries_.token_log_probabilities(documents.sentences)
        np.testing.assert_allclose(queries.score_events(documents).log_probability, expected, rtol=1e-5)


def plain_numbering(model):
    from loglinear.data.documents import Numbering

    return Numbering(model.vocabulary_, {}, {}, {})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"window": 0}, "the window is 0"), ({"order": 4}, "the order is 4"), ({"half_lives": ()}, "half-lives"),
        ({"kind": "quadratic"}, "the kind is 'quadratic'"), ({"widow": 3}, "unknown settings widow"),
        ({"ratio": -1.0}, "the ratio is -1"), (3.5, "is no cache"), ({"strength": float("nan")}, "the strength is nan"),
    ],
)  # fmt: skip
def test_settings_that_make_no_sense_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        parse_cache(given)


def test_a_cache_needs_held_out_text():
    with pytest.raises(ValueError, match="held-out text"):
        LanguageModel(order=2, cache=True).fit(TRAIN)
    with pytest.raises(ValueError, match="fewer than two words"):
        LanguageModel(order=2, cache=True).fit(TRAIN, validation=["dog"])
    assert parse_cache(50) == CacheSettings(window=50)
