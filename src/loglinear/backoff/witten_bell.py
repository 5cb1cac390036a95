"""Witten-Bell smoothing: a context that was followed by many different words expects another new one.

    p(w | h) = (c(hw) + T(h) p(w | h without its oldest word)) / (c(h) + T(h))

T(h) is the number of different words seen after h. Unigrams are interpolated with the uniform distribution. (Bell,
Cleary and Witten, "Text Compression", 1990, method C; Chen and Goodman, 1998, section 2.6.)
"""

from __future__ import annotations

from loglinear.backoff.model import BackoffModel
from loglinear.backoff.smoothing import Smoothing, smoothed
from loglinear.data.ngram import NgramTrie
from loglinear.features.word_vocabulary import WordVocabulary


def witten_bell(trie: NgramTrie, vocabulary: WordVocabulary, *, n_threads: int | None = None) -> BackoffModel:
    """Return the Witten-Bell model of counted n-grams."""
    return smoothed(trie, vocabulary, Smoothing.of(trie.order, per_type=1.0), n_threads=n_threads)
