"""Kneser-Ney over a suffix tree, as weights: the starting point of training on the tree.

The levels of the tree take the place of orders. A class of contexts that longer ones extend counts the different words
before it, any other class counts its tokens; p(w | class) = discounted count + gamma(class) p(w | parent class) is then
an interpolated Kneser-Ney model of the trie of classes. As for any back-off model

    m x = log p(w | class) - log p(w | parent class) - log backoff(class)  >= 0

is the sum of the weights of the m n-grams of an entry; each gets an equal share.
"""

from __future__ import annotations

import numpy as np

from loglinear.arrays import FloatArray
from loglinear.backoff.kneser_ney import KneserNey, kneser_ney
from loglinear.data.suffix_tree import SuffixTree
from loglinear.features.word_vocabulary import WordVocabulary


def tree_start(
    tree: SuffixTree,
    vocabulary: WordVocabulary,
    *,
    counted: KneserNey | None = None,
    n_threads: int | None = None,
) -> FloatArray:
    """Return the weights of the tree, [n_entries]; those of unigrams are log-probabilities.

    ``counted`` is ``kneser_ney(tree.trie, vocabulary, collapsed=True)`` if the caller has computed it already.
    """
    if counted is None:
        counted = kneser_ney(tree.trie, vocabulary, collapsed=True, n_threads=n_threads)
    trie, log_p = tree.trie, counted.log_probability
    first = int(trie.entry_start[1])
    x = log_p.copy()
    x[first:] -= log_p[trie.entry_parent[first:]]
    x[first:] -= np.repeat(counted.log_backoff, np.diff(trie.context_entry))[first:]
    np.maximum(x[first:], 0.0, out=x[first:])  # not less but for rounding
    x /= tree.entry_multiplicity
    return x
