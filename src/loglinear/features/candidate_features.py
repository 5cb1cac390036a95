"""Features of the candidates of n-best lists: counts of n-grams of words and of their classes, skip and headword
bigrams, character n-grams, and the user's own numbers.

    word: a b      n-grams of words (separated by blanks); those longer than one word are taken from ``<s> words </s>``
    skip: a b      two words with 1 to ``skips`` others between them
    head: a b      two headwords with no headword between them (Gao, Suzuki and Yu 2006, section 5.3)
    class: x y     n-grams of the classes of words, of the same orders (see ``features.word_classes``)
    char: ab       n-grams of characters, blanks left out
    given: name    the numbers in the ``features`` of a candidate

A feature is kept if it occurs in at least ``min_count`` lists and differs between the candidates of one of them: a
feature that never differs cannot change an order. Given features come last; the others are numbered by first
occurrence.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from loglinear import _core
from loglinear.features.featuriser import Featuriser, Rows, sum_rows
from loglinear.features.vocabulary import Vocabulary, join_vocabularies, pack_strings
from loglinear.features.word_classes import WordClassLexicon
from loglinear.formats.candidate_list import CandidateList
from loglinear.threads import pool

_MAX_ORDER = 32  # the longest n-gram that native code counts


def _orders(given: Iterable[int], what: str) -> tuple[int, ...]:
    orders = sorted(set(given))
    if any(type(n) is not int or not 1 <= n <= _MAX_ORDER for n in orders):
        raise ValueError(f"{what} must be orders between 1 and {_MAX_ORDER}, not {orders}")
    return tuple(orders)


def _function_words(given: Iterable[str]) -> list[str]:
    words = list(given)
    if not all(isinstance(word, str) for word in words):
        raise ValueError("headwords must be 'cjk' or a list of function words, and one of these is no string")
    return sorted(set(words))


class FeatureUses(NamedTuple):
    """The features of some lists, and what decides whether they are kept."""

    names: Vocabulary
    n_lists: NDArray[np.int32]  # [n], in which each occurs
    differs: NDArray[np.bool_]  # [n], whether it differs between candidates of one of them

    def kept(self, min_count: int) -> NDArray[np.bool_]:
        """Return which features are kept: [n]."""
        return (self.n_lists >= min_count) & self.differs


_NO_USES = FeatureUses(Vocabulary.from_strings([]), np.empty(0, np.int32), np.empty(0, np.bool_))


class CandidateFeatures(Featuriser):
    """Counts features in the candidates of lists.

    Parameters
    ----------
    words, characters : orders of the n-grams; empty for none
    min_count : features that occur in fewer lists are left out
    boundaries : whether n-grams of words reach over the ends of the text, ``<s>`` and ``</s>``
    skips : the largest number of words that a skip bigram leaves out; 0 for no skip bigrams
    headwords : None, "cjk" (headwords are words with a kanji or a katakana), or a list of function words (headwords
        are all others)
    classes : None, or word classes: a file, a dict from words to classes, or a ``WordClassLexicon``
    """

    kind = "candidates"

    def __init__(
        self,
        words: Iterable[int] = (1, 2),
        min_count: int = 2,
        *,
        boundaries: bool = True,
        skips: int = 0,
        headwords: str | Iterable[str] | None = None,
        characters: Iterable[int] = (),
        classes: WordClassLexicon | Mapping[str, str] | str | os.PathLike[str] | None = None,
    ) -> None:
        self.words, self.characters = _orders(words, "words"), _orders(characters, "characters")
        if type(min_count) is not int or not 1 <= min_count < 2**31:
            raise ValueError(f"min_count must be a whole number of at least 1, not {min_count!r}")
        if type(skips) is not int or not 0 <= skips <= _MAX_ORDER:
            raise ValueError(f"skips must be a whole number between 0 and {_MAX_ORDER}, not {skips!r}")
        if isinstance(headwords, str) and headwords != "cjk":
            raise ValueError(f"headwords must be 'cjk' or a list of function words, not {headwords!r}")
        self.min_count, self.boundaries, self.skips = min_count, bool(boundaries), skips
        self.headwords = headwords if headwords is None or isinstance(headwords, str) else _function_words(headwords)
        if not (classes is None or isinstance(classes, WordClassLexicon)):
            classes = WordClassLexicon.of(classes)
        self.classes: WordClassLexicon | None = classes
        if self.classes is not None and any(" " in name for name in self.classes.names):
            raise ValueError("a word class has a blank in its name, so that n-grams of classes could not be told apart")

    def settings(self) -> dict[str, Any]:
        """Return the parameters of the constructor as JSON values."""
        return {
            "words": list(self.words),
            "min_count": self.min_count,
            "boundaries": self.boundaries,
            "skips": self.skips,
            "headwords": self.headwords,
            "characters": list(self.characters),
        }

    def fit_transform(self, lists: Sequence[CandidateList], n_threads: int | None = None) -> Rows:
        """Learn the features of the lists and return their counts in each candidate, list after list."""
        texts, list_ptr = _flat(lists)
        rows, blob, offsets = _core.fit_candidate_features(
            pool(n_threads), *pack_strings(texts), list_ptr, self._options(texts), self.min_count
        )
        self._vocabulary = Vocabulary(blob, offsets)
        given = _given(lists)
        if given is None:
            return rows
        uses = _given_uses(*given, list_ptr)
        self._vocabulary = _appended(self._vocabulary, uses.names.take(np.flatnonzero(uses.kept(self.min_count))))
        return self._with_given(rows, *given)

    def uses(self, lists: Sequence[CandidateList], n_threads: int | None = None) -> tuple[FeatureUses, FeatureUses]:
        """Return all features of some lists, counted ones and given ones, and learn none."""
        texts, list_ptr = _flat(lists)
        options = self._options(texts)
        blob, offsets, n_lists, differs = _core.find_candidate_features(
            pool(n_threads), *pack_strings(texts), list_ptr, options
        )
        given = _given(lists)
        counted = FeatureUses(Vocabulary(blob, offsets), n_lists, differs.astype(np.bool_))
        return counted, _NO_USES if given is None else _given_uses(*given, list_ptr)

    def join(self, parts: Sequence[tuple[FeatureUses, FeatureUses]]) -> list[NDArray[np.int32]]:
        """Learn the features of lists in several parts, in their order, as ``fit_transform`` does of all the lists.

        Returns the numbers of the features that each part has, ascending.
        """
        (counted, own_counted), (given, own_given) = (_joined(column, self.min_count) for column in zip(*parts))
        order = np.argsort(np.array(list(given), dtype=object), kind="stable")  # by name
        place = np.empty(order.size, np.int32)
        place[order] = np.arange(order.size, dtype=np.int32)
        self._vocabulary = _appended(counted, given.take(order))
        return [np.sort(np.concatenate([a, len(counted) + place[b]])) for a, b in zip(own_counted, own_given)]

    def transform(self, lists: Sequence[CandidateList], n_threads: int | None = None) -> Rows:
        """Return the counts of the known features in each candidate; others are ignored."""
        texts, list_ptr = _flat(lists)
        index = self.vocabulary.index()
        options = self._options(texts)
        rows = _core.count_candidate_features(pool(n_threads), *pack_strings(texts), list_ptr, options, index)
        given = _given(lists)
        return rows if given is None else self._with_given(rows, *given)

    def _with_given(self, rows: Rows, names: list[str], lengths: list[int], numbers: NDArray[np.float64]) -> Rows:
        """Add the given features to the rows; their columns are never among those counted."""
        own = sum_rows(lengths, self.vocabulary.ids(names), numbers, len(self.vocabulary))
        n_rows = len(lengths)
        row = np.concatenate([np.repeat(np.arange(n_rows), np.diff(part[0])) for part in (rows, own)])
        column, value = (np.concatenate([rows[i], own[i]]) for i in (1, 2))
        order = np.lexsort((column, row))
        order = order[value[order] != 0.0]
        indptr = np.concatenate([[0], np.cumsum(np.bincount(row[order], minlength=n_rows))])
        return indptr.astype(np.int64), column[order].astype(np.int32), value[order]

    def _options(self, texts: Sequence[str]) -> _core.CandidateFeatureOptions:
        rule, listed = "none", None
        if isinstance(self.headwords, list):
            rule, listed = "listed", Vocabulary.from_strings(self.headwords).index()
        elif self.headwords is not None:
            rule = self.headwords
        options = _core.CandidateFeatureOptions(
            list(self.words), self.boundaries, self.skips, rule, listed, list(self.characters)
        )
        if self.classes is not None:
            of, names = self.classes, self.classes.names
            lowered = pack_strings([text.lower() for text in texts])
            options.set_classes(of.words.index(), of.labels, names.blob, names.offsets, *lowered)
        return options


def _flat(lists: Sequence[CandidateList]) -> tuple[list[str], NDArray[np.int64]]:
    """Return all texts, and where those of each list begin."""
    texts = [candidate.text for one in lists for candidate in one.candidates]
    list_ptr = np.zeros(len(lists) + 1, dtype=np.int64)
    np.cumsum([len(one.candidates) for one in lists], out=list_ptr[1:])
    return texts, list_ptr


def _given(lists: Sequence[CandidateList]) -> tuple[list[str], list[int], NDArray[np.float64]] | None:
    """Return names, numbers per candidate and values of all given features; None if there are none."""
    if not any(candidate.features for one in lists for candidate in one.candidates):
        return None
    names: list[str] = []
    values: list[float] = []
    lengths: list[int] = []
    for one in lists:
        for place, candidate in enumerate(one.candidates, start=1):
            if not isinstance(candidate.features, Mapping):
                raise TypeError(f"list {one.id!r}, candidate {place}: features must be a dict of numbers")
            names.extend(f"given: {key}" for key in candidate.features)
            values.extend(candidate.features.values())
            lengths.append(len(candidate.features))
    numbers = np.asarray(values, dtype=np.float64)
    if not np.isfinite(numbers).all():
        raise ValueError(f"{names[int(np.flatnonzero(~np.isfinite(numbers))[0])]!r} is not a finite number")
    return names, lengths, numbers


def _appended(first: Vocabulary, second: Vocabulary) -> Vocabulary:
    return Vocabulary.from_strings([*first, *second]) if len(second) else first


def _joined(parts: Sequence[FeatureUses], min_count: int) -> tuple[Vocabulary, list[NDArray[np.int32]]]:
    """Return the features of all parts that are kept, by first occurrence, and the numbers of those of each part."""
    names, found = join_vocabularies([part.names for part in parts])
    total = FeatureUses(names, np.zeros(len(names), np.int32), np.zeros(len(names), np.bool_))
    for part, own in zip(parts, found):
        total.n_lists[own] += part.n_lists
        total.differs[own] |= part.differs
    kept = total.kept(min_count)
    number = np.where(kept, np.cumsum(kept) - 1, -1).astype(np.int32)
    return names.take(np.flatnonzero(kept)), [own[own >= 0] for own in (number[own] for own in found)]


def _given_uses(
    names: list[str], lengths: list[int], values: NDArray[np.float64], list_ptr: NDArray[np.int64]
) -> FeatureUses:
    """Return the given features, in sorted order."""
    known = sorted(set(names))
    number = {name: k for k, name in enumerate(known)}
    ids = np.fromiter((number[name] for name in names), np.int32, count=len(names))
    sizes = np.diff(list_ptr)
    owner = np.repeat(np.repeat(np.arange(sizes.size), sizes), lengths)
    order = np.lexsort((ids, owner))
    owner, ids, values = owner[order], ids[order], values[order]
    # One group of entries for every feature of every list; candidates without the feature have a zero.
    starts = np.flatnonzero(np.concatenate([[True], (np.diff(owner) != 0) | (np.diff(ids) != 0)]))
    low, high = np.minimum.reduceat(values, starts), np.maximum.reduceat(values, starts)
    some_lack = np.diff(np.append(starts, ids.size)) < sizes[owner[starts]]
    varies = (low != high) | (some_lack & (low != 0.0))
    n_lists = np.bincount(ids[starts], minlength=len(known)).astype(np.int32)
    differs = np.bincount(ids[starts][varies], minlength=len(known)) > 0
    return FeatureUses(Vocabulary.from_strings(known), n_lists, differs)
