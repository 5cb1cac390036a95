"""A model whose n-grams lie on a trie: values for all of them, of which some are kept.

What is left out is what backing off gives by itself: n-grams of weight zero, and n-grams that keep nothing of their
counts. Queries are made straight from the trie, in arrays of ``arrays.new``, thus in mapped files where vectors live
there (native/ngram/trie_automaton.hh).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from loglinear import _core
from loglinear.arrays import FloatArray, new, new_copy
from loglinear.backoff.model import BackoffModel
from loglinear.backoff.native import backoff_model, shape_arrays
from loglinear.backoff.pruning import without_entries
from loglinear.backoff.queries import NgramQueries
from loglinear.data.ngram import NgramTrie
from loglinear.features.word_vocabulary import WordVocabulary
from loglinear.threads import pool


@dataclass(frozen=True)
class TrieModel:
    """Natural logarithms, as in ``BackoffModel``."""

    vocabulary: WordVocabulary
    trie: NgramTrie
    log_backoff: FloatArray  # [n_contexts]
    log_probability: FloatArray  # [n_entries]
    keep: NDArray[np.bool_]  # [n_entries]; unigrams are always kept

    @property
    def n_ngrams(self) -> list[int]:
        """Return how many n-grams of every order are kept."""
        return [int(np.count_nonzero(part)) for part in np.split(self.keep, self.trie.entry_start[1:-1])]

    def to_backoff(self, *, n_threads: int | None = None) -> BackoffModel:
        """Return the model with the n-grams that are kept, and the contexts that lead to one."""
        model = backoff_model(self.vocabulary, shape_arrays(self.trie), self.log_backoff, self.log_probability)
        return without_entries(model, self.keep.view(np.uint8), n_threads=n_threads)

    def to_queries(self, *, n_threads: int | None = None) -> NgramQueries:
        """Return the queries of ``to_backoff()``.

        N-grams that it must add for longer ones have the probability that the trie has for them, which backing off
        gives to rounding.
        """
        threads, trie = pool(n_threads), self.trie
        keep = new_copy(self.keep).view(np.uint8)
        links = new(int(trie.entry_start[trie.order - 1]), np.uint32)
        made = _core.TrieAutomaton(
            threads, trie.n_words, trie.context_start, trie.entry_start, trie.context_word, trie.context_child,
            trie.context_entry, trie.entry_word, trie.entry_parent, self.log_probability, self.log_backoff, keep, links,
        )
        context_start = np.array(made.context_start, np.int64)
        contexts = new(4 * made.context_start[-1], np.uint32).reshape(-1, 4)
        entries = new(3 * made.n_slots, np.uint32).reshape(-1, 3)
        made.write(threads, contexts, entries)
        return NgramQueries.from_automaton(
            self.vocabulary, made.begin, context_start, contexts, entries, n_threads=n_threads
        )
