"""Composite models to and from the parts of an archive: features and weights as arrays, names as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from loglinear.data.documents import Numbering
from loglinear.errors import LoglinearError, ModelFileError
from loglinear.features.vocabulary import Vocabulary, pack_strings
from loglinear.features.word_vocabulary import WordVocabulary
from loglinear.models.language_model.composite.queries import CompositeQueries
from loglinear.sources import parse_source
from loglinear.sources.extraction import SourceFeatures
from loglinear.sources.problem import native_problem
from loglinear.sources.table import FeatureTable
from loglinear.sources.topics import TopicAssigner

_LAYERS = ("layers", "before", "labels")
_STATE = "state."


def to_parts(queries: CompositeQueries) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return the settings and the arrays of a composite model."""
    settings, arrays = numbering_parts(queries.numbering)
    specs, more = feature_parts(queries.features)
    settings |= {"sources": specs, "infers_topics": queries.infers}
    arrays |= more | {"weights": queries.weights}
    if queries.assigner is not None:
        arrays |= assigner_parts(queries.assigner)
    return settings, {f"composite.{name}": array for name, array in arrays.items()}


def numbering_parts(numbering: Numbering) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return the names of layers as settings, and those of their symbols as arrays."""
    settings: dict[str, Any] = {}
    arrays: dict[str, np.ndarray] = {}
    for kind in _LAYERS:
        named = getattr(numbering, kind)
        settings[kind] = list(named)
        for number, names in enumerate(named.values()):
            arrays |= packed(f"{kind}.{number}", names)
    return settings, arrays


def feature_parts(features: Sequence[SourceFeatures]) -> tuple[list[str], dict[str, np.ndarray]]:
    """Return the sources as the command line writes them, and what each has learnt as arrays."""
    arrays: dict[str, np.ndarray] = {}
    for number, one in enumerate(features):
        for name, array in one.table.arrays().items():
            arrays[f"{number}.{name}"] = array
        for name, value in one.state.items():
            key = f"{number}.{_STATE}{name}"
            arrays |= {key: value} if isinstance(value, np.ndarray) else packed(key, value)
    return [one.source.spec() for one in features], arrays


def assigner_parts(assigner: TopicAssigner) -> dict[str, np.ndarray]:
    """Return the function that assigns topics as arrays."""
    return packed("assigner.names", assigner.names) | {
        "assigner.weights": assigner.weights, "assigner.bias": assigner.bias}  # fmt: skip


def packed(key: str, names: Sequence[str]) -> dict[str, np.ndarray]:
    """Return strings as two arrays."""
    blob, offsets = pack_strings(list(names))
    return {f"{key}.blob": blob, f"{key}.offsets": offsets}


def names_of(arrays: Mapping[str, np.ndarray], key: str) -> tuple[str, ...]:
    """Return the strings of two arrays."""
    return tuple(Vocabulary.from_arrays(arrays[f"{key}.blob"], arrays[f"{key}.offsets"], distinct=True))


def numbering_of(
    settings: Mapping[str, Any], arrays: Mapping[str, np.ndarray], vocabulary: WordVocabulary
) -> Numbering:
    """Return the numbering of words and layers."""
    return Numbering(
        vocabulary,
        *({name: names_of(arrays, f"{kind}.{n}") for n, name in enumerate(settings[kind])} for kind in _LAYERS),
    )


def assigner_of(arrays: Mapping[str, np.ndarray], vocabulary: WordVocabulary) -> TopicAssigner | None:
    """Return the function that assigns topics, if there is one."""
    if "assigner.weights" not in arrays:
        return None
    of_words, bias = arrays["assigner.weights"], arrays["assigner.bias"]
    assigner = TopicAssigner(of_words, bias, names_of(arrays, "assigner.names"))
    if of_words.shape != (vocabulary.n_words, bias.size) or bias.size != len(assigner.names):
        raise ModelFileError("the function that assigns topics does not fit the vocabulary")
    return assigner


def finite_weights(array: np.ndarray) -> np.ndarray:
    """Return weights as they are; raise ModelFileError for those that are no numbers."""
    weights = np.asarray(array)
    if weights.dtype != np.float64 or not np.isfinite(weights).all():
        raise ModelFileError("some weights are no finite numbers")
    return weights


def features_of(
    specs: Sequence[str], arrays: Mapping[str, np.ndarray], numbering: Numbering
) -> list[SourceFeatures]:
    """Return sources with what they have learnt, checked."""
    features = [_features(number, spec, arrays) for number, spec in enumerate(specs)]
    for one in features:
        one.source.check_state(numbering, one.state)
    return features


def of_parts(
    settings: Mapping[str, Any], arrays: Mapping[str, np.ndarray], vocabulary: WordVocabulary, *, n_threads: int | None
) -> CompositeQueries:
    """Make the model again, after a check of everything that the kernels rely on."""
    numbering, assigner = numbering_of(settings, arrays, vocabulary), assigner_of(arrays, vocabulary)
    features = features_of(settings["sources"], arrays, numbering)
    weights = finite_weights(arrays["weights"])
    infers = bool(settings.get("infers_topics", False)) and assigner is not None
    queries = CompositeQueries(numbering, features, weights, assigner=assigner, infers=infers, n_threads=n_threads)
    offsets = np.cumsum([vocabulary.n_words, *(one.table.n_entries for one in features)])
    native_problem(  # checks every array
        vocabulary.n_words,
        [(one.table, int(o), np.zeros(0, np.uint32)) for one, o in zip(features, offsets)], np.zeros(0),
        np.zeros(queries.weights.size),
    )  # fmt: skip
    return queries


def _features(number: int, spec: str, arrays: Mapping[str, np.ndarray]) -> SourceFeatures:
    try:
        source = parse_source(spec)
    except (LoglinearError, ValueError) as error:
        raise ModelFileError(
            f"the model's source {spec!r} is not known here; register it first (loglinear.sources.SOURCES): {error}"
        ) from None
    own = {name.partition(".")[2]: a for name, a in arrays.items() if name.partition(".")[0] == str(number)}
    state: dict[str, Any] = {}
    for name in own:
        if name.startswith(_STATE):
            key = name.removeprefix(_STATE)
            if key.endswith(".blob"):
                state[key.removesuffix(".blob")] = list(names_of(own, name.removesuffix(".blob")))
            elif not key.endswith(".offsets"):
                state[key] = own[name]
    arrays_of_table = {name: a for name, a in own.items() if not name.startswith(_STATE)}
    if any(a.ndim != 1 for a in arrays_of_table.values()):
        raise ModelFileError(f"the arrays of the source {spec!r} do not have one dimension")
    table = FeatureTable(**arrays_of_table)
    table.leaves(np.zeros((0, max(table.depth, 1)), np.int32))  # raises ValueError unless contexts can be looked up
    return SourceFeatures(source, state, table)
