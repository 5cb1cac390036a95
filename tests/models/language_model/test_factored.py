"""Class-factored models: normalisation, both levels against their definitions, files, settings and refusals."""

from __future__ import annotations

import numpy as np
import pytest

from loglinear import load
from loglinear.errors import FormatError, LoglinearError
from loglinear.features.word_vocabulary import WordVocabulary
from loglinear.models import LanguageModel
from loglinear.models.language_model.factored.partition import (
    parents,
    partition_by_labels,
    partition_by_names,
    tree_of_classes,
)
from loglinear.sources import Classes, Skip, Tags, Topic, Words

SENTENCES = [
    "the dog sees a cat", "a dog eats the fish", "the cat sleeps", "a bird sees the dog", "the bird eats a fish",
    "one dog barks", "one cat sees one bird", "the fish swims", "a cat eats", "the dog barks at a bird",
] * 3  # fmt: skip
CLASSES = {"dog": "N", "cat": "N", "fish": "N", "bird": "N", "the": "D", "a": "D", "one": "D"}
HELD_OUT = ["the bird sees a fish", "one dog eats the cat", "a fish sleeps", "zebra barks at the dog"]


@pytest.fixture(scope="module", params=[4, (3, 7), (2, 4, 8)], ids=["classes", "tree", "three-levels"])
def model(request):
    made = LanguageModel(order=3, classes=request.param, sources="words:3,classes:3,skip:1")
    return made.fit(SENTENCES, validation=HELD_OUT)


@pytest.mark.parametrize("history", ["", "the", "the dog sees", "zebra the", "one cat sees one bird eats"])
def test_probabilities_sum_to_one_and_agree_with_scores(model, tmp_path, history):
    p = model.next_distribution(history)
    assert p.sum() == pytest.approx(1.0, abs=1e-12)
    scores = model.queries_.token_log_probabilities(model.read([history + " dog"]))
    assert np.exp(scores[-2]) == pytest.approx(p[model.vocabulary_.ids(["dog"])[0]], rel=1e-12)
    model.save(tmp_path / "m.ll")
    np.testing.assert_array_equal(load(tmp_path / "m.ll").next_distribution(history), p)


def class_scores(level, documents, numbering, event):
    """Scores of all classes of a level: the sum of the weights of their features."""
    scores, offset = level.weights[: level.n_classes].copy(), level.n_classes
    for one in level.features:
        context = int(one.leaves(documents, numbering)[event])
        while context:
            for e in range(one.table.context_entry[context], one.table.context_entry[context + 1]):
                scores[one.table.entry_word[e]] += level.weights[offset + e]
            context = int(one.table.context_parent[context])
        offset += one.table.n_entries
    return scores


def test_probabilities_are_those_of_the_definition(model):
    """p(class) by a softmax over the classes of one class above, p(word | class) by one over the words of the class."""
    queries, partition = model.queries_, model.queries_.partition
    documents = model.read(["the dog sees a bird"])
    component = queries.component(documents)
    expected = []
    for event, word in enumerate(documents.words.tolist()):
        log_class, before = 0.0, np.zeros(partition.of_word.size, np.uint32)  # the root has all words
        for level in queries.levels:
            scores, of_word = class_scores(level, documents, queries.numbering, event), level.partition.of_word
            siblings = np.unique(of_word[before == before[word]])
            log_class += scores[of_word[word]] - np.logaddexp.reduce(scores[siblings])
            before = of_word
        words, context = queries.words, int(component.leaf[event])
        inside = words.weight[: partition.of_word.size].copy()
        while context:
            part = slice(words.context_entry[context], words.context_entry[context + 1])
            inside[words.entry_word[part]] += words.weight[part]
            context = int(np.searchsorted(words.context_child, context, side="right")) - 1
        number = partition.of_word[word]
        own = inside[partition.start[number] : partition.start[number + 1]]
        expected.append(log_class + inside[partition.rank[word]] - np.logaddexp.reduce(own))
    np.testing.assert_allclose(queries.score_events(documents).log_probability, expected, rtol=1e-11)


