"""Small HMMs, every sequence they can produce, and attributes of tokens extracted the slow way."""

from __future__ import annotations

import itertools

import numpy as np

from loglinear.data.chain_features import ChainFeatures
from loglinear.data.sequence import SequenceData
from loglinear.features.sequences import TokenRows
from loglinear.hmm.expectations import ANY_AFTER, ANY_BEFORE, ColumnView, Observations, before_start, behind_end
from loglinear.hmm.model import HMM


def random_hmm(order, n_labels, sizes, seed=0, *, acyclic=False, stop=0.3, empty=0.0):
    """Acyclic: labels only rise, so there are finitely many sequences."""
    rng = np.random.default_rng(seed)
    L = n_labels
    steps = rng.uniform(0.2, 1.0, size=(L, L) if order == 1 else (L + 1, L, L))
    if acyclic:
        steps *= np.triu(np.ones((L, L)), 1)
    total = steps.sum(axis=-1, keepdims=True)
    stops = np.where(total > 0, stop, 1.0)
    steps *= (1.0 - stops) / np.where(total > 0, total, 1.0)
    start = rng.uniform(0.2, 1.0, size=L)
    start *= (1.0 - empty) / start.sum()
    emissions = tuple(rng.dirichlet(np.ones(V), size=L) for V in sizes)
    return HMM(start, stops[..., 0], emissions, **{"transitions" if order == 1 else "trigrams": steps})


def label_paths(hmm, max_length):
    """Every label sequence that is possible, the empty one included, up to a length."""
    L = hmm.n_labels
    paths = [()]
    for n in range(1, max_length + 1):
        for path in itertools.product(range(L), repeat=n):
            p = hmm.start[path[0]]
            for i in range(1, n):
                steps = hmm.transitions if hmm.order == 1 else hmm.trigrams[path[i - 2] if i > 1 else L]
                p *= steps[path[i - 1], path[i]]
            if p > 0:
                paths.append(path)
    return paths


def all_sequences(hmm, max_length):
    """(ids per column, labels, sequence_ptr) of every sequence up to a length, labels and observations."""
    values = list(itertools.product(*(range(table.shape[1]) for table in hmm.emissions)))
    labels, observed, lengths = [], [], []
    for path in label_paths(hmm, max_length):
        for x in itertools.product(values, repeat=len(path)):
            labels += path
            observed += x
            lengths.append(len(path))
    table = np.array(observed, dtype=np.int32).reshape(-1, len(hmm.emissions))
    ptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return [np.ascontiguousarray(column) for column in table.T], np.array(labels, dtype=np.int32), ptr


def extract(ids, ptr, templates, views):
    """Per token, the (template, values) of each template and of each row in its gap, by looking."""
    plans = []
    for macros in templates:
        near = [0, *(offset for offset, _ in macros if offset not in (ANY_BEFORE, ANY_AFTER))]
        gaps = {offset for offset, _ in macros} & {ANY_BEFORE, ANY_AFTER}
        looks = [(offset, offset in gaps, views[v].ids.tolist(), ids[views[v].column].tolist()) for offset, v in macros]
        plans.append((looks, gaps.pop() if gaps else None, min(near), max(near)))
    tokens = []
    for begin, end in itertools.pairwise(ptr.tolist()):
        for i in range(begin, end):
            keys = []
            for t, (looks, gap, first, last) in enumerate(plans):
                rows = range(begin, i + first) if gap == ANY_BEFORE else range(i + last + 1, end) if gap else (0,)
                for row in rows:
                    values = []
                    for offset, in_gap, map_, column in looks:
                        at = row if in_gap else i + offset
                        if at < begin:
                            values.append(before_start(begin - at))
                        elif at >= end:
                            values.append(behind_end(at - end + 1))
                        else:
                            values.append(map_[column[at]])
                    if -1 not in values:
                        keys.append((t, tuple(values)))
            tokens.append(keys)
    return tokens


class Extractor:
    """Numbers the attributes of some sequences, then gives the rows of any."""

    def __init__(self, templates, views, ids, ptr):
        self.templates, self.views = templates, views
        keys = sorted({key for token in extract(ids, ptr, templates, views) for key in token})
        self.number = {key: a for a, key in enumerate(keys)}
        width = max(len(t) for t in templates)
        values = np.full((len(keys), width), -1, dtype=np.int32)
        for a, (_, row) in enumerate(keys):
            values[a, : len(row)] = row
        template = np.array([t for t, _ in keys], dtype=np.int32)
        self.observations = Observations(templates, views, template, values)

    def rows(self, ids, ptr):
        rows = [[self.number[k] for k in token if k in self.number]
                for token in extract(ids, ptr, self.templates, self.views)]
        indptr = np.concatenate([[0], np.cumsum([len(r) for r in rows])]).astype(np.int64)
        return TokenRows(indptr, np.array([a for r in rows for a in r], dtype=np.int32), None)

    def data(self, ids, ptr, labels, n_labels):
        return SequenceData(ptr, self.rows(ids, ptr), len(self.number), labels, n_labels)


def all_features(n_labels, n_attributes):
    """Every feature there is."""
    L = n_labels
    return ChainFeatures(
        L,
        np.arange(n_attributes + 1, dtype=np.int64) * L,
        np.tile(np.arange(L, dtype=np.int32), n_attributes),
        np.arange(n_attributes + 1, dtype=np.int64) * L * L,
        np.tile(np.arange(L * L, dtype=np.int32), n_attributes),
        np.arange(L * L, dtype=np.int32),
        np.arange((L + 1) * L * L, dtype=np.int32),
    )


def identity(column, size):
    return ColumnView(column, np.arange(size, dtype=np.int32), size)


# Two columns of 3 and 2 values; view 2 is coarse, view 3 leaves one value out, both of column 0.
SIZES = (3, 2)
VIEWS = [
    identity(0, 3),
    identity(1, 2),
    ColumnView(0, np.array([1, 0, 1], dtype=np.int32), 2),
    ColumnView(0, np.array([-1, 0, 1], dtype=np.int32), 2),
]
TEMPLATES = [
    [],
    [(0, 0)],
    [(-1, 0)],
    [(1, 1)],
    [(2, 0)],
    [(-2, 1)],
    [(0, 0), (0, 1)],
    [(1, 0), (-1, 1)],
    [(-2, 0), (-1, 0), (0, 1)],
    [(0, 1), (1, 0), (2, 1)],
    [(-2, 1), (2, 2)],
    [(0, 0), (0, 2)],
    [(1, 2), (0, 1), (1, 3), (1, 1), (-1, 3)],
    [(3, 0), (-3, 1)],
]
