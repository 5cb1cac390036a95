"""Training of class-factored models: the class level and the word level are two problems of their own.

    - sum of log p(w | h)  =  - sum of log p(class of w | h)  -  sum of log p(w | class of w, h)

The class level is a composite model whose outcomes are classes, the word level an n-gram model within each class. A
tree of classes has several class levels, each within the classes of the one before. All levels are convex, and they
share no weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np

from loglinear.arrays import FloatArray
from loglinear.data.documents import Documents, Numbering
from loglinear.data.ngram import NgramTrie, build_trie
from loglinear.losses.composite import CompositeLoss
from loglinear.losses.words_within_classes import WordsWithinClassesLoss
from loglinear.models.language_model.composite.penalty import OwnPenalty, SourcePenalties, own_penalty
from loglinear.models.language_model.composite.queries import check_sources, without_zeros
from loglinear.models.language_model.factored.partition import WordPartition, group_start
from loglinear.models.language_model.factored.queries import ClassLevel, FactoredQueries, NgramWeights
from loglinear.models.language_model.factored.scale import LOOSE, ScaleTrial, TrainAt, tune_scale
from loglinear.models.language_model.penalty import NgramPenalty
from loglinear.models.language_model.training import centred, with_unknown
from loglinear.optimise.objective import Objective
from loglinear.optimise.training import Settings, Solution, train
from loglinear.penalties import ByClass
from loglinear.protocols import Loss
from loglinear.sources.extraction import outcome_features
from loglinear.sources.kinds import InformationSource
from loglinear.sources.normalisers import make_normaliser
from loglinear.sources.problem import OutcomeGroups, make_problem
from loglinear.sources.topics import TopicAssigner


@dataclass(frozen=True)
class FactoredFit:
    """A trained class-factored model and how it was trained."""

    queries: FactoredQueries
    n_weights: int
    counts: list[list[int]]  # features that were counted, by level and order
    solutions: list[Solution]  # of each class level, then of the word level
    strengths: list[dict[str, Any]]
    trials: list[ScaleTrial]  # of tuning, by level


def train_factored(
    documents: Documents,
    numbering: Numbering,
    partitions: Sequence[WordPartition],
    sources: Sequence[InformationSource],
    order: int,
    class_penalty: OwnPenalty,
    word_penalty: NgramPenalty,
    settings: Settings,
    *,
    min_counts: Sequence[int] = (1,),
    validation: Documents | None = None,
    assigner: TopicAssigner | None = None,
) -> FactoredFit:
    """Train all levels; with ``validation`` documents, choose how strong the penalty of each is.

    partitions : the classes of each class level, the largest first
    sources : of the class levels
    order : of the n-grams of the word level
    min_counts : by order, of the n-grams of the word level
    """
    check_sources(sources, documents)
    names = ["classes"] if len(partitions) == 1 else [f"classes {n}" for n in range(1, len(partitions) + 1)]
    levels, trained, counts = [], [], []
    for name, above, partition in zip(names, [None, *partitions], partitions):
        level = _ClassLevel(name, documents, numbering, partition, above, sources, class_penalty, settings)
        trained.append(level.train(validation))
        counts.append(by_depth([one.table for one in level.features], partition.n_classes))
        kept = without_zeros(level.features, trained[-1][0].weights, partition.n_classes)
        levels.append(ClassLevel(partition, kept[0], kept[1], above))
        del level
    finest = partitions[-1]
    words = _WordLevel(documents, numbering, finest, order, word_penalty, settings, min_counts)
    trained.append(words.train(validation))
    ngrams = kept_ngrams(words.trie, words.loss.entry, trained[-1][0].weights)
    counts.append(np.bincount(words.loss.order, minlength=order + 1)[1:].tolist())
    queries = FactoredQueries(
        numbering, levels, ngrams, np.bincount(documents.words, minlength=finest.of_word.size), assigner=assigner,
        infers=assigner is not None, n_threads=settings.n_threads,
    )  # fmt: skip
    weights = [level.weights for level in levels] + [ngrams.weight]
    solutions, rows, trials = zip(*trained)
    return FactoredFit(
        queries, sum(int(np.count_nonzero(one)) for one in weights), counts, list(solutions), list(chain(*rows)),
        list(chain(*trials)),
    )  # fmt: skip


Trained = tuple[Solution, list[dict[str, Any]], list[ScaleTrial]]


class _ClassLevel:
    """The classes of words from the sources: a composite model whose outcomes are classes, within those above."""

    def __init__(
        self, name: str, documents: Documents, numbering: Numbering, partition: WordPartition,
        above: WordPartition | None, sources: Sequence[InformationSource], penalty: OwnPenalty, settings: Settings,
    ) -> None:  # fmt: skip
        self.name, self.numbering, self.partition, self.above = name, numbering, partition, above
        self.sources, self.penalty, self.settings = sources, penalty, settings
        classes = partition.of_word[documents.words]
        self.features, leaves = outcome_features(sources, documents, numbering, classes)
        self.loss = self._loss(documents, leaves)
        self.problem = self.loss.problem

    def _loss(self, documents: Documents, leaves: Sequence[Any]) -> CompositeLoss:
        K, classes = self.partition.n_classes, self.partition.of_word[documents.words]
        groups = None
        if self.above is not None:
            groups = OutcomeGroups(group_start(self.above, self.partition), self.above.of_word[documents.words])
        problem = make_problem(K, [one.table for one in self.features], leaves, classes, groups=groups)
        return CompositeLoss(problem, make_normaliser(problem, "dense", n_threads=self.settings.n_threads))

    def on(self, documents: Documents) -> CompositeLoss:
        """Return the loss of other documents as a function of the same weights."""
        return self._loss(documents, [one.leaves(documents, self.numbering) for one in self.features])

    def train(self, validation: Documents | None) -> Trained:
        K, threads = self.partition.n_classes, self.settings.n_threads
        start = np.zeros(self.problem.n_weights)
        start[:K] = np.log(np.maximum(self.problem.observed[:K], 0.5))
        centred(start, K)
        own = [own_penalty(source, self.penalty) for source in self.sources]

        def train_at(scale: float, before: FloatArray | None, loosely: bool = False) -> Solution:
            penalties = SourcePenalties(self.features, self.problem, [_scaled(one, scale) for one in own], threads)
            objective = Objective(self.loss, penalties.make(), threads)
            return train(objective, _loosened(self.settings, loosely), start if before is None else before)

        scale, solution, trials = _tuned(self.name, train_at, None if validation is None else self.on(validation))
        rows = [{"ngrams": self.name, "order": 1, "l1": 0.0, "l2": self.penalty.unigram_strength}]
        for one, its in zip(self.features, (_scaled(one, scale) for one in own)):
            for d in range(1, one.table.depth + 1):
                l1, l2 = its.of_order(d + 1) if isinstance(its, NgramPenalty) else (its.strength, its.l2)
                name = f"{self.name.replace('classes', 'class')} by {one.source.name}, order {d + 1}"
                rows.append({"ngrams": name, "order": d + 1, "l1": l1, "l2": l2})
        return solution, rows, trials


class _WordLevel:
    """Words within their classes: n-grams."""

    def __init__(
        self, documents: Documents, numbering: Numbering, partition: WordPartition, order: int, penalty: NgramPenalty,
        settings: Settings, min_counts: Sequence[int],
    ) -> None:  # fmt: skip
        self.partition, self.order, self.penalty, self.settings = partition, order, penalty, settings
        unknown = numbering.vocabulary.unknown
        trie = build_trie(partition.ranked(documents.sentences), order, n_threads=settings.n_threads)
        self.trie = with_unknown(trie, None if unknown is None else int(partition.rank[unknown]))
        self.loss = WordsWithinClassesLoss(
            self.trie, partition.start, min_counts=min_counts, n_threads=settings.n_threads
        )

    def train(self, validation: Documents | None) -> Trained:
        threads, loss, order = self.settings.n_threads, self.loss, self.order
        start = np.zeros(loss.n_weights)
        single = loss.order == 1
        start[single] = np.log(np.maximum(loss.count[single], 0.5))
        signs = np.array([self.penalty.nonnegative and n > 1 for n in range(1, order + 1)])
        classes = (loss.order - 1).astype(np.uint8)

        def strengths(scale: float) -> list[tuple[float, float]]:
            its = _scaled(self.penalty, scale)
            return [its.of_order(n) for n in range(1, order + 1)]

        def train_at(scale: float, before: FloatArray | None, loosely: bool = False) -> Solution:
            l1, l2 = np.array(strengths(scale)).T
            penalty = ByClass(classes, l1, l2, signs, n_threads=threads)
            settings = _loosened(self.settings, loosely)
            return train(Objective(loss, penalty, threads), settings, start if before is None else before)

        held_out = None if validation is None else loss.on(self.partition.ranked(validation.sentences))
        scale, solution, trials = _tuned("words", train_at, held_out)
        rows = [
            {"ngrams": "words in classes" if n == 1 else f"word in its class, order {n}", "order": n, "l1": a, "l2": b}
            for n, (a, b) in enumerate(strengths(scale), start=1)
        ]
        return solution, rows, trials


def _tuned(
    level: str, train_at: TrainAt, held_out: Loss | None
) -> tuple[float, Solution, list[ScaleTrial]]:
    """Train with the strengths as they are, or with the factor that is best for held-out text."""
    if held_out is None:
        return 1.0, train_at(1.0, None, False), []
    gradient = np.empty(held_out.n_weights)
    return tune_scale(level, train_at, lambda w: held_out.value_and_gradient(w, gradient))


def _loosened(settings: Settings, loosely: bool) -> Settings:
    return replace(settings, tolerance=LOOSE * settings.tolerance) if loosely else settings


def _scaled(penalty: Any, scale: float) -> Any:
    if isinstance(penalty, NgramPenalty):
        return replace(penalty, strength=tuple(scale * s for s in penalty.strength))
    return replace(penalty, strength=scale * penalty.strength, l2=scale * penalty.l2)


def kept_ngrams(trie: NgramTrie, entry: Any, weights: FloatArray) -> NgramWeights:
    """Return the n-grams with weights, and the contexts that lead to them."""
    theta = np.zeros(trie.n_entries)
    theta[entry] = weights
    kept = theta != 0
    kept[: trie.n_words] = True
    context = np.repeat(np.arange(trie.n_contexts), trie.context_entry[1:] - trie.context_entry[:-1])
    used = np.zeros(trie.n_contexts, bool)
    used[context[kept]] = used[0] = True
    children = trie.context_child[1:] - trie.context_child[:-1]
    parent = np.zeros(trie.n_contexts, np.int64)
    parent[1:] = np.repeat(np.arange(trie.n_contexts), children)
    for length in range(trie.order - 1, 1, -1):  # a context needs those that it extends
        part = slice(int(trie.context_start[length]), int(trie.context_start[length + 1]))
        used[parent[part][used[part]]] = True
    per_context = np.bincount(context[kept], minlength=trie.n_contexts)[used]
    per_parent = np.bincount(parent[1:][used[1:]], minlength=trie.n_contexts)[used]
    return NgramWeights(
        np.array([int(np.count_nonzero(used[:s])) for s in trie.context_start], np.int64),
        np.array([int(np.count_nonzero(kept[:s])) for s in trie.entry_start], np.int64),
        trie.context_word[used],
        np.concatenate([[1], 1 + np.cumsum(per_parent)]).astype(np.uint32),
        np.concatenate([[0], np.cumsum(per_context)]).astype(np.uint32),
        trie.entry_word[kept], theta[kept],
    )  # fmt: skip


def by_depth(tables: Sequence[Any], n_outcomes: int) -> list[int]:
    """Return the numbers of features by order, of all sources together."""
    out = [n_outcomes] + [0] * max(table.depth for table in tables)
    for table in tables:
        for d in range(1, table.depth + 1):
            part = table.entries_of_depth(d)
            out[d] += part.stop - part.start
    return out
