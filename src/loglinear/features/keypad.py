"""English on the keys of a telephone: a word is typed as one digit per character; blanks separate words.

abc are on 2, def on 3, ghi on 4, jkl on 5, mno on 6, pqrs on 7, tuv on 8, wxyz on 9; a digit is typed as itself, any
other character as 1 (ITU-T E.161). Accents are dropped.
"""

from __future__ import annotations

import unicodedata

_LETTERS = ("abc", "def", "ghi", "jkl", "mno", "pqrs", "tuv", "wxyz")
KEYS = {letter: str(key) for key, letters in enumerate(_LETTERS, 2) for letter in letters}
KEYS |= {digit: digit for digit in "0123456789"}


def digits(word: str) -> str:
    """Return the keys of a word; upper and lower case are typed alike."""
    plain = word.lower() if word.isascii() else unicodedata.normalize("NFKD", word.lower())
    return "".join(KEYS.get(c, "1") for c in plain if not unicodedata.combining(c)) or "1" * len(word)