def test_explanations_add_up_and_name_classes(model):
    explained = model.explain("the dog sees a zebra")
    scores = model.queries_.token_log_probabilities(model.read(["the dog sees a zebra"]))
    for token, score in zip(explained.tokens, scores):
        assert sum(push.contribution for push in token.pushes) == pytest.approx(score, abs=1e-9)
        assert token.log_probability == pytest.approx(score, abs=1e-9)
    names = [push.feature for push in explained.tokens[1].pushes]
    assert "log Z of classes" in names
    assert any(name.startswith("log Z within [") for name in names)


def test_one_class_is_the_ngram_model():
    one = LanguageModel(
        order=3, classes=dict.fromkeys("abc", "x"), sources="words:2", vocabulary=list("abc"), unknown="error",
        strength=0.5, l1_ratio=0.5, tolerance=1e-10,
    ).fit(["a b c", "b c a", "a b"])  # fmt: skip
    # The class level tells words from ends; within the class, words have the probabilities of an n-gram model of words.
    p = one.next_distribution("a b")
    assert p.sum() == pytest.approx(1.0, abs=1e-12)
    assert one.n_classes_ == 2
    assert p[one.vocabulary_.ids(["c"])[0]] == p.max()


def test_optimum_is_certified_and_threads_agree():
    fits = [LanguageModel(order=3, classes=4, tolerance=1e-6, n_threads=n).fit(SENTENCES) for n in (1, 2)]
    assert all(fit.converged_ and fit.gap_ <= 1e-6 for fit in fits)
    assert fits[0].perplexity(HELD_OUT) == pytest.approx(fits[1].perplexity(HELD_OUT), rel=1e-4)


def test_classes_by_file_and_words_without_class(tmp_path):
    path = tmp_path / "classes.tsv"
    path.write_text("".join(f"{word}\t{name}\n" for word, name in CLASSES.items()), encoding="utf-8")
    given = LanguageModel(order=2, classes=str(path), sources="words:2,classes:3").fit(SENTENCES)
    names = given.queries_.partition.names
    assert set(names) == {"</s>", "N", "D", "<none>"}
    assert given.queries_.partition.of_word[given.vocabulary_.ids(["sees"])[0]] == names.index("<none>")
    assert LanguageModel(order=2, classes=CLASSES, sources="words:2,classes:3").fit(SENTENCES).perplexity(
        HELD_OUT) == pytest.approx(given.perplexity(HELD_OUT), rel=1e-12)  # fmt: skip


def test_a_tree_of_classes_is_nested_and_may_end_in_given_classes():
    given = LanguageModel(order=2, classes=(2, CLASSES), sources="words:2").fit(SENTENCES)
    first, last = (level.partition for level in given.queries_.levels)
    assert last.names[0] == first.names[0] == "</s>"
    assert {name.partition("/")[2] for name in last.names[1:]} == {"N", "D", "<none>"}
    assert all(name.partition("/")[0] in first.names for name in last.names[1:])
    pairs = set(zip(first.of_word.tolist(), last.of_word.tolist()))
    assert len(pairs) == last.n_classes == given.n_classes_ == 4
    np.testing.assert_array_equal([c for c, _ in sorted(pairs, key=lambda pair: pair[1])],
                                  parents(first, last))  # fmt: skip


def test_a_level_with_single_classes_only_is_no_change():
    """Where every class above has one class, the second level predicts nothing."""
    numbering = {word: str(number) for number, word in enumerate("abc")}
    made = partition_by_names(numbering, WordVocabulary(["</s>", *"abc"]))[0]
    levels = tree_of_classes(made, [np.arange(4)])
    assert [level.names for level in levels] == [("</s>", "1", "2", "3"), ("</s>", "1/0", "2/1", "3/2")]
    with pytest.raises(ValueError, match="do not divide"):
        parents(levels[0], partition_by_labels(np.array([2, 0, 0, 1], np.uint32)))


