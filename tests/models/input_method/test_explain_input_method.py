"""Explanations of conversions: words, readings and n-grams add up to the score, for the best and for any other."""

import math
import re

import pytest

from loglinear import IncompatibleError, InputMethod, LanguageModel
from loglinear.models import load_predictor

TEXT = ["A|x B|yz", "C|x B|yz", "A|xy A|x B|yz", "A|x A|x", "C|xy D|z", "B|z A|x D|z"]
MODELS = {
    "trigrams": {},
    "no channel": {"channel": False},
    "maxent": {"estimator": "maxent", "verbose": 0},
    "rare words out": {"min_word_count": 3},
}


@pytest.fixture(scope="module", params=MODELS)
def model(request):
    return InputMethod(**{"order": 3, **MODELS[request.param]}).fit(TEXT)


@pytest.mark.parametrize("reading", ["xyz", "x", "xx?yz", "x yz", "", " x", "??"])
def test_contributions_sum_to_the_score_of_every_candidate(model, reading):
    (candidates,) = model.candidates([reading], 50)
    for rank, (words, score) in enumerate(candidates):
        found = model.explain(reading, words)
        assert [token.word for token in found.tokens] == [*words, "</s>"]
        assert "".join(token.reading for token in found.tokens) == reading.replace(" ", "")
        assert found.log_probability == pytest.approx(score, abs=2e-5)
        assert all(t.log_probability == pytest.approx(sum(p.contribution for p in t.pushes)) for t in found.tokens)
        if rank == 0:
            assert model.explain(reading) == found
            assert found.text == model.convert([reading])[0]


def test_a_conversion_is_explained_by_readings_and_ngrams():
    model = InputMethod(2).fit(TEXT)
    first, unknown, end = model.explain("xy?").tokens
    assert (first.word, first.reading, first.unknown) == ("C", "xy", False)
    expected = model.language_model_.explain("C").tokens[0].pushes
    assert first.pushes[:-1] == expected
    channel = first.pushes[-1]
    assert (channel.feature, channel.weight) == ("xy for C", pytest.approx(math.log(1 / 2)))
    assert (unknown.word, unknown.reading, unknown.unknown) == ("?", "?", True)
    assert unknown.pushes[0].feature == "<unk>"
    assert (end.word, end.reading) == ("</s>", "")
    certain = InputMethod(2).fit(["A|x"]).explain("x").tokens[0]
    assert [push.feature for push in certain.pushes] == ["<s> A"]  # log p(x | A) = 0 pushes nothing


def test_words_that_are_typed_with_blanks():
    model = InputMethod(2, readings="keypad").fit(["the dog", "the cat", "a dog"])
    found = model.explain("843 364 77")
    assert [(t.word, t.reading, t.unknown) for t in found.tokens[:-1]] == [
        ("the", "843", False), ("dog", "364", False), ("77", "77", True),
    ]  # fmt: skip
    assert found.text == "the dog 77"
    assert found.log_probability == pytest.approx(model.candidates(["843 364 77"], 1)[0][0].log_probability, abs=2e-5)


def test_the_unlikelier_of_two_ways_to_read_does_not_count():
    model = InputMethod(1).fit(["A|x", "A|x", "A|xx"])
    found = model.explain("xxx", ["A", "A"])
    assert sorted(token.reading for token in found.tokens) == ["", "x", "xx"]
    (score,) = [score for words, score in model.candidates(["xxx"], 9)[0] if words == ["A", "A"]]
    assert found.log_probability == pytest.approx(score, abs=2e-5)


def test_files_explain_alike_and_print(tmp_path):
    model = InputMethod(2).fit(TEXT)
    model.save(tmp_path / "m.ll")
    found = load_predictor(tmp_path / "m.ll").explain("xyz")
    assert found == model.explain("xyz")
    lines = str(found).splitlines()
    first = found.tokens[0]
    assert lines[0] == f"{first.word} for {first.reading}: {first.log_probability:.4f}"
    assert lines[1] == f"    {first.pushes[0].contribution:+9.4f}  {first.pushes[0].feature}"
    assert lines[-1] == f"log-probability {found.log_probability:.4f} of {found.text}"


def test_a_lone_sentence_is_no_text():
    model = InputMethod(2).fit(TEXT)
    for read in (model.fit, model.evaluate, model.score, model.coverage):
        with pytest.raises(ValueError, match=r"'A\|x B\|yz' is no file; text is a file or a list of sentences"):
            read("A|x B|yz")


def test_refusals():
    model = InputMethod(2).fit(TEXT)
    for reading, words in (("xyy", ["C", "D"]), ("", ["A"]), ("x", []), ("x y", ["C"]), ("x", ["Q"])):
        said = f"the words '{' '.join(words)}' do not spell the reading '{reading}'; candidates lists words that do"
        with pytest.raises(ValueError, match=re.escape(said)):
            model.explain(reading, words)
    with pytest.raises(TypeError, match="explain takes one reading, a string, not list"):
        model.explain(["x"])
    closed = model.with_language_model(LanguageModel(1, "witten-bell", unknown="error").fit(["A B"]))
    with pytest.raises(IncompatibleError, match="closed vocabulary, which lacks 'D'"):
        closed.explain("z", ["D"])
