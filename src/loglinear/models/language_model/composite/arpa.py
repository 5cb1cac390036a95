"""A composite model approximated by n-grams in back-off form, which an ARPA file can hold.

Of words and a topic, the model of one topic is a maximum-entropy n-gram model whose unigram weights are those of the
words plus those of the topic: it is exact while the topic stays. The mixture of these models by the share that each
topic had of the text is exact at their n-grams, and renormalised elsewhere.
"""

from __future__ import annotations

import numpy as np

from loglinear.backoff.interpolation import merge
from loglinear.backoff.model import BackoffModel
from loglinear.data.ngram import NgramTrie
from loglinear.errors import ModelFileError
from loglinear.losses.ngram_maxent import NgramMaxentLoss
from loglinear.models.language_model.backoff_form import backoff_of
from loglinear.models.language_model.composite.queries import CompositeQueries
from loglinear.sources.extraction import SourceFeatures
from loglinear.sources.kinds import Topic, Words
from loglinear.sources.table import NONE, FeatureTable

MARGINAL = "marginal"


def trie_of_table(table: FeatureTable, n_words: int) -> NgramTrie:
    """Return the features of words as a trie of n-grams, with unigrams and without counts."""
    n_contexts, order = table.n_contexts, table.depth + 1
    children = np.bincount(table.context_parent[1:].astype(np.intp), minlength=n_contexts)
    context_entry = table.context_entry.astype(np.int64)
    context_entry[1:] += n_words
    depth_start = table.depth_start.astype(np.int64)
    zeros = np.zeros(n_contexts, np.uint32)
    above = np.where(table.entry_parent == NONE, table.entry_word, table.entry_parent + np.uint32(n_words))
    entry_start = [0, n_words, *(int(context_entry[s]) for s in depth_start[2:])]
    return NgramTrie(
        order, n_words, np.concatenate([[0], depth_start[1:]]), np.array(entry_start, np.int64),
        np.asarray(table.context_symbol), np.concatenate([[1], 1 + np.cumsum(children)]).astype(np.uint32),
        context_entry.astype(np.uint32), zeros,
        np.concatenate([np.arange(n_words, dtype=np.uint32), table.entry_word]),
        np.concatenate([np.full(n_words, NONE, np.uint32), above]).astype(np.uint32),
        np.zeros(n_words + table.n_entries, np.uint32),
    )  # fmt: skip


def approximate(queries: CompositeQueries, topic: str | None = None) -> BackoffModel:
    """Return n-grams in back-off form: of one topic, by default that with most features, or of all ("marginal")."""
    words = [one for one in queries.features if isinstance(one.source, Words)]
    topics = [one for one in queries.features if isinstance(one.source, Topic)]
    if len(words) != 1 or len(words) + len(topics) != len(queries.features) or len(topics) > 1:
        specs = ", ".join(one.source.spec() for one in queries.features)
        raise ValueError(f"n-grams can approximate a model of words and a topic; this one has the sources {specs}")
    if not topics:
        return _of_topic(queries, None)
    if topics[0].source.order > 2:
        raise ValueError(f"n-grams can approximate topics of order 2; {topics[0].source.spec()} extends them by words")
    table = topics[0].table
    contexts = {topics[0].context_names(c, queries.numbering)[0]: c for c in range(1, table.n_contexts)}
    if not contexts:
        return _of_topic(queries, None)
    if topic == MARGINAL:
        share = _shares(topics[0], list(contexts.values()))
        return merge([_of_topic(queries, c) for c in contexts.values()], share, n_threads=queries.n_threads)
    if topic is None:
        sizes = np.diff(table.context_entry.astype(np.int64))
        return _of_topic(queries, int(np.argmax(sizes)))
    if topic not in contexts:
        raise ValueError(f"the model has no topic {topic!r}; it has {', '.join(sorted(contexts))}, or give 'marginal'")
    return _of_topic(queries, contexts[topic])


def _shares(topics: SourceFeatures, contexts: list[int]) -> list[float]:
    """Return the share of each topic, equal ones for models of files that lack them."""
    share, numbers = topics.state.get("share"), topics.table.context_symbol[contexts]
    if share is None:
        return [1 / len(contexts)] * len(contexts)
    if int(numbers.max()) >= share.size or not np.all(np.isfinite(share) & (share >= 0)) or not share[numbers].sum():
        raise ModelFileError("the shares of the topics are damaged")
    found: list[float] = (share[numbers] / share[numbers].sum()).tolist()
    return found


def _of_topic(queries: CompositeQueries, context: int | None) -> BackoffModel:
    V = queries.vocabulary.n_words
    weights, parts, offset = queries.weights[:V].copy(), [], V
    for one in queries.features:
        own = queries.weights[offset : offset + one.table.n_entries]
        if one.table.entry_value is not None:
            own = own * one.table.entry_value
        if isinstance(one.source, Words):
            parts.append((one.table, own))
        elif context is not None:
            a, b = (int(n) for n in one.table.context_entry[context : context + 2])
            weights[one.table.entry_word[a:b]] += own[a:b]
        offset += one.table.n_entries
    table, own = parts[0]
    loss = NgramMaxentLoss(trie_of_table(table, V), n_threads=queries.n_threads)
    return backoff_of(loss, queries.vocabulary, np.concatenate([weights, own]))
