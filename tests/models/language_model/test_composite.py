import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from loglinear.errors import FormatError, IncompatibleError, ModelFileError
from loglinear.models import LanguageModel
from loglinear.sources import SOURCES, Function, Skip, Tags, Topic, Words
from loglinear.sources.normalisers import METHODS
from tests.composite_problems import DOCUMENTS

HISTORY = {"words": ["the"], "tags": ["D"], "topic": "cars"}


@pytest.fixture(scope="module")
def model():
    return LanguageModel(sources=[Words(3), Topic(), Tags(2)], verbose=0).fit(DOCUMENTS)


def test_topics_and_tags_change_what_comes_next(model):
    best = [model.top({**HISTORY, "topic": topic}, 1)[0][0] for topic in ("cars", "pets")]
    assert best == ["car", "dog"]
    plain = LanguageModel(3, verbose=0).fit([s["words"] for d in DOCUMENTS for s in d["sentences"]])
    assert model.perplexity(DOCUMENTS) < plain.perplexity([s["words"] for d in DOCUMENTS for s in d["sentences"]])


@pytest.mark.parametrize("method", METHODS)
def test_every_method_trains_the_same_model(model, method):
    options = {"sources": "words:3,topic,tags:2", "verbose": 0, "tolerance": 1e-7}
    found = LanguageModel(method=method, **options).fit(DOCUMENTS)
    assert found.plan_["method"] == method
    assert found.perplexity(DOCUMENTS) == pytest.approx(model.perplexity(DOCUMENTS), rel=1e-3)


def test_probabilities_sum_to_one_before_and_after_saving(model, tmp_path):
    model.save(tmp_path / "m.ll")
    loaded = LanguageModel.load(tmp_path / "m.ll")
    histories = [HISTORY, {"words": [], "topic": "pets"}, {"words": ["a", "x"], "tags": ["D", "?"]}]
    for history in histories:
        p = model.next_distribution(history)
        assert p.sum() == pytest.approx(1, abs=1e-12)
        np.testing.assert_array_equal(p, loaded.next_distribution(history))
    assert loaded.perplexity(DOCUMENTS) == model.perplexity(DOCUMENTS)


def test_scores_of_tokens_are_those_of_next_distributions(model):
    sentence = {"words": ["the", "dog"], "tags": ["D", "N"], "topic": "pets"}
    scores = model.queries_.token_log_probabilities(model.read([sentence]))
    for k, word in enumerate(["the", "dog", "</s>"]):
        p = model.next_distribution({"words": sentence["words"][:k], "tags": sentence["tags"][:k], "topic": "pets"})
        assert scores[k] == pytest.approx(np.log(p[model.vocabulary_.ids([word])[0]]), abs=1e-10)
    explained = model.explain(sentence)
    assert explained.log_probability == pytest.approx(scores.sum())
    for token in explained.tokens:
        assert sum(push.contribution for push in token.pushes) == pytest.approx(token.log_probability)
    assert any(push.feature == "topic: pets dog" for push in explained.tokens[1].pushes)


def test_a_topic_that_training_has_not_seen_falls_back(model):
    unseen = model.next_distribution({**HISTORY, "topic": "news"})
    np.testing.assert_array_equal(unseen, model.next_distribution({"words": ["the"], "tags": ["D"]}))


def test_topics_can_be_assigned_from_the_words_so_far(model):
    given, inferred = (model.evaluate(DOCUMENTS, infer_topics=infer)["perplexity"] for infer in (False, True))
    assert given < inferred < 2 * given


def test_strengths_by_source_and_order_are_tuned():
    found = LanguageModel(sources="words:2,topic", tune="validation", verbose=0).fit(DOCUMENTS, validation=DOCUMENTS)
    assert [row["ngrams"] for row in found.strengths_] == ["unigrams", "words, order 2", "topic, order 2"]
    assert len(found.tuning_) > 1


def test_words_alone_are_trained_as_ngrams():
    texts = [s["words"] for d in DOCUMENTS for s in d["sentences"]]
    one, other = LanguageModel(sources=[Words(3)], verbose=0).fit(texts), LanguageModel(3, verbose=0).fit(texts)
    np.testing.assert_array_equal(one.next_distribution("the"), other.next_distribution("the"))


def test_samples_continue_a_history(model):
    for text in model.sample(3, context={"words": ["the"], "topic": "cars"}, max_length=4):
        assert all(word in model.vocabulary_ for word in text.split())


