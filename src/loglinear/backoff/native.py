"""Back-off models and tries as the extension takes them: arrays that are checked together, once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loglinear import _core
from loglinear.arrays import FloatArray
from loglinear.backoff.model import BackoffModel
from loglinear.data.ngram import NgramTrie
from loglinear.features.word_vocabulary import WordVocabulary


def shape_arrays(ngrams: BackoffModel | NgramTrie) -> tuple[NDArray[Any], ...]:
    """Return contexts and entries without values, in the order in which the extension takes and returns them."""
    contexts = (ngrams.context_word, ngrams.context_child, ngrams.context_entry)
    return ngrams.context_start, ngrams.entry_start, *contexts, ngrams.entry_word


def shape_of(ngrams: BackoffModel | NgramTrie, pool: _core.ThreadPool) -> _core.NgramShape:
    """Return the native form of ``shape_arrays``; raise ValueError unless they follow the layout."""
    n_words = ngrams.n_words if isinstance(ngrams, NgramTrie) else ngrams.vocabulary.n_words
    types = (np.int64, np.int64, np.uint32, np.uint32, np.uint32, np.uint32)
    return _core.NgramShape(pool, n_words, *map(np.ascontiguousarray, shape_arrays(ngrams), types))


def native_model(model: BackoffModel, pool: _core.ThreadPool) -> _core.BackoffArrays:
    """Return the whole model."""
    values = (np.ascontiguousarray(v, np.float64) for v in (model.log_backoff, model.log_probability))
    return _core.BackoffArrays(pool, shape_of(model, pool), *values)


def backoff_model(
    vocabulary: WordVocabulary, shape: Sequence[NDArray[Any]], log_backoff: FloatArray, log_probability: FloatArray
) -> BackoffModel:
    """Make a model of the arrays of a shape, ordered as in ``shape_arrays``, and its values."""
    context_start, entry_start, context_word, child, entry, entry_word = shape
    contexts = (context_start, entry_start, context_word, child, entry)
    return BackoffModel(vocabulary, context_start.size - 1, *contexts, log_backoff, entry_word, log_probability)
