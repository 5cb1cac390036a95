"""Tokens of plain text by hand, and what holds for any text."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loglinear.formats.sentences import parse_sentences, tokenise


@pytest.mark.parametrize(
    ("sentence", "tokens"),
    [
        ("The dog barks.", "The dog barks ."),
        ('"Well-known," he said (twice)!', '" Well-known , " he said ( twice ) !'),
        ("I don't, it's, we'll; CAN'T you’ve", "I do n't , it 's , we 'll ; CA N'T you ’ve"),
        ("o'clock boys' rock'n'roll", "o'clock boys ' rock'n'roll"),
        ("it'd've", "it 'd 've"),
        ("'s n't", "'s n't"),
        ("1,000.50 dollars at 10:30 on 24/12, 5% of $3.", "1,000.50 dollars at 10:30 on 24/12 , 5 % of $ 3 ."),
        ("the 1990s, 3rd, 2001-02-03, 3.5kg, 50-year-old", "the 1990s , 3rd , 2001-02-03 , 3.5kg , 50-year-old"),
        ("in the U.S. and e.g. there.", "in the U.S. and e.g. there ."),
        ("wait... no -- yes -5", "wait ... no -- yes - 5"),
        ("see http://a.org/b?c=d, or www.e.org. Mail x.y+z@a-b.org!", "see http://a.org/b?c=d , or www.e.org . Mail "
         "x.y+z@a-b.org !"),
        ("@name likes #topic_1 @ home # 5", "@name likes #topic_1 @ home # 5"),
        ("na\u00efve cafe\u0301 हिन्दी Straße 東京タワー。", "na\u00efve cafe\u0301 हिन्दी Straße 東京タワー 。"),
        ("\u2764\ufe0f ok", "\u2764\ufe0f ok"),
        ("a\u00a0b\u3000c", "a b c"),
        ("  ", ""),
    ],
)  # fmt: skip
def test_by_hand(sentence: str, tokens: str) -> None:
    assert tokenise(sentence) == tokens.split(" " if tokens else None)


@given(st.text())
def test_nothing_is_lost_but_blanks(text: str) -> None:
    tokens = tokenise(text)
    assert "".join(tokens) == "".join(text.split())
    assert not any(character.isspace() for token in tokens for character in token)


@given(st.text(alphabet="a1.-'@nt/,:’s ", max_size=30))
def test_tokens_do_not_depend_on_the_blanks_around_a_sentence(text: str) -> None:
    assert tokenise(f"  {text}\t") == tokenise(text)


def test_a_sentence_is_a_line() -> None:
    assert parse_sentences("The dog.\r\n\n  \nIt's\u2028me\n") == [["The", "dog", "."], ["It", "'s", "me"]]
    assert parse_sentences("") == []


@pytest.mark.parametrize("part", ["a+", "a.", "-.", "a@", "n't", "'", "1,", "é", "\u0301"])
def test_long_lines_take_time_that_grows_with_their_length(part: str) -> None:
    begin = time.perf_counter()
    assert "".join(tokenise(part * 50_000)) == part * 50_000
    assert time.perf_counter() - begin < 20  # under a second on a machine that is not busy; squared it would be hours
