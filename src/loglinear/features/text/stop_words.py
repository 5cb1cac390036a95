"""Stop words: words that are left out before word n-grams are made, from a list, a file, or the English list here."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from loglinear.errors import FormatError
from loglinear.formats.text import decode, each_line, name_of, read_bytes

ENGLISH = "english"
_ENGLISH = """
a an the this that these those each every either neither some any all both few many much more most other another such
no nor not none nothing only own same so than too very just also
i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she her hers herself
it its itself they them their theirs themselves one's who whom whose which what whoever whatever
am is are was were be been being have has had having do does did doing done can could will would shall should may might
must ought cannot
and or but if then else because as until while although though unless whether since
of at by for with without about against between among into onto through during before after above below to from up down
in out on off over under again further upon within toward towards via per
here there when where why how once ever never always now
i'm i've i'd i'll you're you've you'd you'll he's he'd he'll she's she'd she'll it's it'd it'll we're we've we'd we'll
they're they've they'd they'll that's there's what's who's where's let's isn't aren't wasn't weren't haven't hasn't
hadn't don't doesn't didn't can't couldn't won't wouldn't shan't shouldn't mayn't mightn't mustn't
"""


def stop_words_of(given: Any) -> tuple[str, ...]:
    """Return the stop words of a setting: None, "english", a list of words, or a file with one word per line.

    A word that is no word of the texts (words.py), such as ``e-mail``, never occurs and changes nothing.
    """
    if given is None:
        return ()
    if isinstance(given, (str, os.PathLike)):
        return tuple(_ENGLISH.split()) if given == ENGLISH else _read(given)
    if isinstance(given, bytes) or not isinstance(given, Iterable):
        kind = type(given).__name__
        raise TypeError(f"stop_words must be 'english', a list of words or a file with one word per line, not {kind}")
    words = tuple(given)
    for place, word in enumerate(words):
        if not isinstance(word, str) or not word.strip():
            raise TypeError(f"stop_words: item {place} is {word!r}, not a word")
    return words


def _read(path: str | os.PathLike[str]) -> tuple[str, ...]:
    name = name_of(path)
    words = []
    for number, line in enumerate(each_line(decode(read_bytes(path), name, "utf-8")), start=1):
        word = line.strip()
        if len(word.split()) > 1:
            raise FormatError(f"{word[:40]!r} is more than one word; write one stop word per line", name, number)
        words += [word] if word else []
    if not words:
        raise FormatError("there are no stop words; write one per line", name)
    return tuple(words)