def test_sources_of_ones_own_are_saved_by_name(tmp_path):
    SOURCES.register("length", lambda **given: Function(lambda h: [str(len(h.words))], title="length", **given))
    found = LanguageModel(sources="words:2,length", verbose=0).fit(DOCUMENTS)
    found.save(tmp_path / "m.ll")
    assert LanguageModel.load(tmp_path / "m.ll").perplexity(DOCUMENTS) == found.perplexity(DOCUMENTS)
    del SOURCES._entries["length"]
    with pytest.raises(ModelFileError, match="source 'length' is not known here; register it first"):
        LanguageModel.load(tmp_path / "m.ll")


def test_what_documents_may_lack_when_a_model_is_used(model):
    """A topic or label may be missing or new; a layer that a source sees may not."""
    plain = [{"words": ["the", "dog"], "tags": ["D", "N"]}]
    assert model.perplexity(plain) == model.perplexity([{**plain[0], "topic": "news"}])
    with pytest.raises(FormatError, match="needs the layer 'tags', and the documents have words only"):
        model.perplexity(["the dog"])
    with pytest.raises(FormatError, match="layer 'tags' has 1 symbols, and the sentence needs 2"):
        model.perplexity([{"words": ["the", "dog"], "tags": ["D"]}])
    with pytest.raises(FormatError, match="layer 'tags' has 2 symbols, and the sentence needs 1"):
        model.next_distribution({"words": ["the"], "tags": ["D", "N"]})


def test_functions_of_the_history_are_checked():
    drawn = np.random.default_rng(0)
    with pytest.raises(ValueError, match="source 'dice' is not deterministic: before event"):
        LanguageModel(
            sources=[Words(2), Function(lambda h: [str(drawn.integers(6))], title="dice")], verbose=0
        ).fit(DOCUMENTS)
    with pytest.raises(TypeError, match="must return a list of strings, not 'dog'"):
        LanguageModel(sources=[Words(2), Function(lambda h: h.words[-1] and "dog")], verbose=0).fit(DOCUMENTS)


def test_refusals_say_what_to_do(model):
    def fit(documents=DOCUMENTS, **settings):
        LanguageModel(**{"sources": "words:2,topic", "verbose": 0, **settings}).fit(documents)

    with pytest.raises(FormatError, match="the source heads needs the layer 'head1'"):
        fit(sources="words:2,heads")
    with pytest.raises(ValueError, match="sources are features of estimator='maxent'"):
        fit(estimator="kneser-ney")
    with pytest.raises(ValueError, match="disjoint: there is no source 'tags'; the sources are words, topic"):
        fit(disjoint="words+tags")
    with pytest.raises(ValueError, match="'words' is no set of two sources or more"):
        fit(disjoint="words")
    with pytest.raises(ValueError, match="only the method 'sharing' can take nearly disjoint features"):
        fit(disjoint="words+topic", method="caching")
    with pytest.raises(ValueError, match="give least counts to the sources"):
        fit(min_count=2)
    with pytest.raises(MemoryError, match=r"no method fits in 10 bytes: .*, would need \d+ KiB; raise"):
        fit(memory=10)
    with pytest.raises(FormatError, match="<documents>:2: the document has no 'topic'"):
        fit([*DOCUMENTS[:1], {"sentences": DOCUMENTS[0]["sentences"]}])
    with pytest.raises(IncompatibleError, match="'to_backoff' is a query of n-gram models"):
        model.queries_.to_backoff()


def test_a_topic_model_is_approximated_by_ngrams(tmp_path):
    found = LanguageModel(sources="words:3,topic", verbose=0).fit(DOCUMENTS)
    for topic in ("cars", "pets"):
        ngrams = found.approximation(topic)
        for words in ([], ["the"], ["the", "car"]):
            exact = found.next_distribution({"words": words, "topic": topic})
            np.testing.assert_allclose(ngrams.next_distribution(words), exact, rtol=1e-5)
    found.to_arpa(tmp_path / "m.arpa", topic="marginal")
    mixed = LanguageModel.load(tmp_path / "m.arpa")
    assert mixed.next_distribution("the").sum() == pytest.approx(1, abs=1e-4)
    with pytest.raises(ValueError, match="has no topic 'news'; it has cars, pets"):
        found.approximation("news")


