"""Lists of phrases with types (gazetteers) as features: where in a sequence the phrases of a type lie.

Words are compared in lower case. Of the phrases of one type that a token begins, the longest is taken, from left to
right, and they do not overlap; those of another type may. A token is then seen as

    S   a phrase by itself      B, I, E   the first, an inner and the last word of a phrase      O   outside of phrases

The phrases are a tree of words: node 0 is the empty phrase, and the node after `node` by a word is found by the key
node * n_words + word among the sorted keys, where the key at place k leads to node k + 1.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loglinear.errors import ModelFileError
from loglinear.features.columns import Columns
from loglinear.features.vocabulary import Vocabulary
from loglinear.formats.class_file import TYPE, read_phrases

PHRASE_ARRAY = "phrase_"  # the names of the arrays of phrases in a model file begin with it
PLACES = ("O", "S", "B", "I", "E")
MAX_TYPES = 62  # a bit each
_ARRAYS = {
    "words": np.uint8, "word_offsets": np.int64, "types": np.uint8, "type_offsets": np.int64,
    "keys": np.int64, "ends": np.int64,
}  # fmt: skip


class PhraseLexicon:
    """Phrases and their types.

    words, types : the words of all phrases in lower case, and the names of the types
    keys, ends : the tree, see above; bit t of ends[k] says that node k + 1 is the end of a phrase of type t
    """

    def __init__(
        self, words: Vocabulary, types: Vocabulary, keys: NDArray[np.int64], ends: NDArray[np.int64]
    ) -> None:
        self.words, self.types, self.keys, self.ends = words, types, keys, ends

    @classmethod
    def of(cls, lexicon: Any) -> PhraseLexicon:
        """Make the lexicon of a file, several files, or a dict from phrases to a type or several."""
        types: dict[str, int] = {}
        found: dict[tuple[str, ...], int] = {}
        for phrase, kind in _pairs(lexicon):
            words = tuple(phrase.lower().split())
            if not words:
                raise ValueError(f"the lexicon has the phrase {phrase!r}, without a word: leave it out")
            bit = types.setdefault(kind, len(types))
            if bit >= MAX_TYPES:
                raise ValueError(f"the lexicon has more than {MAX_TYPES} types: join some of them")
            found[words] = found.get(words, 0) | 1 << bit
        if not found:
            raise ValueError("the lexicon has no phrases")
        numbers: dict[str, int] = {}
        for words in found:
            for word in words:
                numbers.setdefault(word, len(numbers))
        tree = _tree([[numbers[word] for word in words] for words in found], list(found.values()), len(numbers))
        return cls(Vocabulary.from_strings(numbers), Vocabulary.from_strings(types), *tree)

    def places(self, columns: Columns, column: int) -> dict[str, NDArray[np.int32]]:
        """Return for each type which of ``PLACES`` every token of a column has: [n_tokens] int32."""
        lowered = [value.lower() for value in columns.vocabularies[column]]
        word = self.words.ids(lowered).astype(np.int64)[columns.ids[column]] if lowered else np.zeros(0, np.int64)
        matches = list(self._matches(word, columns.sequence_ptr))
        return {
            kind: _places(word.size, _longest(word.size, matches, 1 << bit))
            for bit, kind in enumerate(self.types)
        }

    def _matches(
        self, word: NDArray[np.int64], sequence_ptr: NDArray[np.int64]
    ) -> Iterator[tuple[int, NDArray[np.int64], NDArray[np.int64]]]:
        """Yield (length, tokens at which a phrase so long begins, its types), by rising length."""
        end = np.repeat(sequence_ptr[1:], np.diff(sequence_ptr))
        start = np.flatnonzero(word >= 0)
        node = np.zeros(start.size, np.int64)
        length = 0
        while start.size:
            key = node * len(self.words) + word[start + length]
            place = np.minimum(np.searchsorted(self.keys, key), self.keys.size - 1)
            kept = self.keys[place] == key
            start, place, length = start[kept], place[kept], length + 1
            whole = self.ends[place] != 0
            yield length, start[whole], self.ends[place[whole]]
            inside = start + length < end[start]
            start, node = start[inside], place[inside] + 1
            known = word[start + length] >= 0
            start, node = start[known], node[known]

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of a model file."""
        words, types = self.words, self.types
        return dict(zip(_ARRAYS, (words.blob, words.offsets, types.blob, types.offsets, self.keys, self.ends)))

    @classmethod
    def among(cls, arrays: Mapping[str, NDArray[Any]]) -> PhraseLexicon | None:
        """Make the lexicon of those arrays of a featuriser that begin with ``PHRASE_ARRAY``; None if there are none."""
        begin = len(PHRASE_ARRAY)
        found = {name[begin:]: array for name, array in arrays.items() if name.startswith(PHRASE_ARRAY)}
        return cls.from_arrays(found) if found else None

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> PhraseLexicon:
        """Make the lexicon of what ``to_arrays`` returned, which is checked."""
        for name, dtype in _ARRAYS.items():
            if name not in arrays or arrays[name].dtype != dtype or arrays[name].ndim != 1:
                raise ModelFileError(f"lexicon: array {name!r} is missing or damaged")
        words = Vocabulary.from_arrays(arrays["words"], arrays["word_offsets"], distinct=True)
        types = Vocabulary.from_arrays(arrays["types"], arrays["type_offsets"], distinct=True)
        keys, ends = np.ascontiguousarray(arrays["keys"]), np.ascontiguousarray(arrays["ends"])
        if not 0 < len(types) <= MAX_TYPES or not keys.size or keys.size != ends.size or not len(words):
            raise ModelFileError("lexicon: phrases and types do not belong together")
        rising = keys[0] >= 0 and np.all(keys[1:] > keys[:-1])
        # A node comes after its parent, so that every walk ends.
        if not rising or np.any(keys // len(words) > np.arange(keys.size)):
            raise ModelFileError("lexicon: its words are no tree")
        if np.any(ends >> len(types)):
            raise ModelFileError("lexicon: a phrase has a type that there is not")
        return cls(words, types, keys, ends)


def file_names(lexicon: Any) -> str | list[str] | None:
    """Return the names of the files of a lexicon, as the settings in a model file keep them; None for a dict."""
    if isinstance(lexicon, (str, os.PathLike)):
        return os.fspath(lexicon)  # type: ignore[return-value]
    return [os.fspath(name) for name in lexicon] if isinstance(lexicon, (list, tuple)) else None


def _pairs(lexicon: Any) -> Iterator[tuple[str, str]]:
    """Yield (phrase, type) of a file, of several, or of a dict."""
    if isinstance(lexicon, (str, os.PathLike)):
        yield from read_phrases(lexicon)
        return
    if isinstance(lexicon, (list, tuple)) and all(isinstance(name, (str, os.PathLike)) for name in lexicon):
        for name in lexicon:
            yield from read_phrases(name)
        return
    if not isinstance(lexicon, Mapping):
        what = type(lexicon).__name__
        raise TypeError(f"lexicon must be a file, a list of files, or a dict from phrases to their types, not {what}")
    for phrase, kinds in lexicon.items():
        for kind in [kinds] if isinstance(kinds, str) else kinds:
            if not isinstance(kind, str) or not TYPE.fullmatch(kind):
                raise ValueError(f"the type of {phrase!r} must be of letters, digits and . : + - _, not {kind!r}")
            yield phrase, kind


def _tree(
    phrases: Sequence[Sequence[int]], types: Sequence[int], n_words: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the keys and the ends of the tree of phrases of word numbers, level by level."""
    keys: list[NDArray[np.int64]] = []
    lengths = np.array([len(words) for words in phrases])
    node = np.zeros(len(phrases), np.int64)
    n_nodes = 0
    for level in range(int(lengths.max())):
        longer = np.flatnonzero(lengths > level)
        word = np.fromiter((phrases[i][level] for i in longer.tolist()), np.int64, longer.size)
        known, place = np.unique(node[longer] * n_words + word, return_inverse=True)
        node[longer] = n_nodes + place + 1
        n_nodes += known.size
        keys.append(known)
    ends = np.zeros(n_nodes, np.int64)
    ends[node - 1] = np.array(types, dtype=np.int64)
    return np.concatenate(keys), ends


def _longest(
    n_tokens: int, matches: Iterable[tuple[int, NDArray[np.int64], NDArray[np.int64]]], bit: int
) -> NDArray[np.int64]:
    """Return the length of the longest phrase of a type that begins at each token; 0 where there is none."""
    longest = np.zeros(n_tokens, np.int64)
    for length, start, types in matches:
        longest[start[(types & bit) != 0]] = length
    return longest


def _places(n_tokens: int, longest: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return the place of every token, from phrases taken from left to right that do not overlap."""
    out = np.zeros(n_tokens, np.int32)
    taken, end = [], 0
    starts = np.flatnonzero(longest)
    for start, length in zip(starts.tolist(), longest[starts].tolist()):
        if start >= end:
            end = start + length
            taken.append((start, length))
    if taken:
        start, length = np.array(taken).T
        out[start[length == 1]] = PLACES.index("S")
        start, length = start[length > 1], length[length > 1]
        inner = length - 2
        at = np.repeat(start + 1 - (np.cumsum(inner) - inner), inner) + np.arange(inner.sum())
        out[start], out[at], out[start + length - 1] = map(PLACES.index, "BIE")
    return out
