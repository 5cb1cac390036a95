"""The n-gram trie: every n-gram of a corpus up to an order, as flat arrays.

An *entry* (h, w) is an n-gram: a context h of n - 1 words and the next word w. Its parent is (h without its oldest
word, w). Contexts of one length are sorted by their words from the most recent to the oldest, so the children of a
context (one older word more) are contiguous, and so are the entries of all of them: a sweep over the trie streams
through memory and looks up parents only within the entries of the parent context.

Numbers of words: 0 is ``</s>``; the V predictable words are 0 .. V - 1 (``<unk>`` is 1 where the vocabulary is open);
``<s>`` is V: it occurs in contexts only. A history is never longer than the sentence so far with one ``<s>`` before it.

    contexts of length k are numbered context_start[k] .. context_start[k + 1] - 1; context 0 is the empty one
    entries of order n are numbered   entry_start[n - 1] .. entry_start[n] - 1;     entry w < V is the unigram w
    entries of context c   context_entry[c] .. context_entry[c + 1] - 1, ascending in entry_word
    children of context c  context_child[c] .. context_child[c + 1] - 1, ascending in context_word

Memory: 12 bytes per entry and 16 per context.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from loglinear import _core

from ..threads import pool
from .sentences import Sentences

NONE = 0xFFFFFFFF  # no word, no parent
MAX_ORDER = 64

IndexArray = NDArray[np.uint32]


@dataclass(frozen=True)
class NgramTrie:
    """Contexts and entries with their counts. Every unigram has an entry, seen or not."""

    order: int
    n_words: int  # V
    context_start: NDArray[np.int64]  # [order + 1]
    entry_start: NDArray[np.int64]  # [order + 1]
    context_word: IndexArray  # [n_contexts] the oldest word of the context; NONE for the empty one
    context_child: IndexArray  # [n_contexts + 1]
    context_entry: IndexArray  # [n_contexts + 1]
    context_count: IndexArray  # [n_contexts] tokens whose history ends in the context, whatever entries were cut off
    entry_word: IndexArray  # [n_entries]
    entry_parent: IndexArray  # [n_entries] number of the parent entry; NONE for unigrams
    entry_count: IndexArray  # [n_entries] tokens

    @property
    def n_contexts(self) -> int:
        """Contexts of all lengths, the empty one included."""
        return self.context_word.size

    @property
    def n_entries(self) -> int:
        """N-grams of all orders."""
        return self.entry_word.size

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(a.nbytes for a in vars(self).values() if isinstance(a, np.ndarray))

    def order_of_entries(self) -> NDArray[np.uint8]:
        """The order of each entry: [n_entries]."""
        return np.repeat(np.arange(1, self.order + 1, dtype=np.uint8), np.diff(self.entry_start))


def build_trie(sentences: Sentences, order: int, *, n_threads: int | None = None) -> NgramTrie:
    """Every n-gram of the sentences up to ``order`` words; the same for any number of threads.

    Peak memory: 12 bytes per entry and 16 per context, which is the result, and about 20 per token.
    """
    _check_order(order)
    words = np.ascontiguousarray(sentences.words, dtype=np.uint32)
    sentence_ptr = np.ascontiguousarray(sentences.sentence_ptr, dtype=np.int64)
    arrays = _core.build_trie(pool(n_threads), sentences.n_words, words, sentence_ptr, order)
    return NgramTrie(order, sentences.n_words, *arrays)


def _check_order(order: int) -> None:
    if not isinstance(order, int) or isinstance(order, bool) or not 1 <= order <= MAX_ORDER:
        raise ValueError(f"the order is {order!r}; it must be a whole number between 1 and {MAX_ORDER}")
