"""Class-factored models and mixtures under a cache, to and from the parts of an archive."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

import numpy as np

from loglinear.data.documents import Numbering
from loglinear.errors import ModelFileError
from loglinear.features.word_vocabulary import WordVocabulary
from loglinear.models.language_model.cache.queries import CachedQueries, CacheSettings, Member, NgramMember, parse_cache
from loglinear.models.language_model.composite import file as shared
from loglinear.models.language_model.factored.partition import WordPartition
from loglinear.models.language_model.factored.queries import ClassLevel, FactoredQueries, NgramWeights

Arrays = dict[str, np.ndarray]


def to_parts(queries: FactoredQueries | CachedQueries) -> tuple[dict[str, Any], Arrays]:
    """Return the settings and the arrays of a model."""
    members = queries.members if isinstance(queries, CachedQueries) else [queries]
    settings: dict[str, Any] = {"members": []}
    found, arrays = shared.numbering_parts(queries.numbering)
    settings |= found
    for number, member in enumerate(members):
        own, more = _member_parts(member)
        settings["members"].append(own)
        arrays |= {f"{number}.{name}": array for name, array in more.items()}
    if queries.assigner is not None:
        arrays |= shared.assigner_parts(queries.assigner)
    settings["infers_topics"] = queries.infers
    if isinstance(queries, CachedQueries):
        settings["shares"] = queries.shares.tolist()
        settings["cache"] = None if queries.settings is None else asdict(queries.settings)
        arrays["cache"] = queries.weights
    return settings, {f"factored.{name}": array for name, array in arrays.items()}


def _member_parts(member: Member) -> tuple[dict[str, Any], Arrays]:
    arrays = {f"words.{name}": array for name, array in vars(member.words).items()}
    if isinstance(member, NgramMember):
        return {"kind": "ngrams"}, arrays
    arrays["word_counts"] = member.word_counts
    specs: list[Any] = []
    for number, level in enumerate(member.levels):
        specs, own = shared.feature_parts(level.features)
        own |= shared.packed("classes", level.partition.names)
        own |= {"of_word": level.partition.of_word, "weights": level.weights}
        arrays |= {_level(number) + name: array for name, array in own.items()}
    return {"kind": "factored", "sources": specs, "levels": len(member.levels)}, arrays


def of_parts(
    settings: Mapping[str, Any], arrays: Mapping[str, np.ndarray], vocabulary: WordVocabulary, *, n_threads: int | None
) -> FactoredQueries | CachedQueries:
    """Make the model again, after a check of everything that the kernels rely on."""
    numbering = shared.numbering_of(settings, arrays, vocabulary)
    assigner = shared.assigner_of(arrays, vocabulary)
    infers = bool(settings.get("infers_topics", False)) and assigner is not None
    members: list[Member] = []
    for number, own in enumerate(settings["members"]):
        prefix = f"{number}."
        part = {name.removeprefix(prefix): a for name, a in arrays.items() if name.startswith(prefix)}
        shared.finite_weights(part["words.weight"])
        words = NgramWeights(**{f.name: np.asarray(part[f"words.{f.name}"]) for f in fields(NgramWeights)})
        if own["kind"] == "ngrams":
            if words.entry_start.size < 2 or int(words.entry_start[1]) != vocabulary.n_words:
                raise ModelFileError("a model of the mixture has other words than the vocabulary")
            members.append(NgramMember(words, n_threads))
            continue
        members.append(_factored(own, part, words, numbering, n_threads))
        members[-1].assigner, members[-1].infers = assigner, infers  # type: ignore[union-attr]
    if "shares" not in settings:
        if len(members) != 1 or not isinstance(members[0], FactoredQueries):
            raise ModelFileError("a class-factored model has one member")
        return members[0]
    given = settings["cache"]
    if not (given is None or (isinstance(given, Mapping) and set(given) == {f.name for f in fields(CacheSettings)})):
        raise ModelFileError("the settings of the cache are damaged")
    cache = None if given is None else parse_cache(given)
    weights = np.asarray(arrays["cache"]) if cache is not None else None
    return CachedQueries(numbering, members, np.array(settings["shares"]), cache, weights, n_threads=n_threads)


def _factored(
    own: Mapping[str, Any], part: Mapping[str, np.ndarray], words: NgramWeights, numbering: Numbering,
    n_threads: int | None,
) -> FactoredQueries:  # fmt: skip
    levels: list[ClassLevel] = []
    for number in range(int(own.get("levels", 1))):
        prefix = _level(number)
        its = {name.removeprefix(prefix): array for name, array in part.items() if name.startswith(prefix)}
        partition = WordPartition(np.asarray(its["of_word"]), shared.names_of(its, "classes"))
        features, above = shared.features_of(own["sources"], its, numbering), levels[-1].partition if levels else None
        levels.append(ClassLevel(partition, features, shared.finite_weights(its["weights"]), above))
    if not levels:
        raise ModelFileError("a class-factored model has a level of classes")
    made = FactoredQueries(numbering, levels, words, np.asarray(part["word_counts"]), n_threads=n_threads)
    made.check()
    return made


def _level(number: int) -> str:
    """Return the prefix of the arrays of a level; the first has none."""
    return f"level{number}." if number else ""
