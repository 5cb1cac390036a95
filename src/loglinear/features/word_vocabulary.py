"""The vocabulary of a language model, with its reserved symbols.

Numbers: ``</s>`` is 0; ``<unk>`` is 1 in an open vocabulary, absent from a closed one; then the other words; the
predictable words are 0 .. n_words - 1, and ``<s>``, which is never predicted, is n_words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from loglinear.features.vocabulary import Vocabulary

BEGIN, END, UNKNOWN = "<s>", "</s>", "<unk>"
RESERVED = (BEGIN, END, UNKNOWN)


class WordVocabulary:
    """Predictable words and their numbers; that of ``<s>`` comes after the last."""

    def __init__(self, words: Vocabulary) -> None:
        if len(words) == 0 or words[0] != END:
            raise ValueError(f"a vocabulary of words begins with {END}")
        self.words = words
        self.is_open = len(words) > 1 and words[1] == UNKNOWN

    @classmethod
    def from_words(cls, words: Iterable[str], *, is_open: bool = True) -> WordVocabulary:
        """Number the words in the order given, after the reserved symbols; those among the words are skipped."""
        known = [word for word in words if word not in RESERVED]
        return cls(Vocabulary.from_strings([END, *([UNKNOWN] if is_open else []), *known]))

    @property
    def n_words(self) -> int:
        """Return V, the number of predictable words."""
        return len(self.words)

    @property
    def begin(self) -> int:
        """Return the number of ``<s>``."""
        return len(self.words)

    @property
    def end(self) -> int:
        """Return the number of ``</s>``."""
        return 0

    @property
    def unknown(self) -> int | None:
        """Return the number of ``<unk>``; None in a closed vocabulary."""
        return 1 if self.is_open else None

    def __len__(self) -> int:
        return len(self.words)

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self.words

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WordVocabulary) and self.words == other.words

    __hash__ = None  # type: ignore[assignment]

    def word(self, number: int) -> str:
        """Return the word with this number, also ``<s>``."""
        return BEGIN if number == self.begin else self.words[number]

    def ids(self, words: list[str]) -> np.ndarray:
        """Return the number of each word, -1 if it is not in the vocabulary: [n] int32."""
        return self.words.ids(words)
