"""A corpus as numbers: sentences of words, without boundary symbols."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class UnknownWords:
    """What a reader met that the vocabulary lacks."""

    n_tokens: int  # words that are not in the vocabulary, and became <unk>
    n_types: int  # how many different ones
    n_literal: int  # tokens that were written <unk>
    examples: tuple[tuple[str, str, int], ...]  # the first few: the word, and the source and line where it is first


@dataclass(frozen=True)
class Sentences:
    """Sentence i is words[sentence_ptr[i] : sentence_ptr[i + 1]]; ``</s>`` follows each, unwritten."""

    n_words: int  # V of the vocabulary; every number is below it
    words: NDArray[np.uint32]  # [n_tokens]
    sentence_ptr: NDArray[np.int64]  # [n_sentences + 1]
    unknown: UnknownWords | None = None  # where the reader tells

    @property
    def n_sentences(self) -> int:
        """Sentences, empty ones included."""
        return self.sentence_ptr.size - 1

    @property
    def n_tokens(self) -> int:
        """Words, without the ends of sentences."""
        return self.words.size
