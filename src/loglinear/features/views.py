"""Functions of column values, as the macros of templates see them. Each distinct value is mapped once."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from loglinear import _core
from loglinear.features.columns import Columns
from loglinear.features.phrases import PLACES, PhraseLexicon
from loglinear.features.template_syntax import View
from loglinear.features.vocabulary import Vocabulary, pack_strings
from loglinear.features.word_classes import WordClassLexicon

_PLACES = Vocabulary.from_strings(PLACES)
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
    if view.function in ("same", "phrase"):  # the values of a phrase's view are places already
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


def number_values(
    view: View, values: Vocabulary, known: Vocabulary | None, classes: WordClassLexicon | None, marked: bool
) -> tuple[NDArray[np.int32], Vocabulary]:
    """Return the number of each value in its view, and the vocabulary with new values at the end."""
    if view.function == "same" and (known is values or (known is None and not marked)):
        return np.arange(len(values), dtype=np.int32), values
    before = Vocabulary.from_strings(()) if known is None else known
    numbers, blob, offsets = _core.intern_strings(before.blob, before.offsets, *view_strings(view, values, classes))
    return numbers, Vocabulary(blob, offsets)


def values_before(view: View, columns: Columns) -> Vocabulary:
    """Return the values that tokens have before a view maps them: those of its column, or places in phrases."""
    return _PLACES if view.function == "phrase" else columns.vocabularies[view.column]


def values_of_tokens(
    views: Sequence[View], columns: Columns, lexicon: PhraseLexicon | None
) -> list[NDArray[np.int32]]:
    """Return for each view which of those values every token has: [n_views][n_tokens]."""
    looked_at = {view.column for view in views if view.function == "phrase"}
    if looked_at and lexicon is None:
        raise ValueError("the templates look at phrases (%l): give a file or a dict of them, lexicon=...")
    places = {column: lexicon.places(columns, column) for column in looked_at if lexicon is not None}
    return [
        places[view.column][view.pattern] if view.function == "phrase" else columns.ids[view.column] for view in views
    ]


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
