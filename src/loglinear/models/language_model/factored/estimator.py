"""``LanguageModel.fit`` with classes: words are clustered, both levels are trained, a cache is fitted."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from loglinear.clustering.exchange import cluster_words
from loglinear.data.documents import Documents, Numbering
from loglinear.data.sentences import Sentences
from loglinear.formats.class_file import read_classes
from loglinear.metrics.perplexity import perplexity
from loglinear.models.language_model.cache.queries import member_of, parse_cache
from loglinear.models.language_model.cache.training import fit_cache, fit_mixture
from loglinear.models.language_model.composite.estimator import (
    checked_penalty,
    read_like,
    read_training,
    topic_label,
    with_topics,
)
from loglinear.models.language_model.factored.partition import (
    WordPartition,
    partition_by_labels,
    partition_by_names,
    tree_of_classes,
)
from loglinear.models.language_model.factored.training import FactoredFit, train_factored
from loglinear.models.language_model.penalty import NgramPenalty
from loglinear.models.language_model.settings import Settings
from loglinear.models.trainer import record_training
from loglinear.optimise.training import Solution
from loglinear.sources import Classes, InformationSource, Skip, Words, parse_sources
from loglinear.status import Status

if TYPE_CHECKING:
    from loglinear.models.language_model.trainer import LanguageModelTrainer

# Of words within their classes, as of Model M (Chen 2009). Of classes, the ridge grows with the number of sources,
# which share the score of what they have seen together (docs/results/composite.md).
WORD_L1, WORD_L2 = 0.5, 1 / 6
CLASS_L1, CLASS_L2_PER_SOURCE = 0.3, 0.45
NO_DEV_SET = "the weights of a cache are fitted on held-out text: give fit(..., validation=text)"
HISTORY_CLASSES = (50, 500)  # sets of classes that the class level sees beside its own


def fit_factored(model: LanguageModelTrainer, X: Any, validation: Any, settings: Settings) -> None:
    """Train a class-factored model and leave what it learnt in its attributes."""
    began = time.perf_counter()
    if model.cache is not None and validation is None:
        raise ValueError(NO_DEV_SET)
    given = None if model.sources is None else parse_sources(model.sources)
    _penalties(model, settings, 1)  # raises for settings that do not go together, before any work
    documents, numbering = read_training(model, X)
    assigner = None
    if model.n_topics is not None:
        if given is None:
            raise ValueError("n_topics makes topics for a topic source: give sources with one")
        documents, numbering, assigner = with_topics(documents, numbering, given, model.n_topics)
    held_out = None if validation is None else read_like(model, validation, numbering)
    if held_out is not None and assigner is not None and given is not None:
        held_out = assigner.assign(held_out, topic_label(given))
    if settings.is_tuned and held_out is None:
        raise ValueError("tune chooses the strengths on held-out text: give fit(..., validation=documents)")
    stages = {"reading": time.perf_counter() - began}
    partitions = make_partitions(model.classes, documents, numbering, model.n_threads)
    partition, n_words = partitions[-1], documents.sentences.n_words
    sources = usual_sources(partition.n_classes, n_words) if given is None else given
    names = dict(zip(numbering.vocabulary, (partition.names[c] for c in partition.of_word)))
    sources = [
        replace(one, classes=names) if isinstance(one, Classes) and one.classes is None else one for one in sources
    ]
    stages["clustering"] = time.perf_counter() - began - sum(stages.values())
    order = model.order
    if not isinstance(order, int):
        raise ValueError(f"with classes the order of the word level is a number, not {order!r}")
    class_penalty, word_penalty = _penalties(model, settings, len(sources))
    fit = train_factored(
        documents, numbering, partitions, sources, order, class_penalty, word_penalty, settings.for_solver(),
        min_counts=settings.min_counts, validation=held_out if settings.is_tuned else None, assigner=assigner,
    )  # fmt: skip
    stages["estimating"] = time.perf_counter() - began - sum(stages.values())
    _record(model, fit, documents, held_out)
    if held_out is not None and model.cache is not None:
        add_cache(model, held_out, settings)
        stages["cache"] = time.perf_counter() - began - sum(stages.values())
    if held_out is not None:
        model.validation_score_ = model.score(held_out)
    model.stage_seconds_, model.fit_seconds_ = stages, time.perf_counter() - began


def add_cache(model: LanguageModelTrainer, held_out: Documents, settings: Settings) -> None:
    """Put a cache over a trained model, fitted on held-out documents."""
    queries = model.queries_
    numbering = queries.numbering if hasattr(queries, "numbering") else Numbering.of(held_out, model.vocabulary_)
    mixture = fit_mixture([member_of(queries, model.n_threads)], numbering, held_out, n_threads=model.n_threads)
    found, solution = fit_cache(mixture, parse_cache(model.cache), held_out, settings.for_solver())
    model.queries_ = found
    if solution is not None and solution.result.status == Status.INTERRUPTED:
        model.status_, model.converged_ = Status.INTERRUPTED, False


def make_partitions(
    given: Any, documents: Documents, numbering: Numbering, n_threads: int | None
) -> list[WordPartition]:
    """Return the levels of classes that are given: one, or a tree, the largest classes first.

    The classes of a tree are clustered as words are: each level from the text with its words in the smaller classes.
    """
    if not isinstance(given, (list, tuple)):
        return [_partition(given, documents, numbering, n_threads)]
    if not given:
        raise ValueError("classes: an empty list of levels; give a number of classes, or several that rise")
    finest = _partition(given[-1], documents, numbering, n_threads)
    labels, n_below, above = finest.of_word, finest.n_classes - 1, []
    to_level = np.arange(finest.n_classes, dtype=np.uint32)  # class of each of the finest classes
    for k in reversed(given[:-1]):
        if not isinstance(k, (int, np.integer)) or isinstance(k, bool) or not 1 < k < n_below:
            raise ValueError(
                f"classes: a level of {k!r} classes above one of {n_below}; give numbers from 2 that rise; only the "
                "last may be a class file"
            )
        text = Sentences(n_below + 1, to_level[labels][documents.sentences.words], documents.sentences.sentence_ptr)
        found = partition_by_labels(cluster_words(text, int(k), n_threads=n_threads))
        to_level, n_below = found.of_word[to_level], int(k)
        above.append(to_level)
    return tree_of_classes(finest, above[::-1])


def _partition(given: Any, documents: Documents, numbering: Numbering, n_threads: int | None) -> WordPartition:
    """Return the classes that a number, a file or a mapping from words to classes stands for."""
    if isinstance(given, (int, np.integer)) and not isinstance(given, bool):
        return partition_by_labels(cluster_words(documents.sentences, int(given), n_threads=n_threads))
    if isinstance(given, (str, os.PathLike)):
        given = read_classes(given)
    if not isinstance(given, Mapping):
        raise ValueError(f"classes: {given!r} is no number of classes, no class file and no dict from words to classes")
    partition, missing = partition_by_names(given, numbering.vocabulary)
    if missing == numbering.vocabulary.n_words - 1:
        raise ValueError("classes: the class file has none of the words of the text")
    return partition


def usual_sources(n_classes: int, n_words: int) -> list[InformationSource]:
    """Return the sources of the class level where none are given: chains of words and of several sets of classes."""
    sources: list[InformationSource] = [Words(4), Classes(5), Skip(1, 3), Skip(2), Skip(3), Classes(4, skipped=1)]
    for k in HISTORY_CLASSES:
        if not 2 <= k <= n_words // 4 or 0.5 * n_classes < k < 2 * n_classes:
            continue
        sources.append(Classes(6 if k < n_classes else 4, k))
        if k > n_classes:
            sources.append(Classes(3, k, skipped=1))
    return sources


def _penalties(model: LanguageModelTrainer, settings: Settings, n_sources: int) -> tuple[Any, NgramPenalty]:
    found = checked_penalty(model, settings)
    if not isinstance(found, NgramPenalty):
        raise ValueError(
            f"penalty={model.penalty!r} is a norm over a tree of n-grams; with classes use elastic_net, or give the "
            "norm to a source of the class level"
        )
    if model.strength is not None:
        return found, found
    of_classes, of_words = (
        replace(found, strength=(l1 + l2,), l1_ratio=(l1 / (l1 + l2),))
        for l1, l2 in ((CLASS_L1, CLASS_L2_PER_SOURCE * n_sources), (WORD_L1, WORD_L2))
    )
    return of_classes, of_words


def _record(model: LanguageModelTrainer, fit: FactoredFit, documents: Documents, held_out: Documents | None) -> None:
    """Store what training reports about itself."""
    queries = fit.queries
    model.queries_, model.vocabulary_, model.order_ = queries, queries.vocabulary, queries.order
    model.n_ngrams_ = np.diff(queries.words.entry_start).tolist()
    model.counts_ = fit.counts[1]
    model.n_tokens_, model.n_weights_ = documents.n_events, fit.n_weights
    model.n_parameters_, model.strengths_ = fit.n_weights, fit.strengths
    model.n_classes_ = queries.partition.n_classes
    record_training(model, reduce(_both, fit.solutions))
    if fit.trials and held_out is not None:
        model.n_validation_tokens_, model.tuning_status_ = held_out.n_events, fit.solutions[0].result.status
        chosen = {trial.level: n for n, trial in enumerate(fit.trials) if trial.accepted}  # the last of each level
        least = {level: fit.trials[n].validation for level, n in chosen.items()}
        model.tuning_ = [
            trial.row(
                perplexity(-trial.validation - sum(v for level, v in least.items() if level != trial.level),
                           held_out.n_events), n == chosen[trial.level],
            )
            for n, trial in enumerate(fit.trials)
        ]  # fmt: skip


def _both(first: Solution, second: Solution) -> Solution:
    """Return two solutions of problems that share no weights as one of their sum."""
    a, b = first.result, second.result
    gap = (a.gap * abs(a.value) + b.gap * abs(b.value)) / max(abs(a.value + b.value), 1e-300)
    worse = max((a, b), key=lambda r: r.gap * abs(r.value)) if not (a.converged and b.converged) else a
    status = Status.INTERRUPTED if Status.INTERRUPTED in (a.status, b.status) else worse.status
    result = replace(
        a, value=a.value + b.value, gap=gap, gap_is_bound=a.gap_is_bound and b.gap_is_bound,
        converged=a.converged and b.converged, status=status, n_iterations=max(a.n_iterations, b.n_iterations),
        violation=max(a.violation, b.violation),
    )  # fmt: skip
    return replace(first, result=result)
