"""Back-off models from dictionaries: slow and plain, the twin of everything native that reads, writes or mixes them.

A history is a tuple of word numbers, most recent first; entries map (history, word) to log p.
"""

import itertools
import math

import numpy as np

from loglinear.backoff.model import BackoffModel
from loglinear.data.ngram import NONE
from loglinear.features.word_vocabulary import WordVocabulary


def arrange(vocabulary, order, entries, backoffs):
    """The model of dictionaries; histories with an entry, and all that a history ends in, become contexts."""
    contexts = {h[:k] for h in [(), *backoffs, *(h for h, _ in entries)] for k in range(len(h) + 1)}
    contexts = sorted(contexts, key=lambda h: (len(h), h))
    place = {h: i for i, h in enumerate(contexts)}
    listed = sorted(entries, key=lambda e: (place[e[0]], e[1]))
    n_children, n_own = np.zeros(len(contexts), int), np.zeros(len(contexts), int)
    for h in contexts[1:]:
        n_children[place[h[:-1]]] += 1
    for h, _ in listed:
        n_own[place[h]] += 1

    def u32(values):
        return np.array(values, dtype=np.uint32)

    return BackoffModel(
        vocabulary,
        order,
        np.searchsorted([len(h) for h in contexts], np.arange(order + 1)).astype(np.int64),
        np.searchsorted([len(h) for h, _ in listed], np.arange(order + 1)).astype(np.int64),
        u32([h[-1] if h else NONE for h in contexts]),
        u32(np.append(1, 1 + np.cumsum(n_children))),
        u32(np.append(0, np.cumsum(n_own))),
        np.array([backoffs.get(h, 0.0) for h in contexts]),
        u32([w for _, w in listed]),
        np.array([entries[e] for e in listed]),
    )


def dictionaries(model):
    """(entries, back-offs) of a model; every context has a back-off."""
    histories = [()] * model.n_contexts
    for c in range(model.n_contexts):
        for child in range(model.context_child[c], model.context_child[c + 1]):
            histories[child] = (*histories[c], int(model.context_word[child]))
    entries = {
        (h, int(model.entry_word[e])): float(model.log_probability[e])
        for c, h in enumerate(histories)
        for e in range(model.context_entry[c], model.context_entry[c + 1])
    }
    return entries, {h: float(b) for h, b in zip(histories, model.log_backoff)}


def log_p(entries, backoffs, history, word):
    """log p(word | history) by the definition."""
    if (history, word) in entries:
        return entries[history, word]
    return backoffs.get(history, 0.0) + log_p(entries, backoffs, history[:-1], word)


def every_history(n_words, length):
    """All histories up to a length, with <s> only as the oldest word."""
    for k in range(length + 1):
        for h in itertools.product(range(n_words + 1), repeat=k):
            if n_words not in h[:-1]:
                yield h


def normalise(n_words, entries, backoffs):
    """Back-offs with which every history of ``backoffs`` sums to one, shorter ones first."""
    for h in sorted(backoffs, key=len):
        listed = [w for w in range(n_words) if (h, w) in entries]
        backoffs[h] = 0.0
        if h and len(listed) < n_words:
            kept = sum(math.exp(entries[h, w]) for w in listed)
            below = sum(math.exp(log_p(entries, backoffs, h[:-1], w)) for w in listed)
            backoffs[h] = math.log((1 - kept) / (1 - below))


def random_model(seed, n_words=4, order=3, n_contexts=8, is_open=True, density=0.5):
    """A model that sums to one, of contexts and entries chosen at random: beginnings and parents are missing."""
    rng = np.random.default_rng(seed)
    vocabulary = WordVocabulary.from_words([f"w{i}" for i in range(n_words - (2 if is_open else 1))], is_open=is_open)
    histories = [h for h in every_history(n_words, order - 1) if h]
    chosen = {()}
    for i in rng.permutation(len(histories))[:n_contexts]:
        chosen |= {histories[i][:k] for k in range(len(histories[i]) + 1)}
    entries = {}
    for h in sorted(chosen):
        words = [w for w in range(n_words) if not h or rng.random() < density]
        total = 1.0 if len(words) == n_words else rng.uniform(0.1, 0.9)
        entries |= {(h, w): math.log(total * p) for w, p in zip(words, rng.dirichlet(np.ones(len(words))))}
    backoffs = dict.fromkeys(chosen, 0.0)
    normalise(n_words, entries, backoffs)
    return arrange(vocabulary, order, entries, backoffs)


def all_log_p(model, length=None):
    """log p(w | h) of every word after every history: {(history, word): log p}."""
    entries, backoffs = dictionaries(model)
    n_words = model.vocabulary.n_words
    histories = every_history(n_words, model.order - 1 if length is None else length)
    return {(h, w): log_p(entries, backoffs, h, w) for h in histories for w in range(n_words)}


def wide_bigrams(n_words, n_following):
    """A bigram model: word w is followed by the words w + 1, ..., w + n_following; every word is a context."""
    rng = np.random.default_rng(0)
    vocabulary = WordVocabulary.from_words([f"w{i}" for i in range(2, n_words)])
    following = np.sort((np.arange(n_words)[:, None] + np.arange(1, n_following + 1)) % n_words, axis=1)
    return BackoffModel(
        vocabulary, 2, np.array([0, 1, 1 + n_words]), np.array([0, n_words, n_words * (1 + n_following)]),
        np.concatenate([[0xFFFFFFFF], np.arange(n_words)]).astype(np.uint32),
        np.concatenate([[1], np.full(1 + n_words, 1 + n_words)]).astype(np.uint32),
        np.concatenate([[0], n_words + n_following * np.arange(n_words + 1)]).astype(np.uint32),
        np.concatenate([[0.0], np.full(n_words, -1.0)]),
        np.concatenate([np.arange(n_words), following.ravel()]).astype(np.uint32),
        -rng.random(n_words * (1 + n_following)) - 5.0,
    )  # fmt: skip
