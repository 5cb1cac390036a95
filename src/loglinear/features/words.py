"""Counts of word n-grams in text.

A word is a maximal run of word characters: ASCII letters, digits and ``_``; an apostrophe inside a word (``don't``);
and every character past ASCII except spaces and punctuation: U+0080-U+00BF but for the letters ª µ º, × and ÷, the
punctuation of Greek, Armenian, Hebrew, Arabic and Devanagari, general punctuation U+2000-U+206F, supplemental
punctuation U+2E00-U+2E7F, CJK punctuation U+3000-U+303F but for 々 〆 〇, and the vertical, small and fullwidth forms
of punctuation. (The full table is in native/util/words.hh.) Symbols and emoji count as word characters, the
typographic apostrophe ’ does not, and scripts written without spaces are not segmented: give those as tokens.

An n-gram's name is its words joined by one space. Features are numbered by order, then by first occurrence.

Where word classes are given (features/word_classes.py), n-grams of the classes of words follow, named ``∈0110 ∈10``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loglinear import _core
from loglinear.features.featuriser import Featuriser, Rows, sum_rows
from loglinear.features.sequences import take_ranges
from loglinear.features.vocabulary import Vocabulary, pack_strings
from loglinear.features.word_classes import WordClassLexicon

_MAX_ORDER = 32
_MEMBER = "∈"  # before the name of a class: a word character, so that classes are words of their own


class WordNgrams(Featuriser):
    """Word n-grams of the given orders that occur at least ``min_count`` times in the training texts.

    ``classes`` adds the n-grams of the classes of words, of the same orders (``WordClassLexicon.for_texts``).
    """

    kind = "words"

    def __init__(
        self, ngrams: Iterable[int] = (1,), lowercase: bool = True, min_count: int = 1,
        classes: WordClassLexicon | None = None,
    ) -> None:
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
        self.classes = classes

    def fit_transform(self, texts: Sequence[str], n_threads: int = 1) -> Rows:
        """Learn the vocabulary of the texts and count it in each; threads do not change the result."""
        pool, packed = _core.ThreadPool(n_threads), pack_strings(self._prepare(texts))
        rows, *names = _core.fit_word_ngrams(pool, *packed, list(self.ngrams), self.min_count)
        self._vocabulary = Vocabulary(*names)
        if self.classes is None:
            return rows
        n_words = len(self._vocabulary)
        of_classes, *names = _core.fit_word_ngrams(
            pool, *self._class_texts(packed, pool), list(self.ngrams), self.min_count
        )
        self._vocabulary = self._vocabulary.joined(Vocabulary(*names))
        self._vocabulary.index()  # a text that has the mark of classes in a word could make a name twice
        indptr, indices, values = of_classes
        return _side_by_side(rows, (indptr, indices + np.int32(n_words), values), len(self._vocabulary))

    def transform(self, texts: Sequence[str], n_threads: int = 1) -> Rows:
        """Count the known n-grams of each text; others are ignored."""
        index = self.vocabulary.index()
        pool, packed = _core.ThreadPool(n_threads), pack_strings(self._prepare(texts))
        rows = _core.count_word_ngrams(pool, *packed, list(self.ngrams), index)
        if self.classes is None:
            return rows
        of_classes = _core.count_word_ngrams(pool, *self._class_texts(packed, pool), list(self.ngrams), index)
        return _side_by_side(rows, of_classes, len(self.vocabulary))

    def _class_texts(self, packed: tuple[NDArray[Any], NDArray[Any]], pool: _core.ThreadPool) -> tuple[Any, Any]:
        """Return the texts with classes in place of words, as bytes and offsets."""
        assert self.classes is not None
        words, names = self.classes.words.index(), self.classes.names
        blob, offsets = _core.replace_words(
            pool, *packed, words, self.classes.labels, names.blob, names.offsets, _MEMBER
        )
        return blob, offsets

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


def _side_by_side(left: Rows, right: Rows, n_features: int) -> Rows:
    """Return rows that have the values of both."""
    n_left, n_right = np.diff(left[0]), np.diff(right[0])
    n_rows, lengths = n_left.size, n_left + n_right
    both = np.stack([np.arange(n_rows), np.arange(n_rows) + n_rows], axis=1).reshape(-1)
    starts = np.concatenate([left[0][:-1], right[0] + left[0][-1]])
    _, places = take_ranges(np.asarray(starts, np.int64), both)
    ids, values = np.concatenate([left[1], right[1]]), np.concatenate([left[2], right[2]])
    return sum_rows(lengths.tolist(), ids[places], values[places], n_features)
