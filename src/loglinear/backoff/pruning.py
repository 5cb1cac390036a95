"""Smaller back-off models: entries are left out by relative entropy, and backing off takes their place.

    backoff(h) = (1 - sum of p(w | h)) / (1 - sum of p(w | h without its oldest word))      over the words w kept

so the model still sums to one (native/backoff/pruning.hh also describes how the differences are computed exactly, and
defines relative entropy: Stolcke, 1998). Unigrams stay, and so do entries with which a longer entry that stays begins
or ends: the model remains closed. Contexts without entries and without longer contexts are removed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from loglinear import _core
from loglinear.backoff.model import BackoffModel
from loglinear.data.ngram import NgramTrie
from loglinear.threads import pool

Model = TypeVar("Model", bound=BackoffModel)
_ARRAYS = (  # of a model, as the extension takes and returns them
    "context_start", "entry_start", "context_word", "context_child", "context_entry", "log_backoff", "entry_word",
    "log_probability",
)  # fmt: skip


def prune_by_entropy(model: Model, threshold: float, *, n_threads: int | None = None) -> Model:
    """Remove the entries whose removal, each by itself, raises perplexity by a factor below 1 + ``threshold``."""
    if not (np.isfinite(threshold) and threshold >= 0):
        raise ValueError(f"the threshold of a relative rise in perplexity must not be negative, not {threshold!r}")
    threads = pool(n_threads)
    native = _native(model, threads)
    unseen = np.empty(model.n_contexts)
    _core.unseen_mass(threads, native, unseen)
    keep = np.empty(model.n_entries, dtype=np.uint8)
    _core.entropy_cut(threads, native, unseen, float(threshold), keep)
    _core.add_cut_mass(threads, native, keep, unseen)
    small, contexts = _select(model, native, keep)
    log_backoff = np.empty(small.n_contexts)
    _core.backoff_of_unseen(threads, _native(small, threads), unseen[contexts], log_backoff)
    return replace(small, log_backoff=log_backoff)


def entries_above(trie: NgramTrie, cut: Sequence[int]) -> NDArray[np.uint8]:
    """Return 1 for unigrams and for n-grams with more than ``cut[n - 1]`` tokens, 0 for others: [n_entries]."""
    keep = np.ones(trie.n_entries, dtype=np.uint8)
    for n in range(2, trie.order + 1):
        own = slice(int(trie.entry_start[n - 1]), int(trie.entry_start[n]))
        np.greater(trie.entry_count[own], np.uint32(cut[n - 1]), out=keep[own].view(np.bool_))
    return keep


def without_entries(model: Model, keep: NDArray[np.uint8], *, n_threads: int | None = None) -> Model:
    """Return the model with only the flagged entries and the contexts that lead to one; backoffs do not change."""
    return _select(model, _native(model, pool(n_threads)), keep)[0]


def _select(model: Model, native: _core.PrunableModel, keep: NDArray[np.uint8]) -> tuple[Model, NDArray[np.bool_]]:
    contexts = np.empty(model.n_contexts, dtype=np.uint8)
    arrays = dict(zip(_ARRAYS, _core.select_entries(native, keep, contexts)))
    return replace(model, **arrays), contexts.view(np.bool_)


def _native(model: BackoffModel, threads: _core.ThreadPool) -> _core.PrunableModel:
    arrays = (getattr(model, name) for name in _ARRAYS)
    return _core.PrunableModel(threads, model.order, model.vocabulary.n_words, *arrays)
