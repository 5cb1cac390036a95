"""Composite language models in use: several information sources in one exactly normalised model.

``CompositeQueries`` is the trained model: it stands where ``NgramQueries`` stands in n-gram models.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from loglinear.arrays import FloatArray
from loglinear.data.documents import Documents, Numbering
from loglinear.errors import FormatError
from loglinear.models.language_model.document_queries import DocumentQueries, EventScores, source_pushes
from loglinear.models.push import Push
from loglinear.sources.extraction import SourceFeatures
from loglinear.sources.kinds import InformationSource, Topic
from loglinear.sources.normalisers import Normaliser, make_normaliser, usable_partition
from loglinear.sources.problem import CompositeProblem, join_histories, native_problem
from loglinear.sources.topics import TopicAssigner

FEATURES_PER_HISTORY = 100  # about as long as the other methods take for a history, sharing takes for so many features
MOST_SHARED = 1 << 32  # bytes of intersections

class CompositeQueries(DocumentQueries):
    """A trained composite model that answers queries about documents."""

    def __init__(
        self, numbering: Numbering, features: Sequence[SourceFeatures], weights: FloatArray, *,
        assigner: TopicAssigner | None = None, infers: bool = False, n_threads: int | None = None,
    ) -> None:  # fmt: skip
        self.numbering, self.features, self.weights = numbering, list(features), weights
        self.assigner, self.infers, self.n_threads = assigner, infers, n_threads
        expected = numbering.vocabulary.n_words + sum(one.table.n_entries for one in self.features)
        if weights.shape != (expected,):
            raise ValueError(f"{weights.size} weights for {expected} features")

    @property
    def sources(self) -> list[InformationSource]:
        """Return the information sources."""
        return [one.source for one in self.features]

    @property
    def order(self) -> int:
        """Return the highest order of a feature."""
        return 1 + max(one.table.depth for one in self.features)

    @property
    def n_states(self) -> int:
        """Return the number of contexts of all sources."""
        return 1 + sum(one.table.n_contexts - 1 for one in self.features)

    @property
    def nbytes(self) -> int:
        """Return the size of weights and features in bytes."""
        return self.weights.nbytes + sum(one.table.nbytes for one in self.features)

    def partition(self) -> int | None:
        """Return the source that partitions histories best: the one of depth 1 with the fewest contexts."""
        return partition_of(self.features)

    def score_events(self, documents: Documents) -> EventScores:
        """Return the log-probability of every event."""
        self.check_vocabulary(documents)
        V, words = self.vocabulary.n_words, documents.words
        leaves = [one.leaves(documents, self.numbering) for one in self.features]
        score = self.weights[words]
        depth = np.ones(words.size, np.int64)
        offset = V
        for one, leaf in zip(self.features, leaves):
            found = one.table.scores(leaf, words, self.weights[offset : offset + one.table.n_entries])
            score = score + found[0]
            np.maximum(depth, found[1] + 1, out=depth)
            offset += one.table.n_entries
        return EventScores(score - self._log_z(leaves), depth)

    def _log_z(self, leaves: Sequence[np.ndarray]) -> FloatArray:
        """Return log Z of every event, once per distinct history."""
        tables = tuple(one.table for one in self.features)
        example, _, number = join_histories(tables, leaves)
        problem = CompositeProblem(
            self.vocabulary.n_words, tables, tuple(leaf[example] for leaf in leaves), np.ones(example.size),
            np.zeros(self.weights.size),
        )  # fmt: skip
        return self._normaliser(problem).log_z(self.weights)[number]

    def _normaliser(self, problem: CompositeProblem) -> Normaliser:
        """Return the method that is fastest once: sharing goes through all features, the others through histories."""
        if problem.n_histories * FEATURES_PER_HISTORY > problem.n_weights:
            try:
                return make_normaliser(problem, "sharing", max_bytes=MOST_SHARED, n_threads=self.n_threads)
            except MemoryError:  # too many intersections
                pass
        partition = usable_partition(problem, self.partition())
        method = "hierarchical" if partition is None or len(problem.tables) == 1 else "partition-hierarchical"
        return make_normaliser(problem, method, partition=partition, n_threads=self.n_threads)

    def distribution_at(self, documents: Documents, event: int) -> FloatArray:
        """Return the probability of every word of the vocabulary before an event: [V]."""
        return self._distribution([int(one.leaves(documents, self.numbering)[event]) for one in self.features])

    def _distribution(self, leaves: Sequence[int]) -> FloatArray:
        parts, offset = [], self.vocabulary.n_words
        for one, leaf in zip(self.features, leaves):
            parts.append((one.table, offset, np.array([leaf], np.uint32)))
            offset += one.table.n_entries
        native = native_problem(self.vocabulary.n_words, parts, np.ones(1), np.zeros(self.weights.size))
        scores = np.empty(self.vocabulary.n_words)
        native.scores(self.weights, 0, scores)
        scores -= scores.max()
        np.exp(scores, out=scores)
        return scores / scores.sum()

    def pushes(self, documents: Documents) -> list[tuple[int, float, list[Push]]]:
        """Return (word, log-probability, contributions of every feature and of log Z) of each event."""
        leaves = [one.leaves(documents, self.numbering) for one in self.features]
        log_p = self.score_events(documents).log_probability
        out = []
        for event, word in enumerate(documents.words.tolist()):
            name = self.vocabulary.word(word)
            found = [Push(name, 1.0, float(self.weights[word]), float(self.weights[word]))]
            offset = self.vocabulary.n_words
            for one, leaf in zip(self.features, leaves):
                own = self.weights[offset : offset + one.table.n_entries]
                found += source_pushes(one, int(leaf[event]), word, name, own, self.numbering)
                offset += one.table.n_entries
            log_z = sum(push.contribution for push in found) - float(log_p[event])
            found.append(Push("log Z", -1.0, log_z, -log_z))
            out.append((word, float(log_p[event]), found))
        return out


def partition_of(features: Sequence[SourceFeatures]) -> int | None:
    """Return the source of one symbol with the fewest values, which partitions histories; None: there is none."""
    single = [i for i, one in enumerate(features) if one.table.depth == 1 and one.table.n_contexts > 1]
    return min(single, key=lambda i: features[i].table.n_contexts, default=None)


def without_zeros(features: Sequence[SourceFeatures], weights: FloatArray, n_words: int) -> Any:
    """Return the features whose weights are not zero, with the shorter ones they need, and their weights."""
    out, kept_weights, offset = [], [weights[:n_words]], n_words
    for one in features:
        part = weights[offset : offset + one.table.n_entries]
        table, kept = one.table.keep(part != 0)
        out.append(SourceFeatures(one.source, one.state, table))
        kept_weights.append(part[kept])
        offset += one.table.n_entries
    return out, np.concatenate(kept_weights)


def check_sources(sources: Sequence[InformationSource], documents: Documents) -> None:
    """Raise FormatError for a topic source over documents of which some have no topic."""
    for source in sources:
        if isinstance(source, Topic) and source.label in documents.labels:
            missing = np.flatnonzero(documents.labels[source.label].numbers < 0)
            if missing.size:
                raise FormatError(f"the document has no {source.label!r}, which the source {source.spec()} needs",
                                  documents.place(int(missing[0])))  # fmt: skip


