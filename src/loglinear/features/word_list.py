"""Vocabularies as text: one word per line."""

from __future__ import annotations

import re

from loglinear.errors import FormatError
from loglinear.features.word_vocabulary import RESERVED, WordVocabulary
from loglinear.formats.text import Source, decode, each_line, name_of, read_bytes

_BLANKS = " \t\r\v\f"
_INNER_BLANK = re.compile(r"[ \t\r\v\f]")


def read_vocabulary(source: Source, *, is_open: bool = True, encoding: str = "utf-8") -> WordVocabulary:
    """Read the words of a file (plain or compressed, or ``-``), numbered in its order after the reserved symbols.

    Blank lines are skipped, and so are the reserved symbols, which a vocabulary has in any case.
    """
    name = name_of(source)
    lines: dict[str, int] = {}
    for number, line in enumerate(each_line(decode(read_bytes(source), name, encoding)), 1):
        word = line.strip(_BLANKS)
        if not word or word in RESERVED:
            continue
        if _INNER_BLANK.search(word) or "\0" in word:
            raise FormatError(f"{word[:40]!r} holds a blank or a NUL; write one word per line", name, number)
        if word in lines:
            raise FormatError(f"{word[:40]!r} is also in line {lines[word]}; write each word once", name, number)
        lines[word] = number
    if not lines:
        raise FormatError("there are no words; write one word per line", name)
    return WordVocabulary.from_words(lines, is_open=is_open)
