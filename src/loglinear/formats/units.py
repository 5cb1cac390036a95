"""What a token of running text is: a word, a character or a byte (formats/running_text.py)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal, TypeAlias

Units: TypeAlias = Literal["words", "characters", "bytes"]

VISIBLE_BLANK = "\u2581"
BLANK = re.compile(r"[ \t\n\r\v\f]")
_BYTE = re.compile(r"<0x([0-9A-F]{2})>")


def split_units(text: str, units: Units = "words") -> list[str]:
    """Return the units of one sentence, as they are read from a file."""
    if units == "words":
        return [word for word in BLANK.split(text) if word]
    if units == "characters":
        return [VISIBLE_BLANK if BLANK.match(c) else c for c in text]
    return [chr(b) if 0x20 < b < 0x7F else f"<0x{b:02X}>" for b in text.encode("utf-8", "surrogatepass")]


def join_units(tokens: Iterable[str], units: Units = "words") -> str:
    """Return the text of units; bytes that are not UTF-8 become U+FFFD."""
    if units == "words":
        return " ".join(tokens)
    if units == "characters":
        return "".join(tokens).replace(VISIBLE_BLANK, " ")
    pieces = (bytes([int(m[1], 16)]) if (m := _BYTE.fullmatch(token)) else token.encode() for token in tokens)
    return b"".join(pieces).decode("utf-8", "replace")
