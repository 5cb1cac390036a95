"""Word classes as features: the class of a word, or the first bits of it, from a file or a dict.

A word that the classes lack is looked up in lower case; then it has the class of ``<unk>``, if there is one, and else a
class of its own kind, ``?``, which all such words share.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loglinear.errors import ModelFileError
from loglinear.features.vocabulary import Vocabulary
from loglinear.features.word_vocabulary import UNKNOWN
from loglinear.formats.class_file import read_classes

NO_CLASS = "?"
CLASS_ARRAY = "class_"  # the names of the arrays of word classes in a model file begin with it
Strings = tuple[NDArray[np.uint8], NDArray[np.int64]]  # bytes, and offsets into them
_ARRAYS = {"words": np.uint8, "word_offsets": np.int64, "names": np.uint8, "name_offsets": np.int64, "labels": np.int32}


def file_name(classes: Any) -> str | None:
    """Return the name of a file of classes, as the settings in a model file keep it; None for a dict."""
    return os.fspath(classes) if isinstance(classes, (str, os.PathLike)) else None


class WordClassLexicon:
    """Words and the names of their classes.

    words : the words
    names : the names of the classes; the last one is that of unknown words
    labels : the number of the class of each word: [n_words] int32
    """

    def __init__(self, words: Vocabulary, names: Vocabulary, labels: NDArray[np.int32]) -> None:
        self.words, self.names, self.labels = words, names, labels

    @classmethod
    def of(cls, classes: Mapping[str, str] | str | os.PathLike[str]) -> WordClassLexicon:
        """Make the lexicon of a dict from words to classes, or of a file (see ``formats.class_file``)."""
        if isinstance(classes, (str, os.PathLike)):
            classes = read_classes(classes)
        if not isinstance(classes, Mapping):
            what = type(classes).__name__
            raise TypeError(f"classes must be a file or a dict from words to classes (WordClasses.to_dict), not {what}")
        if not classes:
            raise ValueError("classes has no words")
        other = str(classes.get(UNKNOWN, NO_CLASS))
        names = [*dict.fromkeys(str(name) for name in classes.values() if str(name) != other), other]
        number = {name: n for n, name in enumerate(names)}
        labels = np.fromiter((number[str(name)] for name in classes.values()), np.int32, len(classes))
        return cls(Vocabulary.from_strings(classes), Vocabulary.from_strings(names), labels)

    def for_texts(self) -> WordClassLexicon:
        """Return the lexicon of words in lower case, with classes whose names are words.

        Of words that become the same, the first one's class is taken. In names, ``_`` stands for all but ASCII letters
        and digits; names that would become the same get a number.
        """
        lowered: dict[str, int] = {}
        for word, label in zip(self.words, self.labels.tolist()):
            lowered.setdefault(word.lower(), label)
        names: dict[str, None] = {}
        for name in self.names:
            plain = new = re.sub(r"[^0-9A-Za-z]", "_", name)
            n = 1
            while new in names:
                n += 1
                new = f"{plain}_{n}"
            names[new] = None
        chosen = np.fromiter(lowered.values(), np.int32, len(lowered))
        return WordClassLexicon(Vocabulary.from_strings(lowered), Vocabulary.from_strings(names), chosen)

    def numbers(self, strings: Strings, lowered: Strings) -> NDArray[np.int32]:
        """Return the number of the class of each string, which ``lowered`` has in lower case: [n] int32."""
        index = self.words.index()
        found = np.empty(strings[1].size - 1, np.int32)
        index.find(*strings, found)
        if np.any(found < 0):
            again = np.empty_like(found)
            index.find(*lowered, again)
            found = np.where(found < 0, again, found)
        return np.where(found >= 0, self.labels[found], np.int32(len(self.names) - 1))

    def strings(self, strings: Strings, lowered: Strings, n_first: int | None = None) -> Strings:
        """Return the class of each string, or its first characters, as bytes and offsets."""
        names = self.names
        if n_first is not None:
            cut = [name if name == NO_CLASS else name[:n_first] for name in names]
            known = list(dict.fromkeys(cut))
            place = {name: n for n, name in enumerate(known)}
            chosen = np.array([place[name] for name in cut], np.int32)[self.numbers(strings, lowered)]
            names = Vocabulary.from_strings(known)
        else:
            chosen = self.numbers(strings, lowered)
        taken = names.take(chosen)
        return taken.blob, taken.offsets

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of a model file."""
        arrays = (self.words.blob, self.words.offsets, self.names.blob, self.names.offsets, self.labels)
        return dict(zip(_ARRAYS, arrays))

    @classmethod
    def among(cls, arrays: Mapping[str, NDArray[Any]]) -> WordClassLexicon | None:
        """Make the lexicon of those arrays of a featuriser that begin with ``CLASS_ARRAY``; None if there are none."""
        begin = len(CLASS_ARRAY)
        found = {name[begin:]: array for name, array in arrays.items() if name.startswith(CLASS_ARRAY)}
        return cls.from_arrays(found) if found else None

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> WordClassLexicon:
        """Make the lexicon of what ``to_arrays`` returned, which is checked."""
        for name, dtype in _ARRAYS.items():
            if name not in arrays or arrays[name].dtype != dtype or arrays[name].ndim != 1:
                raise ModelFileError(f"word classes: array {name!r} is missing or damaged")
        words = Vocabulary.from_arrays(arrays["words"], arrays["word_offsets"], distinct=True)
        names = Vocabulary.from_arrays(arrays["names"], arrays["name_offsets"], distinct=True)
        labels = np.ascontiguousarray(arrays["labels"])
        if labels.size != len(words) or not len(names) or np.any(labels < 0) or np.any(labels >= len(names)):
            raise ModelFileError("word classes: words and classes do not belong together")
        words.index()
        return cls(words, names, labels)
