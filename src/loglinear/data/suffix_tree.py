"""The suffix tree of a corpus: n-grams of any length, in memory proportional to the number of tokens.

Most long contexts can be extended in one way only. Let h be a context that is not empty, does not begin with ``<s>``
and is shorter than the longest length, order - 1: some longer context v h is in the trie S of all contexts. If there is
only one, h and v h always occur together, have the same next words with the same counts, and the weights of their
entries (h, w) and (v h, w) have the same gradient. Such contexts form one *class*. A class ends with a context that has
several longer ones, one that begins with ``<s>``, or one of the longest length; the empty context is a class by itself.
The classes and their next words are the collapsed tree T (Nelakanti et al., 2013, definition 3): at most twice as many
classes as tokens, for any order.

    trie               T as a trie: levels of the tree stand where lengths were, and everything that sweeps over a trie
                       runs on it; ``context_word`` is the first word that a class adds to its parent class
    context_length     words of the longest context of a class; it holds the lengths (that of its parent) + 1 .. this
    context_end        an occurrence: its words are text[end - 1], text[end - 2], ..., the most recent first

An entry of T stands for ``entry_multiplicity`` n-grams of S, one for each length of its class. Memory: 12 bytes per
entry, 24 per class and 4 per token of the text. native/suffix/tree.hh describes how it is built.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loglinear import _core
from loglinear.arrays import FloatArray, fingerprint
from loglinear.data.ngram import IndexArray, NgramTrie
from loglinear.data.sentences import Sentences
from loglinear.threads import pool

PACKED = ("n_children", "n_entries", "edge_length", "edges", "entry_word", "weights")
# N-grams that a packed tree may stand for where it is read from a file: so many, or so many for each of its numbers.
_MOST_NGRAMS, _MOST_PER_NUMBER = 1 << 20, 16


@dataclass(frozen=True)
class SuffixTree:
    """The classes of contexts of a corpus, and their entries."""

    trie: NgramTrie
    context_length: IndexArray  # [n_contexts]
    context_end: IndexArray  # [n_contexts]
    text: IndexArray  # the corpus, with ``<s>`` (number V) before, between and after its sentences
    order: int  # words of the longest n-gram

    @property
    def n_words(self) -> int:
        """Return V, the number of predictable words."""
        return self.trie.n_words

    @property
    def n_contexts(self) -> int:
        """Return the number of classes, the empty context included."""
        return self.trie.n_contexts

    @property
    def n_entries(self) -> int:
        """Weights of a model over the tree."""
        return self.trie.n_entries

    @property
    def nbytes(self) -> int:
        """Return the size of all arrays in bytes."""
        return self.trie.nbytes + self.context_length.nbytes + self.context_end.nbytes + self.text.nbytes

    def fingerprint(self) -> str:
        """Return a short hash of the n-grams and their counts."""
        return fingerprint(self.context_length, self.context_end, start=f"{self.order} {self.trie.fingerprint()}")

    @cached_property
    def context_parent(self) -> IndexArray:
        """Return the parent of each class; that of the empty context is itself: [n_contexts]."""
        parent = np.zeros(self.n_contexts, np.uint32)
        numbers = np.arange(self.n_contexts, dtype=np.uint32)
        parent[1:] = np.repeat(numbers, np.diff(self.trie.context_child))
        return parent

    @property
    def context_multiplicity(self) -> IndexArray:
        """Contexts of each class; 1 for the empty one: [n_contexts]."""
        multiplicity = self.context_length - self.context_length[self.context_parent]
        multiplicity[0] = 1
        return multiplicity

    @cached_property
    def entry_multiplicity(self) -> IndexArray:
        """Return the number of n-grams (h, w) that each entry stands for; 1 for unigrams: [n_entries]."""
        return self._of_entries(self.context_multiplicity)

    @property
    def entry_depth(self) -> IndexArray:
        """Return the order - 2 of the shortest n-gram that each entry stands for, 0 for unigrams: [n_entries].

        The depth, in the tree of all n-grams with bigrams as roots, of the top of the path that was collapsed: weights
        of penalties that are functions of it are constant on every path.
        """
        return self._of_entries(self.context_length[self.context_parent])

    @property
    def n_ngrams(self) -> int:
        """Return the number of entries of the trie S of the same order."""
        return int(self.entry_multiplicity.sum(dtype=np.int64))

    def ngrams_by_order(self) -> list[int]:
        """Return how many n-grams of each order the tree stands for."""
        sizes = np.diff(self.trie.context_entry)
        change = np.zeros(self.order + 1, np.int64)
        # The contexts of a class have the lengths above that of its parent's longest, up to its own longest.
        np.add.at(change, self.context_length[self.context_parent][1:] + 1, sizes[1:])
        np.subtract.at(change, self.context_length[1:] + 1, sizes[1:])
        counts = np.cumsum(change[:-1])
        counts[0] = sizes[0]
        return counts.tolist()

    def n_parameters(self, x: FloatArray) -> int:
        """Count constant-value non-branching paths whose value is not zero (Nelakanti et al., 2013, definition 3).

        Paths are those of the tree of n-grams (h, w), whose parents lack the oldest word of h: an entry continues
        the path of its parent if it is the only child and has the same weight. Unigrams are paths by themselves.
        """
        self._check_weights(x)
        parent = self.trie.entry_parent[self.n_words :]
        only = np.bincount(parent, minlength=self.n_entries)[parent] == 1
        below = x[self.n_words :]
        same = only & (parent >= self.n_words) & (below != 0) & (below == x[parent])
        return int(np.count_nonzero(x) - np.count_nonzero(same))

    @cached_property
    def native(self) -> _core.SuffixTree:
        """Return the checked arrays for the kernels, which keep them alive."""
        t = self.trie
        arrays = [t.context_word, t.context_child, t.context_entry, t.context_count]
        arrays += [t.entry_word, t.entry_parent, t.entry_count]
        return _core.SuffixTree(
            t.n_words, t.context_start, t.entry_start, arrays, self.context_length, self.context_end, self.text,
            self.order,
        )

    def expand(self, x: FloatArray) -> tuple[NgramTrie, FloatArray]:
        """Return (the trie of n-grams, their weights): those with a weight, their parents, and all unigrams.

        They have the same distribution, in the form from which back-off models are made. N-grams of more than 255 words
        raise an error.
        """
        self._check_weights(x)
        arrays, weights = self.native.expand(x)
        return NgramTrie(arrays[0].size - 1, self.n_words, *arrays), weights

    def pack(self, x: FloatArray) -> dict[str, NDArray[Any]]:
        """Return the arrays that a file of a tree with weights needs, without counts and text; ``unpack`` reads them.

        They hold the entries whose weight is not zero, their parents and all unigrams. A class that is left as the only
        one below its parent is joined to it if all their weights are equal.
        """
        self._check_weights(x)
        return dict(zip(PACKED, self.native.pack(x)))

    @staticmethod
    def unpack(arrays: Mapping[str, NDArray[Any]], n_words: int) -> tuple[SuffixTree, FloatArray]:
        """Return (a tree, its weights) with the distribution that was packed, after a check; counts are zero."""
        packed = []
        for name in PACKED:
            if name not in arrays:
                raise ValueError(f"packed suffix tree: there is no array {name!r}")
            dtype = np.float64 if name == "weights" else np.uint32
            array = np.asarray(arrays[name])
            if array.dtype != dtype or array.ndim != 1:
                raise ValueError(f"packed suffix tree: {name} must be a vector of {np.dtype(dtype).name}")
            packed.append(np.ascontiguousarray(array))
        if not np.all(np.isfinite(packed[-1])):
            raise ValueError("packed suffix tree: a weight is not finite")
        trie_arrays, length, end, text = _core.unpack_suffix_tree(n_words, *packed)
        trie = NgramTrie(trie_arrays[0].size - 1, n_words, *trie_arrays)
        return SuffixTree(trie, length, end, text, int(length.max()) + 1), packed[-1]

    @staticmethod
    def is_modest(packed: Mapping[str, NDArray[Any]]) -> bool:
        """Return whether a packed tree stands for few enough n-grams to be read by who does not trust its file."""
        edges, sizes = (np.asarray(packed[name], dtype=np.float64) for name in ("edge_length", "n_entries"))
        most = max(_MOST_NGRAMS, _MOST_PER_NUMBER * (packed["edges"].size + packed["weights"].size))
        return bool(edges @ sizes <= most)  # numbers that do not make sense are left to unpack

    def _of_entries(self, values: NDArray[np.uint32]) -> IndexArray:
        return np.repeat(values, np.diff(self.trie.context_entry))

    def _check_weights(self, x: FloatArray) -> None:
        if x.shape != (self.n_entries,):
            raise ValueError(f"weights of shape {x.shape} for the {self.n_entries} entries of a suffix tree")


def build_suffix_tree(sentences: Sentences, order: int | None = None, *, n_threads: int | None = None) -> SuffixTree:
    """Build the suffix tree of the sentences, with n-grams of up to ``order`` words, or of any length if it is None.

    Histories end at ``<s>``. The result is the same for any number of threads.
    """
    words, sentence_ptr = sentences.contiguous()
    if order is None:
        order = _core.longest_ngram(sentences.n_words, words, sentence_ptr)
    elif not isinstance(order, int) or isinstance(order, bool) or order < 1:
        raise ValueError(f"the order is {order!r}; it must be a whole number from 1, or None for no limit")
    arrays, length, end, text = _core.build_suffix_tree(pool(n_threads), sentences.n_words, words, sentence_ptr, order)
    trie = NgramTrie(arrays[0].size - 1, sentences.n_words, *arrays)
    return SuffixTree(trie, length, end, text, order)
