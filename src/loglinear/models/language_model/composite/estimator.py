"""``LanguageModel.fit`` with information sources: read documents, train, record."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from loglinear.data.corpus import read_corpus
from loglinear.data.documents import Documents, Numbering, is_layered, iterate_documents, number_documents
from loglinear.data.documents import plain_documents as plain
from loglinear.data.memory import parse_memory
from loglinear.features.word_vocabulary import WordVocabulary
from loglinear.formats.running_text import check_text
from loglinear.metrics.perplexity import perplexity
from loglinear.models.language_model.composite.training import CompositeFit, train_composite
from loglinear.models.language_model.penalty import NgramPenalty, TreePenalty
from loglinear.models.language_model.settings import Settings
from loglinear.models.trainer import record_training
from loglinear.sources import InformationSource, Topic, Words, parse_disjoint, parse_sources
from loglinear.sources.topics import TopicAssigner, cluster_documents
from loglinear.status import Status

if TYPE_CHECKING:
    from loglinear.models.language_model.trainer import LanguageModelTrainer

NOT_DISJOINT = 0.1  # error of log Z per token above which a warning is given


def fit_sources(model: LanguageModelTrainer, X: Any, validation: Any, settings: Settings) -> None:
    """Train a model with sources and leave what it learnt in its attributes."""
    began = time.perf_counter()
    sources = parse_sources(model.sources)
    if model.cache is not None:
        raise ValueError("a cache goes with n-gram models and with classes: leave sources out, or add classes")
    penalty = checked_penalty(model, settings)
    if settings.is_tuned and validation is None:
        raise ValueError("tune chooses the strengths on held-out text: give fit(..., validation=documents)")
    if len(sources) == 1 and sources[0] == Words(sources[0].order):
        _fit_ngrams(model, X, validation, sources[0].order)
        return
    documents, numbering = read_training(model, X)
    assigner = None
    if model.n_topics is not None:
        documents, numbering, assigner = with_topics(documents, numbering, sources, model.n_topics)
    held_out = None if validation is None else read_like(model, validation, numbering)
    if held_out is not None and assigner is not None:
        held_out = assigner.assign(held_out, topic_label(sources))
    stages = {"reading": time.perf_counter() - began}
    memory = None if model.memory is None else parse_memory(model.memory)
    fit = train_composite(
        documents, numbering, sources, penalty, settings.for_solver(), method=model.method, memory=memory,
        validation=held_out if settings.is_tuned else None, tuned_names=settings.tuned_names,
        disjoint=parse_disjoint(model.disjoint, sources), assigner=assigner,
    )  # fmt: skip
    stages["estimating"] = time.perf_counter() - began - stages["reading"]
    _record(model, fit, documents, held_out)
    if held_out is not None:
        model.validation_score_ = model.score(held_out)
    model.stage_seconds_, model.fit_seconds_ = stages, time.perf_counter() - began


def topic_label(sources: Sequence[InformationSource]) -> str:
    """Return the label that a topic source sees."""
    label = next((one.label for one in sources if isinstance(one, Topic)), None)
    if label is None:
        raise ValueError("n_topics makes topics for a topic source: add one, such as words:3,topic")
    return label


def with_topics(
    documents: Documents, numbering: Numbering, sources: Sequence[InformationSource], n_topics: int
) -> tuple[Documents, Numbering, TopicAssigner]:
    """Cluster documents; return them with their topics and the function that assigns topics to others."""
    label = topic_label(sources)
    if label in documents.labels:
        raise ValueError(f"the documents have {label!r} labels: leave n_topics out, or the labels")
    topics, assigner = cluster_documents(documents, n_topics)
    labelled = documents.with_labels(label, topics, assigner.names)
    return labelled, Numbering.of(labelled, numbering.vocabulary), assigner


def _fit_ngrams(model: LanguageModelTrainer, X: Any, validation: Any, order: int) -> None:
    """Train n-grams alone by the sweeps of n-gram models."""
    plain_model = type(model)(**{**model.parameters(), "sources": None, "order": order})
    texts = [_words_of(model, one) if one is not None else None for one in (X, validation)]
    plain_model.fit(texts[0], validation=texts[1])
    for name, value in vars(plain_model).items():
        if name.endswith("_") and not name.startswith("_"):
            setattr(model, name, value)


def _words_of(model: LanguageModelTrainer, X: Any) -> Any:
    if not is_layered(X, model.document_kind):
        return X
    found = iterate_documents(X, model.document_kind)
    return [sentence.words for document in found for sentence in document.sentences]


def checked_penalty(model: LanguageModelTrainer, settings: Settings) -> NgramPenalty | TreePenalty:
    """Return the penalty; raise ValueError for settings that sources cannot be combined with."""
    if model.estimator != "maxent":
        raise ValueError(f"sources are features of estimator='maxent', not of {model.estimator!r}")
    if model.units != "words":
        raise ValueError(f"sources see words; units={model.units!r} cannot be combined with them")
    for name, usual in (("base", None), ("prune_entropy", None), ("prune", None), ("strength_classes", "order")):
        if getattr(model, name) != usual:
            raise ValueError(f"{name} cannot be combined with sources, which have features that are no n-grams")
    if np.any(np.asarray(model.min_count) != 1):
        raise ValueError("give least counts to the sources: Words(3, min_count=2)")
    return settings.make_penalty()


def read_training(model: LanguageModelTrainer, X: Any) -> tuple[Documents, Numbering]:
    """Read documents to train on, and choose the vocabulary."""
    given = model.vocabulary
    if given is not None and not isinstance(given, (str, os.PathLike, WordVocabulary)):
        given = WordVocabulary.from_words(given, is_open=model.unknown == "token")
    if isinstance(X, Documents):
        if not isinstance(given, WordVocabulary):
            raise ValueError("documents of numbers need the vocabulary that numbered them (vocabulary=...)")
        return X, Numbering.of(X, given)
    by_count: dict[str, Any] = {} if given is not None else {
        "min_count": model.min_word_count, "max_words": model.max_words}  # fmt: skip
    if is_layered(X, model.document_kind):
        return number_documents(
            iterate_documents(X, model.document_kind), vocabulary=given, unknown=model.unknown,
            reserved=model.reserved, **by_count,
        )  # fmt: skip
    check_text(X, "fit takes several")
    if given is not None:
        by_count["vocabulary_file" if isinstance(given, (str, os.PathLike)) else "vocabulary"] = given
    by_count["unknown"] = model.unknown
    sentences, words = read_corpus(X, **by_count, **model.reading_options)
    documents = plain(sentences)
    return documents, Numbering.of(documents, words)


def read_like(model: LanguageModelTrainer, X: Any, numbering: Numbering) -> Documents:
    """Read documents in the numbers of those that were trained on."""
    if isinstance(X, Documents):
        return X
    if is_layered(X, model.document_kind):
        return number_documents(iterate_documents(X, model.document_kind), like=numbering)[0]
    return plain(read_corpus(X, vocabulary=numbering.vocabulary, **model.reading_options)[0])


def _record(model: LanguageModelTrainer, fit: CompositeFit, documents: Documents, held_out: Documents | None) -> None:
    """Store what training reports about itself."""
    queries = fit.queries
    model.queries_, model.vocabulary_, model.order_ = queries, queries.vocabulary, queries.order
    model.n_ngrams_ = by_order([one.table for one in queries.features], queries.vocabulary.n_words)
    model.counts_ = by_order([one.table for one in fit.features], queries.vocabulary.n_words)
    model.n_tokens_, model.n_weights_ = documents.n_events, fit.n_weights
    model.n_parameters_, model.strengths_ = fit.n_weights, fit.strengths
    model.plan_ = {"method": fit.plan.chosen.method, "reason": fit.plan.reason,
                   "estimates": [asdict(e) for e in fit.plan.estimates]}  # fmt: skip
    if fit.error is not None:
        model.disjointness_ = asdict(fit.error)
        if fit.error.mean > NOT_DISJOINT:
            message = f"the sources {model.disjoint} are not nearly disjoint: log Z is off by {fit.error.mean:.2g} per"
            from sklearn.exceptions import ConvergenceWarning

            warnings.warn(f"{message} token; train without disjoint", ConvergenceWarning, stacklevel=6)
    record_training(model, fit.solution)
    if fit.tuned is None or held_out is None:
        return
    n = held_out.n_events
    model.n_validation_tokens_, model.tuning_status_ = n, fit.tuned.status
    model.tuning_ = [
        {
            "strengths": trial.strengths.tolist(), "perplexity": perplexity(-trial.validation, n),
            "nonzero_weights": trial.n_active, "accepted": trial.accepted, "seconds": trial.seconds,
            "chosen": number == fit.chosen,
        }
        for number, trial in enumerate(fit.tuned.history)
    ]  # fmt: skip
    if fit.tuned.status == Status.INTERRUPTED:
        model.status_, model.converged_ = Status.INTERRUPTED, False


def by_order(tables: Any, n_words: int) -> list[int]:
    """Return the numbers of features by order, of all sources together."""
    order = 1 + max(table.depth for table in tables)
    out = [n_words] + [0] * (order - 1)
    for table in tables:
        for d in range(1, table.depth + 1):
            part = table.entries_of_depth(d)
            out[d] += part.stop - part.start
    return out


