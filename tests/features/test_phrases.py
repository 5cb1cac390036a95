"""Lexicons of phrases (gazetteers) as columns of templates: %l, files, and that a saved tagger needs none."""

import gzip
import json

import numpy as np
import pytest
from commands import invoke

from loglinear import Tagger, load
from loglinear.errors import FormatError, ModelFileError
from loglinear.features.columns import Columns
from loglinear.features.phrases import PLACES, PhraseLexicon
from loglinear.features.template_sets import CLASS_TEMPLATES, TEMPLATE_SETS, lexicon_templates
from loglinear.features.templates import TemplateFeatures

LEXICON = {"New York": "place", "New York Times": "org", "Smith": ["person", "org"], "York": "place", "a b c d": "org"}
TEXT = ["Mr", "Smith", "reads", "the", "New", "York", "Times", "in", "York"]
X = [[(word,) for word in TEXT], [("Smith",), ("sleeps",)], [("a",), ("York",), ("dog",)]]
y = [["O", "P", "O", "O", "N", "N", "N", "O", "L"], ["P", "O"], ["O", "L", "O"]]


def places(lexicon, *sequences):
    """Return for each type the places of the tokens, a letter each."""
    found = PhraseLexicon.of(lexicon).places(Columns.from_lists(sequences), 0)
    return {kind: "".join(PLACES[i] for i in of_tokens) for kind, of_tokens in found.items()}


def slowly(lexicon, sequences):
    """The same by looking at every phrase at every token."""
    found = {}
    for kind in PhraseLexicon.of(lexicon).types:
        out = ""
        for words in ([w.lower() for w in sequence] for sequence in sequences):
            at = 0
            while at < len(words):
                lengths = [
                    len(phrase.split()) for phrase, kinds in lexicon.items()
                    if kind in ([kinds] if isinstance(kinds, str) else kinds)
                    and phrase.lower().split() == words[at : at + len(phrase.split())]
                ]  # fmt: skip
                n = max(lengths, default=0)
                out += {0: "O", 1: "S"}.get(n, "B" + "I" * (n - 2) + "E")
                at += max(n, 1)
        found[kind] = out
    return found


def test_the_longest_phrases_of_every_type():
    third = ["Mr", "smith", "A", "b", "c", "D", "new", "york"]
    found = places(LEXICON, ["the", "new", "York", "times", "new"], ["York"], third)
    assert found == {"place": "OBEOOSOOOOOOBE", "org": "OBIEOOOSBIIEOO", "person": "OOOOOOOSOOOOOO"}
    assert places({"x": "t"}, ["y"]) == {"t": "O"}
    assert places({"x y": "t"}, ["x"], ["y"]) == {"t": "OO"}  # no phrase goes across sequences


@pytest.mark.parametrize("seed", range(20))
def test_random_lexicons(seed):
    rng = np.random.default_rng(seed)
    draw = lambda n: " ".join(rng.choice(list("abC"), n))  # noqa: E731
    lexicon = {draw(rng.integers(1, 5)): list(rng.choice(["t", "u", "v"], 2)) for _ in range(6)}
    sequences = [draw(n).upper().split() for n in rng.integers(1, 30, 5)]
    assert places(lexicon, *sequences) == slowly(lexicon, sequences)


def test_macros_see_places_and_templates_get_some():
    featuriser = TemplateFeatures('Up=%l[0,0,"org"]/%x[0,0]\nUb=%l[-1,0,"org"]', lexicon=PhraseLexicon.of(LEXICON))
    rows = featuriser.fit_transform(Columns.from_lists([["New", "York", "Times"]]))
    known = featuriser.names()
    assert [known[i] for i in rows.indices] == ["Up=B/New", "Ub=_B-1", "Up=I/York", "Ub=B", "Up=E/Times", "Ub=I"]
    lexicon = PhraseLexicon.of({"b": "t"})
    assert TemplateFeatures("ner", lexicon=lexicon).text == TEMPLATE_SETS["ner"] + lexicon_templates(["t"])
    tagger = Tagger(templates="ner", classes={"York": "01"}, lexicon=LEXICON).fit(X, y)
    text = tagger.reader_.featuriser.text
    assert text == TEMPLATE_SETS["ner"] + CLASS_TEMPLATES + lexicon_templates(["place", "org", "person"])
    assert {"lexicon.org=B", "lexicon.person/capital=S/true"} <= set(tagger.reader_.featuriser.names())
    wapiti = TemplateFeatures('U%l[-1,0,"t"]', lexicon=lexicon, dialect="wapiti")  # whose borders are values, too
    rows = wapiti.fit_transform(Columns.from_lists([["b", "b"]]))
    assert [wapiti.names()[i] for i in rows.indices] == ["U_x-1", "US"]


@pytest.mark.parametrize("hash_bits", [None, 16])
def test_a_saved_tagger_needs_no_file(tmp_path, hash_bits):
    person, other = tmp_path / "person.txt.gz", tmp_path / "rest.tsv"
    person.write_bytes(gzip.compress(b"Smith\n\n"))
    pairs = [(p, k) for p, kinds in LEXICON.items() for k in ([kinds] if isinstance(kinds, str) else kinds)]
    other.write_text("".join(f"{phrase}\t{kind}\n" for phrase, kind in pairs if kind != "person"))
    files = [other, person]
    model = Tagger(templates="pos", lexicon=files, hash_bits=hash_bits).fit(X, y)
    by_dict = Tagger(templates="pos", lexicon=LEXICON, hash_bits=hash_bits).fit(X, y)
    assert np.array_equal(model.weights_, by_dict.weights_)
    model.save(tmp_path / "model.ll")
    by_dict.save(tmp_path / "dict.ll")
    person.unlink()
    new = [[("new",), ("york",), ("Smith",), ("!",)], [("York",)]]
    for saved in (tmp_path / "model.ll", tmp_path / "dict.ll"):
        assert load(saved).predict_marginals(new) == model.predict_marginals(new)
    assert load(tmp_path / "model.ll").lexicon == [str(other), str(person)]


