"""Parts of an n-gram trie: the contexts whose most recent word lies in a range of words, and every unigram.

Contexts are sorted by their most recent word first, so a part is one piece of every level of the trie. Parts are tries
themselves, over the same words; the tokens of their unigrams and of their empty context are those of the whole.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loglinear import _core
from loglinear.data.ngram import NgramTrie, check_positions, mapped_trie
from loglinear.data.runs import WORD_BYTES, count_runs
from loglinear.data.sentences import Sentences
from loglinear.threads import available_cores, pool

SORTING = 1 << 29  # bytes, while the n-grams of a part of the text are sorted
BUFFER = 1 << 26  # bytes, while records are merged
_OF_CONTEXTS = ("context_word", "context_child", "context_entry", "context_count", "log_backoff")
_ENDING = ("context_child", "context_entry")  # arrays with a number more, where the last one ends


def sorted_records(
    sentences: Sentences, order: int, *, folder: str | None = None, n_threads: int | None = None
) -> tuple[NDArray[np.uint32], NDArray[np.uint64], NDArray[np.uint64]]:
    """Return the distinct n-grams of a part of a text, sorted by context, to be merged with those of other parts.

    They are records [n * (order + 1)]: history, most recent word first, word, count (native/trie/runs.hh). With them
    come how many have each word as the most recent of their history [V + 1], and the tokens of each word [V]. Runs are
    in a file of the folder (default: the system's for temporary files).
    """
    V = sentences.n_words
    limit, place = SORTING + WORD_BYTES * V, folder or tempfile.gettempdir()
    runs = count_runs(sentences, order, limit=limit, folder=place, n_threads=n_threads)
    table = runs.records(0, V + 1)
    recent = table.reshape(-1, order + 1)[:, 0] if order > 1 else np.full(table.size // 2, V, np.uint32)
    return table, np.bincount(recent, minlength=V + 1).astype(np.uint64), runs.word_counts()


def merged_part(
    order: int, word_counts: NDArray[np.uint64], begin: int, end: int, records: Sequence[NDArray[np.uint32]], *,
    folder: str | None = None, n_threads: int | None = None,
) -> NgramTrie:  # fmt: skip
    """Return a part of the trie from the records of it that the parts of a text have; ``word_counts`` of the whole.

    It is mapped from files of the folder (default: the system's for temporary files).
    """
    runs = _core.TrieRuns(folder or tempfile.gettempdir(), word_counts.size, order)
    runs.add_words(word_counts)
    for one in records:
        if one.size:
            runs.add_records(np.ascontiguousarray(one))
    merged = runs.merge(pool(n_threads), begin, end, BUFFER, True, None)
    return mapped_trie(merged, "or cut the n-grams into more parts (n_parts) and leave out rare ones (min_count)")


def join_parts(
    order: int, parts: Sequence[dict[str, NDArray[Any]]], *, n_threads: int | None = None
) -> dict[str, NDArray[Any]]:
    """Return the arrays of one trie, or of one back-off model, from those of its parts, in the order of their words.

    Together they must have few enough n-grams to be numbered (``check_positions``). Unigrams and the empty context are
    those of the first part. ``context_start``, ``entry_start`` and the arrays of the layout are joined as such,
    ``entry_parent`` as numbers of entries, all others by level.
    """
    starts = [(part["context_start"], part["entry_start"]) for part in parts]

    def level(k: int, which: int, part: int) -> slice:
        if k == 0 and part:
            return slice(0, 0)
        start = starts[part][which]
        return slice(int(start[k]), int(start[k + 1]))

    def sizes(which: int) -> NDArray[np.int64]:
        """[order, parts]: how many contexts or entries."""
        return np.array([[level(k, which, p).stop - level(k, which, p).start for p in range(len(parts))]
                         for k in range(order)], np.int64)  # fmt: skip

    n_contexts, n_entries = sizes(0), sizes(1)
    check_positions(n_entries.sum(axis=1), "or leave out rare n-grams")
    first_context = (np.cumsum(n_contexts) - n_contexts.ravel()).reshape(n_contexts.shape)  # of every level and part
    first_entry = (np.cumsum(n_entries) - n_entries.ravel()).reshape(n_entries.shape)

    out: dict[str, NDArray[Any]] = {
        "context_start": np.concatenate([[0], np.cumsum(n_contexts.sum(axis=1))]),
        "entry_start": np.concatenate([[0], np.cumsum(n_entries.sum(axis=1))]),
    }

    def moved(name: str, k: int, p: int) -> int:
        """Return by how much the numbers of an array change that point to contexts or entries."""
        if name == "context_child":
            return int(first_context[k + 1, p]) - int(starts[p][0][k + 1]) if k + 1 < order else 0
        if name == "context_entry":
            return int(first_entry[k, p]) - int(starts[p][1][k])
        return int(first_entry[k - 1, p]) - int(starts[p][1][k - 1]) if name == "entry_parent" and k > 1 else 0

    copies: list[tuple[NDArray[Any], NDArray[Any], int]] = []
    for name in parts[0]:
        if name in out:
            continue
        which = 0 if name in _OF_CONTEXTS else 1
        n = int((n_entries if which else n_contexts).sum())
        whole = out[name] = np.empty(n + (name in _ENDING), parts[0][name].dtype)
        at = 0
        for k in range(order):
            for p, part in enumerate(parts):
                piece = part[name][level(k, which, p)]
                copies.append((whole[at : at + piece.size], piece, moved(name, k, p)))
                at += piece.size
    with ThreadPoolExecutor(available_cores() if n_threads in (None, -1) else n_threads) as threads:
        list(threads.map(lambda one: _copy_moved(*one), copies))
    if "context_child" in out:
        out["context_child"][0] = 1
        out["context_child"][int(out["context_start"][order - 1]) :] = n_contexts.sum()
    if "context_entry" in out:
        out["context_entry"][-1] = n_entries.sum()
    return out


def _copy_moved(whole: NDArray[Any], piece: NDArray[Any], by: int) -> None:
    if by:
        np.add(piece, np.asarray(by, piece.dtype), out=whole)
    else:
        np.copyto(whole, piece)
