"""Functions of column values, as the macros of templates see them. Each distinct value is mapped once."""

from __future__ import annotations

import re
import unicodedata

import numpy as np
from numpy.typing import NDArray

from loglinear import _core
from loglinear.features.template_syntax import View
from loglinear.features.vocabulary import Vocabulary, pack_strings
from loglinear.features.word_classes import WordClassLexicon

_BITS = (  # as in native/text/wapiti_regex.hh
    (1, str.isdecimal),
    (2, str.islower),
    (4, str.isupper),
    (8, str.isalpha),
    (16, str.isspace),
    (32, lambda character: unicodedata.category(character)[0] in "PS"),
)


def view_strings(
    view: View, values: Vocabulary, lexicon: WordClassLexicon | None = None
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the value of the view for each value of the column, as bytes and offsets."""
    blob, offsets = values.blob, values.offsets
    if view.function == "same":
        return blob, offsets
    if view.function == "lower":
        return _lower(blob, offsets)
    if view.function == "shape":
        return pack_strings([shape(value) for value in values])
    if view.function == "class":
        if lexicon is None:
            raise ValueError("the templates look at word classes (%c): give a file or a dict of them, classes=...")
        n_first = int(view.pattern) if view.pattern else None
        return lexicon.strings((blob, offsets), _lower(blob, offsets), n_first)
    regex = _core.WapitiRegex(view.pattern)
    characters, classes = _classes(blob)
    if view.function == "test":
        return _booleans(regex.test(blob, offsets, characters, classes))
    found = regex.extract(blob, offsets, characters, classes)
    return _lower(*found) if view.function == "match_lower" else found


_RUNS = re.compile(r"X{3,}|x{3,}|d{3,}")


def shape(value: str) -> str:
    """Return X for capitals, x for other letters, d for digits, other characters as they are; runs are cut to two."""
    kinds = "".join("d" if c.isdecimal() else "X" if c.isupper() else "x" if c.isalpha() else c for c in value)
    return _RUNS.sub(lambda run: run[0][:2], kinds)


def _lower(blob: NDArray[np.uint8], offsets: NDArray[np.int64]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    if not blob.size or blob.max() < 0x80:
        return np.where((blob >= 65) & (blob <= 90), blob + np.uint8(32), blob), offsets
    return pack_strings([string.lower() for string in Vocabulary(blob, offsets)])


def _booleans(flags: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    strings = [b"true" if flag else b"false" for flag in flags.tolist()]
    offsets = np.zeros(flags.size + 1, dtype=np.int64)
    np.cumsum(5 - flags.astype(np.int64), out=offsets[1:])
    return np.frombuffer(b"".join(strings), dtype=np.uint8), offsets


def _classes(blob: NDArray[np.uint8]) -> tuple[NDArray[np.uint32], NDArray[np.uint8]]:
    """Return the characters past ASCII in the bytes, ascending, and the classes of each."""
    if not blob.size or blob.max() < 0x80:
        return np.zeros(0, dtype=np.uint32), np.zeros(0, dtype=np.uint8)
    characters = sorted(set(blob.tobytes().decode("utf-8", "surrogatepass")))
    past = [c for c in characters if ord(c) >= 0x80]
    classes = [sum(bit for bit, test in _BITS if test(c)) for c in past]
    return np.array([ord(c) for c in past], dtype=np.uint32), np.array(classes, dtype=np.uint8)
