"""Words as digits."""

import pytest

from loglinear.features.lexicon import digits


@pytest.mark.parametrize(
    ("word", "keys"),
    [("home", "4663"), ("GOOD", "4663"), ("don't", "36618"), ("x86", "986"), ("Café", "2233"), ("(", "1"), ("", ""),
     ("pqrstuvwxyz", "77778889999"), ("\u0301", "1")],
)  # fmt: skip
def test_words_are_typed_one_key_a_character(word, keys):
    assert digits(word) == keys
