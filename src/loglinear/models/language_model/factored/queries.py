"""A trained class-factored model in use:  p(w | h) = p(class of w | h) p(w | class of w, h).

A class level has features of several sources over few outcomes (native/composite/dense.hh), the word level one chain of
n-grams within each class (native/ngram/within.hh). In a tree of classes each class level predicts the class within that
of the level before. All are exactly normalised, so their product is.
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
from loglinear.models.language_model.factored.partition import WordPartition, group_start, parents
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


@dataclass(frozen=True, eq=False)
class ClassLevel:
    """One level of a tree of classes: the features that predict its classes, within those of the level above.

    weights : of each class, then of the features of each source
    above : the classes of the level above; None for the first level
    """

    partition: WordPartition
    features: list[SourceFeatures]
    weights: FloatArray
    above: WordPartition | None = None

    @property
    def n_classes(self) -> int:
        """Return the number of classes."""
        return self.partition.n_classes

    @property
    def nbytes(self) -> int:
        """Return the size of weights and features in bytes."""
        return self.weights.nbytes + sum(one.table.nbytes for one in self.features)

    def scorer(self, n_threads: int | None) -> _core.DenseScorer:
        """Return the level in native form, checked."""
        offsets = np.cumsum([self.n_classes, *(one.table.n_entries for one in self.features)])
        if self.weights.shape != (offsets[-1],):
            raise ValueError(f"{self.weights.size} weights for {offsets[-1]} features")
        nothing = np.zeros(0, np.uint32)
        parts = [(one.table, int(o), nothing) for one, o in zip(self.features, offsets)]
        problem = native_problem(self.n_classes, parts, np.zeros(0), np.zeros(self.weights.size))
        groups = () if self.above is None else (group_start(self.above, self.partition), nothing)
        return _core.DenseScorer(pool(n_threads), _core.CompositeDense(problem, *groups), self.weights)


class Component:
    """A model as a cache sees it: contexts and distributions of classes for a range of events."""

    def __init__(self, native: _core.WithinClasses, leaf: Index, classes: Any = None) -> None:
        self.native, self.leaf, self._classes = native, leaf, classes

    def block(self, begin: int, end: int) -> tuple[_core.WithinClasses, Index, FloatArray | None]:
        """Return the native model, the contexts of its words, and log p of all classes: [n, n_classes]."""
        return self.native, self.leaf[begin:end], None if self._classes is None else self._classes(begin, end)


class FactoredQueries(DocumentQueries):
    """A trained class-factored model that answers queries about documents.

    levels : of the tree of classes, the largest classes first; all have the same sources
    words : the n-grams of the word level, in the numbers of the partition
    word_counts : occurrences of each word in training
    """

    def __init__(
        self, numbering: Numbering, levels: Sequence[ClassLevel], words: NgramWeights, word_counts: NDArray[np.int64],
        *, assigner: TopicAssigner | None = None, infers: bool = False, n_threads: int | None = None,
    ) -> None:  # fmt: skip
        self.numbering, self.levels, self.words, self.word_counts = numbering, list(levels), words, word_counts
        self.assigner, self.infers, self.n_threads = assigner, infers, n_threads
        if not self.partition.of_word.size == word_counts.size == numbering.vocabulary.n_words:
            raise ValueError("the classes have other words than the vocabulary")

    @property
    def partition(self) -> WordPartition:
        """Return the classes within which words are predicted: the finest."""
        return self.levels[-1].partition

    @property
    def sources(self) -> list[InformationSource]:
        """Return the sources of the class levels."""
        return [one.source for one in self.levels[0].features]

    @property
    def order(self) -> int:
        """Return the highest order of a feature of the word level."""
        return self.words.order

    @property
    def n_states(self) -> int:
        """Return the number of contexts of all sources and of the word level."""
        contexts = (one.table.n_contexts - 1 for level in self.levels for one in level.features)
        return sum(contexts) + self.words.context_word.size

    @property
    def nbytes(self) -> int:
        """Return the size of weights and features in bytes."""
        return self.words.nbytes + sum(level.nbytes for level in self.levels)

    @cached_property
    def _scorers(self) -> list[_core.DenseScorer]:
        return [level.scorer(self.n_threads) for level in self.levels]

    @cached_property
    def _within(self) -> _core.WithinClasses:
        shape = self.words.shape(self.vocabulary.n_words, self.n_threads)
        return _core.WithinClasses(
            pool(self.n_threads), shape, self.words.weight, self.partition.start, self.partition.rank
        )

    def check(self) -> None:
        """Raise ValueError for arrays that the kernels cannot rely on."""
        _ = self._scorers, self._within

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k not in ("_scorers", "_within")}

    # ---- documents --------------------------------------------------------------------------------------------------
    def component(self, documents: Documents) -> Component:
        """Return the model as a cache sees it."""
        leaves = self._leaves(documents)
        leaf = np.empty(documents.n_events, np.uint32)
        self._within.leaves(*documents.sentences.contiguous(), leaf)

        def classes(begin: int, end: int) -> FloatArray:
            return self._log_classes([[one[begin:end] for one in own] for own in leaves])[-1]

        return Component(self._within, leaf, classes)

    def _leaves(self, documents: Documents) -> list[list[Index]]:
        return [[np.ascontiguousarray(one.leaves(documents, self.numbering)) for one in level.features]
                for level in self.levels]  # fmt: skip

    def _log_classes(self, leaves: Sequence[Sequence[Index]]) -> list[FloatArray]:
        """Return log p of all classes of each level in histories given by their contexts: [n, n_classes]."""
        found: list[FloatArray] = []
        for level, scorer, own in zip(self.levels, self._scorers, leaves):
            out = np.empty((own[0].size, level.n_classes))
            scorer.log_probabilities(pool(self.n_threads), own, out)
            if level.above is not None:
                out += found[-1][:, parents(level.above, level.partition)]
            found.append(out)
        return found

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
        leaves, of_words = self._leaves(documents), self.component(documents).leaf
        out = []
        for event, word in enumerate(documents.words.tolist()):
            before, all_found, within = 0.0, [], "log Z of classes"
            here = [[one[event : event + 1] for one in own] for own in leaves]
            for level, log_classes, own in zip(self.levels, self._log_classes(here), here):
                number = int(level.partition.of_word[word])
                name, log_class = f"[{level.partition.names[number]}]", float(log_classes[0, number])
                found = self._class_pushes(level, number, name, [int(one[0]) for one in own])
                all_found += [*found, _rest(within, found, log_class - before)]
                before, within = log_class, f"log Z within {name}"
            inside = self._word_pushes(word, int(of_words[event]))
            inside.append(_rest(within, inside, float(scores[event]) - before))
            out.append((word, float(scores[event]), [*all_found, *inside]))
        return out

    def _class_pushes(self, level: ClassLevel, number: int, name: str, leaves: Sequence[int]) -> list[Push]:
        found, offset = [_push(name, float(level.weights[number]))], level.n_classes
        for one, leaf in zip(level.features, leaves):
            own = level.weights[offset : offset + one.table.n_entries]
            found += source_pushes(one, leaf, number, name, own, self.numbering)
            offset += one.table.n_entries
        return found

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
