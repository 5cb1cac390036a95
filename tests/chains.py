"""Small random chains, and everything about them by enumeration: the plain twin of the chain kernels."""

import itertools

import numpy as np

from loglinear.data.chain_base import ChainBase
from loglinear.data.chain_features import ChainFeatures, chain_features
from loglinear.data.sequence import SequenceData
from loglinear.features.sequences import TokenRows


def random_data(rng, lengths, n_labels, n_attributes, *, values=False, per_token=3):
    counts = rng.integers(0, per_token + 1, size=sum(lengths))
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    indices = rng.integers(0, n_attributes, size=indptr[-1]).astype(np.int32)
    strengths = rng.normal(size=indptr[-1]) if values else None
    ptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    labels = rng.integers(0, n_labels, size=ptr[-1]).astype(np.int32)
    return SequenceData(ptr, TokenRows(indptr, indices, strengths), n_attributes, labels, n_labels)


def random_features(rng, data, *, order=1, pairs=False, everything=False):
    scopes = np.full(data.n_attributes, 3 if pairs else 1, dtype=np.uint8)
    if pairs:
        scopes[rng.random(data.n_attributes) < 0.3] = 1
    return chain_features(
        data, scopes=scopes, order=order, all_features=everything, all_transitions=everything, n_threads=1
    )


def random_base(rng, data, order):
    L = data.n_labels
    transitions = rng.normal(size=(L, L))
    transitions[rng.random((L, L)) < 0.15] = -np.inf
    np.fill_diagonal(transitions, 0.3)
    return ChainBase(
        start=rng.normal(size=L),
        stop=rng.normal(size=L) if order == 1 else rng.normal(size=(L + 1) * L),
        transitions=transitions,
        trigrams=None if order == 1 else rng.normal(size=(L + 1, L, L)),
        nodes=rng.normal(size=(data.n_tokens, L)),
    )


class Enumeration:
    """One sequence: the score of every labelling, term by term."""

    def __init__(self, data, features: ChainFeatures, w, base, sequence):
        self.data, self.features, self.w, self.base = data, features, w, base or ChainBase()
        self.first, self.end = data.sequence_ptr[sequence : sequence + 2]
        self.T, self.L = int(self.end - self.first), data.n_labels
        node, pair, step, trigram = features.split(w)
        self.node = [dict(zip(features.node_label[a:b], node[a:b])) for a, b in itertools.pairwise(features.node_ptr)]
        self.pair = [dict(zip(features.pair_code[a:b], pair[a:b])) for a, b in itertools.pairwise(features.pair_ptr)]
        self.step = dict(zip(features.transition_code, step))
        self.trigram = dict(zip(features.trigram_code, trigram))
        self.labellings = list(itertools.product(range(self.L), repeat=self.T))
        self.scores = np.array([self.score(y) for y in self.labellings])

    def local(self, y, t):
        """Everything that is added when the label of token t is chosen after those before it."""
        L, base, rows = self.L, self.base, self.data.rows
        at = self.first + t
        total = 0.0 if base.nodes is None else base.nodes[at, y[t]]
        for p in range(rows.indptr[at], rows.indptr[at + 1]):
            a, value = rows.indices[p], 1.0 if rows.values is None else rows.values[p]
            total += value * self.node[a].get(y[t], 0.0)
            if t:
                total += value * self.pair[a].get(y[t - 1] * L + y[t], 0.0)
        if t == 0:
            total += 0.0 if base.start is None else base.start[y[0]]
        else:
            before = y[t - 2] if t > 1 else L
            total += self.step.get(y[t - 1] * L + y[t], 0.0)
            total += self.trigram.get((before * L + y[t - 1]) * L + y[t], 0.0)
            total += 0.0 if base.transitions is None else base.transitions[y[t - 1], y[t]]
            total += 0.0 if base.trigrams is None else base.trigrams[before, y[t - 1], y[t]]
        if t == self.T - 1 and base.stop is not None:
            previous = y[t - 1] if t else L
            total += base.stop[y[t]] if base.stop.size == L else base.stop[previous * L + y[t]]
        return total

    def score(self, y):
        return sum(self.local(y, t) for t in range(self.T))

    def memm_score(self, y):
        """log p of a labelling, each label normalised given those before."""
        total = 0.0
        for t in range(self.T):
            options = [self.local((*y[:t], k, *y[t + 1 :]), t) for k in range(self.L)]
            total += options[y[t]] - np.logaddexp.reduce(options)
        return total

    def pseudolikelihood(self, y):
        total = 0.0
        for t in range(self.T):
            options = [self.score((*y[:t], k, *y[t + 1 :])) for k in range(self.L)]
            total += options[y[t]] - np.logaddexp.reduce(options)
        return total

    @property
    def log_z(self):
        return np.logaddexp.reduce(self.scores)

    def true(self):
        return tuple(int(k) for k in self.data.labels[self.first : self.end])

    def node_marginals(self, scores):
        p = np.exp(scores - np.logaddexp.reduce(scores))
        out = np.zeros((self.T, self.L))
        for y, q in zip(self.labellings, p):
            out[np.arange(self.T), y] += q
        return out
