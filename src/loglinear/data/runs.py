"""Counting of n-grams beyond memory: sorted runs on disk, merged to a trie in mapped temporary files.

One process, under a limit of memory::

    sentences, vocabulary = spool_corpus(files, limit=..., folder=folder)        # data/corpus.py
    trie = mapped_trie(count_spooled(sentences, order, limit=..., folder=folder))  # the arrays of build_trie

or both at once, ``count_files``. The arrays are those of ``build_trie``, to the bit. Their files have no name: they
vanish with the arrays, and with the process, however it ends. While a ``data.memory.page_watch(limit)`` lives, pages of
all such arrays are dropped from memory at the limit, and come back when they are touched: native code may stream over
the arrays without further care.

Several workers, each with a part of the corpus in the numbers of one vocabulary:

1. ``runs = count_runs(part, order, ...)`` on each worker sorts its part; ``runs.sizes()`` [V + 1] says how many n-grams
   follow each word, ``<s>`` last, and ``runs.word_counts()`` [V] counts its words;
2. ``context_ranges(sum of the sizes, n)`` cuts the contexts into at most n ranges [begin, end) of most recent words;
3. the owner of a range gets ``runs.records(begin, end)`` of every worker, arrays of sorted n-grams with their counts,
   and makes of them, in any order, ``own = _core.TrieRuns(folder, V, order)``, ``own.add_records(records)``;
   ``own.add_words(counts)`` adds the counts of words of every worker, so that the unigrams are those of the whole;
4. ``own.merge(pool, begin, end, buffer_bytes, True, None)`` is the trie of its contexts, with all V unigrams.
   Its contexts and entries of one length, range after range, are those of the whole trie.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loglinear import _core
from loglinear.data.corpus import spool_corpus
from loglinear.data.memory import page_watch, parse_memory, readable
from loglinear.data.ngram import NONE, PIECE_BYTES, NgramTrie, mapped_trie
from loglinear.data.sentences import Sentences, SpooledSentences
from loglinear.features.word_vocabulary import WordVocabulary
from loglinear.threads import pool

WORD_BYTES = 100  # per word of the vocabulary while n-grams are counted
SMALLEST_PIECE = 1 << 16  # tokens; more runs than this makes are not worth their buffers


def count_files(
    source: Any, order: int, *, memory: int | str, folder: str | os.PathLike[str] | None = None,
    n_threads: int | None = None, **reading: Any,
) -> tuple[NgramTrie, WordVocabulary]:
    """Count the n-grams of text under a limit of memory; ``reading`` is as in ``read_corpus``.

    The trie is that of ``build_trie``, in temporary files of the folder (default: the system's folder for them).
    """
    limit, place = parse_memory(memory), os.fspath(folder or tempfile.gettempdir())
    watch = page_watch(limit)
    sentences, vocabulary = spool_corpus(source, limit=limit, folder=place, n_threads=n_threads, **reading)
    trie = mapped_trie(count_spooled(sentences, order, limit=limit, folder=place, n_threads=n_threads))
    del watch
    return trie, vocabulary


def count_spooled(
    sentences: SpooledSentences, order: int, *, limit: int, folder: str, n_threads: int | None = None,
    progress: Callable[[int], None] | None = None, meter: _core.WorkMeter | None = None,
) -> _core.MappedTrie:
    """Count n-grams up to the order in at most ``limit`` bytes of memory.

    ``progress`` is told how many tokens are sorted, and ``meter`` shows how the runs are merged.
    """
    runs = count_runs(sentences, order, limit=limit, folder=folder, n_threads=n_threads, progress=progress)
    return runs.merge(pool(n_threads), 0, NONE, limit // 4, True, meter)


def count_runs(
    sentences: Sentences | SpooledSentences, order: int, *, limit: int, folder: str, begin: int = 0,
    end: int | None = None, n_threads: int | None = None, progress: Callable[[int], None] | None = None,
) -> _core.TrieRuns:
    """Return sorted runs of the n-grams of sentences; of spooled ones, of the tokens [begin, end) with ends counted."""
    runs = _core.TrieRuns(folder, sentences.n_words, order)
    piece = _piece_tokens(limit, sentences.n_words)
    if isinstance(sentences, Sentences):
        runs.add(pool(n_threads), sentences.n_words, *sentences.contiguous(), piece)
        return runs
    last = sentences.n_tokens + sentences.n_sentences if end is None else end
    for first in range(begin, last, piece):
        runs.add_spool(pool(n_threads), sentences.spool, first, min(first + piece, last), sentences.numbers, piece)
        if progress is not None:
            progress(min(first + piece, last) - begin)
    return runs


def _piece_tokens(limit: int, n_words: int) -> int:
    """Return the tokens of a run, for whose sorting there is memory; raise ValueError if there is too little."""
    left = limit - WORD_BYTES * n_words
    if left < SMALLEST_PIECE * PIECE_BYTES:
        needed = SMALLEST_PIECE * PIECE_BYTES + WORD_BYTES * n_words
        raise ValueError(
            f"memory={readable(limit)} is too little to count n-grams of {n_words:,} words: give at least "
            f"{readable(needed)}, or keep fewer words (max_words, min_word_count)"
        )
    return min(left // PIECE_BYTES, NONE // 2)


def context_ranges(sizes: NDArray[Any], n_parts: int) -> list[tuple[int, int]]:
    """Cut contexts into at most ``n_parts`` ranges [begin, end) of most recent words, of similar numbers of n-grams.

    ``sizes`` are those of ``TrieRuns.sizes()``, summed over the parts of a corpus.
    """
    total = np.cumsum(sizes, dtype=np.float64)
    bounds = [0]
    for k in range(1, n_parts):
        # the cut whose sum is nearest to its share
        goal = total[-1] * k / n_parts
        at = int(np.searchsorted(total, goal))
        if at > 0 and goal - total[at - 1] < total[min(at, total.size - 1)] - goal:
            at -= 1
        bounds.append(min(max(at + 1, bounds[-1]), sizes.size))
    bounds.append(sizes.size)
    return [(a, b) for a, b in pairwise(bounds) if b > a]
