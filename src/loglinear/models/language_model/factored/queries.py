"""A trained class-factored model in use:  p(w | h) = p(class of w | h) p(w | class of w, h).

The class level has features of several sources over few outcomes (native/composite/dense.hh), the word level one chain
of n-grams within each class (native/ngram/within.hh). Both are exactly normalised, so their product is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loglinear import _core
from loglinear.arrays import FloatArray
from loglinear.data.documents import Documents, Numbering
from loglinear.features.word_vocabulary import BEGIN
from loglinear.models.language_model.document_queries import DocumentQueries, EventScores, source_pushes
from loglinear.models.language_model.factored.partition import WordPartition
from loglinear.models.push import Push
from loglinear.sources.extraction import SourceFeatures
from loglinear.sources.kinds import InformationSource
from loglinear.sources.problem import native_problem
from loglinear.sources.topics import TopicAssigner
from loglinear.threads import pool

BLOCK = 8192  # events whose classes are scored at once

Index = NDArray[np.uint32]


@dataclass(frozen=True, eq=False)
class NgramWeights:
    """The n-grams of a model with their weights, laid out as a trie; data/ngram.py describes the arrays."""

    context_start: NDArray[np.int64]
    entry_start: NDArray[np.int64]
    context_word: Index
    context_child: Index
    context_entry: Index
    entry_word: Index
    weight: FloatArray  # [n_entries]

    @property
    def order(self) -> int:
        """Return the length of the longest n-grams."""
        return self.context_start.size - 1

    @property
    def nbytes(self) -> int:
        """Return the size of all arrays in bytes."""
        return sum(a.nbytes for a in vars(self).values())

    def shape(self, n_words: int, n_threads: int | None) -> _core.NgramShape:
        """Return contexts and entries in native form, checked."""
        return _core.NgramShape(
            pool(n_threads), n_words, self.context_start, self.entry_start, self.context_word, self.context_child,
            self.context_entry, self.entry_word,
        )


class Component:
    """A model as a cache sees it: contexts and distributions of classes for a range of events."""

    def __init__(self, native: _core.WithinClasses, leaf: Index, classes: Any = None) -> None:
        self.native, self.leaf, self._classes = native, leaf, classes

    def block(self, begin: int, end: int) -> tuple[_core.WithinClasses, Index, FloatArray | None]:
        """Return the native model, the contexts of its words, and log p of all classes: [n, n_classes]."""
        return self.native, self.leaf[begin:end], None if self._classes is None else self._classes(begin, end)


class FactoredQueries(DocumentQueries):
    """A trained class-factored model that answers queries about documents.

    weights : of the class level: of each class, then of the features of each source
    words : the n-grams of the word level, in the numbers of the partition
    word_counts : occurrences of each word in training
    """

    def __init__(
        self, numbering: Numbering, partition: WordPartition, features: Sequence[SourceFeatures], weights: FloatArray,
        words: NgramWeights, word_counts: NDArray[np.int64], *, assigner: TopicAssigner | None = None,
        infers: bool = False, n_threads: int | None = None,
    ) -> None:  # fmt: skip
        self.numbering, self.partition, self.features = numbering, partition, list(features)
        self.weights, self.words, self.word_counts, self.n_threads = weights, words, word_counts, n_threads
        self.assigner, self.infers = assigner, infers
        expected = partition.n_classes + sum(one.table.n_entries for one in self.features)
        if weights.shape != (expected,) or not (
            partition.of_word.size == word_counts.size == numbering.vocabulary.n_words
        ):
            raise ValueError(f"{weights.size} weights for {expected} features, or other words than the vocabulary's")

    @property
    def sources(self) -> list[InformationSource]:
        """Return the sources of the class level."""
        return [one.source for one in self.features]

    @property
    def order(self) -> int:
        """Return the highest order of a feature of the word level."""
        return self.words.order

    @property
    def n_states(self) -> int:
        """Return the number of contexts of all sources and of the word level."""
        return sum(one.table.n_contexts - 1 for one in self.features) + self.words.context_word.size

    @property
    def nbytes(self) -> int:
        """Return the size of weights and features in bytes."""
        return self.weights.nbytes + self.words.nbytes + sum(one.table.nbytes for one in self.features)

    @cached_property
    def _scorer(self) -> _core.DenseScorer:
        offsets = np.cumsum([self.partition.n_classes, *(one.table.n_entries for one in self.features)])
        problem = native_problem(
            self.partition.n_classes,
            [(one.table, int(o), np.zeros(0, np.uint32)) for one, o in zip(self.features, offsets)], np.zeros(0),
            np.zeros(self.weights.size),
        )  # fmt: skip
        return _core.DenseScorer(pool(self.n_threads), _core.CompositeDense(problem), self.weights)

    @cached_property
    def _within(self) -> _core.WithinClasses:
        shape = self.words.shape(self.vocabulary.n_words, self.n_threads)
        return _core.WithinClasses(
            pool(self.n_threads), shape, self.words.weight, self.partition.start, self.partition.rank
        )

    def check(self) -> None:
        """Raise ValueError for arrays that the kernels cannot rely on."""
        _ = self._scorer, self._within

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k not in ("_scorer", "_within")}

    # ---- documents --------------------------------------------------------------------------------------------------
    def component(self, documents: Documents) -> Component:
        """Return the model as a cache sees it."""
        leaves = [np.ascontiguousarray(one.leaves(documents, self.numbering)) for one in self.features]
        leaf = np.empty(documents.n_events, np.uint32)
        self._within.leaves(*documents.sentences.contiguous(), leaf)

        def classes(begin: int, end: int) -> FloatArray:
            out = np.empty((end - begin, self.partition.n_classes))
            self._scorer.log_probabilities(pool(self.n_threads), [one[begin:end] for one in leaves], out)
            return out

        return Component(self._within, leaf, classes)

    def score_events(self, documents: Documents) -> EventScores:
        """Return the log-probability of every event."""
        self.check_vocabulary(documents)
        words, n = np.ascontiguousarray(documents.words), documents.n_events
        out, found = np.empty(n), np.empty(n, np.uint8)
        component, classes = self.component(documents), self.partition.of_word[words]
        self._within.log_probabilities(pool(self.n_threads), component.leaf, words, out, found)
        for begin, end in blocks(n):
            of_classes = component.block(begin, end)[2]
            assert of_classes is not None
            out[begin:end] += of_classes[np.arange(end - begin), classes[begin:end]]
        return EventScores(out, found.astype(np.int64))

    def distribution_at(self, documents: Documents, event: int) -> FloatArray:
        """Return the probability of every word of the vocabulary before an event: [V]."""
        self.check_vocabulary(documents)
        _, leaf, of_classes = self.component(documents).block(event, event + 1)
        V = self.vocabulary.n_words
        every = np.arange(V, dtype=np.uint32)
        out, found = np.empty(V), np.empty(V, np.uint8)
        self._within.log_probabilities(pool(self.n_threads), np.repeat(leaf, V), every, out, found)
        assert of_classes is not None
        out += of_classes[0, self.partition.of_word]
        return np.exp(out, out=out)

    def pushes(self, documents: Documents) -> list[tuple[int, float, list[Push]]]:
        """Return (word, log-probability, contributions of its class and of the word in it) of each event."""
        scores = self.score_events(documents).log_probability
        leaves = [one.leaves(documents, self.numbering) for one in self.features]
        component = self.component(documents)
        out = []
        for event, word in enumerate(documents.words.tolist()):
            of_classes = component.block(event, event + 1)[2]
            assert of_classes is not None
            number = int(self.partition.of_word[word])
            name, log_class = f"[{self.partition.names[number]}]", float(of_classes[0, number])
            found = [_push(name, float(self.weights[number]))]
            offset = self.partition.n_classes
            for one, leaf in zip(self.features, leaves):
                own = self.weights[offset : offset + one.table.n_entries]
                found += source_pushes(one, int(leaf[event]), number, name, own, self.numbering)
                offset += one.table.n_entries
            found.append(_rest("log Z of classes", found, log_class))
            inside = self._word_pushes(word, int(component.leaf[event]))
            inside.append(_rest(f"log Z within {name}", inside, float(scores[event]) - log_class))
            out.append((word, float(scores[event]), [*found, *inside]))
        return out

    def _word_pushes(self, word: int, leaf: int) -> list[Push]:
        words, name = self.words, self.vocabulary.word(word)
        rank, of_rank = int(self.partition.rank[word]), np.argsort(self.partition.rank)
        found, context = [], leaf
        chain: list[int] = []
        while context:
            chain.append(context)
            context = int(np.searchsorted(words.context_child, context, side="right")) - 1
        symbols: list[str] = []
        for context in reversed(chain):
            oldest = int(words.context_word[context])
            begins = oldest == self.vocabulary.n_words
            symbols.insert(0, BEGIN if begins else self.vocabulary.word(int(of_rank[oldest])))
            begin, end = words.context_entry[context : context + 2]
            at = int(begin) + int(np.searchsorted(words.entry_word[begin:end], np.uint32(rank)))
            if at < end and words.entry_word[at] == rank and words.weight[at]:
                found.append(_push(f"{' '.join(symbols)} {name}", float(words.weight[at])))
        return [_push(name, float(words.weight[rank])), *found]


def _push(name: str, weight: float) -> Push:
    return Push(name, 1.0, weight, weight)


def _rest(name: str, pushes: Sequence[Push], log_probability: float) -> Push:
    """Return the normaliser, as what is left of the sum of the contributions."""
    log_z = sum(push.contribution for push in pushes) - log_probability
    return Push(name, -1.0, log_z, -log_z)


def blocks(n: int, size: int = BLOCK) -> Iterator[tuple[int, int]]:
    """Yield the ranges of n events."""
    for begin in range(0, n, size):
        yield begin, min(begin + size, n)
