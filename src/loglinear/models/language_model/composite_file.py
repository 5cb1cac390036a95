"""Composite models to and from the parts of an archive: features and weights as arrays, names as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from loglinear.data.documents import Numbering
from loglinear.errors import LoglinearError, ModelFileError
from loglinear.features.word_vocabulary import WordVocabulary
from loglinear.models.language_model.composite import CompositeQueries
from loglinear.sources import parse_source
from loglinear.sources.extraction import SourceFeatures
from loglinear.sources.problem import native_problem
from loglinear.sources.table import FeatureTable
from loglinear.sources.topics import TopicAssigner

_LAYERS = ("layers", "before", "labels")


def to_parts(queries: CompositeQueries) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return the settings and the arrays of a composite model."""
    settings: dict[str, Any] = {"sources": [one.source.spec() for one in queries.features], "states": []}
    for kind in _LAYERS:
        settings[kind] = {name: list(names) for name, names in getattr(queries.numbering, kind).items()}
    arrays: dict[str, np.ndarray] = {"composite.weights": queries.weights}
    for number, one in enumerate(queries.features):
        for name, array in one.table.arrays().items():
            arrays[f"composite.{number}.{name}"] = array
        state = {}
        for name, value in one.state.items():
            if isinstance(value, np.ndarray):
                arrays[f"composite.{number}.state.{name}"] = value
            else:
                state[name] = value
        settings["states"].append(state)
    if queries.assigner is not None:
        settings["topics"] = list(queries.assigner.names)
        arrays["composite.assigner.weights"] = queries.assigner.weights
        arrays["composite.assigner.bias"] = queries.assigner.bias
    return settings, arrays


def of_parts(
    settings: Mapping[str, Any], arrays: Mapping[str, np.ndarray], vocabulary: WordVocabulary, *, n_threads: int | None
) -> CompositeQueries:
    """Make the model again, after a check of everything that the kernels rely on."""
    features = []
    for number, (spec, state) in enumerate(zip(settings["sources"], settings["states"], strict=True)):
        try:
            source = parse_source(spec)
        except (LoglinearError, ValueError) as error:
            raise ModelFileError(
                f"the model's source {spec!r} is not known here; register it first (loglinear.sources.SOURCES): {error}"
            ) from None
        own = {name.partition(".")[2]: a for name, a in arrays.items() if name.partition(".")[0] == str(number)}
        learnt = {name.removeprefix("state."): a for name, a in own.items() if name.startswith("state.")}
        table = FeatureTable(**{name: a for name, a in own.items() if not name.startswith("state.")})
        features.append(SourceFeatures(source, {**state, **learnt}, table))
    numbering = Numbering(
        vocabulary, *({name: tuple(names) for name, names in settings[kind].items()} for kind in _LAYERS)
    )
    assigner = None
    if "topics" in settings:
        of_words, bias = arrays["assigner.weights"], arrays["assigner.bias"]
        assigner = TopicAssigner(of_words, bias, tuple(settings["topics"]))
        if of_words.shape != (vocabulary.n_words, bias.size) or bias.size != len(assigner.names):
            raise ModelFileError("the function that assigns topics does not fit the vocabulary")
    weights = np.asarray(arrays["weights"])
    queries = CompositeQueries(numbering, features, weights, assigner=assigner, n_threads=n_threads)
    offsets = np.cumsum([vocabulary.n_words, *(one.table.n_entries for one in features)])
    native_problem(  # checks every array
        vocabulary.n_words,
        [(one.table, int(o), np.zeros(0, np.uint32)) for one, o in zip(features, offsets)], np.zeros(0),
        np.zeros(queries.weights.size),
    )  # fmt: skip
    return queries
