"""Plain text, one sentence per line, to tokens by simple rules.

At each place that is not blank, the first of these that fits is a token:

    a web or mail address, @name or #topic
    a number with inner points, commas, colons or slashes: 1,000.50, 10:30, 24/12
    single letters with points after them: U.S., e.g.
    a word: letters, digits, _ and marks, joined by inner hyphens, apostrophes and points: well-known, o'clock
    dots or dashes in a row: ..., --
    any other single character

The endings of English that treebanks set apart are tokens of their own: do n't, it 's, we 'll, I 'm. Scripts that are
written without blanks are not segmented. A model does best on text that is tokenised as its training data were.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

from loglinear.formats.text import each_line


def parse_sentences(text: str) -> list[list[str]]:
    """Return the tokens of every line; blank lines are left out."""
    return [tokens for line in each_line(text) if (tokens := tokenise(line))]


def tokenise(sentence: str) -> list[str]:
    """Return the tokens of a sentence in their order; joined, they are the sentence without its blanks."""
    return _pattern().findall(sentence)


@cache
def _pattern() -> re.Pattern[str]:
    """Compile the rules. A character of a word is what Python takes for one, or a combining mark."""
    m = "".join(chr(code) for code in range(0x300, 0x10000) if unicodedata.category(chr(code))[0] == "M")
    word, end = rf"[\w{m}]", rf"(?![\w{m}])"
    ending = rf"(?:s|m|d|re|ve|ll){end}"
    rules = rf"""
        (?:https?://|www\.)\S*[\w{m}/]
      | {word}[\w{m}.+-]{{0,63}}@[\w{m}-]+(?:\.[\w{m}-]+)+
      | [@\#]{word}+
      | \d+(?:[.,:/]\d+)*(?!{word}|[-'’.]{word})
      | (?:[^\W\d_]\.){{2,}}
      | {word}+?(?=n['’]t{end}) | n['’]t{end} | ['’]{ending}
      | {word}+(?:[-'’.](?!(?<=['’]){ending}){word}+)*
      | \.\.+ | --+
      | \S[{m}]*
    """
    return re.compile(rules, re.VERBOSE | re.IGNORECASE)
