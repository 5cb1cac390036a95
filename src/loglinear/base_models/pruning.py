"""Smaller back-off models: entries are left out by count or by relative entropy, and backing off takes their place.

    backoff(h) = (1 - sum of p(w | h)) / (1 - sum of p(w | h without its oldest word))      over the words w kept

so the model still sums to one (native/kernels/pruning.hh, which also says how the differences are kept exact, and what
relative entropy is: Stolcke, 1998). Unigrams stay. An entry stays where a longer one that stays begins or ends with it:
the model remains closed. Contexts go that have neither entries nor longer contexts left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from loglinear import _core
from loglinear.data.ngram import NgramTrie
from loglinear.errors import IncompatibleError
from loglinear.threads import pool

from .backoff import BackoffModel
from .smoothing import check_cut

Model = TypeVar("Model", bound=BackoffModel)


def prune_by_count(
    model: Model, trie: NgramTrie, thresholds: Sequence[int], *, n_threads: int | None = None
) -> Model:
    """Without the n-grams that have at most ``thresholds[n - 1]`` tokens in the trie that the model was made from.

    (0, 0, 1) leaves out trigrams seen once; fewer thresholds than orders repeat the last. The probabilities of what
    stays do not change.
    """
    cut = check_cut(thresholds, model.order)
    if not (
        trie.order == model.order
        and np.array_equal(trie.entry_start, model.entry_start)
        and np.array_equal(trie.context_entry, model.context_entry)
        and np.array_equal(trie.entry_word, model.entry_word)
    ):
        raise IncompatibleError("not the n-grams of this model: prune by count first, with the trie it was made from")
    keep = trie.entry_count > np.repeat(np.array(cut, dtype=np.uint32), np.diff(trie.entry_start))
    keep[: trie.n_words] = True
    return _pruned(model, keep, None, pool(n_threads))


def prune_by_entropy(model: Model, threshold: float, *, n_threads: int | None = None) -> Model:
    """Without the entries whose loss, each by itself, raises the perplexity by less than ``threshold`` relatively."""
    if not (np.isfinite(threshold) and threshold >= 0):
        raise ValueError(f"the threshold of a relative rise in perplexity must not be negative, not {threshold!r}")
    threads = pool(n_threads)
    native = _native(model, threads)
    unseen = np.empty(model.n_contexts)
    _core.unseen_mass(threads, native, unseen)
    keep = np.empty(model.n_entries, dtype=np.uint8)
    _core.entropy_cut(threads, native, unseen, float(threshold), keep)
    return _pruned(model, keep.view(np.bool_), unseen, threads)


def without_entries(model: Model, keep: NDArray[np.bool_]) -> Model:
    """The model without some entries and the contexts that then lead nowhere; weights stay as they are."""
    return _select(model, keep, _kept_contexts(model, keep))


def _pruned(
    model: Model, keep: NDArray[np.bool_], unseen: NDArray[np.float64] | None, threads: _core.ThreadPool
) -> Model:
    native = _native(model, threads)
    if unseen is None:
        unseen = np.empty(model.n_contexts)
        _core.unseen_mass(threads, native, unseen)
    _core.add_cut_mass(threads, native, keep.view(np.uint8), unseen)
    contexts = _kept_contexts(model, keep)
    small = _select(model, keep, contexts)
    log_backoff = np.empty(small.n_contexts)
    _core.backoff_of_unseen(threads, _native(small, threads), unseen[contexts], log_backoff)
    return replace(small, log_backoff=log_backoff)


def _kept_contexts(model: BackoffModel, keep: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Contexts with kept entries, and the endings of such contexts."""
    before = _running(keep)
    contexts = before[model.context_entry[1:]] > before[model.context_entry[:-1]]
    contexts[0] = True
    for k in range(model.order - 2, 0, -1):
        first, last = model.context_start[k], model.context_start[k + 1]
        children = model.context_child[first : last + 1].astype(np.int64) - int(last)
        longer = _running(contexts[last : model.context_start[k + 2]])[children]
        contexts[first:last] |= longer[1:] > longer[:-1]
    return contexts


def _select(model: Model, keep: NDArray[np.bool_], contexts: NDArray[np.bool_]) -> Model:
    entries_before, contexts_before = _running(keep), _running(contexts)

    def pointers(of: NDArray[np.uint32], before: NDArray[np.int64]) -> NDArray[np.uint32]:
        return np.append(before[of[:-1][contexts]], before[-1]).astype(np.uint32)

    return replace(
        model,
        context_start=contexts_before[model.context_start],
        entry_start=entries_before[model.entry_start],
        context_word=model.context_word[contexts],
        context_child=pointers(model.context_child, contexts_before),
        context_entry=pointers(model.context_entry, entries_before),
        log_backoff=model.log_backoff[contexts],
        entry_word=model.entry_word[keep],
        log_probability=model.log_probability[keep],
    )


def _running(flags: NDArray[np.bool_]) -> NDArray[np.int64]:
    """How many flags are set before each place, and in all: [n + 1]."""
    total = np.zeros(flags.size + 1, dtype=np.int64)
    np.cumsum(flags, out=total[1:])
    return total


def _native(model: BackoffModel, threads: _core.ThreadPool) -> _core.PrunableModel:
    return _core.PrunableModel(
        threads,
        model.order,
        model.vocabulary.n_words,
        model.context_start,
        model.entry_start,
        model.context_word,
        model.context_child,
        model.context_entry,
        model.log_backoff,
        model.entry_word,
        model.log_probability,
    )
