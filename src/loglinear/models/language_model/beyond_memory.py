"""The stages of training under a limit of memory: reading, counting and estimating in temporary files."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loglinear import _core
from loglinear.arrays import vectors_made_by
from loglinear.backoff.counted import estimate_in_files
from loglinear.data.corpus import spool_corpus
from loglinear.data.memory import page_watch, parse_memory, temporary_files
from loglinear.data.ngram import NgramTrie, check_positions, mapped_trie
from loglinear.data.runs import count_spooled
from loglinear.data.sentences import SpooledSentences
from loglinear.optimise.progress import Counting, Metering
from loglinear.status import Status


def folder_of(model: Any) -> str:
    """Return the folder for temporary files of a LanguageModel."""
    return os.fspath(model.tmp or tempfile.gettempdir())


def limit_of(model: Any) -> tuple[int | None, Any]:
    """Return the limit in bytes, and what keeps mapped pages to it while it lives; None without a limit."""
    limit = None if model.memory is None else parse_memory(model.memory)
    return limit, None if limit is None else page_watch(limit)


def reader(model: Any, limit: int) -> Callable[..., Any]:
    """Return what takes the place of ``read_corpus``."""

    def read(source: Any, **options: Any) -> Any:
        with temporary_files(folder_of(model)):
            return spool_corpus(source, limit=limit, folder=folder_of(model), **options)

    return read


def count(model: Any, sentences: SpooledSentences) -> NgramTrie | _core.MappedTrie:
    """Count n-grams; maximum-entropy models are trained on the arrays."""
    n_tokens, folder = sentences.n_tokens + sentences.n_sentences, folder_of(model)
    with (
        Counting("tokens sorted", n_tokens, verbose=model.verbose, results_follow=True) as progress,
        Metering("n-grams merged", model.verbose) as meter,
        temporary_files(folder),
    ):
        trie = count_spooled(
            sentences, model.order, limit=parse_memory(model.memory), folder=folder, n_threads=model.n_threads,
            progress=progress, meter=meter,
        )
    model.counts_ = np.diff(trie.arrays()[1]).tolist()
    if model.estimator == "maxent":
        return mapped_trie(trie)
    if model.prune is None:
        check_positions(model.counts_, "or leave out rare n-grams (prune)")
    return trie


def vectors(model: Any) -> AbstractContextManager[None]:
    """Return a context whose long vectors live in temporary files under a limit, and in memory without one."""
    if model.memory is None:
        return nullcontext()
    folder = folder_of(model)

    def mapped(size: int, dtype: np.dtype[Any]) -> NDArray[Any]:
        return _core.mapped_bytes(folder, max(size, 1) * dtype.itemsize).view(dtype)[:size]

    return vectors_made_by(mapped)


def estimate(model: Any, trie: _core.MappedTrie, watch: Any) -> None:
    """Give a model the queries of its counts; the limit (``watch``) holds as long as they are mapped from files."""
    folder = folder_of(model)
    with Metering("n-grams estimated", model.verbose) as meter, temporary_files(folder):
        found = estimate_in_files(
            trie, model.vocabulary_, model.estimator, model.order, folder=folder, k=model.k, prune=model.prune,
            n_threads=model.n_threads, meter=meter,
        )
    found.queries.keep_alive(watch)
    model.queries_, model.order_, model.n_ngrams_ = found.queries, found.queries.order, found.n_ngrams
    if found.discounts is not None:
        model.discounts_ = [str(d) for d in found.discounts]
    model.status_, model.converged_, model.n_iter_ = Status.COUNTED, True, 1
    model.n_weights_ = sum(found.n_ngrams)
