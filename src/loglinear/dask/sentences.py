"""What happens on the workers of a tagger: parts are read, their attributes and features numbered, and then encoded.

A part first numbers the attributes, labels and features that it has itself. The client joins those of all parts in
their order, so that they have the numbers of one process. A shard then keeps the features of its own attributes only,
those that no sentence of its own shows included: they are features of its labellings too.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from loglinear.dask.examples import own_threads
from loglinear.data.chain_features import ChainFeatures, FeaturesOfPart, chain_features, join
from loglinear.data.sequence import SequenceData
from loglinear.errors import IncompatibleError
from loglinear.features import schemes
from loglinear.features.sequences import FlatLabels, TokenRows
from loglinear.features.templates import TemplateFeatures
from loglinear.features.token_featuriser import TokenFeaturiser
from loglinear.formats.streams.columns import is_frame
from loglinear.losses.chain import ChainLoss
from loglinear.losses.partitioned import Shard
from loglinear.models.tagger.inputs import TokenInputs, TokenReader
from loglinear.models.tagger.labels import encode_labels


@dataclass(frozen=True, eq=False)
class CountedSentences:
    """The sentences of a part, in the numbers of its own attributes."""

    inputs: TokenInputs
    labels: Any  # as they were given
    featuriser: TokenFeaturiser
    source: str | None  # name of the file

    def data(self, classes: Sequence[Any] = ()) -> tuple[SequenceData, list[Any]]:
        """Return the part with labels in the numbers of ``classes``, or in its own, and the names of these."""
        found = encode_labels(self.labels, self.inputs.sequence_ptr, classes, grow=not classes)
        rows, n = self.inputs.rows, self.inputs.n_attributes
        n_labels = len(found.classes)
        return SequenceData(self.inputs.sequence_ptr, rows, n, found.numbers, n_labels, found.allowed), found.classes


class LabelFacts(NamedTuple):
    """What the client must know of the labels of a part before their scheme is known."""

    n_sequences: int
    n_tokens: int
    n_columns: int | None
    source: str | None
    names: list[Any]
    any_known: bool
    broken: dict[str, tuple[int, tuple[int, int] | None]]  # by scheme: how many labels break it, and the first place


class OwnFeatures(NamedTuple):
    """What the client must know of the features of a part, which are in its own numbers."""

    featuriser: TokenFeaturiser
    counts: NDArray[np.int64]  # [n_attributes]
    features: ChainFeatures


class OwnPart(NamedTuple):
    """What a part must know of the whole.

    attributes : the number of each of its own attributes among those of ``features``, -1 for one that is left out
    features : the features of these attributes
    kept : their places among the weights of the whole
    """

    attributes: NDArray[np.int32]
    features: ChainFeatures
    kept: NDArray[np.intp]


def count_sentences(
    given: Any, featuriser: TokenFeaturiser, reads_columns: bool, shared: bool,
    conversion: tuple[str, str] | None = None,
) -> CountedSentences | None:  # fmt: skip
    """Read a part and number its own attributes; None for one without tokens.

    conversion : schemes that labels are converted from and to; None: they stay as they are
    """
    threads = own_threads(shared)
    source = None
    if hasattr(given, "read"):
        found = given.read(threads)
        X, labels, source = (None, None, None) if found is None else (found.X, found.labels, given.path)
    else:
        X, labels, _ = given
        for one in (X, labels):
            if is_frame(one):
                names = ", ".join(map(repr, one.columns))
                raise TypeError(f"a partition is a data frame of the columns {names}: give Dask bags of sentences")
        X, labels = list(X), list(labels)
    if X is None or len(X) == 0:
        return None
    own = copy.copy(featuriser)
    own.min_count = 1
    reader = TokenReader(own, None, reads_columns)
    inputs = reader.read(X, threads, "fit_transform")
    if reader.n_numbers or reader.emits:
        raise IncompatibleError("arrays of numbers and scores of labels are for training in one process: use Tagger")
    if inputs.sequence_ptr[-1] == 0:
        return None
    part = CountedSentences(inputs, labels, own, source)
    return part if conversion is None else convert_labels(part, *conversion)


def label_facts(part: CountedSentences | None) -> LabelFacts | None:
    """Return the facts of a part's labels; None for a part without tokens."""
    if part is None:
        return None
    data, names = part.data()
    labels = FlatLabels(data.labels, data.sequence_ptr, names)
    columns, broken = part.inputs.columns, {}
    for scheme in schemes.SCHEMES:
        try:
            wrong = schemes.flat_illegal(labels, scheme)
        except ValueError:  # a label is not of this scheme
            continue
        broken[scheme] = int(wrong.size), labels.place(int(wrong[0])) if wrong.size else None
    n_columns = None if columns is None else columns.n_columns
    known = bool(np.any(data.labels >= 0))
    return LabelFacts(data.n_examples, data.n_tokens, n_columns, part.source, names, known, broken)


