"""Which features of a label chain have a weight, and where in the flat vector of weights it lies.

    w = [ node | pair | transition | trigram ]

    node         (attribute a, label y)              at places node_ptr[a] ... node_ptr[a + 1], labels ascending
    pair         (attribute a, previous y', y)       at pair_ptr[a] ... , codes y' L + y ascending
    transition   (previous y', y)                    codes y' L + y ascending
    trigram      (y'', y', y)                        codes (y'' L + y') L + y ascending; y'' = L is the start

Pair, transition and trigram features need a token before; the first token of a sequence has none of them, the second
has trigrams with y'' = L. Features that are not listed have weight zero: they are allowed, not forbidden.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from loglinear import _core
from loglinear.arrays import FloatArray
from loglinear.data.sequence import SequenceData
from loglinear.features.sequences import take_ranges
from loglinear.threads import pool


@dataclass(frozen=True, eq=False)
class ChainFeatures:
    """The lists above; ``order`` 2 where there are trigrams."""

    n_labels: int
    node_ptr: NDArray[np.int64]  # [n_attributes + 1]
    node_label: NDArray[np.int32]  # [n_node]
    pair_ptr: NDArray[np.int64]  # [n_attributes + 1]
    pair_code: NDArray[np.int32]  # [n_pair]
    transition_code: NDArray[np.int32]  # [n_transition]
    trigram_code: NDArray[np.int32]  # [n_trigram]
    n_numbers: int = 0  # the last so many attributes are columns of numbers, which go with every label

    @property
    def n_attributes(self) -> int:
        """Number of attributes."""
        return self.node_ptr.size - 1

    @property
    def n_weights(self) -> int:
        """Return the length of the weight vector."""
        return int(self.offsets[-1])

    @property
    def offsets(self) -> NDArray[np.int64]:
        """Return where node, pair, transition and trigram weights begin, and the end: [5]."""
        sizes = [self.node_label.size, self.pair_code.size, self.transition_code.size, self.trigram_code.size]
        return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    @property
    def order(self) -> int:
        """Return 2 if there are trigram features, else 1."""
        return 2 if self.trigram_code.size else 1

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "native"}

    @cached_property
    def native(self) -> _core.ChainFeatures:
        """Return the lists for the kernels, checked once."""
        return _core.ChainFeatures(
            self.n_labels, self.node_ptr, self.node_label, self.pair_ptr, self.pair_code, self.transition_code,
            self.trigram_code, self.n_numbers,
        )

    def split(self, w: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return node, pair, transition and trigram weights, as views."""
        node, pair, transition, trigram = np.split(w, self.offsets[1:-1])
        return node, pair, transition, trigram

    def attribute_of(self) -> NDArray[np.int64]:
        """Return the attribute of each node feature."""
        return np.repeat(np.arange(self.n_attributes), np.diff(self.node_ptr))

    def keep(self, kept: NDArray[np.bool_]) -> ChainFeatures:
        """Return the chosen features alone; attributes keep their numbers."""
        node, pair, transition, trigram = np.split(kept, self.offsets[1:-1])
        return replace(
            self, node_ptr=_kept_pointers(self.node_ptr, node), node_label=self.node_label[node],
            pair_ptr=_kept_pointers(self.pair_ptr, pair), pair_code=self.pair_code[pair],
            transition_code=self.transition_code[transition], trigram_code=self.trigram_code[trigram],
        )

    def with_all_transitions(self, order: int) -> ChainFeatures:
        """Return the features with every pair of labels and, where the order is 2, every three of them."""
        L = self.n_labels
        if order == 2 and (L + 1) * L * L >= 2**31:
            raise ValueError(f"{L} labels are too many for order 2")
        trigrams = np.arange((L + 1) * L * L if order == 2 else 0, dtype=np.int32)
        return replace(self, transition_code=np.arange(L * L, dtype=np.int32), trigram_code=trigrams)

    def used_attributes(self) -> NDArray[np.intp]:
        """Return the attributes that have a feature, and all that are columns of numbers."""
        used = np.diff(self.node_ptr) + np.diff(self.pair_ptr) > 0
        used[used.size - self.n_numbers :] = True
        return np.flatnonzero(used)

    def take_attributes(self, attributes: NDArray[np.intp]) -> tuple[ChainFeatures, NDArray[np.intp]]:
        """Return the features of these attributes, renumbered in the order given, and the places of their weights."""
        node_ptr, node = take_ranges(self.node_ptr, attributes)
        pair_ptr, pair = take_ranges(self.pair_ptr, attributes)
        features = replace(
            self, node_ptr=node_ptr, node_label=self.node_label[node], pair_ptr=pair_ptr, pair_code=self.pair_code[pair]
        )
        places = np.concatenate([node, self.offsets[1] + pair, np.arange(self.offsets[2], self.offsets[4])])
        return features, places