def test_tags_cannot_be_written_as_ngrams(model):
    with pytest.raises(ValueError, match="n-grams can approximate a model of words and a topic"):
        model.approximation()


def test_documents_without_labels_are_clustered(tmp_path):
    unlabelled = [{"sentences": d["sentences"], "id": str(n)} for n, d in enumerate(DOCUMENTS)]
    found = LanguageModel(sources="words:3,topic", n_topics=2, verbose=0).fit(unlabelled)
    assert found.queries_.numbering.labels["topic"] == ("topic1", "topic2")
    found.save(tmp_path / "m.ll")
    loaded = LanguageModel.load(tmp_path / "m.ll")
    assert loaded.perplexity(unlabelled) == found.perplexity(unlabelled)
    read = loaded.read(unlabelled)
    assert set(read.before["topic"].numbers[:4]) == {-1}
    assert set(read.before["topic"].numbers) == {-1, 0, 1}
    with pytest.raises(ValueError, match="the documents have 'topic' labels"):
        LanguageModel(sources="words:3,topic", n_topics=2, verbose=0).fit(DOCUMENTS)
    with pytest.raises(ValueError, match="add one, such as words:3,topic"):
        LanguageModel(sources="words:3,skip:1", n_topics=2, verbose=0).fit(unlabelled)


def nearly_disjoint_documents():
    """Words that the topic tells of are drawn anywhere, so few of them make frequent bigrams."""
    rng = np.random.default_rng(0)
    documents = []
    for k in range(40):
        topic, sentences = ("pets", "cars")[k % 2], []
        for _ in range(4):
            drawn = [(f"w{rng.integers(8)}", f"{topic}{rng.integers(6)}") for _ in range(6)]
            sentences.append({"words": [w for pair in drawn for w in pair[: 1 + (rng.random() < 0.3)]]})
        documents.append({"topic": topic, "sentences": sentences})
    return documents


def test_sources_taken_for_disjoint_say_what_error_that_makes():
    documents = nearly_disjoint_documents()
    given = {"sources": "words:2:min_count=7,topic:select=12", "verbose": 0}
    exact, near = (LanguageModel(**given, disjoint=d).fit(documents) for d in (None, "words+topic"))
    error = near.disjointness_
    assert error["terms"] < error["exact_terms"]
    assert 0 < error["mean"] < error["largest"] < 0.2
    assert near.objective_ > exact.objective_ * (1 - 1e-4)  # both are values of the exact objective
    assert near.next_distribution({"words": ["w1"], "topic": "pets"}).sum() == pytest.approx(1)
    assert near.perplexity(documents) == pytest.approx(exact.perplexity(documents), rel=0.02)
    with pytest.warns(ConvergenceWarning, match="the sources words.topic are not nearly disjoint: log Z is off by"):
        LanguageModel(sources="words:2,topic", disjoint="words+topic", max_iterations=50, verbose=0).fit(DOCUMENTS)
    with pytest.raises(ValueError, match="tune without disjoint"):
        LanguageModel(**given, disjoint="words+topic", tune="validation").fit(documents, validation=documents)


def test_the_marginal_ngrams_mix_topics_by_their_share():
    found = LanguageModel(sources="words:2,topic", verbose=0).fit([DOCUMENTS[0], *DOCUMENTS])
    np.testing.assert_allclose(found.queries_.features[1].state["share"], [4 / 7, 3 / 7])
    mixed = found.approximation("marginal").next_distribution("the")
    parts = [found.approximation(topic).next_distribution("the") for topic in ("pets", "cars")]
    known = found.vocabulary_.ids(["dog", "car"])
    np.testing.assert_allclose(mixed[known], (4 / 7 * parts[0] + 3 / 7 * parts[1])[known], rtol=1e-5)


def test_a_source_of_many_symbols_scores_a_short_text():
    """Its symbols, more than a thousand, are too many to divide the few histories by."""
    text = [[f"w{k}", f"w{k + 1}", f"w{k + 2}"] for k in range(0, 2400, 2)]
    model = LanguageModel(sources=[Words(2), Skip(1)], strength=0.01, verbose=0).fit(text)
    found = model.perplexity(text[:3])
    assert np.isfinite(found)
    with pytest.raises(ValueError, match=r"the partition variable has 2,401 values for .* histories: too many"):
        LanguageModel(sources=[Words(2), Skip(1)], method="partition", verbose=0).fit(text)
    assert model.perplexity(text) == pytest.approx(found, rel=0.5)
