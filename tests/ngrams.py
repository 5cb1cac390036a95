"""The trie of ``loglinear.data.ngram`` from dictionaries: slow, plain, the twin that the native builder must equal."""

from collections import Counter

import numpy as np

from loglinear.data.ngram import NONE, NgramTrie


def reference_trie(sentences, order, n_words):
    """``sentences``: lists of word numbers below ``n_words``; 0 is ``</s>`` and ``n_words`` is ``<s>``."""
    totals, counts = Counter(), Counter()  # contexts and (context, word); a context is a tuple, most recent word first
    for sentence in sentences:
        history = (n_words,)
        for word in [*sentence, 0]:
            for k in range(min(order, len(history) + 1)):
                totals[history[:k]] += 1
                counts[history[:k], word] += 1
            history = (word, *history)
    for word in range(n_words):
        counts[(), word] += 0
    totals[()] += 0
    return trie_of(totals, counts, order, n_words)


def contexts_of(trie):
    """The words of every context, most recent first: what is laid out like a trie will do."""
    contexts = [()] * len(trie.context_word)
    for c in range(len(contexts)):
        for child in range(trie.context_child[c], trie.context_child[c + 1]):
            contexts[child] = (*contexts[c], int(trie.context_word[child]))
    return contexts


def trie_of(totals, counts, order, n_words):
    """From the counts of contexts and of (context, word), closed."""
    contexts = sorted(totals, key=lambda h: (len(h), h))
    place = {h: i for i, h in enumerate(contexts)}
    entries = sorted(counts, key=lambda e: (place[e[0]], e[1]))
    number = {e: i for i, e in enumerate(entries)}
    lengths = [len(h) for h in contexts]
    context_start = np.searchsorted(lengths, np.arange(order + 1))
    entry_start = np.searchsorted([len(h) for h, _ in entries], np.arange(order + 1))
    n_children, n_own = np.zeros(len(contexts), int), np.zeros(len(contexts), int)
    for h in contexts[1:]:
        n_children[place[h[:-1]]] += 1
    for h, _ in entries:
        n_own[place[h]] += 1

    def u32(values):
        return np.array(values, dtype=np.uint32)

    return NgramTrie(
        order,
        n_words,
        context_start.astype(np.int64),
        entry_start.astype(np.int64),
        u32([h[-1] if h else NONE for h in contexts]),
        u32(np.append(1, 1 + np.cumsum(n_children))),
        u32(np.append(0, np.cumsum(n_own))),
        u32([totals[h] for h in contexts]),
        u32([w for _, w in entries]),
        u32([number[h[:-1], w] if h else NONE for h, w in entries]),
        u32([counts[e] for e in entries]),
    )


def part_of(trie, begin, end):
    """The part of the contexts whose most recent word is in [begin, end); ``<s>`` is word V."""
    V = trie.n_words
    words = trie.context_word[1 : int(trie.context_start[2])] if trie.order > 1 else trie.context_word[:0]
    low, high = (1 + int(np.searchsorted(words, word)) for word in (begin, end))
    contexts, entries = [(0, 1)], [(0, V)]
    for _ in range(1, trie.order):
        contexts.append((low, high))
        entries.append((int(trie.context_entry[low]), int(trie.context_entry[high])))
        low, high = int(trie.context_child[low]), int(trie.context_child[high])
    context_start = np.concatenate([[0], np.cumsum([b - a for a, b in contexts])])
    entry_start = np.concatenate([[0], np.cumsum([b - a for a, b in entries])])

    def joined(array, ranges, shifts=None):
        pieces = [array[a:b] for a, b in ranges]
        if shifts is not None:
            pieces = [piece - np.uint32(shift % 2**32) for piece, shift in zip(pieces, shifts)]
        return np.concatenate(pieces)

    context_moved = [a - int(to) for (a, _), to in zip(contexts, context_start)]
    entry_moved = [a - int(to) for (a, _), to in zip(entries, entry_start)]
    child = joined(trie.context_child, contexts, [*context_moved[1:], 0])
    child[0] = 1
    child[int(context_start[-2]) :] = context_start[-1]
    parents = joined(trie.entry_parent, entries, [0, *entry_moved[:-1]])
    return NgramTrie(
        trie.order, V, context_start, entry_start, joined(trie.context_word, contexts),
        np.append(child, np.uint32(context_start[-1])),
        np.append(joined(trie.context_entry, contexts, entry_moved), np.uint32(entry_start[-1])),
        joined(trie.context_count, contexts), joined(trie.entry_word, entries), parents,
        joined(trie.entry_count, entries),
    )  # fmt: skip