def _kept_pointers(ptr: NDArray[np.int64], kept: NDArray[np.bool_]) -> NDArray[np.int64]:
    before = np.zeros(kept.size + 1, dtype=np.int64)
    np.cumsum(kept, out=before[1:])
    return before[ptr]


def chain_features(
    data: SequenceData, *, scopes: NDArray[np.uint8] | None = None, order: int = 1, transitions: bool = True,
    all_features: bool = False, all_transitions: bool = False, min_count: int = 1, min_frequency: float = 0.0,
    n_threads: int | None = None,
) -> ChainFeatures:
    """Return the features of labelled sequences: those that occur, or all combinations.

    ``scopes`` says per attribute whether it goes with the label (1), the label pair (2) or both (3); None is 1
    everywhere. ``min_count`` drops attribute features that occur less often, ``min_frequency`` all features whose
    values sum to less (those that do not occur, to 0).
    """
    if order not in (1, 2):
        raise ValueError(f"order must be 1 or 2, not {order!r}")
    if scopes is None:
        scopes = np.ones(data.n_attributes, dtype=np.uint8)
    if scopes.size < data.n_attributes:  # numbers are dealt with below
        scopes = np.concatenate([scopes, np.zeros(data.n_attributes - scopes.size, dtype=np.uint8)])
    L, threads = data.n_labels, pool(n_threads)
    lists = []
    for bit, size in ((1, L), (2, L * L)):
        has = (scopes & bit) != 0
        if all_features:
            lists.append(_every_combination(has, size))
        elif not has.any():
            lists.append((np.zeros(data.n_attributes + 1, dtype=np.int64), np.empty(0, dtype=np.int32)))
        else:
            lists.append(
                _core.observed_features(threads, data.native, data.labels, L, scopes, bit == 2, max(min_count, 1))
            )
    (node_ptr, node_label), (pair_ptr, pair_code) = lists
    empty = np.empty(0, dtype=np.int32)
    steps, trigrams = empty, empty
    if transitions:
        steps = np.arange(L * L, dtype=np.int32) if all_transitions else _observed_steps(data)
        if order == 2:
            if (L + 1) * L * L >= 2**31:
                raise ValueError(f"{L} labels are too many for order 2")
            trigrams = np.arange((L + 1) * L * L, dtype=np.int32) if all_transitions else _observed_trigrams(data)
    n, first = data.n_numbers, data.n_attributes - data.n_numbers
    if n:  # numbers go with every label, and never with pairs
        node_ptr = np.concatenate([node_ptr[: first + 1], node_ptr[first] + L * np.arange(1, n + 1)])
        node_label = np.concatenate([node_label[: node_ptr[first]], np.tile(np.arange(L, dtype=np.int32), n)])
    features = ChainFeatures(L, node_ptr, node_label, pair_ptr, pair_code, steps, trigrams, n)
    if not min_frequency > 0:
        return features
    kept = frequencies(data, features) >= min_frequency
    kept[node_ptr[first] : node_label.size] = True
    return features.keep(kept)


