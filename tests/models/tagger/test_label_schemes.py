"""The scheme of the training labels: found, kept, converted, and a constraint only where no label breaks it."""

import warnings

import numpy as np
import pytest
from sklearn.model_selection import cross_val_score
from taggers import columns_of, words

import loglinear
from loglinear import Tagger
from loglinear.features import schemes
from loglinear.models import archive, load_predictor

TEMPLATES = "U0:%x[0,0]\nB\n"


def corpus(scheme):
    """(X, y): made-up words; two phrases may follow each other, which IOB1 marks by B, and one has three words."""
    inputs, y = words()
    X = [*columns_of(inputs), [("the", "he"), ("old", "ld"), ("dog", "og")]]
    y = [["B-NP" if label == "I-NP" and i % 3 == 0 else label for label in labels] for i, labels in enumerate(y)]
    return X, schemes.convert([*y, ["B-NP", "I-NP", "I-NP"]], "bio", scheme)


@pytest.fixture(params=schemes.SCHEMES)
def scheme(request):
    return request.param


def test_the_scheme_is_found_without_a_warning_and_kept_in_the_file(scheme, tmp_path):
    X, y = corpus(scheme)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tagger = Tagger(templates=TEMPLATES).fit(X, y)
    assert (tagger.scheme_, tagger.n_illegal_, tagger.legal_scheme) == (scheme, 0, scheme)
    tagger.save(tmp_path / "m.ll")
    for loaded in (loglinear.load(tmp_path / "m.ll"), load_predictor(tmp_path / "m.ll", "tagger")):
        assert (loaded.scheme_, loaded.n_illegal_, loaded.legal_scheme) == (scheme, 0, scheme)
        assert loaded.predict(X, constraint="auto") == tagger.predict(X, constraint="auto")


def test_auto_constrains_to_the_scheme_of_the_labels(scheme):
    X, y = corpus(scheme)
    tagger = Tagger(templates=TEMPLATES, constraint="auto").fit(X, y)
    mixed = [[token for pair in zip(X[i], reversed(X[i])) for token in pair] for i in range(len(X))]
    found = tagger.predict(mixed)
    assert schemes.illegal(found, scheme) == (0, None)
    assert found == tagger.predict(mixed, constraint=scheme)
    free = tagger.set_params(constraint=None).predict(mixed)
    legal = [schemes.illegal([labels], scheme) == (0, None) for labels in free]
    assert any(legal)
    assert all(a == b for a, b, same in zip(found, free, legal) if same)  # the best of all is the best of the legal


def test_a_scheme_that_the_labels_break_constrains_nothing(tmp_path):
    X, y = corpus("bio")
    X, y = [*X, X[0][:2]], [*y, ["O", "I-NP"]]
    message = r"1 labels of the training data are illegal in the scheme 'bio', .*'auto' constrains nothing"
    with pytest.warns(UserWarning, match=message):
        tagger = Tagger(templates=TEMPLATES, constraint="auto").fit(X, y)
    assert (tagger.scheme_, tagger.n_illegal_, tagger.legal_scheme) == ("bio", 1, None)
    assert tagger.predict(X) == tagger.predict(X, constraint=())
    tagger.save(tmp_path / "m.ll")
    assert loglinear.load(tmp_path / "m.ll").n_illegal_ == 1
    mended = Tagger(templates=TEMPLATES, scheme="bio").fit(X, y)
    assert (mended.scheme_, mended.n_illegal_) == ("bio", 0)


def test_labels_of_no_scheme():
    tagger = Tagger().fit([[["x"], ["y"]]], [["NN", "I-like"]])
    assert (tagger.scheme_, tagger.n_illegal_) == (None, 0)
    assert tagger.predict([[["x"], ["y"]]], constraint="auto") == [["NN", "I-like"]]


