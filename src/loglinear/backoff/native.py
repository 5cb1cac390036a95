"""Back-off models and tries as the extension takes them: arrays that are checked together, once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loglinear import _core
from loglinear.backoff.model import BackoffModel
from loglinear.data.ngram import NgramTrie
from loglinear.features.word_vocabulary import WordVocabulary


def shape_of(ngrams: BackoffModel | NgramTrie, pool: _core.ThreadPool) -> _core.NgramShape:
    """Return contexts and entries without values; raise ValueError unless they follow the layout."""
    n_words = ngrams.n_words if isinstance(ngrams, NgramTrie) else ngrams.vocabulary.n_words
    return _core.NgramShape(
        pool, n_words, np.ascontiguousarray(ngrams.context_start, np.int64),
        np.ascontiguousarray(ngrams.entry_start, np.int64), np.ascontiguousarray(ngrams.context_word, np.uint32),
        np.ascontiguousarray(ngrams.context_child, np.uint32), np.ascontiguousarray(ngrams.context_entry, np.uint32),
        np.ascontiguousarray(ngrams.entry_word, np.uint32),
    )


def native_model(model: BackoffModel, pool: _core.ThreadPool) -> _core.BackoffArrays:
    """Return the whole model."""
    return _core.BackoffArrays(
        pool, shape_of(model, pool), np.ascontiguousarray(model.log_backoff, np.float64),
        np.ascontiguousarray(model.log_probability, np.float64),
    )


def backoff_model(
    vocabulary: WordVocabulary,
    shape: Sequence[NDArray[Any]],
    log_backoff: NDArray[np.float64],
    log_probability: NDArray[np.float64],
) -> BackoffModel:
    """Make a model of the arrays of a shape, in the order in which the extension returns them, and its values."""
    context_start, entry_start, context_word, context_child, context_entry, entry_word = shape
    return BackoffModel(
        vocabulary=vocabulary, order=context_start.size - 1, context_start=context_start, entry_start=entry_start,
        context_word=context_word, context_child=context_child, context_entry=context_entry, log_backoff=log_backoff,
        entry_word=entry_word, log_probability=log_probability,
    )