def frequencies(data: SequenceData, features: ChainFeatures) -> FloatArray:
    """Return the sum of each feature's values over the labelled sequences: [n_weights]."""
    L, previous, before = data.n_labels, _before(data, 1), _before(data, 2)
    labels = data.labels.astype(np.int64)
    has_step = (previous >= 0) & (previous < L) & (labels >= 0)
    step = np.where(has_step, previous * L + labels, -1)
    triple = np.where(has_step & (before >= 0), (before * L + previous) * L + labels, -1)
    parts = []
    for ptr, codes, token_codes, size in (
        (features.node_ptr, features.node_label, labels, L), (features.pair_ptr, features.pair_code, step, L * L),
    ):  # fmt: skip
        keys = np.repeat(np.arange(features.n_attributes), np.diff(ptr)) * size + codes
        parts.append(_sums(keys, data, token_codes, size))
    for codes, token_codes in ((features.transition_code, step), (features.trigram_code, triple)):
        found = np.bincount(np.searchsorted(codes, token_codes[np.isin(token_codes, codes)]), minlength=codes.size)
        parts.append(found.astype(np.float64))
    return np.concatenate(parts)


def _sums(keys: NDArray[np.int64], data: SequenceData, token_codes: NDArray[np.int64], size: int) -> FloatArray:
    """Return the sum of values per key, attribute * size + code of the token; keys ascend."""
    sums, rows = np.zeros(keys.size), data.rows
    codes = np.repeat(token_codes, np.diff(rows.indptr))
    step = 1 << 18  # in pieces: they are widened
    for begin in range(0, rows.indices.size if keys.size else 0, step):
        piece = slice(begin, begin + step)
        asked = rows.indices[piece].astype(np.int64) * size + codes[piece]
        places = np.minimum(np.searchsorted(keys, asked), keys.size - 1)
        known = (codes[piece] >= 0) & (keys[places] == asked)
        values = None if rows.values is None else rows.values[piece][known]
        sums += np.bincount(places[known], weights=values, minlength=keys.size)
    return sums