# ---- conversion -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("target", schemes.SCHEMES)
def test_labels_are_converted_for_training_and_for_scoring(scheme, target):
    X, y = corpus(scheme)
    tagger = Tagger(templates=TEMPLATES, scheme=target).fit(X, y, validation=(X, y))
    direct = Tagger(templates=TEMPLATES).fit(X, schemes.convert(y, scheme, target))
    assert tagger.scheme_ == target
    assert tagger.classes_ == direct.classes_
    np.testing.assert_array_equal(tagger.weights_, direct.weights_)
    assert tagger.score(X, y) == tagger.validation_score_ == direct.score(X, schemes.convert(y, scheme, target))
    assert tagger.score(X, [["O"] * len(labels) for labels in y]) == 0.0


def test_the_scheme_asked_for_is_the_scheme_even_where_another_has_the_same_labels(tmp_path):
    X, y = [[["x"], ["y"], ["z"]]], [["O", "B-x", "I-x"]]
    tagger = Tagger(scheme="bmes").fit(X, y)  # without a span of three tokens there is no M
    tagger.save(tmp_path / "m.ll")
    assert tagger.scheme_ == loglinear.load(tmp_path / "m.ll").scheme_ == "bmes"
    assert Tagger(scheme="bmes").fit([[["x"], ["y"]]], [["O", "S-x"]]).scheme_ == "bmes"
    with pytest.warns(UserWarning, match="every token has the label 'O'"):
        assert Tagger(scheme="bio").fit([[["x"], ["y"]]], [["O", "O"]]).scheme_ is None


def test_single_labels_are_scored_in_the_scheme_of_the_model(tmp_path):
    from loglinear.metrics.evaluation import evaluate_tagger

    X, y = corpus("iob1")
    tagger = Tagger(templates="U0:%x[0,0]\nU1:%x[-1,0]\nU2:%x[0,1]\nB\n", strength=1e-3, scheme="iobes").fit(X, y)
    tagger.save(tmp_path / "m.ll")
    result = evaluate_tagger(loglinear.load(tmp_path / "m.ll"), X, y)
    assert result.scores.scheme == "iobes"
    assert result.scores.accuracy > 0.99
    assert (result.unseen, result.converted_from) == ({}, "iob1")
    direct = evaluate_tagger(tagger, X, schemes.convert(y, "iob1", "iobes"))
    assert (direct.scores, direct.converted_from) == (result.scores, None)
    assert evaluate_tagger(tagger, X, schemes.convert(y, "iob1", "bilou")).scores == result.scores


def test_gold_labels_without_spans_or_of_no_scheme():
    from loglinear.metrics.evaluation import evaluate_tagger

    X, y = corpus("iob1")
    tagger = Tagger(templates=TEMPLATES).fit(X, y)
    nothing = evaluate_tagger(tagger, X, [["O"] * len(labels) for labels in y])
    assert (nothing.scores.scheme, nothing.scores.f1, nothing.scores.n_gold) == ("iob1", 0.0, 0)
    odd = evaluate_tagger(tagger, X[:2], [["odd"] * len(labels) for labels in y[:2]])
    assert (odd.scores.scheme, odd.scores.f1, odd.scores.accuracy) == (None, None, 0.0)
    assert odd.unseen == {"odd": len(y[0]) + len(y[1])}


def test_conversion_in_cross_validation():
    X, y = corpus("iob1")
    converted = cross_val_score(Tagger(templates=TEMPLATES, scheme="bio"), X, y, cv=2)
    direct = cross_val_score(Tagger(templates=TEMPLATES), X, schemes.convert(y, "iob1", "bio"), cv=2)
    assert converted.tolist() == direct.tolist()


