"""Exact expectations of the features of trees under a grammar: no sample is needed for any of them.

Given the symbol of a span, what is inside and what is outside are independent. So the expected number of spans of A
that begin between the words v and w is before_A(v) first_A(w), and a rule A -> B C splits there o_A r last_B(v)
first_C(w) times; classes of words are sums over their words. Lengths follow from convolutions.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from loglinear.arrays import FloatArray
from loglinear.formats.bracketed import Trees
from loglinear.grammar.counted import CountedGrammar
from loglinear.grammar.expectations import Expectations
from loglinear.grammar.features import LONGEST, ROLES, Sentences, TreeFeatures, length_buckets
from loglinear.threads import pool


def feature_expectations(features: TreeFeatures, counted: CountedGrammar) -> FloatArray:
    """Return E_q0[f] of every feature [n_weights]."""
    return _Tables(features, counted).run()


class _Tables:
    def __init__(self, features: TreeFeatures, counted: CountedGrammar) -> None:
        self.f, self.counted, self.e = features, counted, Expectations(counted.grammar)
        rules = features.rules
        binary, unary, lexical = self.e.rules()
        self.rule = np.concatenate([binary, unary])
        self.lexical = lexical
        self.parent = np.concatenate([rules.parent, rules.unary_parent])
        self.first = np.concatenate([rules.left, rules.unary_child])
        self.last = np.concatenate([rules.right, rules.unary_child])
        lexicon = features.lexicon
        self.V, self.K = lexicon.n_words + 1, lexicon.n_classes + 1
        self.word_class = np.append(lexicon.class_of_word, self.K - 1)
        # Targets of a role: the labels that rules and tags have, and the classes of rules.
        self.n_labels, self.n_targets = features.n_labels, features.n_labels + features.n_classes

    def run(self) -> FloatArray:
        f = self.f
        out = np.zeros(f.n_weights)
        per_rule = np.repeat(np.arange(f.rules.n_rules), np.diff(f.rule_ptr))
        np.add.at(out, f.rule_weight, self.rule[per_rule])
        for role, name in enumerate(ROLES):
            place = slice(int(f.offsets[role]), int(f.offsets[role + 1]))
            out[place] = self._lengths(role) if name == "length" else self._boundary(role, name)
        return out

    def _targets(self, *, tags: bool) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]:
        """Return (item, target) pairs, items being rules and then tags, and the symbol of each item."""
        rules = self.f.rules
        items = np.arange(rules.n_rules if tags else rules.n_binary)
        label = rules.class_label[rules.rule_class[items]]
        pairs = [(items, label), (items, self.n_labels + rules.rule_class[items])]
        if tags:
            pairs.append((rules.n_rules + np.arange(rules.n_tags), rules.coarse[rules.tag_symbol]))
        item, target = (np.concatenate(column).astype(np.int64) for column in zip(*pairs))
        return item, target, np.concatenate([self.parent, rules.tag_symbol])

    def _boundary(self, role: int, name: str) -> FloatArray:
        """Return the expectations of one role: weight x left x right per item, summed over the items of a target.

        Left and right are distributions of words on either side of the boundary, per item.
        """
        e, rules = self.e, self.f.rules
        item, target, symbol = self._targets(tags=name != "split")
        p = np.concatenate([self.counted.probability, np.ones(rules.n_tags)])
        i = e.inside
        children = np.concatenate([i[rules.right], np.ones(rules.unary_parent.size)])
        others = np.concatenate([i[rules.left], np.ones(rules.unary_parent.size)])
        own = e._words[rules.tag_symbol]
        if name == "begin":
            left, right = e.before[symbol], np.vstack([e.first[self.first] * children[:, None], own])
        elif name == "end":
            left, right = np.vstack([e.last[self.last] * others[:, None], own]), e.after[symbol]
        else:
            b = rules.n_binary
            p = p[:b] * e.outside[rules.parent]
            left, right = e.last[rules.left], e.first[rules.right]
        return self._joint(role, item, target, p, left, right)

    def _joint(
        self, role: int, item: NDArray[np.int64], target: NDArray[np.int64], p: FloatArray, left: FloatArray,
        right: FloatArray,
    ) -> FloatArray:
        """Return sum over the items of each feature's target of p x left x right, as its attribute needs them."""
        from scipy import sparse

        f, V, K = self.f, self.V, self.K
        ptr, targets = f.role_ptr[role], f.role_target[role]
        attribute = np.repeat(np.arange(ptr.size - 1), np.diff(ptr))
        shape = (self.n_targets, p.size)
        by_class = [_by_class(table, self.word_class, K) for table in (left, right)]
        out, begin = np.zeros(targets.size), 0
        for side, other, classes in ((left, right, by_class[0]), (right, left, by_class[1])):
            collect = sparse.csr_matrix(((p * other.sum(axis=1))[item], (target, item)), shape=shape)
            for table, first in ((side, begin), (classes, 2 * V + begin // V * K)):
                mine = np.flatnonzero((attribute >= first) & (attribute < first + table.shape[1]))
                out[mine] = (collect @ table)[targets[mine], attribute[mine] - first]
            begin += V
        self._pairs(out, attribute - 2 * V - 2 * K, targets, (item, target), p, by_class)
        return out

    def _pairs(
        self, out: FloatArray, attribute: NDArray[np.int64], targets: NDArray[np.int32],
        items: tuple[NDArray[np.int64], NDArray[np.int64]], p: FloatArray, by_class: list[FloatArray],
    ) -> None:
        """Write the expectations of pairs of classes, which begin at attribute 0, target by target."""
        order = np.argsort(items[1], kind="stable")
        item, bounds = items[0][order], np.searchsorted(items[1][order], np.arange(self.n_targets + 1))
        features = np.flatnonzero(attribute >= 0)
        features = features[np.argsort(targets[features], kind="stable")]
        starts = np.searchsorted(targets[features], np.arange(self.n_targets + 1))
        for t in np.flatnonzero(np.diff(starts)).tolist():
            mine, rows = features[starts[t] : starts[t + 1]], item[bounds[t] : bounds[t + 1]]
            table = (p[rows, None] * by_class[0][rows]).T @ by_class[1][rows]
            out[mine] = table.reshape(-1)[attribute[mine]]

    def _lengths(self, role: int) -> FloatArray:
        f, e, rules, g = self.f, self.e, self.f.rules, self.counted
        table = e.lengths(LONGEST - 1)
        per_rule = np.zeros((rules.n_rules, LONGEST + 1))
        b = rules.n_binary
        for n in range(2, LONGEST):
            per_rule[:b, n] = np.einsum("rm,rm->r", table[rules.left, 1:n], table[rules.right, n - 1 : 0 : -1])
        per_rule[b:, :LONGEST] = table[rules.unary_child]
        weight = g.probability * e.outside[self.parent]
        per_rule *= weight[:, None]
        per_rule[:, LONGEST] = np.maximum(self.rule - per_rule.sum(axis=1), 0.0)  # all longer spans
        buckets = length_buckets()
        collected = np.zeros((int(buckets.max()) + 1, self.n_targets))
        for n in range(1, LONGEST + 1):
            np.add.at(collected[buckets[n]], rules.class_label[rules.rule_class], per_rule[:, n])
            np.add.at(collected[buckets[n]], self.n_labels + rules.rule_class, per_rule[:, n])
        ptr = f.role_ptr[role]
        return collected[np.repeat(np.arange(ptr.size - 1), np.diff(ptr)), f.role_target[role]]


def _by_class(table: FloatArray, word_class: NDArray[np.int32], n_classes: int) -> FloatArray:
    from scipy import sparse

    n = word_class.size
    member = sparse.csr_matrix((np.ones(n), (np.arange(n), word_class)), shape=(n, n_classes))
    return np.asarray((member.T @ table.T).T)


def sampled_feature_expectations(
    features: TreeFeatures, counted: CountedGrammar, n_samples: int, rng: np.random.Generator, *,
    smoothing: float = 0.0, prior: FloatArray | None = None, n_threads: int | None = None,
) -> FloatArray:
    """Return estimates of E_q0[f] from trees drawn from the grammar (equation 7), smoothed towards a prior."""
    if n_samples < 1 or smoothing < 0 or (smoothing and prior is None):
        raise ValueError("n_samples must be positive, smoothing not negative, and smoothing needs a prior")
    total = np.zeros(features.n_weights)
    for done in range(0, n_samples, 4096):
        trees = counted.grammar.sample(min(4096, n_samples - done), rng, n_threads=n_threads)
        total += counts_of_sample(features, counted, trees, n_threads)
    if smoothing and prior is not None:
        total += smoothing * prior
    return total / (n_samples + smoothing)


def counts_of_sample(
    features: TreeFeatures, counted: CountedGrammar, trees: Trees, n_threads: int | None = None
) -> FloatArray:
    """Return how often the features occur in trees of symbols that the grammar has made [n_weights]."""
    parts, _ = features.rules.parts(trees)
    sentences = Sentences(trees.word_ptr, trees.word[trees.is_leaf], counted.lexicon)
    counts = features.native.count(pool(n_threads), sentences.native, *parts.arrays)
    return np.bincount(counts[1], weights=counts[2], minlength=features.n_weights).astype(np.float64)
