"""The suffix tree of ``loglinear.data.suffix_tree`` from the dictionaries of a trie: its plain twin."""

from dataclasses import dataclass

import numpy as np
from ngrams import contexts_of, reference_trie, trie_of

from loglinear.data.ngram import NgramTrie


@dataclass
class Collapsed:
    """T, and S with the class of every context and the entry of T of every entry."""

    full: NgramTrie
    trie: NgramTrie
    longest: list  # of each class, the words of its longest context, most recent first
    lengths: list  # of each class, the lengths of its contexts
    class_of: np.ndarray  # [contexts of S]
    entry_of: np.ndarray  # [entries of S]


def longest_order(sentences):
    return max((len(s) + 2 for s in sentences), default=1)


def collapse(sentences, order, n_words):
    """``order`` None: as long as the longest n-gram."""
    full = reference_trie(sentences, longest_order(sentences) if order is None else order, n_words)
    words = contexts_of(full)
    path = [()] * full.n_contexts  # the word by which each class above and the own one differ from their siblings
    longest = {(): ()}
    for c in range(full.n_contexts):
        children = range(full.context_child[c], full.context_child[c + 1])
        joined = c > 0 and len(children) == 1
        for d in children:
            path[d] = path[c] if joined else (*path[c], int(full.context_word[d]))
            longest[path[d]] = words[d]
    totals, counts = {}, {}
    for c in range(full.n_contexts):
        totals[path[c]] = int(full.context_count[c])
        for e in range(full.context_entry[c], full.context_entry[c + 1]):
            counts[path[c], int(full.entry_word[e])] = int(full.entry_count[e])
    trie = trie_of(totals, counts, 1 + max(map(len, totals)), n_words)
    paths = contexts_of(trie)
    number = {p: c for c, p in enumerate(paths)}
    class_of = np.array([number[p] for p in path])
    entry_of = np.empty(full.n_entries, np.int64)
    for c in range(full.n_contexts):
        own = slice(full.context_entry[c], full.context_entry[c + 1])
        k = class_of[c]
        first, last = trie.context_entry[k], trie.context_entry[k + 1]
        entry_of[own] = first + np.searchsorted(trie.entry_word[first:last], full.entry_word[own])
    lengths = [[] for _ in paths]
    for c, h in enumerate(words):
        lengths[class_of[c]].append(len(h))
    return Collapsed(full, trie, [longest[p] for p in paths], lengths, class_of, entry_of)
