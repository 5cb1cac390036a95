"""Lexicons from text with readings."""

import numpy as np
import pytest

from loglinear.errors import FormatError, ModelFileError
from loglinear.features.lexicon import Lexicon, merge, read_readings

TEXT = ["里|さと へ|へ", "", "里|り へ|へ 屁|へ", "|||  里|さと"]


def test_words_of_readings_by_frequency():
    lexicon, words = read_readings(TEXT).lexicon()
    assert list(lexicon.surfaces) == ["里", "へ", "屁", "|"]
    assert list(lexicon.readings) == sorted(lexicon.readings, key=str.encode) == ["|", "さと", "へ", "り"]
    assert lexicon.words("へ") == [("へ", 2), ("屁", 1)]
    assert lexicon.words("さと") == [("里", 2)]
    assert lexicon.words("と") == []
    assert "り" in lexicon
    assert "と" not in lexicon
    assert words.tolist() == [0, 1, 0, 1, 2, 3, 0]
    assert set(lexicon) == {("里", "さと", 2), ("里", "り", 1), ("へ", "へ", 2), ("屁", "へ", 1), ("|", "|", 1)}


def test_the_channel_sums_to_one_for_every_word():
    lexicon, _ = read_readings(TEXT).lexicon()
    totals = np.bincount(lexicon.surface, weights=np.exp(lexicon.log_channel()))
    np.testing.assert_allclose(totals, 1.0, rtol=1e-6)


def test_rare_words_are_left_out():
    lexicon, words = read_readings(TEXT).lexicon(2)
    assert list(lexicon.surfaces) == ["里", "へ"]
    assert list(lexicon.readings) == ["さと", "へ", "り"]
    assert words.tolist() == [0, 1, 0, 1, -1, -1, 0]
    with pytest.raises(FormatError, match="no word occurs 9 times"):
        read_readings(TEXT).lexicon(9)
    with pytest.raises(ValueError, match="at least 1"):
        read_readings(TEXT).lexicon(0)


def test_two_lexicons_become_one():
    first, _ = read_readings(TEXT).lexicon()
    second, _ = read_readings(["里|り 水|みず", "水|すい へ|え"]).lexicon()
    both = merge(first, second)
    assert list(both.surfaces) == [*first.surfaces, "水"]
    assert list(both.readings) == sorted({*first.readings, *second.readings}, key=str.encode)
    counts = {(s, r): n for s, r, n in both}
    assert counts[("里", "り")] == 2
    assert counts[("へ", "え")] == 1
    assert len(counts) == both.n_lexemes == 8
    assert list(merge(first, first).readings) == list(first.readings)


def test_sentences_come_back_as_written_and_as_typed():
    written, typed = read_readings(TEXT).sentences()
    assert written == ["里 へ", "里 へ 屁", "| 里"]
    assert typed == ["さとへ", "りへへ", "|さと"]
    assert read_readings(["to be|x"], readings="keypad").sentences(" ") == (["to be|x"], ["86 2319"])


@pytest.mark.parametrize("word", ["里", "里|", "|さと"])
def test_a_word_without_a_reading_is_refused_with_its_line(tmp_path, word):
    path = tmp_path / "text"
    path.write_text(f"里|さと\n\n里|さと {word}\n", encoding="utf-8")
    with pytest.raises(FormatError, match=r"text:3: .* is not a word with its reading; write every word as surface"):
        read_readings(path)


def test_refusals(tmp_path):
    path = tmp_path / "text"
    path.write_bytes(b"a|b\n\xff|c\n")
    with pytest.raises(FormatError, match=r"text:2: .*not valid utf-8"):
        read_readings(path)
    path.write_bytes(b"a|b\n<s>|c\n")
    with pytest.raises(FormatError, match=r"text:2: '<s>' is reserved"):
        read_readings(path)
    path.write_bytes(b"\n \n")
    with pytest.raises(FormatError, match="there are no words"):
        read_readings(path)
    with pytest.raises(ValueError, match="'given' or 'keypad'"):
        read_readings(TEXT, readings="morse")


def test_arrays_come_back_or_are_refused():
    lexicon, _ = read_readings(TEXT).lexicon()
    again = Lexicon.from_arrays(lexicon.arrays())
    assert list(again) == list(lexicon)
    for name, wrong in [
        ("count", lexicon.count[:-1]), ("count", lexicon.count * 0), ("surface", lexicon.surface + 9),
        ("reading_ptr", lexicon.reading_ptr[::-1].copy()), ("surface", lexicon.surface.astype(np.int64)),
        ("reading_offsets", lexicon.readings.offsets + 1),
    ]:  # fmt: skip
        with pytest.raises(ModelFileError):
            Lexicon.from_arrays(lexicon.arrays() | {name: wrong})
    with pytest.raises(ModelFileError, match="'surfaces' is missing"):
        Lexicon.from_arrays({k: v for k, v in lexicon.arrays().items() if k != "surfaces"})
