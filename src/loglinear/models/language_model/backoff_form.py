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

from loglinear.arrays import FloatArray, new
from loglinear.backoff.model import BackoffModel
from loglinear.backoff.trie_model import TrieModel
from loglinear.data.suffix_tree import SuffixTree
from loglinear.features.word_vocabulary import WordVocabulary
from loglinear.losses.ngram_maxent import NgramMaxentLoss


def kept_entries(w: FloatArray, n_words: int) -> NDArray[np.bool_]:
    """Return which n-grams a model keeps: the unigrams, and those whose weight is not zero; [n_entries]."""
    keep: NDArray[np.bool_] = np.not_equal(w, 0, out=new(w.size, np.bool_))
    keep[:n_words] = True
    return keep


def trie_model_of(loss: NgramMaxentLoss, vocabulary: WordVocabulary, w: FloatArray) -> TrieModel:
    """Return the model of the weights, on the trie; those of the loss's base model, its offset, are added."""
    log_p, log_r = loss.log_probabilities(w)
    keep = kept_entries(loss.total_weights(w), loss.trie.n_words)
    return TrieModel(vocabulary, loss.trie, backoffs_of(log_r), log_p, keep)


def backoffs_of(log_r: FloatArray) -> FloatArray:
    """Return logarithms of back-offs, in place of those of Z(h) / Z(h without its oldest word): [n_contexts]."""
    np.negative(log_r, out=log_r)[0] = 0.0
    return log_r


def backoff_of(loss: NgramMaxentLoss, vocabulary: WordVocabulary, w: FloatArray) -> BackoffModel:
    """Return the same as a back-off model."""
    return trie_model_of(loss, vocabulary, w).to_backoff(n_threads=loss.n_threads)


def model_of_packed(
    arrays: Mapping[str, np.ndarray], vocabulary: WordVocabulary, *, n_threads: int | None = None
) -> BackoffModel:
    """Return the back-off model of a packed suffix tree, expanded to its n-grams; ValueError for damaged arrays."""
    tree, x = SuffixTree.unpack(arrays, vocabulary.n_words)
    trie, w = tree.expand(x)
    return backoff_of(NgramMaxentLoss(trie, n_threads=n_threads), vocabulary, w)
