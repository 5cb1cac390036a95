"""The arrays of an automaton read in Python: back to the n-grams of a model (for ARPA files, mixtures and further
training), and what its contexts hold for one word (for explanations).

An automaton does not store the words of its contexts, but its arcs spell them: the entry w of the context h leads to
the context h w, unless that is not in the model and it leads to a shorter one; the first context is ``<s>``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from loglinear import _core
from loglinear.backoff.model import BackoffModel
from loglinear.backoff.native import backoff_model
from loglinear.features.word_vocabulary import WordVocabulary
from loglinear.threads import pool

BLANK = 0xFFFFFFFF
_ENTRY, _CONTEXT = 1, 2


def to_backoff(
    vocabulary: WordVocabulary, arrays: Mapping[str, NDArray], *, n_threads: int | None = None
) -> BackoffModel:
    """Return the back-off model of checked arrays (``NgramQueries.arrays``)."""
    start = np.asarray(arrays["context_start"])
    contexts, entries = arrays["contexts"].reshape(-1, 4), arrays["entries"].reshape(-1, 3)
    order = start.size - 1
    words, kinds, log_p, log_b = [], [], [], []
    histories = np.zeros((1, 0), np.uint32)  # of the contexts of one length, oldest word first
    for n in range(1, order + 1):
        first, last = int(start[n - 1]), int(start[n])
        begins, sizes = contexts[first:last, 0].astype(np.int64), contexts[first:last, 1].astype(np.int64)
        owner = np.repeat(np.arange(last - first), sizes)
        slots = np.repeat(begins - (np.cumsum(sizes) - sizes), sizes) + np.arange(owner.size)
        full = entries[slots, 0] != BLANK
        slots, owner = slots[full], owner[full]
        own = np.column_stack([histories[owner], entries[slots, 0]]).astype(np.uint32)
        longer = np.zeros((0, n), np.uint32)
        if n < order:
            longer = np.zeros((int(start[n + 1]) - last, n), np.uint32)
            arrives = entries[slots, 2] - np.uint32(last)  # wraps for shorter ones
            exact = (entries[slots, 2] >= last) & (arrives < longer.shape[0])
            longer[arrives[exact]] = own[exact]
            if n == 1 and int(arrays["begin"][0]) >= last:
                longer[int(arrays["begin"][0]) - last] = vocabulary.begin
        words.append(np.concatenate([own, longer]).ravel())
        kinds.append(np.repeat(np.array([_ENTRY, _CONTEXT], np.uint8), [len(own), len(longer)]))
        log_p.append(_floats(entries[slots, 1]))
        log_b.append(_floats(contexts[last : last + len(longer), 3]))
        histories = longer
    shape, places = _core.place_ngrams(pool(n_threads), vocabulary.n_words, words, kinds)
    log_probability, log_backoff = np.full(shape[5].size, -np.inf), np.zeros(shape[2].size)
    for (entry, context), p, b in zip(places, log_p, log_b):
        log_probability[entry[: p.size]] = p
        log_backoff[context[p.size :]] = b
    return backoff_model(vocabulary, shape, log_backoff, log_probability)


def _floats(bits: NDArray[np.uint32]) -> NDArray[np.float64]:
    return np.ascontiguousarray(bits).view(np.float32).astype(np.float64)


class ContextLookup(NamedTuple):
    """One context that a history ends in, and what it holds for a word."""

    length: int  # number of words
    log_backoff: float
    log_probability: float | None  # log p(word | context) where the context has an entry for the word


def look_up(arrays: Mapping[str, NDArray], context: int, word: int) -> tuple[list[ContextLookup], int]:
    """Return what a context and all that it ends in hold for a word, longest first; and the context after the word.

    The last is the empty context, which has an entry for every word.
    """
    start = np.asarray(arrays["context_start"])
    contexts, entries = arrays["contexts"].reshape(-1, 4), arrays["entries"].reshape(-1, 3)
    found, following = [], -1
    while True:
        first, size, parent, _ = contexts[context].tolist()
        places = [word] if context == 0 else first + np.flatnonzero(entries[first : first + size, 0] == word)
        log_p = None
        if len(places):
            log_p = float(_floats(entries[places[0], 1:2])[0])
            following = int(entries[places[0], 2]) if following < 0 else following
        length = int(np.searchsorted(start[1:-1], context, side="right"))
        found.append(ContextLookup(length, float(_floats(contexts[context, 3:])[0]), log_p))
        if context == 0:
            return found, following
        context = parent
