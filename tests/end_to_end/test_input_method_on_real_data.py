"""Conversion of Japanese, where LOGLINEAR_DATA names a folder that has text with readings."""

import gzip
import math
import os
from pathlib import Path

import pytest

from loglinear import InputMethod

FOLDER = os.environ.get("LOGLINEAR_DATA")
pytestmark = pytest.mark.skipif(not FOLDER, reason="LOGLINEAR_DATA is not set: no corpora to test on")


def lines(name, n):
    with gzip.open(Path(FOLDER, "ime", name), "rt", encoding="utf-8") as file:
        return [line for line, _ in zip(file, range(n))]


def test_conversion_with_a_lexicon_of_real_size():
    model = InputMethod(3).fit(lines("background.txt.gz", 60000))
    score = model.evaluate(lines("cooking.test.txt.gz", 300), k=20)
    assert score["oracle_cer"] < 0.8 * score["cer"]
    assert score["cer"] < 0.25
    text = model.read(lines("science.test.txt.gz", 40))
    _, typed = text.sentences()
    queries = model.language_model_.queries_
    plain = model.set_params(channel=False).with_language_model(model.language_model_)
    for found in plain.candidates(typed, 20):
        assert len({" ".join(words) for words, _ in found}) == 20
        for words, log_probability in found:
            assert log_probability == pytest.approx(queries.score(" ".join(words)) * math.log(10), abs=1e-4)
