"""What happens on the workers of a reranker: lists are read, their features found, and then encoded as pairs.

A part first finds the features that it has itself, and in how many lists. The client joins those of all parts in their
order, so that features have the numbers of one process and those are kept that are frequent enough in all parts
together; a part then counts those among its own.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from loglinear.arrays import FloatArray, fingerprint
from loglinear.dask.examples import own_threads
from loglinear.dask.shards import DaskParts
from loglinear.data.candidates import CandidateLists, MissingPolicy, check_same_space, encode_lists, feature_space
from loglinear.data.edit_distance import ErrorUnits
from loglinear.errors import FormatError
from loglinear.features.candidate_features import CandidateFeatures, FeatureUses
from loglinear.features.vocabulary import Vocabulary
from loglinear.formats.candidate_list import BadList, CandidateList
from loglinear.losses.candidate_lists import ListLoss
from loglinear.losses.partitioned import PartitionedLoss, Shard
from loglinear.models.reranker.inputs import read_lists, score_names, with_language_model
from loglinear.models.reranker.methods import Task


@dataclass(frozen=True, eq=False)
class ReadLists:
    """The lists of a part."""

    lists: list[CandidateList]
    features: CandidateFeatures  # without a vocabulary
    source: str | None  # name of the file


class ListFacts(NamedTuple):
    """What the client must know of a part."""

    n_lists: int
    n_pairs: int
    scores: set[str]
    uses: tuple[FeatureUses, FeatureUses]


class ListSettings(NamedTuple):
    """How lists are encoded."""

    base: tuple[str, ...]
    units: ErrorUnits
    missing: MissingPolicy


class ListPart:
    """The encoded lists of a part, whose features have the numbers ``features`` among those of all: [n]."""

    def __init__(self, data: CandidateLists, features: NDArray[np.int32]) -> None:
        self.data = data
        self.kept = np.concatenate([np.arange(data.n_base), data.n_base + features]).astype(np.intp)

    def loss(self, kind: type[ListLoss], by_errors: bool) -> Shard:
        """Return a loss of the lists."""
        loss = kind(self.data, by_errors=by_errors, n_threads=self.data.n_threads)
        return Shard(loss, self.kept, self.data.n_lists)

    def total_base(self) -> float:
        """Return the sum of the sizes of the differences of base scores."""
        return float(np.abs(self.data.base).sum())

    def chosen_errors(self, w: FloatArray) -> float:
        """Return the errors in all lists of the candidates that the weights choose."""
        return float(self.data.chosen_errors(w).sum())


def read_part(given: Any, features: CandidateFeatures, language_model: str | None) -> ReadLists | None:
    """Read a part; None for one without lists.

    language_model : name of a model file, whose log-probabilities are the score "lm"
    """
    source = None
    if hasattr(given, "read"):
        lists, source = given.read(), given.path
    else:
        items = list(given)
        if any(isinstance(item, str) for item in items):
            raise TypeError(
                "a partition holds strings, not lists: give dicts, bag.map(json.loads), or the files themselves"
            )
        lists = read_lists(items)
    if language_model is not None and lists:
        from loglinear.models.language_model.files import load_language_model

        lists = with_language_model(lists, load_language_model(language_model, 1))
    return ReadLists(lists, features, source) if lists else None


def list_facts(part: ReadLists | None, shared: bool) -> ListFacts | None:
    """Return the facts of a part; None for a part without lists."""
    if part is None:
        return None
    n_pairs = sum(max(len(one.candidates) - 1, 0) for one in part.lists)
    uses = part.features.uses(part.lists, own_threads(shared))
    return ListFacts(len(part.lists), n_pairs, score_names(part.lists), uses)


def encode_part(
    part: ReadLists | None, own: tuple[Vocabulary, NDArray[np.int32]], settings: ListSettings, shared: bool
) -> ListPart:
    """Return the encoded lists of a part.

    own : its features, and their numbers among those of all parts
    """
    vocabulary, numbers = own
    features = CandidateFeatures() if part is None else copy.copy(part.features)
    features._vocabulary = vocabulary
    try:
        data = encode_lists(
            [] if part is None else part.lists, features, base=settings.base, fit=False, units=settings.units,
            missing=settings.missing, n_threads=own_threads(shared),
        )  # fmt: skip
    except BadList as error:
        if part is None or part.source is None:
            raise
        raise FormatError(str(error), part.source) from None
    return ListPart(data, numbers)


class SpreadLists:
    """The lists of all parts, as methods of training see them."""

    def __init__(
        self, parts: DaskParts, facts: Sequence[ListFacts], features: CandidateFeatures, base: tuple[str, ...],
        numbers: Sequence[NDArray[np.int32]],
    ) -> None:  # fmt: skip
        self.parts, self.n_parts, self._numbers = parts, len(numbers), numbers
        self.n_lists, self.n_pairs = sum(one.n_lists for one in facts), sum(one.n_pairs for one in facts)
        self.base_names, self.n_base, self.n_features = base, len(base), len(features.vocabulary)
        self.n_weights = self.n_base + self.n_features
        self.space = feature_space(features)

    def mean_base(self) -> float:
        """Return the mean size of the differences of base scores."""
        total: float = sum(self.parts.call("total_base", [()] * self.n_parts))
        return total / (self.n_pairs * self.n_base)

    def chosen_errors(self, w: FloatArray) -> FloatArray:
        """Return the errors of the candidates that the weights choose: [n_parts]."""
        n = self.n_base
        sent = [(np.concatenate([w[:n], w[n:][own]]),) for own in self._numbers]
        return np.array(self.parts.call("chosen_errors", sent))

    def check_same_space(self, other: CandidateLists, what: str) -> None:
        """Raise IncompatibleError for lists that were encoded with other features or base scores."""
        check_same_space(self, other, what)

    def fingerprint(self) -> str:
        """Return a short hash of the features and the sizes, however the lists are cut into parts."""
        return fingerprint(None, start=f"{self.base_names}{self.space}{self.n_lists}x{self.n_pairs}")


class SpreadTask(Task):
    """The input of a method, with lists in parts."""

    def loss(self, kind: type[ListLoss], by_errors: bool = False) -> PartitionedLoss:
        """Return a loss of the lists."""
        data = cast(SpreadLists, self.data)
        parts = data.parts.derive("loss", [(kind, by_errors)] * data.n_parts)
        return PartitionedLoss.of(parts, data.n_parts, data.n_weights, self.settings.n_threads)