def _every_combination(has: NDArray[np.bool_], size: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the lists of attributes that all have the codes below ``size``, where they have any."""
    ptr = np.zeros(has.size + 1, dtype=np.int64)
    np.cumsum(has * size, out=ptr[1:])
    if ptr[-1] >= 2**31:
        raise ValueError(f"all combinations are {ptr[-1]:.3g} features: keep to the observed ones")
    return ptr, np.tile(np.arange(size, dtype=np.int32), int(has.sum()))


def _before(data: SequenceData, distance: int) -> NDArray[np.int64]:
    """Return the label ``distance`` tokens before each: -2 where unknown, L just before the start, -2 further out."""
    position = np.arange(data.n_tokens) - np.repeat(data.sequence_ptr[:-1], np.diff(data.sequence_ptr))
    labels = data.labels.astype(np.int64)
    before = np.full(data.n_tokens, -2, dtype=np.int64)
    before[distance:] = labels[: data.n_tokens - distance]
    before[position < distance] = -2
    before[position == distance - 1] = data.n_labels
    return np.where(before == -1, -2, before)


def _observed_steps(data: SequenceData) -> NDArray[np.int32]:
    L, previous = data.n_labels, _before(data, 1)
    known = (previous >= 0) & (previous < L) & (data.labels >= 0)
    return np.unique(previous[known] * L + data.labels[known]).astype(np.int32)


def _observed_trigrams(data: SequenceData) -> NDArray[np.int32]:
    L, previous, before = data.n_labels, _before(data, 1), _before(data, 2)
    known = (previous >= 0) & (previous < L) & (before >= 0) & (data.labels >= 0)
    return np.unique((before[known] * L + previous[known]) * L + data.labels[known]).astype(np.int32)


def widen(features: ChainFeatures, n_attributes: int, n_labels: int) -> ChainFeatures:
    """Return the same features among more attributes and labels, which are numbered after the old ones."""
    old, new = features.n_labels, n_labels
    tail = np.full(n_attributes - features.n_attributes, 0, dtype=np.int64)
    pairs = features.pair_code
    first = features.trigram_code // (old * old)  # the start, old, becomes new
    rest = features.trigram_code % (old * old)
    first = np.where(first == old, new, first)
    trigrams = ((first * new + rest // old) * new + rest % old).astype(np.int32)
    if np.any(np.diff(trigrams) < 0):
        raise AssertionError("renumbering keeps the order")
    return replace(
        features, n_labels=new, node_ptr=np.concatenate([features.node_ptr, features.node_ptr[-1] + tail]),
        pair_ptr=np.concatenate([features.pair_ptr, features.pair_ptr[-1] + tail]),
        pair_code=(pairs // old * new + pairs % old).astype(np.int32),
        transition_code=(features.transition_code // old * new + features.transition_code % old).astype(np.int32),
        trigram_code=trigrams,
    )


def union(a: ChainFeatures, b: ChainFeatures) -> tuple[ChainFeatures, NDArray[np.intp]]:
    """Return the features of either, and the places of the weights of ``a`` among them."""
    L = a.n_labels
    places: list[NDArray[np.intp]] = []
    lists: list[Any] = []
    begin = 0
    for ptr, codes, size in (("node_ptr", "node_label", L), ("pair_ptr", "pair_code", L * L)):
        keys = [
            np.repeat(np.arange(f.n_attributes), np.diff(getattr(f, ptr))) * size + getattr(f, codes) for f in (a, b)
        ]
        both = np.union1d(*keys)
        pointers = np.searchsorted(both, np.arange(a.n_attributes + 1) * size).astype(np.int64)
        lists += [pointers, (both % size).astype(np.int32)]
        places.append(begin + np.searchsorted(both, keys[0]))
        begin += both.size
    for codes in ("transition_code", "trigram_code"):
        both = np.union1d(getattr(a, codes), getattr(b, codes)).astype(np.int32)
        lists.append(both)
        places.append(begin + np.searchsorted(both, getattr(a, codes)))
        begin += both.size
    return ChainFeatures(L, *lists), np.concatenate(places)


class FeaturesOfPart(NamedTuple):
    """Features of a part of the data, which numbers its own attributes and labels, and their numbers in the whole."""

    features: ChainFeatures
    attributes: NDArray[np.int32]  # -1: left out
    labels: NDArray[np.int32]


def join(
    parts: Sequence[FeaturesOfPart], scopes: NDArray[np.uint8], n_labels: int, all_features: bool
) -> ChainFeatures:
    """Return the features of all parts together; ``all_features``: every combination with the attributes' scopes."""
    L = n_labels
    lists: list[Any] = []
    for bit, ptr, codes in ((1, "node_ptr", "node_label"), (2, "pair_ptr", "pair_code")):
        size = L**bit
        if all_features:
            lists += _every_combination((scopes & bit) != 0, size)
            continue
        keys = [np.zeros(0, dtype=np.int64)]
        for features, attributes, labels in parts:
            own = np.repeat(attributes.astype(np.int64), np.diff(getattr(features, ptr)))
            renamed = _renamed(getattr(features, codes), features.n_labels, labels, L, bit)
            keys.append((own * size + renamed)[own >= 0])
        every = np.unique(np.concatenate(keys))
        pointers = np.searchsorted(every, np.arange(scopes.size + 1, dtype=np.int64) * size).astype(np.int64)
        lists += [pointers, (every % size).astype(np.int32)]
    for codes, n in (("transition_code", 2), ("trigram_code", 3)):
        found = [_renamed(getattr(f, codes), f.n_labels, labels, L, n) for f, _, labels in parts]
        lists.append(np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *found])).astype(np.int32))
    return ChainFeatures(L, *lists)


def _renamed(
    codes: NDArray[np.int32], old: int, labels: NDArray[np.int32], new: int, n: int
) -> NDArray[np.int64]:
    """Return codes of n labels in other numbers of labels; the start, which is label ``old``, becomes ``new``."""
    numbers = np.append(labels, new).astype(np.int64)
    rest, out = codes.astype(np.int64), np.zeros(codes.size, dtype=np.int64)
    for place in range(n):
        digit = rest if place == n - 1 else rest % old
        out += numbers[digit] * new**place
        rest = rest // max(old, 1)
    return out
