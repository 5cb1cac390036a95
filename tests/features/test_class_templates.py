"""Word classes as columns of templates: %c, fall-backs, files, and that a saved tagger needs none."""

import numpy as np
import pytest

from loglinear import Tagger, load
from loglinear.errors import FormatError, ModelFileError
from loglinear.features.columns import Columns
from loglinear.features.template_sets import CLASS_TEMPLATES, TEMPLATE_SETS
from loglinear.features.templates import TemplateFeatures
from loglinear.features.word_classes import WordClassLexicon

CLASSES = {"the": "00", "a": "00", "dog": "0100", "cat": "0101", "barks": "1", "sleeps": "1"}
X = [[("The",), ("dog",), ("barks",)], [("a",), ("cat",), ("sleeps",)]]
y = [["D", "N", "V"], ["D", "N", "V"]]


def names(text, classes, sequences, **settings):
    """Return the names of the attributes of each token."""
    featuriser = TemplateFeatures(text, classes=WordClassLexicon.of(classes), **settings)
    rows = featuriser.fit_transform(Columns.from_lists(sequences))
    known = featuriser.names()
    return [[known[i] for i in rows.indices[a:b]] for a, b in zip(rows.indptr[:-1], rows.indptr[1:])]


def test_macros_see_classes_and_their_beginnings():
    found = names("Uc=%c[0,0]\nUp=%c[0,0,3]\nUl=%c[-1,0]/%x[0,0]", CLASSES, [[("dog",), ("cat",)]])
    assert found == [["Uc=0100", "Up=010", "Ul=_B-1/dog"], ["Uc=0101", "Up=010", "Ul=0100/cat"]]


def test_words_without_a_class_are_looked_up_in_lower_case_then_as_unk_then_have_their_own():
    assert names("U%c[0,0]", CLASSES, [[("The",), ("cow",), ("é",)]]) == [["U00"], ["U?"], ["U?"]]
    assert names("U%c[0,0,1]", {**CLASSES, "<unk>": "11"}, [[("The",), ("cow",)]]) == [["U0"], ["U1"]]
    assert names("U%c[0,0,1]", {"a": "?1", "b": "21"}, [[("a",), ("z",)]]) == [["U?"], ["U?"]]


def test_templates_without_classes_get_some():
    featuriser = TemplateFeatures("pos", classes=WordClassLexicon.of(CLASSES))
    assert featuriser.text == TEMPLATE_SETS["pos"] + CLASS_TEMPLATES
    own = TemplateFeatures("U%c[0,0]", classes=WordClassLexicon.of(CLASSES))
    assert own.text == "U%c[0,0]"


@pytest.mark.parametrize("hash_bits", [None, 16])
def test_a_saved_tagger_needs_no_file(tmp_path, hash_bits):
    path, model_file = tmp_path / "paths", tmp_path / "model.ll"
    path.write_text("".join(f"{bits}\t{word}\t1\n" for word, bits in CLASSES.items()))
    model = Tagger(templates="pos", classes=path, hash_bits=hash_bits).fit(X, y)
    by_dict = Tagger(templates="pos", classes=CLASSES, hash_bits=hash_bits).fit(X, y)
    assert np.array_equal(model.weights_, by_dict.weights_)
    model.save(model_file)
    by_dict.save(tmp_path / "dict.ll")
    path.unlink()
    new = [[("a",), ("Dog",), ("sleeps",), ("!",)]]
    for saved in (model_file, tmp_path / "dict.ll"):
        assert np.array_equal(load(saved).predict_marginals(new), model.predict_marginals(new))
    assert load(model_file).classes == str(path)


def test_damaged_classes_are_refused():
    lexicon = WordClassLexicon.of(CLASSES)
    good = lexicon.to_arrays()
    assert WordClassLexicon.from_arrays(good).labels.tolist() == lexicon.labels.tolist()
    for name, array in (("labels", good["labels"] + 9), ("labels", good["labels"][1:]), ("names", good["labels"])):
        with pytest.raises(ModelFileError, match="word classes"):
            WordClassLexicon.from_arrays({**good, name: array})


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("U%c[0,0,]", "missing bracket"),
        ("U%c[0,0,0]", "missing bracket"),
        ("U%C[0,0]", "unknown command %C"),
        ("U%c[0]", r"expected %c\[row,column\] or %c\[row,column,length\]"),
    ],
)
def test_bad_macros_are_refused(text, told):
    with pytest.raises(FormatError, match=told):
        TemplateFeatures(text)


def test_what_taggers_refuse(tmp_path):
    with pytest.raises(ValueError, match=r"the templates look at word classes \(%c\): give a file or a dict"):
        Tagger(templates="U%c[0,0]\nB").fit(X, y)
    with pytest.raises(ValueError, match="word classes are seen by templates"):
        Tagger(classes=CLASSES).fit([[["w=a"]]], [["D"]])
    with pytest.raises(TypeError, match="classes must be a file or a dict from words to classes"):
        Tagger(templates="pos", classes=[1]).fit(X, y)
    with pytest.raises(ValueError, match="classes has no words"):
        Tagger(templates="pos", classes={}).fit(X, y)
    with pytest.raises(FormatError, match="no such file"):
        Tagger(templates="pos", classes=tmp_path / "none").fit(X, y)
