"""Words of a grammar: those that training has often enough, and classes by spelling for all others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loglinear.errors import ModelFileError
from loglinear.features.vocabulary import Vocabulary, pack_strings

UNKNOWN = "<unknown>"
_SUFFIXES = ("ing", "ion", "ity", "est", "ed", "er", "ly", "al", "s", "y")


def spelling(word: str) -> str:
    """Return the class of a word by its spelling: capitals, digits, dashes, and an ending of English words."""
    letters = [c for c in word if c.isalpha()]
    shape = "digits" if any(c.isdigit() for c in word) and not letters else ""
    if letters:
        shape = "capital" if word[:1].isupper() else "lower"
        if len(letters) > 1 and all(c.isupper() for c in letters):
            shape = "capitals"
        shape += "-digit" if any(c.isdigit() for c in word) else ""
    shape = shape or "signs"
    if "-" in word[1:]:
        shape += "-dash"
    lower = word.lower()
    ending = next((s for s in _SUFFIXES if lower.endswith(s) and len(word) > len(s) + 2), "") if letters else ""
    return f"<{shape}{'-' + ending if ending else ''}>"


@dataclass(frozen=True, eq=False)
class Lexicon:
    """Numbered words, the last ones being classes of unknown words; a class for every word."""

    words: Vocabulary
    class_of_word: NDArray[np.int32]  # [n_words]
    n_classes: int
    n_known: int  # words before the classes of unknown ones

    @property
    def n_words(self) -> int:
        """Number of words, classes of unknown ones included."""
        return len(self.words)

    @classmethod
    def fit(cls, tokens: Sequence[str], *, min_count: int = 2, frequent: int = 100) -> Lexicon:
        """Learn the words that occur at least ``min_count`` times; those with ``frequent`` are classes of their own."""
        if min_count < 1 or frequent < 1:
            raise ValueError("min_count and frequent must be at least 1")
        names, counts = np.unique(np.array(tokens, dtype=object), return_counts=True)
        known = [(name, count) for name, count in zip(names.tolist(), counts.tolist()) if count >= min_count]
        classes: dict[str, int] = {UNKNOWN: 0}
        for name, count in zip(names.tolist(), counts.tolist()):
            if count < min_count:
                classes.setdefault(spelling(name), len(classes))
        taken = {name for name, _ in known}
        if clash := next((name for name in classes if name in taken), None):
            raise ValueError(f"the word {clash!r} is the name of a class of unknown words: write it in another way")
        unknown, word_class = list(classes), list[int]()
        for name, count in known:
            key = name if count >= frequent else spelling(name)
            word_class.append(classes.setdefault(key, len(classes)))
        word_class += [classes[name] for name in unknown]
        words = Vocabulary(*pack_strings([name for name, _ in known] + unknown))
        return cls(words, np.array(word_class, dtype=np.int32), len(classes), len(known))

    def numbers(self, tokens: Sequence[str]) -> NDArray[np.int32]:
        """Return the number of each word, that of its class where it is unknown."""
        found = self.words.ids(tokens)
        found[found >= self.n_known] = -1  # the name of a class is no word
        missing = np.flatnonzero(found < 0)
        if missing.size:
            names = [spelling(tokens[i]) for i in missing.tolist()]
            classes = self.words.ids(names)
            found[missing] = np.where(classes >= self.n_known, classes, self.n_known)
        return found

    # ---- saving ------------------------------------------------------------------------------------------------------
    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of a model file."""
        return {"words": self.words.blob, "word_offsets": self.words.offsets, "class_of_word": self.class_of_word,
                "sizes": np.array([self.n_classes, self.n_known], dtype=np.int64)}  # fmt: skip

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]]) -> Lexicon:
        """Return the lexicon of a model file, checked."""
        try:
            words = Vocabulary.from_arrays(arrays["words"], arrays["word_offsets"], distinct=True)
            n_classes, n_known = (int(x) for x in arrays["sizes"])
            of_word = np.ascontiguousarray(arrays["class_of_word"], dtype=np.int32)
        except (KeyError, TypeError, ValueError) as error:
            raise ModelFileError(f"lexicon: {error}") from None
        good = of_word.shape == (len(words),) and 0 <= n_known < len(words) and words[n_known] == UNKNOWN
        if not good or of_word.min() < 0 or of_word.max() >= n_classes or n_classes > len(words) + 1:
            raise ModelFileError("lexicon: its arrays do not belong together")
        return cls(words, of_word, n_classes, n_known)


def flatten(sentences: Iterable[Sequence[str]]) -> tuple[list[str], NDArray[np.int64]]:
    """Return the words of all sentences, and where each begins."""
    tokens: list[str] = []
    ptr = [0]
    for number, sentence in enumerate(sentences, start=1):
        if isinstance(sentence, str):
            raise TypeError(f"sentence {number} is a string; give a list of words")
        tokens += sentence
        ptr.append(len(tokens))
    return tokens, np.array(ptr, dtype=np.int64)
