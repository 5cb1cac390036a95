"""Back-off models as dictionaries, for enumeration over small vocabularies."""

import math
from collections import namedtuple

import numpy as np

Tables = namedtuple("Tables", "backoff probability n_words")  # {h: log}, {(h, w): log}; h has the newest word first


def tables(model):
    """What the flat arrays say, context by context."""
    contexts = [()] + [None] * (model.n_contexts - 1)
    for c in range(model.n_contexts):
        for child in range(int(model.context_child[c]), int(model.context_child[c + 1])):
            contexts[child] = (*contexts[c], int(model.context_word[child]))
    probability = {
        (h, int(model.entry_word[e])): float(model.log_probability[e])
        for c, h in enumerate(contexts)
        for e in range(int(model.context_entry[c]), int(model.context_entry[c + 1]))
    }
    return Tables(dict(zip(contexts, map(float, model.log_backoff))), probability, model.vocabulary.n_words)


def log_probability(t, h, word):
    """log p(word | h) by the rule of back-off models."""
    if (h, word) in t.probability:
        return t.probability[h, word]
    return t.backoff.get(h, 0.0) + log_probability(t, h[:-1], word)


def worst_sum(t):
    """The largest distance from one of a context's sum over all words; every number must be finite."""
    assert all(map(math.isfinite, t.backoff.values()))
    assert all(math.isfinite(x) for x in t.probability.values())
    sums = (math.fsum(math.exp(log_probability(t, h, w)) for w in range(t.n_words)) for h in t.backoff)
    return max(abs(total - 1.0) for total in sums)


def find(values, begin, end, value):
    """The place of a value in an ascending range of an array, or None."""
    at = int(begin) + int(np.searchsorted(values[begin:end], value))
    return at if at < end and values[at] == value else None


def search(model, history, word):
    """log p(word | history) from the arrays themselves: no dictionary for models of millions of n-grams."""
    chain = [0]
    for older in history[: model.order - 1]:
        c = chain[-1]
        child = find(model.context_word, model.context_child[c], model.context_child[c + 1], older)
        if child is None:
            break
        chain.append(child)
    backoff = 0.0
    for c in reversed(chain):
        e = find(model.entry_word, model.context_entry[c], model.context_entry[c + 1], word)
        if e is not None:
            return backoff + float(model.log_probability[e])
        backoff += float(model.log_backoff[c])
    raise AssertionError("every word has a unigram")


def perplexity(model, sentences):
    """Per word, the ends of sentences counted; ``sentences`` are lists of numbers."""
    total, n = 0.0, 0
    for sentence in sentences:
        history = (model.vocabulary.begin,)
        for word in [*sentence, 0]:
            total += search(model, history, word)
            n += 1
            history = (word, *history)
    return math.exp(-total / n)