def test_layers_and_topics_are_sources_of_the_class_level():
    documents = [
        {"topic": "pets", "sentences": [{"words": ["the", "dog", "barks"], "tags": ["D", "N", "V"]}]},
        {"topic": "cars", "sentences": [{"words": ["the", "car", "drives"], "tags": ["D", "N", "V"]}]},
    ] * 4
    model = LanguageModel(order=2, classes=5, sources=[Words(2), Topic(), Tags(2), Skip(1), Classes(3, 2, skipped=1)])
    model.fit(documents)
    history = {"words": ["the"], "tags": ["D"], "topic": "cars"}
    assert model.next_distribution(history).sum() == pytest.approx(1.0, abs=1e-12)
    cars, pets = (dict(model.top({**history, "topic": topic}, 9)) for topic in ("cars", "pets"))
    assert any(cars[word] != pets[word] for word in cars)


@pytest.mark.parametrize(("classes", "levels"), [(4, ["classes"]), ((3, 6), ["classes 1", "classes 2"])])
def test_tuning_lowers_the_perplexity_of_the_dev_set(classes, levels):
    fixed = LanguageModel(order=3, classes=classes).fit(SENTENCES, validation=HELD_OUT)
    tuned = LanguageModel(order=3, classes=classes, tune="validation").fit(SENTENCES, validation=HELD_OUT)
    assert tuned.perplexity(HELD_OUT) <= fixed.perplexity(HELD_OUT)
    chosen = [row for row in tuned.tuning_ if row["chosen"]]
    assert [row["level"] for row in chosen] == [*levels, "words"]
    assert chosen[0]["perplexity"] == pytest.approx(tuned.perplexity(HELD_OUT), rel=1e-6)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"classes": 500}, "500 classes were asked for"),
        ({"classes": 0}, "must be a whole number from 1"),
        ({"classes": {"zebra": "N"}}, "none of the words of the text"),
        ({"classes": 3.5}, "no number of classes"),
        ({"classes": ()}, "empty list of levels"),
        ({"classes": (8, 4)}, "a level of 8 classes above one of 4"),
        ({"classes": ("file.tsv", 4)}, "only the last may be a class file"),
        ({"classes": 3, "penalty": "tree-l2"}, "with classes use elastic_net"),
        ({"classes": 3, "tune": "validation"}, "held-out text"),
        ({"classes": 3, "cache": True}, "held-out text"),
        ({"classes": 3, "estimator": "kneser-ney"}, "estimator='maxent'"),
        ({"sources": "words:2,topic", "cache": True}, "a cache goes with n-gram models and with classes"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, message):
    with pytest.raises((ValueError, LoglinearError), match=message):
        LanguageModel(order=2, **settings).fit(SENTENCES)


def test_a_class_file_with_a_fault_names_its_line(tmp_path):
    path = tmp_path / "classes.tsv"
    path.write_text("dog\tN\ncat\n", encoding="utf-8")
    with pytest.raises(FormatError, match=r"classes.tsv.*2"):
        LanguageModel(order=2, classes=str(path)).fit(SENTENCES)


def test_partitions():
    vocabulary = LanguageModel(order=1).fit(SENTENCES).vocabulary_
    partition, missing = partition_by_names(CLASSES, vocabulary)
    assert missing == vocabulary.n_words - 1 - len(CLASSES)
    assert partition.of_word[0] == 0
    assert np.array_equal(np.sort(partition.rank), np.arange(vocabulary.n_words))
    labels = partition_by_labels(np.array([9, 2, 7, 2], np.uint32))  # classes without words are left out
    assert labels.of_word.tolist() == [0, 1, 2, 1]
    assert labels.rank.tolist() == [0, 1, 3, 2]
    assert labels.start.tolist() == [0, 1, 3, 4]
