"""The loss of a maximum-entropy n-gram model whose weights live in several processes.

The trie is cut by context subtrees: a part has the contexts that end in some words, with all their entries. Below the
unigrams nothing joins two parts: the parents of an entry are entries of the same part, or unigrams. So with the
probabilities of the unigrams (losses/ngram_maxent.py has the recursions) a part sweeps down and up by itself, and hands
up two sums: its share of B of the empty context, and for every word the sum over the children of its unigram. The
process that has the unigrams (``NgramRootLoss``) makes their gradient of these. An evaluation moves two numbers per
word and part, whatever the size of the model.

Weights too large for products of exponentials make the value infinite here, and a line search turns back from them;
in one process they are summed in logarithms.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Protocol

import numpy as np

from loglinear.arrays import FloatArray
from loglinear.data.ngram import NgramTrie
from loglinear.errors import IncompatibleError
from loglinear.losses.ngram_maxent import native_maxent
from loglinear.threads import pool

EXTREME = 300.0  # largest |weight| of a unigram: that of the sweeps' own range


class Leads(Protocol):
    """Who collects what the parts bring."""

    def hand(self, what: Any) -> None:
        """Give the parts something before they bring."""

    def collect(self) -> list[Any]:
        """Return what the parts bring."""

    def answer(self, value: Any) -> None:
        """Answer them."""


class Follows(Protocol):
    """Who brings, and is answered."""

    @property
    def handed(self) -> Any:
        """Return what the leader gave."""

    def swap(self, own: Any) -> Any:
        """Bring something; return the answer."""


class Unigrams(NamedTuple):
    """What the parts must know of the unigrams."""

    probability: FloatArray  # [V]
    extent: float  # largest |weight|


class Raised(NamedTuple):
    """What a part hands up."""

    in_range: bool
    loss: float
    b: float
    d: FloatArray  # [V]
    b2: float = 0.0
    d2: FloatArray = np.empty(0)


class NgramRootLoss:
    """The unigrams and the sum of all. Powers: Curvature (its diagonal alone), Scaled.

    count : tokens of every word; their sum is the number of tokens
    """

    def __init__(self, count: FloatArray, leader: Leads) -> None:
        self.n_weights, self.count, self.tokens = count.size, count, float(count.sum())
        self._leader = leader

    def unigrams(self, w: FloatArray) -> tuple[Unigrams, float]:
        """Return the unigrams' probabilities, and the logarithm of the sum that normalises them."""
        top = float(w.max())
        log_z = top + math.log(float(np.exp(w - top).sum()))
        return Unigrams(np.exp(w - log_z), float(np.abs(w).max())), log_z

    def _raised(self, of: Unigrams) -> list[Raised]:
        self._leader.hand(of)
        return [Raised(*one) for one in self._leader.collect()]

    # Loss
    def value_and_gradient(self, w: FloatArray, out: FloatArray) -> float:
        """Return the loss of all; write the gradient of the unigrams."""
        of, log_z = self.unigrams(w)
        found = self._raised(of)
        if of.extent > EXTREME or not all(one.in_range for one in found):
            out[:], value = 0.0, math.inf
        else:
            b, d, value = self.tokens, np.zeros(w.size), self.tokens * log_z - float(self.count @ w)
            for one in found:
                value, b, d = value + one.loss, b + one.b, d + one.d
            np.subtract(of.probability * b + d, self.count, out=out)
        self._leader.answer(value)
        return value

    # Curvature
    def hessian(self, w: FloatArray) -> _Curvature:
        """Return the second derivatives at ``w``, of which only the diagonal is known."""
        return _Curvature(self, np.array(w))

    def diagonal(self, w: FloatArray, out: FloatArray) -> None:
        """Write sum over histories of tokens times p (1 - p)."""
        of, _ = self.unigrams(w)
        found = self._raised(of)
        if not all(one.in_range for one in found):
            raise OverflowError("the weights to begin with are too large for a model in parts; train in one process")
        b = b2 = self.tokens
        d, d2 = np.zeros(w.size), np.zeros(w.size)
        for one in found:
            b, b2, d, d2 = b + one.b, b2 + one.b2, d + one.d, d2 + one.d2
        p = of.probability
        np.maximum(p * b + d - (p * p * b2 + d2), 0.0, out=out)
        self._leader.answer(None)

    # Scaled
    def curvature_estimate(self, out: FloatArray) -> None:
        """Write the observed counts."""
        np.maximum(self.count, 0.5, out=out)


class NgramPartLoss:
    """The entries of one part, above its unigrams. Powers: Curvature (its diagonal alone), Scaled."""

    def __init__(self, trie: NgramTrie, follower: Follows, *, n_threads: int | None = None) -> None:
        self.trie, self.n_threads = trie, n_threads
        self.n_weights = trie.n_entries - trie.n_words
        self._native, self._follower = native_maxent(trie), follower

    # Loss
    def value_and_gradient(self, w: FloatArray, out: FloatArray) -> float:
        """Return the loss of all parts; write the gradient of this one."""
        of = Unigrams(*self._follower.handed)
        found = self._native.part_gradient(pool(self.n_threads), of.probability, of.extent, w, out)
        return float(self._follower.swap(Raised(*found)))

    # Curvature
    def hessian(self, w: FloatArray) -> _Curvature:
        """Return the second derivatives at ``w``, of which only the diagonal is known."""
        return _Curvature(self, np.array(w))

    def diagonal(self, w: FloatArray, out: FloatArray) -> None:
        """Write sum over histories of tokens times p (1 - p)."""
        of = Unigrams(*self._follower.handed)
        in_range, b, b2, d, d2 = self._native.part_curvature(pool(self.n_threads), of.probability, of.extent, w, out)
        self._follower.swap(Raised(in_range, 0.0, b, d, b2, d2))

    # Scaled
    def curvature_estimate(self, out: FloatArray) -> None:
        """Write the observed counts."""
        np.maximum(self.trie.entry_count[self.trie.n_words :], 0.5, out=out)

    def log_probabilities(self, of: Unigrams, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return (log p(w | h) of each entry, unigrams included, log Z(h) / Z(parent h) of each context)."""
        V, trie = self.trie.n_words, self.trie
        log_p, log_r = np.empty(trie.n_entries), np.zeros(trie.n_contexts)
        log_p[:V] = np.log(of.probability)
        if not self._native.part_probabilities(pool(self.n_threads), of.probability, of.extent, w, log_p[V:], log_r):
            raise OverflowError("the weights are too large for a model in parts; train in one process")
        return log_p, log_r


class _Curvature:
    """Second derivatives of a loss at one point, of which only the diagonal is known."""

    def __init__(self, loss: NgramRootLoss | NgramPartLoss, w: FloatArray) -> None:
        self._loss, self._w = loss, w

    def diagonal(self, out: FloatArray) -> None:
        """Write the diagonal."""
        self._loss.diagonal(self._w, out)

    def product(self, v: FloatArray, out: FloatArray) -> None:
        """Refuse: second derivatives in parts have no products."""
        raise IncompatibleError("n-gram models in parts have no products with the Hessian: use owlqn or lbfgs")
