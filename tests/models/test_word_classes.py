"""WordClasses: text to classes, files, and what it refuses."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone

from loglinear import WordClasses
from loglinear.errors import FormatError, InterruptedWarning
from loglinear.formats.class_file import read_classes

TEXT = [
    "the dog sees a cat .", "a cat hears the dog .", "the cat sees the cow .", "a cow hears a dog .", "",
    "the cow hears the cat .",
] * 3  # fmt: skip


@pytest.mark.parametrize("method", ["exchange", "bidirectional", "brown"])
def test_words_of_a_kind_share_a_class(method):
    model = WordClasses(4, method=method).fit(TEXT)
    groups = {frozenset(w for w, c in zip(model.words_, model.labels_) if c == k) for k in range(4)}
    assert groups == {frozenset(kind.split()) for kind in ("the a", "dog cat cow", "sees hears", ".")}
    assert model.counts_.tolist() == sorted(model.counts_, reverse=True)
    assert len(set(model.bits_)) == 4
    assert model.n_tokens_ == sum(len(line.split()) + 1 for line in TEXT if line)
    assert 1.0 < model.perplexity_ < len(model.words_)


def test_text_may_be_a_file_or_lists_of_words(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("\n".join(TEXT))
    by_file, by_lists = WordClasses(4).fit(path), WordClasses(4).fit([line.split() for line in TEXT])
    assert by_file.to_dict() == by_lists.to_dict() == WordClasses(4, n_threads=1).fit(TEXT).to_dict()


def test_unknown_words_have_the_class_of_unk_if_it_has_one():
    model = WordClasses(4).fit(TEXT)
    assert model.predict(["dog", "horse"]).tolist() == [int(model.to_dict(bits=False)["cat"]), -1]
    with_unk = WordClasses(4, min_count=4).fit([*TEXT, "the horse sees a goat ."])
    assert with_unk.predict(["goat", "never"]).tolist() == [with_unk.predict(["<unk>"])[0]] * 2
    assert "goat" not in with_unk.words_


def test_files_hold_the_classes(tmp_path):
    model = WordClasses(4).fit(TEXT)
    model.save(tmp_path / "classes.tsv")
    model.save_paths(tmp_path / "paths")
    assert read_classes(tmp_path / "classes.tsv") == model.to_dict(bits=False)
    assert read_classes(tmp_path / "paths") == model.to_dict()


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"n_classes": 0}, "the number of classes is 0; it must be a whole number from 1"),
        ({"n_classes": 2.5}, "the number of classes is 2.5"),
        ({"n_classes": 9}, "9 classes were asked for, and the text has only 8 different words"),
        ({"n_classes": 2, "method": "x"}, "method must be one of 'exchange', 'bidirectional', 'brown', not 'x'"),
        ({"n_classes": 2, "max_passes": -1}, "max_passes must be a whole number from 0, not -1"),
    ],
)
def test_impossible_settings_are_refused(settings, told):
    with pytest.raises(ValueError, match=told):
        WordClasses(**settings).fit(TEXT)


def test_empty_text_is_refused():
    with pytest.raises(FormatError, match="there are no words"):
        WordClasses(2).fit(["", "  "])


def test_it_is_an_estimator():
    model = clone(WordClasses(3, method="brown", min_count=2))
    assert model.get_params()["n_classes"] == 3
    assert np.array_equal(model.fit_predict(TEXT), model.labels_)


def test_interruption_keeps_the_classes_and_warns(monkeypatch):
    def interrupted(self, show):
        def report(*_):
            raise KeyboardInterrupt

        return report

    monkeypatch.setattr(WordClasses, "_report", interrupted)
    with pytest.warns(InterruptedWarning, match="the classes so far are kept"):
        model = WordClasses(4).fit(TEXT)
    assert model.status_ == "interrupted"
    assert len(model.labels_) == 8
    monkeypatch.undo()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        WordClasses(4).fit(TEXT)
