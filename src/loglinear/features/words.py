"""Counts of word n-grams in text.

A word is a maximal run of word characters: ASCII letters, digits and ``_``; an apostrophe inside a word (``don't``);
and every character past ASCII except spaces and punctuation: U+0080-U+00BF but for the letters ª µ º, × and ÷, the
punctuation of Greek, Armenian, Hebrew, Arabic and Devanagari, general punctuation U+2000-U+206F, supplemental
punctuation U+2E00-U+2E7F, CJK punctuation U+3000-U+303F but for 々 〆 〇, and the vertical, small and fullwidth forms
of punctuation. (The full table is in native/util/words.hh.) Symbols and emoji count as word characters, the
typographic apostrophe ’ does not, and scripts written without spaces are not segmented: give those as tokens.

An n-gram's name is its words joined by one space. Features are numbered by order, then by first occurrence.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from loglinear import _core
from loglinear.features.featuriser import Featuriser, Rows
from loglinear.features.vocabulary import Vocabulary, pack_strings

_MAX_ORDER = 32


class WordNgrams(Featuriser):
    """Word n-grams of the given orders that occur at least ``min_count`` times in the training texts."""

    kind = "words"

    def __init__(self, ngrams: Iterable[int] = (1,), lowercase: bool = True, min_count: int = 1) -> None:
        orders = sorted(set(ngrams))
        if not orders or any(type(n) is not int or not 1 <= n <= _MAX_ORDER for n in orders):
            raise ValueError(f"ngrams must be one or more orders between 1 and {_MAX_ORDER}, not {orders}")
        if type(min_count) is not int or not 1 <= min_count < 2**31:
            raise ValueError(f"min_count must be a whole number of at least 1, not {min_count!r}")
        if not isinstance(lowercase, bool):
            raise ValueError(f"lowercase must be true or false, not {lowercase!r}")
        self.ngrams = tuple(orders)
        self.lowercase = lowercase
        self.min_count = min_count

    def fit_transform(self, texts: Sequence[str], n_threads: int = 1) -> Rows:
        """Learn the vocabulary of the texts and count it in each; threads do not change the result."""
        blob, offsets = pack_strings(self._prepare(texts))
        rows, *names = _core.fit_word_ngrams(
            _core.ThreadPool(n_threads), blob, offsets, list(self.ngrams), self.min_count
        )
        self._vocabulary = Vocabulary(*names)
        return rows

    def transform(self, texts: Sequence[str], n_threads: int = 1) -> Rows:
        """Count the known n-grams of each text; others are ignored."""
        index = self.vocabulary.index()
        blob, offsets = pack_strings(self._prepare(texts))
        return _core.count_word_ngrams(_core.ThreadPool(n_threads), blob, offsets, list(self.ngrams), index)

    def settings(self) -> dict[str, Any]:
        """Return the arguments of the constructor, as JSON values."""
        return {"ngrams": list(self.ngrams), "lowercase": self.lowercase, "min_count": self.min_count}

    def _prepare(self, texts: Sequence[str]) -> Sequence[str]:
        if isinstance(texts, str):
            raise TypeError("texts must be a list of strings, not one string")
        if not self.lowercase:
            return texts
        try:
            return [text.lower() for text in texts]
        except AttributeError:
            return texts  # pack_strings names the item at fault
