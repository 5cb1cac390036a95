"""From documents to features: every source learns its symbols and its table, and texts become problems over them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from loglinear.data.documents import Documents, Numbering
from loglinear.data.ngram import NgramTrie, build_trie, cut
from loglinear.sources.kinds import InformationSource, State, Words
from loglinear.sources.problem import CompositeProblem, make_problem
from loglinear.sources.table import NONE, FeatureTable, Index, build_table


@dataclass(frozen=True, eq=False)
class SourceFeatures:
    """A source, what it learnt, and its features."""

    source: InformationSource
    state: State
    table: FeatureTable
    observed: NDArray[np.float64] | None = None  # [n_entries] totals in the documents to train on

    def leaves(self, documents: Documents, numbering: Numbering) -> Index:
        """Return the deepest context of every event."""
        return self.table.leaves(self.source.symbols(documents, numbering, self.state))

    def context_names(self, context: int, numbering: Numbering) -> tuple[str, ...]:
        """Return the symbols of a context, the nearest first."""
        names: list[str] = []
        chain = []
        while context:
            chain.append(int(self.table.context_symbol[context]))
            context = int(self.table.context_parent[context])
        for place, number in enumerate(reversed(chain)):
            names.append(self.source.symbol_name(number, place, numbering, self.state))
        return tuple(names)


def extract(
    sources: Sequence[InformationSource], documents: Documents, numbering: Numbering, *, n_threads: int | None = None
) -> list[SourceFeatures]:
    """Make the features of all sources from the documents to train on."""
    out = []
    for source in sources:
        state = source.learn(documents, numbering)
        limits, observed = _limits(source), None
        if isinstance(source, Words) and source.select is None:
            trie = build_trie(documents.sentences, source.order, n_threads=n_threads)
            trie = trie if max(limits) <= 1 else cut(trie, [1, *limits])
            table, observed = table_of_trie(trie), trie.entry_count[trie.n_words :].astype(np.float64)
        else:
            symbols = source.symbols(documents, numbering, state)
            table = build_table(symbols, documents.words, min_counts=limits, select=source.select)
        found = SourceFeatures(source, state, table, observed)
        if source.values is not None:
            found = replace(found, table=replace(table, entry_value=_values(found, numbering)), observed=None)
        out.append(found)
    return out


def outcome_features(
    sources: Sequence[InformationSource], documents: Documents, numbering: Numbering, outcomes: Index
) -> tuple[list[SourceFeatures], list[Index]]:
    """Make the features that predict other outcomes than words, such as their classes, and the contexts of all events.

    outcomes : [n_events]
    """
    features, leaves = [], []
    for source in sources:
        state = source.learn(documents, numbering)
        symbols = source.symbols(documents, numbering, state)
        table = build_table(symbols, outcomes, min_counts=_limits(source), select=source.select)
        features.append(SourceFeatures(source, state, table))
        leaves.append(table.leaves(symbols))
    return features, leaves


def _limits(source: InformationSource) -> list[int]:
    limits = [int(n) for n in np.atleast_1d(np.asarray(source.min_count))]
    if len(limits) > source.depth:
        raise ValueError(f"{source.spec()}: {len(limits)} least counts for {source.depth} orders above unigrams")
    return limits


def _values(features: SourceFeatures, numbering: Numbering) -> np.ndarray:
    table, function = features.table, features.source.values
    assert function is not None
    out = np.empty(table.n_entries)
    for context in range(1, table.n_contexts):
        names = features.context_names(context, numbering)
        for entry in range(int(table.context_entry[context]), int(table.context_entry[context + 1])):
            out[entry] = function(names, numbering.vocabulary.word(int(table.entry_word[entry])))
    if not np.all(np.isfinite(out)):
        raise ValueError(f"{features.source.spec()}: the value of a feature is not a finite number")
    return out


def table_of_trie(trie: NgramTrie) -> FeatureTable:
    """Return the n-grams of order 2 and above as the features of a source: the same contexts, without unigrams."""
    parent = np.zeros(trie.n_contexts, np.uint32)
    children = trie.context_child[1:] - trie.context_child[:-1]
    parent[1:] = np.repeat(np.arange(trie.n_contexts, dtype=np.uint32), children)[: trie.n_contexts - 1]
    V = np.uint32(trie.n_words)
    above = trie.entry_parent[trie.n_words :]
    context_entry = trie.context_entry.copy()
    context_entry[1:] -= V  # the unigrams of the empty context are no features of the source
    context_entry[:2] = 0
    return FeatureTable(
        np.concatenate([[0], trie.context_start[1:]]).astype(np.uint32), parent, trie.context_word, context_entry,
        np.ascontiguousarray(trie.entry_word[trie.n_words :]),
        np.where(above < V, np.uint32(NONE), above - V),
    )  # fmt: skip


def problem_of(
    features: Sequence[SourceFeatures], documents: Documents, numbering: Numbering, *, training: bool = False
) -> CompositeProblem:
    """Return the problem of a text over these features; ``training``: of the text that they were made from."""
    leaves = [one.leaves(documents, numbering) for one in features]
    observed = [one.observed if training else None for one in features]
    return make_problem(
        numbering.vocabulary.n_words, [one.table for one in features], leaves, documents.words, observed
    )