def test_the_command(tmp_path):
    (tmp_path / "place.txt").write_text("New Orleans\nNew York\nDenver\n")
    (tmp_path / "names.tsv").write_text("smith\tperson\n")
    rows = ["mr O", "smith P", "in O", "new L", "orleans L", "", "smith P", "sleeps O", ""]
    (tmp_path / "t.conll").write_text("\n".join(rows))
    train = ("tag", "train", tmp_path / "t.conll", "--templates", "ner", "-o", tmp_path / "m.ll", "--lexicon")
    done = invoke(*train, tmp_path / "place.txt", "--lexicon", tmp_path / "names.tsv", "--strength", "0.1", "--json")
    assert json.loads(done.stdout)["sequences"] == 2
    assert "looks at the words" not in done.stderr  # there is no other column
    tagged = invoke("tag", "predict", tmp_path / "m.ll", stdin="new\nyork\nsleeps\n").stdout
    assert tagged.split() == ["new", "L", "york", "L", "sleeps", "O"]
    refused = invoke("tag", "train", tmp_path / "t.conll", "--templates", "ner", "--lexicon", tmp_path / "t.conll",
                     "-o", tmp_path / "t.conll")  # fmt: skip
    assert "would overwrite it" in refused.output


def test_the_command_tells_of_sets_that_see_more_columns(tmp_path):
    (tmp_path / "t.conll").write_text("mr NN O\nsmith NNP P\n\nsleeps VBZ O\n")
    train = ("tag", "train", tmp_path / "t.conll", "-o", tmp_path / "m.ll", "--templates")
    told = invoke(*train, "ner").stderr
    assert "--templates ner looks at the words of" in told
    assert "ner-tags sees parts of speech in column 2" in told
    assert "looks at the words" not in invoke(*train, "ner-tags").stderr


def test_damaged_lexicons_are_refused():
    good = PhraseLexicon.of(LEXICON).to_arrays()
    assert PhraseLexicon.from_arrays(good).places(Columns.from_lists([TEXT]), 0)["org"].any()
    for name, array in (
        ("keys", good["keys"][::-1].copy()), ("keys", good["keys"] + 1000), ("keys", good["keys"][1:]),
        ("keys", good["ends"]), ("ends", -good["ends"]), ("ends", good["ends"] + 8), ("types", good["types"][:-1]),
    ):
        with pytest.raises(ModelFileError, match=r"lexicon|vocabulary"):
            PhraseLexicon.from_arrays({**good, name: array})
    with pytest.raises(ModelFileError, match="lexicon"):
        PhraseLexicon.from_arrays({**good, "words": np.zeros(0, np.uint8), "word_offsets": np.zeros(1, np.int64)})


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("U%l[0,0]", "missing type in quotes"),
        ("U%l[0,0,person]", "missing type in quotes"),
        ('U%L[0,0,"person"]', "unknown command %L"),
        ("U%l[0]", r'expected %l\[row,column,"type"\]'),
    ],
)
def test_bad_macros_are_refused(text, told):
    with pytest.raises(FormatError, match=told):
        TemplateFeatures(text)


def test_what_taggers_refuse(tmp_path):
    for settings, told in (
        ({"templates": 'U%l[0,0,"t"]\nB'}, r"the templates look at phrases \(%l\): give a file or a dict"),
        ({"templates": 'U%l[0,0,"t"]', "lexicon": LEXICON}, "phrases of type 't'; the lexicon has place, org, person"),
        ({"templates": "pos", "lexicon": {}}, "the lexicon has no phrases"),
        ({"templates": "pos", "lexicon": {" ": "t"}}, "the phrase ' ', without a word"),
        ({"templates": "pos", "lexicon": {"a": "t u"}}, "the type of 'a' must be of letters, digits"),
        ({"templates": "pos", "lexicon": {str(i): f"t{i}" for i in range(63)}}, "more than 62 types"),
        ({"templates": "pos", "lexicon": LEXICON, "estimator": "m-estimation"}, "which a base distribution cannot see"),
    ):
        with pytest.raises(ValueError, match=told):
            Tagger(**settings).fit(X, y)
    with pytest.raises(ValueError, match="phrases of a lexicon are seen by templates"):
        Tagger(lexicon=LEXICON).fit([[["w=a"]]], [["D"]])
    with pytest.raises(TypeError, match="lexicon must be a file, a list of files, or a dict"):
        Tagger(templates="pos", lexicon=[1]).fit(X, y)
    for text, told in (("a\tb\tc\n", ":1: expected a phrase"), ("\n\ta\n", ":2: expected a phrase"),
                       ("x\ta b\n", "the type 'a b' must be of"), ("\n", "there are no phrases")):  # fmt: skip
        (tmp_path / "bad.tsv").write_text(text)
        with pytest.raises(FormatError, match=told):
            Tagger(templates="pos", lexicon=tmp_path / "bad.tsv").fit(X, y)
