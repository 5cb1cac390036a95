"""Errors by BLEU, chrF and TER: those of sacrebleu, and rerankers that use them."""

import numpy as np
import pytest

from loglinear import Reranker
from loglinear.data.edit_distance import check_error_units, edit_distances
from loglinear.errors import MissingPackageError

TRANSCRIPTS = ["the cat sat on the mat .", "", "hello world"]
TEXTS = ["the cat sat on the mat .", "the cat is on a mat .", "", "x", "world hello", "hello there world"]
LIST_PTR = np.array([0, 2, 4, 6])


@pytest.fixture(scope="module")
def sacrebleu():
    return pytest.importorskip("sacrebleu", reason="sacrebleu is not installed: pip install 'loglinear[translation]'")


@pytest.mark.parametrize("units", ["bleu", "chrf", "ter"])
def test_errors_are_those_of_sacrebleu(sacrebleu, units):
    errors, length = edit_distances(TRANSCRIPTS, TEXTS, LIST_PTR, units=units)
    assert errors[[0, 2]].tolist() == pytest.approx([0.0, 0.0], abs=1e-9)
    assert errors[3] == 1.0
    metric = {
        "bleu": sacrebleu.sentence_bleu, "chrf": sacrebleu.sentence_chrf, "ter": sacrebleu.sentence_ter,
    }[units]  # fmt: skip
    for place, transcript in ((1, TRANSCRIPTS[0]), (4, TRANSCRIPTS[2]), (5, TRANSCRIPTS[2])):
        score = metric(TEXTS[place], [transcript]).score
        expected = score / 100 * len(transcript.split()) if units == "ter" else 1 - score / 100
        assert errors[place] == pytest.approx(expected)
    assert length.tolist() == ([7, 0, 2] if units == "ter" else [1, 1, 1])


def test_a_reranker_learns_from_dicts_by_bleu(sacrebleu):
    right, wrong = "the good text number {}", "a bad choice {}"
    lists = [
        {"input": [t.format(i) for t in ((wrong, right) if i % 3 == 0 else (right, wrong))], "output": right.format(i)}
        for i in range(30)
    ]
    model = Reranker(units="bleu", words=(1,)).fit(lists)
    found = model.evaluate(lists)
    assert found["reranked"]["rate"] == pytest.approx(0.0, abs=1e-6)
    assert found["baseline"]["rate"] > 0.2
    assert model.predict(lists[:1]) == ["the good text number 0"]


def test_without_sacrebleu_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "sacrebleu.metrics", None)
    with pytest.raises(MissingPackageError, match=r"BLEU, chrF and TER need the package sacrebleu.*loglinear\[transl"):
        edit_distances(["a"], ["b"], units="bleu")
    with pytest.raises(ValueError, match="units must be one of 'words', 'characters', 'bleu', 'chrf', 'ter', not 'x'"):
        check_error_units("x")
