"""A corpus as numbers: sentences of words, without boundary symbols."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from loglinear import _core


@dataclass(frozen=True)
class UnknownWords:
    """The words of a text that the vocabulary lacks."""

    n_tokens: int  # words that are not in the vocabulary, and became <unk>
    n_types: int  # how many different ones
    n_literal: int  # tokens that were written <unk>
    examples: tuple[tuple[str, str, int], ...]  # the first few: word, source and line of the first occurrence


@dataclass(frozen=True)
class Sentences:
    """Sentence i is words[sentence_ptr[i] : sentence_ptr[i + 1]]; the ``</s>`` after each is implied."""

    n_words: int  # V of the vocabulary; every number is below it
    words: NDArray[np.uint32]  # [n_tokens]
    sentence_ptr: NDArray[np.int64]  # [n_sentences + 1]
    unknown: UnknownWords | None = None  # if they were read from text

    @property
    def n_sentences(self) -> int:
        """Return the number of sentences, empty ones included."""
        return self.sentence_ptr.size - 1

    @property
    def n_tokens(self) -> int:
        """Return the number of words, without the ends of sentences."""
        return self.words.size

    @property
    def longest(self) -> int:
        """Return the number of words of the longest sentence."""
        return int(np.diff(self.sentence_ptr).max(initial=0))

    def contiguous(self) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Return words and sentence_ptr as kernels take them."""
        words = np.ascontiguousarray(self.words, dtype=np.uint32)
        return words, np.ascontiguousarray(self.sentence_ptr, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class SpooledSentences:
    """Sentences in a temporary file (native/text/spool.hh), in numbers of first occurrence; without a name on disk."""

    n_words: int  # V of the vocabulary
    spool: _core.TokenSpool
    numbers: NDArray[np.uint32]  # [n_units] the number in the vocabulary of each
    unknown: UnknownWords | None = None

    @property
    def n_sentences(self) -> int:
        """Return the number of sentences."""
        return self.spool.n_sentences

    @property
    def n_tokens(self) -> int:
        """Return the number of words, without the ends of sentences."""
        return self.spool.n_tokens

    @property
    def longest(self) -> int:
        """Return the number of words of the longest sentence."""
        return self.spool.longest
