"""Counts of word and character n-grams in text.

A word is a maximal run of word characters: ASCII letters, digits and ``_``; an apostrophe inside a word (``don't``);
and every character past ASCII except spaces and punctuation: U+0080-U+00BF but for the letters ª µ º, × and ÷, the
punctuation of Greek, Armenian, Hebrew, Arabic and Devanagari, general punctuation U+2000-U+206F, supplemental
punctuation U+2E00-U+2E7F, CJK punctuation U+3000-U+303F but for 々 〆 〇, and the vertical, small and fullwidth forms
of punctuation. (The full table is in native/util/words.hh.) Symbols and emoji count as word characters, the
typographic apostrophe ’ does not, and scripts written without spaces are not segmented: give those as tokens, or use
character n-grams.

An n-gram's name is its words joined by one space. Features are numbered by order, then by first occurrence.

Character n-grams (native/text/char_ngrams.hh) come after those of words. They stay within words, which have a space on
either side, or go across them, where blanks are one space. Their names have quotation marks: ``"ing "``.

Where word classes are given (features/word_classes.py), n-grams of the classes of words follow, named ``∈0110 ∈10``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from loglinear import _core
from loglinear.features.featuriser import Featuriser, Rows, sum_rows
from loglinear.features.sequences import take_ranges
from loglinear.features.vocabulary import Vocabulary, pack_strings
from loglinear.features.weighting import COUNT, check_weighting
from loglinear.features.word_classes import WordClassLexicon

_MAX_ORDER = 32
_MEMBER = "∈"  # before the name of a class: a word character, so that classes are words of their own
Packed = tuple[np.ndarray, np.ndarray]  # texts as bytes and offsets


class WordNgrams(Featuriser):
    """Word and character n-grams of the given orders that occur at least ``min_count`` times in the training texts.

    ngrams, char_ngrams : orders of words and of characters; one of them may be empty
    across_words : whether character n-grams go across words
    stop_words : words that are left out before word n-grams are made
    weighting : how counts become values (features/weighting.py)
    classes : adds the n-grams of the classes of words, of the same orders (``WordClassLexicon.for_texts``)
    """

    kind = "words"

    def __init__(
        self, ngrams: Iterable[int] = (1,), lowercase: bool = True, min_count: int = 1,
        classes: WordClassLexicon | None = None, *, char_ngrams: Iterable[int] = (), across_words: bool = False,
        stop_words: Sequence[str] = (), weighting: str = COUNT,
    ) -> None:
        self.ngrams, self.char_ngrams = _orders("ngrams", ngrams), _orders("char_ngrams", char_ngrams)
        if not self.ngrams and not self.char_ngrams:
            raise ValueError(
                f"ngrams must be one or more orders between 1 and {_MAX_ORDER} where char_ngrams has none, not []"
            )
        if type(min_count) is not int or not 1 <= min_count < 2**31:
            raise ValueError(f"min_count must be a whole number of at least 1, not {min_count!r}")
        for name, value in (("lowercase", lowercase), ("across_words", across_words)):
            if not isinstance(value, bool):
                raise ValueError(f"{name} must be true or false, not {value!r}")
        if classes is not None and not self.ngrams:
            raise ValueError("word classes are those of word n-grams: give ngrams, or leave classes out")
        self.lowercase, self.across_words = lowercase, across_words
        self.min_count = min_count
        self.classes = classes
        self.weighting = check_weighting(weighting)
        words = (_checked(word) for word in stop_words)
        self.stop_words = tuple(dict.fromkeys(word.lower() if lowercase else word for word in words))
        self._stop_index = Vocabulary.from_strings(self.stop_words).index() if self.stop_words else None

    def _fit_counts(self, texts: Sequence[str], n_threads: int) -> Rows:
        """Learn the vocabulary of the texts and count it in each; threads do not change the result."""
        pool, packed = _core.ThreadPool(n_threads), pack_strings(self._prepare(texts))
        rows, *names = _core.fit_text_ngrams(pool, *packed, self._kinds(), self.min_count)
        self._vocabulary = Vocabulary(*names)
        if self.classes is None:
            return rows
        n_words = len(self._vocabulary)
        of_classes, *names = _core.fit_text_ngrams(
            pool, *self._class_texts(packed, pool), self._class_kinds(), self.min_count
        )
        self._vocabulary = self._vocabulary.joined(Vocabulary(*names))
        self._vocabulary.index()  # a text that has the mark of classes in a word could make a name twice
        indptr, indices, values = of_classes
        return _side_by_side(rows, (indptr, indices + np.int32(n_words), values), len(self._vocabulary))

    def _counts(self, texts: Sequence[str], n_threads: int) -> Rows:
        """Count the known n-grams of each text; others are ignored."""
        index = self.vocabulary.index()
        pool, packed = _core.ThreadPool(n_threads), pack_strings(self._prepare(texts))
        rows = _core.count_text_ngrams(pool, *packed, self._kinds(), index)
        if self.classes is None:
            return rows
        of_classes = _core.count_text_ngrams(pool, *self._class_texts(packed, pool), self._class_kinds(), index)
        return _side_by_side(rows, of_classes, len(self.vocabulary))

    def _kinds(self) -> _core.NgramKinds:
        return _core.NgramKinds(list(self.ngrams), list(self.char_ngrams), self.across_words, self._stop_index)

    def _class_kinds(self) -> _core.NgramKinds:
        return _core.NgramKinds(list(self.ngrams), [], False, None)

    def _class_texts(self, packed: Packed, pool: _core.ThreadPool) -> Packed:
        """Return the texts with classes in place of words, as bytes and offsets."""
        assert self.classes is not None
        words, names = self.classes.words.index(), self.classes.names
        blob, offsets = _core.replace_words(
            pool, *packed, words, self.classes.labels, names.blob, names.offsets, _MEMBER
        )
        return blob, offsets

    def settings(self) -> dict[str, Any]:
        """Return the arguments of the constructor, as JSON values; those that are not used are left out."""
        always = {"ngrams": list(self.ngrams), "lowercase": self.lowercase, "min_count": self.min_count}
        more = {
            "char_ngrams": list(self.char_ngrams), "across_words": self.across_words,
            "stop_words": list(self.stop_words), "weighting": self.weighting,
        }  # fmt: skip
        unused: tuple[Any, ...] = ([], False, COUNT)
        return always | {name: value for name, value in more.items() if value not in unused}

    def _prepare(self, texts: Sequence[str]) -> Sequence[str]:
        if isinstance(texts, str):
            raise TypeError("texts must be a list of strings, not one string")
        if not self.lowercase:
            return texts
        try:
            return [text.lower() for text in texts]
        except AttributeError:
            return texts  # pack_strings names the item at fault

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_stop_index"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        stop_words = state.get("stop_words", ())
        self._stop_index = Vocabulary.from_strings(stop_words).index() if stop_words else None


def _orders(name: str, given: Iterable[int]) -> tuple[int, ...]:
    """Return the orders of n-grams, ascending; raise ValueError for one that is out of range."""
    try:
        orders = sorted(set(given))
    except TypeError:
        raise ValueError(f"{name} must be a list of whole numbers, not {given!r}") from None
    if any(type(n) is not int or not 1 <= n <= _MAX_ORDER for n in orders):
        raise ValueError(f"{name} must be one or more orders between 1 and {_MAX_ORDER}, not {orders}")
    return tuple(orders)


def _checked(word: Any) -> str:
    if not isinstance(word, str):
        raise ValueError(f"stop words must be strings, not {word!r}")
    return word


def _side_by_side(left: Rows, right: Rows, n_features: int) -> Rows:
    """Return rows that have the values of both."""
    n_left, n_right = np.diff(left[0]), np.diff(right[0])
    n_rows, lengths = n_left.size, n_left + n_right
    both = np.stack([np.arange(n_rows), np.arange(n_rows) + n_rows], axis=1).reshape(-1)
    starts = np.concatenate([left[0][:-1], right[0] + left[0][-1]])
    _, places = take_ranges(np.asarray(starts, np.int64), both)
    ids, values = np.concatenate([left[1], right[1]]), np.concatenate([left[2], right[2]])
    return sum_rows(lengths.tolist(), ids[places], values[places], n_features)