def convert_labels(part: CountedSentences | None, source: str, target: str) -> CountedSentences | None:
    """Return the part with its labels in another scheme."""
    if part is None:
        return None
    try:
        labels = schemes.flatten(part.labels)
    except TypeError as error:
        raise TypeError(f"scheme={target!r} needs the label of every token: {error}") from None
    return replace(part, labels=schemes.flat_convert(labels, source, target))


def own_features(part: CountedSentences | None, order: int, all_features: bool, shared: bool) -> OwnFeatures | None:
    """Return the features of a part; ``all_features``: those of labels alone, as the client can make the others."""
    if part is None:
        return None
    data, _ = part.data()
    scopes = part.featuriser.scopes
    features = chain_features(
        data, scopes=np.zeros_like(scopes) if all_features else scopes, order=order,
        transitions=part.featuriser.has_transitions, n_threads=own_threads(shared),
    )
    counts = np.bincount(data.rows.indices, minlength=data.n_attributes)
    sent = copy.copy(part.featuriser)
    if isinstance(sent, TemplateFeatures):
        sent.classes = None  # the client has them
    return OwnFeatures(sent, counts, features)


def join_parts(
    found: Sequence[OwnFeatures | None], names: Sequence[list[Any] | None], classes: list[Any],
    featuriser: TokenFeaturiser, *, order: int, all_features: bool, all_transitions: bool,
) -> tuple[ChainFeatures, list[OwnPart]]:  # fmt: skip
    """Let the featuriser learn the attributes of all parts; return the features of all, and what each part has."""
    parts = [one for one in found if one is not None]
    attributes = featuriser.join([one.featuriser for one in parts], [one.counts for one in parts])
    number = {name: k for k, name in enumerate(classes)}
    labels = [np.array([number[name] for name in own], np.int32) for own in names if own is not None]
    numbered = [FeaturesOfPart(one.features, a, b) for one, a, b in zip(parts, attributes, labels)]
    features = join(numbered, featuriser.scopes, len(classes), all_features)
    if all_transitions and featuriser.has_transitions:
        features = features.with_all_transitions(order)
    own = iter(attributes)
    none = np.empty(0, np.int32)
    return features, [_own_part(features, none if one is None else next(own)) for one in found]


def _own_part(features: ChainFeatures, numbers: NDArray[np.int32]) -> OwnPart:
    used = np.sort(numbers[numbers >= 0])
    smaller, kept = features.take_attributes(used.astype(np.intp))
    places = np.where(numbers >= 0, np.searchsorted(used, numbers), -1).astype(np.int32)
    return OwnPart(places, smaller, kept.astype(np.intp))


def encode_sentences(
    part: CountedSentences | None, own: OwnPart, classes: list[Any], kind: str, machine: str, shared: bool
) -> Shard:
    """Return the shard of a part."""
    n_attributes, L = own.features.n_attributes, len(classes)
    if part is None:
        rows = TokenRows(np.zeros(1, np.int64), np.empty(0, np.int32), None)
        data = SequenceData(np.zeros(1, np.int64), rows, n_attributes, np.empty(0, np.int32), L)
    else:
        found, _ = part.data(classes)
        rows = TokenRows(found.rows.indptr, own.attributes[found.rows.indices], found.rows.values).keep_known()
        data = replace(found, rows=rows, n_attributes=n_attributes)
    loss = ChainLoss(data, own.features, kind, machine=machine, n_threads=own_threads(shared))
    return Shard(loss, own.kept, data.n_examples)
