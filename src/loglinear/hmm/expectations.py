"""Exact expectations of the features of a label chain under an HMM.

Smith, Vail and Lafferty, "Computationally Efficient M-Estimation of Log-Linear Structure Models", section 4.1.1: with i
and o the path sums of equations 9-11,

    E[s -> s']                   = i_s t_s(s') o_s'
    E[s at n, x emitted at n+3]  = sum over s', s'', s''' of i_s t_s(s') t_s'(s'') t_s''(s''') e_s'''(x) o_s'''   (12)

and likewise for any observations around a position: positions between them that no part of the feature looks at are
summed over by one more product with the transitions. Features with gaps, which the paper leaves to the reader, look at
any row before or after the others: (I - T)^-1 sums over the paths between them. ``gap_expectations`` has two parts at
any distance, which may both be labels; no chain can decode those.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from loglinear import _core
from loglinear.arrays import FloatArray
from loglinear.data.chain_features import ChainFeatures
from loglinear.hmm.model import HMM
from loglinear.threads import pool

# Labels and pairs of labels by attribute, as in ChainFeatures: node_ptr, node_label, pair_ptr, pair_code.
FeatureLists = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64], NDArray[np.int32]]
ANY_BEFORE, ANY_AFTER = -(2**31), 2**31 - 1  # offsets of gaps, as in features/template_syntax.py
UNKNOWN = -1  # a value that is never emitted


def before_start(k: int) -> int:
    """Return the value code of a position that lies ``k`` tokens before the first one."""
    return -2 * k


def behind_end(k: int) -> int:
    """Return the value code of a position that lies ``k`` tokens behind the last one."""
    return -2 * k - 1


@dataclass(frozen=True, eq=False)
class ColumnView:
    """A function of one column: ``ids[x]`` is the view's value for the column's value x, -1 for none."""

    column: int
    ids: NDArray[np.int32]  # [V_column]
    size: int  # number of values of the view

    def table(self, hmm: HMM) -> FloatArray:
        """Return p(value of the view | label) [size, L]: emissions summed over the column values that map to it."""
        emissions = hmm.emissions[self.column]
        if self.ids.shape != (emissions.shape[1],):
            raise ValueError(
                f"a view of column {self.column} maps {self.ids.size} values, but the HMM emits {emissions.shape[1]}"
            )
        if self.ids.size and self.ids.max() >= self.size:
            raise ValueError(f"a view of column {self.column} has values outside [0, {self.size})")
        known = self.ids >= 0
        rows = [np.bincount(self.ids[known], weights=row[known], minlength=self.size) for row in emissions]
        return np.ascontiguousarray(np.array(rows).T)


@dataclass(frozen=True, eq=False)
class Observations:
    """What the attributes of tokens look at: attribute a holds at a token where every macro of its template does.

    A macro is (offset from the token, number of a view); those at ``ANY_BEFORE`` look at the same row, any one before
    all other rows of the template, and those at ``ANY_AFTER`` at any one after them. Row a of ``attribute_values`` has
    the value of each macro in the template's order: a value of the view, ``before_start(k)``, ``behind_end(k)`` or
    ``UNKNOWN``; what follows the last macro is not read.
    """

    templates: Sequence[Sequence[tuple[int, int]]]
    views: Sequence[ColumnView]
    attribute_template: NDArray[np.int32]  # [n_attributes]
    attribute_values: NDArray[np.int32]  # [n_attributes, n_macros of the longest template]

    def __post_init__(self) -> None:
        for t, macros in enumerate(self.templates):
            if any(not 0 <= view < len(self.views) for _, view in macros):
                raise ValueError(f"template {t} looks at a view outside [0, {len(self.views)})")
        width = max((len(macros) for macros in self.templates), default=0)
        shape = self.attribute_values.shape
        if len(shape) != 2 or shape[0] != self.n_attributes or shape[1] < width:
            raise ValueError(f"attributes need one row of {width} values each, not an array of shape {shape}")

    @property
    def n_attributes(self) -> int:
        """Number of attributes."""
        return self.attribute_template.size

    def joined(self) -> Observations:
        """Merge macros of a template that look at one column at one offset, where they are not independent."""
        templates, views = [list(t) for t in self.templates], list(self.views)
        values = self.attribute_values.copy()
        for t, macros in enumerate(templates):
            while (clash := _same_place(macros, views)) is not None:
                a, b = clash
                rows = np.flatnonzero(self.attribute_template == t)
                view, merged = _join(views[macros[a][1]], views[macros[b][1]], values[rows, a], values[rows, b])
                values[rows, a] = merged
                values[rows, b : len(macros) - 1] = values[rows, b + 1 : len(macros)]
                macros[a] = (macros[a][0], len(views))
                del macros[b]
                views.append(view)
        return Observations(templates, views, self.attribute_template, values)


def _same_place(macros: list[tuple[int, int]], views: list[ColumnView]) -> tuple[int, int] | None:
    """Return two macros, the earlier first, that look at one column at one offset, or None."""
    seen: dict[tuple[int, int], int] = {}
    for m, (offset, view) in enumerate(macros):
        place = (offset, views[view].column)
        if place in seen:
            return seen[place], m
        seen[place] = m
    return None


def _join(
    first: ColumnView, second: ColumnView, a: NDArray[np.int32], b: NDArray[np.int32]
) -> tuple[ColumnView, NDArray[np.int32]]:
    """Return the view of both values at once, and the joint value of each attribute."""
    codes = np.where((first.ids >= 0) & (second.ids >= 0), first.ids.astype(np.int64) * second.size + second.ids, -1)
    known, ids = np.unique(codes, return_inverse=True)
    shift = int(known.size > 0 and known[0] == -1)  # the code of "no value" comes first
    known = known[shift:]
    wanted = a.astype(np.int64) * second.size + b
    place = np.minimum(np.searchsorted(known, wanted), max(known.size - 1, 0))
    found = (a >= 0) & (b >= 0) & (known[place] == wanted if known.size else False)
    # Outside the sequence both macros have the same boundary code; anything else contradicts itself.
    merged = np.where(found, place, np.where((a == b) & (a < 0), a, UNKNOWN)).astype(np.int32)
    return ColumnView(first.column, (ids.ravel() - shift).astype(np.int32), int(known.size)), merged


def expectations(
    hmm: HMM, features: ChainFeatures, observations: Observations, n_threads: int | None = None
) -> FloatArray:
    """Return E_q0[f] for every feature, in the order of the weights [n_weights]."""
    if observations.n_attributes != features.n_attributes:
        described = observations.n_attributes
        raise ValueError(f"features of {features.n_attributes} attributes, but {described} are described")
    if hmm.n_labels != features.n_labels:
        raise ValueError(f"features over {features.n_labels} labels, but an HMM over {hmm.n_labels}")
    out = np.empty(features.n_weights)
    node, pair, transition, trigram = np.split(out, features.offsets[1:-1])
    lists = (features.node_ptr, features.node_label, features.pair_ptr, features.pair_code)
    _attribute_expectations(hmm, observations.joined(), lists, node, pair, n_threads)
    transition[:] = transition_expectations(hmm, features.transition_code)
    trigram[:] = trigram_expectations(hmm, features.trigram_code)
    return out


def input_expectations(hmm: HMM, observations: Observations, n_threads: int | None = None) -> FloatArray:
    """Return the expected number of tokens that have each attribute, whatever their label [n_attributes]."""
    n = observations.n_attributes
    none = np.zeros(n + 1, dtype=np.int64), np.empty(0, dtype=np.int32)
    any_label = np.arange(n + 1, dtype=np.int64), np.full(n, hmm.n_labels, dtype=np.int32)
    out = np.empty(n)
    _attribute_expectations(hmm, observations.joined(), (*any_label, *none), out, np.empty(0), n_threads)
    return out


def _attribute_expectations(
    hmm: HMM, observations: Observations, lists: FeatureLists, node: FloatArray, pair: FloatArray,
    n_threads: int | None,
) -> None:
    """Write the expectations of (attribute, label) and (attribute, pair) features."""
    tables = [view.table(hmm) for view in observations.views]
    macros = np.array([m for t in observations.templates for m in t], dtype=np.int32).reshape(-1, 2)
    values = np.ascontiguousarray(observations.attribute_values, dtype=np.int32)
    has_gaps = np.isin(macros[:, 0], (ANY_BEFORE, ANY_AFTER)).any()
    gaps = hmm.states.gap_sums if has_gaps else (np.zeros((0, 0)), np.zeros((0, 0)))
    _core.attribute_expectations(
        pool(n_threads),
        hmm.states.native,
        *hmm.states.path_sums,
        *gaps,
        _pointers([len(t) for t in observations.templates]),
        np.ascontiguousarray(macros[:, 0]),
        np.ascontiguousarray(macros[:, 1]),
        _pointers([len(table) for table in tables]),
        np.concatenate([np.zeros((0, hmm.n_labels)), *tables]),
        np.ascontiguousarray(observations.attribute_template, dtype=np.int32),
        values,
        values.shape[1],
        *lists,
        node,
        pair,
    )


def _pointers(lengths: Sequence[int]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def transition_expectations(hmm: HMM, codes: NDArray[np.int32]) -> FloatArray:
    """Return the expected number of label pairs (y', y), given by their codes y' L + y."""
    into, out_of = hmm.states.path_sums
    previous, label = np.divmod(codes.astype(np.int64), hmm.n_labels)
    if hmm.transitions is None:  # a pair is a state
        return _at(into * out_of, hmm.states.number(label, previous))
    a, b = hmm.states.number(previous), hmm.states.number(label)
    return _at(into, a) * hmm.transitions[previous, label] * _at(out_of, b)


def trigram_expectations(hmm: HMM, codes: NDArray[np.int32]) -> FloatArray:
    """Return the expected number of label triples (y'', y', y), codes (y'' L + y') L + y; y'' = L is the start."""
    states, L = hmm.states, hmm.n_labels
    into, out_of = states.path_sums
    first, pair = np.divmod(codes.astype(np.int64), L * L)
    middle, label = np.divmod(pair, L)
    if hmm.trigrams is not None:
        a, b = states.number(middle, first), states.number(label, middle)
        return _at(into, a) * hmm.trigrams[first, middle, label] * _at(out_of, b)
    assert hmm.transitions is not None
    inner = first < L
    reach = _at(into, states.number(np.where(inner, first, 0))) * hmm.transitions[np.where(inner, first, 0), middle]
    arrive = np.where(inner, reach, hmm.start[middle])
    return arrive * hmm.transitions[middle, label] * _at(out_of, states.number(label))


def gap_expectations(hmm: HMM, left: FloatArray, right: FloatArray) -> FloatArray:
    """Return the expected number of pairs of positions i < j, at any distance, with part a at i and b at j [m, n].

    ``left[y, a]`` is the probability of part a at a position labelled y (an identity matrix for labels themselves, a
    column of emissions for observations), ``right[y, b]`` likewise. The sum over all paths between is

        E[a .. b] = sum_{s, s'} i_s left[s, a] ((I - T)^-1 - I)[s, s'] right[s', b] o_s'.
    """
    states = hmm.states
    into, out_of = states.path_sums
    ahead = states.steps_ahead(right[states.label] * out_of[:, None])
    return (left[states.label] * into[:, None]).T @ ahead


def _at(values: FloatArray, places: NDArray[np.int64]) -> FloatArray:
    """Return the values at places, 0 where the place is -1."""
    return np.append(values, 0.0)[places]
