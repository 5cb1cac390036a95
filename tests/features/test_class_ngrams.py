"""Class n-grams of texts beside word n-grams: names, counts, files, refusals."""

import itertools

import numpy as np
import pytest

from loglinear import MaxentClassifier, load
from loglinear.features.text.words import WordNgrams
from loglinear.features.word_classes import WordClassLexicon

CLASSES = {"the": "00", "A": "00", "dog": "01", "cat": "01", "barks": "1"}
TEXTS = ["The dog barks", "a cat, a dog!", "", "cows"]


def counts(featuriser, rows):
    """Return the named counts of each text."""
    names = featuriser.names()
    indptr, indices, values = rows
    return [
        {names[i]: int(v) for i, v in zip(indices[a:b], values[a:b])} for a, b in itertools.pairwise(indptr)
    ]


def test_classes_are_counted_beside_words():
    featuriser = WordNgrams((1, 2), classes=WordClassLexicon.of(CLASSES).for_texts())
    found = counts(featuriser, featuriser.fit_transform(TEXTS))
    plain = WordNgrams((1, 2))
    words = counts(plain, plain.fit_transform(TEXTS))
    of_classes = [
        {"∈00": 1, "∈01": 1, "∈1": 1, "∈00 ∈01": 1, "∈01 ∈1": 1},
        {"∈00": 2, "∈01": 2, "∈00 ∈01": 2, "∈01 ∈00": 1}, {}, {"∈_": 1},
    ]  # fmt: skip
    assert found == [{**a, **b} for a, b in zip(words, of_classes)]
    assert counts(featuriser, featuriser.transform(TEXTS, 2)) == found
    indptr, indices, _ = featuriser.transform(TEXTS)
    assert all(np.all(np.diff(indices[a:b]) > 0) for a, b in itertools.pairwise(indptr))


def test_names_of_classes_are_words_and_stay_apart():
    lexicon = WordClassLexicon.of({"a": "x-1", "b": "x/1", "c": "x_1", "B": "y"}).for_texts()
    assert list(lexicon.names) == ["x_1", "x_1_2", "x_1_3", "y", "_"]
    assert dict(zip(lexicon.words, lexicon.labels.tolist())) == {"a": 0, "b": 1, "c": 2}


def test_fewer_features_are_found_under_their_new_numbers():
    featuriser = WordNgrams((1,), classes=WordClassLexicon.of(CLASSES).for_texts())
    featuriser.fit_transform(TEXTS)
    names = featuriser.names()
    smaller = featuriser.take([names.index("∈01"), names.index("dog")])
    assert counts(smaller, smaller.transform(["dog cat"])) == [{"∈01": 2, "dog": 1}]


def test_a_saved_classifier_needs_no_file(tmp_path):
    path, saved = tmp_path / "classes.tsv", tmp_path / "model.ll"
    path.write_text("".join(f"{word}\t{label}\n" for word, label in CLASSES.items()))
    model = MaxentClassifier(classes=path).fit(TEXTS, ["x", "y", "y", "x"])
    model.save(saved)
    path.unlink()
    assert np.array_equal(load(saved).predict_proba(["the cat", "cow"]), model.predict_proba(["the cat", "cow"]))
    assert load(saved).classes == str(path)
    by_dict = MaxentClassifier(classes=CLASSES).fit(TEXTS, ["x", "y", "y", "x"])
    assert np.array_equal(by_dict.coef_, model.coef_)
    by_dict.save(saved)
    assert load(saved).classes is None


def test_classes_need_texts():
    with pytest.raises(ValueError, match="word classes are those of the words of texts"):
        MaxentClassifier(classes=CLASSES).fit([{"a": 1}, {"b": 1}], [0, 1])