def test_what_cannot_be_converted():
    X = [[["x"], ["y"]]]
    with pytest.raises(ValueError, match=r"scheme must be one of None, 'bio', 'iob1', .*'bmes', not 'iob2'"):
        Tagger(scheme="iob2").fit(X, [["O", "B-x"]])
    with pytest.raises(ValueError, match="cannot be converted to 'bio': 'NN' is a label of none"):
        Tagger(scheme="bio").fit(X, [["NN", "B-x"]])
    with pytest.raises(ValueError, match="cannot be converted to 'bio': the letters of their parts are mixed"):
        Tagger(scheme="bio").fit(X, [["S-x", "U-x"]])
    with pytest.raises(TypeError, match="scheme='bio' needs the label of every token"):
        Tagger(scheme="bio").fit(X, [[None, "B-x"]])
    with pytest.raises(TypeError, match="scheme='bio' needs the label of every token"):
        Tagger(scheme="bio").fit(X, [[{"O", "B-x"}, "B-x"]])


# ---- partly labelled data, continued models, older files ------------------------------------------------------------
def test_unknown_labels_break_nothing():
    X = [[["x"], ["y"], ["z"]], [["x"], ["y"]]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tagger = Tagger().fit(X, [["O", None, "I-x"], [{"O", "B-x"}, "I-x"]])
        assert (tagger.scheme_, tagger.n_illegal_) == ("bio", 0)
        assert Tagger().fit(X, [["O", "I-x", None], [None, "O"]]).scheme_ == "iob1"


def test_a_continued_model_keeps_its_scheme():
    X, y = corpus("bio")
    first = Tagger(templates=TEMPLATES).fit(X, y)
    assert Tagger.from_pretrained(first).fit(X, y).legal_scheme == "bio"
    with pytest.warns(UserWarning, match="illegal in the scheme 'bio'"):
        more = Tagger.from_pretrained(first).fit(*corpus("iob1"))
    assert (more.scheme_, more.legal_scheme) == ("bio", None)
    converted = Tagger.from_pretrained(first).set_params(scheme="bio").fit(*corpus("iob1"))
    assert (converted.scheme_, converted.legal_scheme, converted.classes_) == ("bio", "bio", first.classes_)
    with pytest.raises(ValueError, match="the model's labels are of the scheme 'bio': it cannot learn 'iob1' too"):
        Tagger.from_pretrained(first).set_params(scheme="iob1").fit(X, y)
    grown = Tagger.from_pretrained(first).fit(*corpus("iobes"))
    assert grown.scheme_ == "iobes"


@pytest.mark.parametrize("transitions", ["observed", "all"])
def test_older_files_tell_the_scheme_by_the_pairs_of_labels_they_saw(scheme, transitions, tmp_path):
    X, y = corpus(scheme)
    tagger = Tagger(templates=TEMPLATES, transitions=transitions).fit(X, y)
    tagger.save(tmp_path / "m.ll")
    held = archive.load(tmp_path / "m.ll")
    del held.settings["label_scheme"], held.settings["illegal_labels"], held.settings["parameters"]["scheme"]
    archive.save(tmp_path / "old.ll", held)
    loaded = loglinear.load(tmp_path / "old.ll")
    by_names = {"iob1": "bio"}.get(scheme, scheme)
    assert loaded.legal_scheme == (scheme if transitions == "observed" else by_names)
    assert loaded.predict(X) == tagger.predict(X)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"label_scheme": "bmes"}, "the labels are not of the scheme 'bmes'"),
        ({"label_scheme": 3}, "the labels are not of the scheme 3"),
        ({"illegal_labels": -1}, "illegal_labels must be a number of at least 0"),
        ({"illegal_labels": None}, "illegal_labels must be a number of at least 0"),
    ],
)
def test_damaged_settings(settings, message, tmp_path):
    Tagger(templates=TEMPLATES).fit(*corpus("bio")).save(tmp_path / "m.ll")
    held = archive.load(tmp_path / "m.ll")
    held.settings.update(settings)
    archive.save(tmp_path / "m.ll", held)
    with pytest.raises(loglinear.ModelFileError, match=message):
        loglinear.load(tmp_path / "m.ll")
