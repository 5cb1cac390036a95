"""Weights of n-grams as a back-off model, exactly:

    p(w | h) = exp(sum of theta) / Z(h)           where the n-gram (h, w) has a weight
    backoff(h) = Z(h without its oldest word) / Z(h)

The sums Z come from the downward sweep of hierarchical normalisation (losses/ngram_maxent.py). Only n-grams whose
weight is not zero, and all unigrams, are in the model.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from loglinear.arrays import FloatArray
from loglinear.backoff.model import BackoffModel
from loglinear.backoff.native import backoff_model, shape_arrays
from loglinear.backoff.pruning import without_entries
from loglinear.data.suffix_tree import SuffixTree
from loglinear.features.word_vocabulary import WordVocabulary
from loglinear.losses.ngram_maxent import NgramMaxentLoss


def kept_entries(w: FloatArray, n_words: int) -> NDArray[np.bool_]:
    """Return which n-grams a model keeps: the unigrams, and those whose weight is not zero; [n_entries]."""
    keep: NDArray[np.bool_] = w != 0
    keep[:n_words] = True
    return keep


def backoff_of(loss: NgramMaxentLoss, vocabulary: WordVocabulary, w: FloatArray) -> BackoffModel:
    """Return the back-off model of the weights; those of the loss's base model, its offset, are added."""
    trie = loss.trie
    log_p, log_r = loss.log_probabilities(w)
    log_backoff = np.negative(log_r, out=log_r)
    log_backoff[0] = 0.0
    model = backoff_model(vocabulary, shape_arrays(trie), log_backoff, log_p)
    keep = kept_entries(loss.total_weights(w), trie.n_words)
    return without_entries(model, keep.view(np.uint8), n_threads=loss.n_threads)


def model_of_packed(
    arrays: Mapping[str, np.ndarray], vocabulary: WordVocabulary, *, n_threads: int | None = None
) -> BackoffModel:
    """Return the back-off model of a packed suffix tree, expanded to its n-grams; ValueError for damaged arrays."""
    tree, x = SuffixTree.unpack(arrays, vocabulary.n_words)
    trie, w = tree.expand(x)
    return backoff_of(NgramMaxentLoss(trie, n_threads=n_threads), vocabulary, w)
