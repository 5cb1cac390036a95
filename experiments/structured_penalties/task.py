"""The models: a piece of text at one order, and every kind of model trained on it.

All kinds of model share n-grams, counts and Kneser-Ney's weights to start from, made once for each piece and order.
Weights above unigrams are nonnegative, as in section 2.5 of Nelakanti et al. (2013); unigrams have a small ridge.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from experiments.structured_penalties.corpora import Piece
from loglinear.arrays import FloatArray
from loglinear.backoff.kneser_ney import kneser_ney
from loglinear.backoff.model import BackoffModel
from loglinear.backoff.queries import NgramQueries
from loglinear.data.ngram import NgramTrie, build_trie
from loglinear.data.ngram_classes import ngram_classes
from loglinear.data.sentences import Sentences
from loglinear.data.suffix_tree import build_suffix_tree
from loglinear.models.language_model.penalty import NgramPenalty, TreePenalty
from loglinear.models.language_model.tree_training import OnSuffixTree, OnTrie
from loglinear.optimise.objective import Objective
from loglinear.optimise.training import Settings, train

Json = dict[str, Any]
END, UNKNOWN = 0, 1  # numbers of words


@dataclass(frozen=True)
class Kind:
    """A kind of model; the search for (strength, depth growth, ridge) starts at ``values``.

    Of kinds with weights of features, the second value is their decay (the paper's alpha) instead of a depth growth.
    """

    title: str
    penalty: str
    values: tuple[float, float, float] = (1.0, 1.0, 0.0)
    weighted: bool = False
    features: bool = False
    plain: bool = False

    @property
    def collapses(self) -> bool:
        return self.penalty == "tree-linf" and not self.features

    def tree_penalty(self, strength: float, growth: float, ridge: float) -> TreePenalty:
        """The penalty with some values."""
        growth, decay = (1.0, growth) if self.features else (growth, 1.0)
        norm = "plain" if self.plain else "counts"
        return TreePenalty(self.penalty, strength, growth, ridge, group_norm=norm, feature_decay=decay)

    @property
    def counted(self) -> bool:
        return self.penalty.startswith("kneser-ney")

    @property
    def tuned(self) -> tuple[bool, bool, bool]:
        """Return which of the values are tuned."""
        return True, self.weighted, self.values[2] > 0


KINDS = {
    "kn": Kind("KN", "kneser-ney-single"),
    "kn-modified": Kind("KN, modified", "kneser-ney"),
    "l2": Kind("ℓ2²", "l2", (0.5, 1.0, 0.0)),
    "l1": Kind("ℓ1", "l1", (0.5, 1.0, 0.0)),
    "tree-l2": Kind("ℓ2ᵀ", "tree-l2", (0.5, 1.0, 0.0)),
    "tree-linf": Kind("ℓ∞ᵀ", "tree-linf", (0.4, 1.0, 0.0)),
    "w-l2": Kind("wℓ2²", "l2", (0.4, 1.6, 0.0), True),
    "w-l1": Kind("wℓ1", "l1", (0.5, 1.2, 0.0), True),
    "w-tree-l2": Kind("wℓ2ᵀ", "tree-l2", (0.5, 1.0, 0.0), True),
    "w-tree-linf": Kind("wℓ∞ᵀ", "tree-linf", (0.4, 1.1, 0.0), True),
    "w-tree-l2+l2": Kind("wℓ2ᵀ + ℓ2²", "tree-l2", (0.4, 1.0, 0.2), True),
    # As the paper defines them: plain norms, and weights of features.
    "plain-tree-l2": Kind("ℓ2ᵀ, plain", "tree-l2", (0.5, 1.0, 0.0), plain=True),
    "w-plain-tree-l2": Kind("wℓ2ᵀ, plain", "tree-l2", (0.5, 1.0, 0.0), True, plain=True),
    "alpha-tree-l2": Kind("αℓ2ᵀ", "tree-l2", (0.5, 1.1, 0.0), True, features=True),
    "alpha-plain-tree-l2": Kind("αℓ2ᵀ, plain", "tree-l2", (0.5, 1.1, 0.0), True, features=True, plain=True),
    "alpha-tree-linf": Kind("αℓ∞ᵀ", "tree-linf", (0.4, 0.85, 0.0), True, features=True),
}
FIGURE_2A = ("kn", "kn-modified", "l2", "l1", "tree-l2", "tree-linf")
BY_ORDER = (  # what is compared with strengths of every order
    "kn", "kn-modified", "l2", "w-l2", "l1", "w-l1", "tree-l2", "plain-tree-l2", "w-tree-l2", "w-plain-tree-l2",
    "alpha-tree-l2", "alpha-plain-tree-l2", "tree-linf", "w-tree-linf", "alpha-tree-linf",
)  # fmt: skip
PAPER = {  # the kinds of the figures, as the paper defines them
    "tree-l2": "plain-tree-l2",
    "w-tree-l2": "alpha-plain-tree-l2",
    "w-tree-linf": "alpha-tree-linf",
}
FIGURE_2B = ("kn", "kn-modified", "w-l2", "w-l1", "w-tree-l2", "w-tree-linf", "w-tree-l2+l2")


@dataclass(frozen=True)
class Fit:
    """A trained model and its perplexity on the test text of its piece."""

    perplexity: float  # per token of the vocabulary, ends of sentences included
    perplexity_without_ends: float
    n_weights: int  # that the optimiser works on, without unigrams
    n_nonzero: int  # of them
    n_parameters: int  # constant-value non-branching paths that are not zero
    evaluations: int
    seconds: float
    weights: FloatArray | None = field(default=None, repr=False)

    def figures(self) -> Json:
        return {name: value for name, value in vars(self).items() if name != "weights"}


class Text:
    """A piece of text with models of one order."""

    def __init__(self, piece: Piece, order: int, settings: Settings) -> None:
        self.piece, self.order, self.settings = piece, order, settings
        self.n_threads = settings.n_threads

    def trie(self) -> NgramTrie:
        """Build a new trie: training adds tokens of the unknown word to it."""
        return build_trie(self.piece.train, self.order, n_threads=self.n_threads)

    @cached_property
    def on_trie(self) -> OnTrie:
        return OnTrie(self.trie(), self.piece.vocabulary, self.n_threads)

    @cached_property
    def on_suffix_tree(self) -> OnSuffixTree:
        tree = build_suffix_tree(self.piece.train, self.order, n_threads=self.n_threads)
        return OnSuffixTree(tree, self.piece.vocabulary, self.n_threads)

    def fit(self, kind: Kind, values: tuple[float, float, float], start: FloatArray | None = None) -> Fit:
        began = time.perf_counter()
        if kind.counted:
            trie = self.trie()
            model = kneser_ney(
                trie, self.piece.vocabulary, modified=kind.penalty == "kneser-ney", n_threads=self.n_threads
            )
            n = trie.n_entries - trie.n_words
            return self._judged(model, began, n, n, n, 1)
        weights: OnTrie | OnSuffixTree = self.on_suffix_tree if kind.collapses else self.on_trie
        objective = self._objective(kind, values)
        solution = train(objective, self.settings, (weights.start if start is None else start).copy())
        w, n_words = solution.weights, self.piece.vocabulary.n_words
        return self._judged(
            weights.model(w).backoff,
            began,
            w.size - n_words,
            int(np.count_nonzero(w[n_words:])),
            weights.n_parameters(w) - n_words,
            solution.result.history.passes[-1],
            w,
        )

    def _objective(self, kind: Kind, values: tuple[float, float, float]) -> Objective:
        strength, growth, ridge = values
        if kind.penalty.startswith("tree"):
            weights: OnTrie | OnSuffixTree = self.on_suffix_tree if kind.collapses else self.on_trie
            return weights.objective(kind.tree_penalty(strength, growth, ridge))
        loss = self.on_trie.loss
        by_order = tuple(strength * growth**k for k in range(max(self.order - 1, 1)))
        penalty = NgramPenalty(kind.penalty, by_order).on(ngram_classes(loss.trie, "order"), self.n_threads)
        return Objective(loss, penalty, self.n_threads)

    def _judged(self, model: BackoffModel, began: float, *counts: Any) -> Fit:
        seconds = time.perf_counter() - began
        scores = NgramQueries.from_backoff(model, n_threads=self.n_threads).token_log_probabilities(self.piece.test)
        known = known_tokens(self.piece.test)
        words = known & ~end_tokens(self.piece.test)
        perplexities = [float(np.exp(-scores[chosen].mean())) for chosen in (known, words)]
        n_weights, n_nonzero, n_parameters, evaluations, *weights = counts
        return Fit(*perplexities, n_weights, n_nonzero, n_parameters, evaluations, seconds, *weights)


def end_tokens(sentences: Sentences) -> np.ndarray:
    """Return which tokens are ends of sentences: [n_tokens + n_sentences]."""
    ends = np.zeros(sentences.n_tokens + sentences.n_sentences, dtype=bool)
    ends[sentences.sentence_ptr[1:] + np.arange(sentences.n_sentences)] = True
    return ends


def known_tokens(sentences: Sentences) -> np.ndarray:
    """Return which tokens are of the vocabulary, to which ends of sentences belong."""
    known = np.ones(sentences.n_tokens + sentences.n_sentences, dtype=bool)
    known[~end_tokens(sentences)] = sentences.words != UNKNOWN
    return known


def search(
    judge: Callable[[tuple[float, ...]], float], start: tuple[float, ...], moves: tuple[float, ...], rounds: int = 3
) -> tuple[tuple[float, ...], list[Json]]:
    """Find the best settings by compass search.

    Each setting in turn is multiplied or divided by its factor in ``moves`` as long as that helps, and so are the first
    two together, since one may compensate for the other; then factors become their square roots. A factor of 1 leaves a
    setting alone.
    """
    known: dict[tuple[float, ...], float] = {}

    def judged(point: tuple[float, ...]) -> float:
        key = tuple(float(f"{x:.4g}") for x in point)
        if key not in known:
            known[key] = judge(key)
        return known[key]

    best = tuple(float(f"{x:.4g}") for x in start)
    for _ in range(rounds):
        moved = True
        while moved:
            moved = False
            for direction in directions(moves):
                while True:
                    point = tuple(float(f"{x * f**e:.4g}") for x, f, e in zip(best, moves, direction))
                    if not judged(point) < judged(best):
                        break
                    best, moved = point, True
        moves = tuple(factor**0.5 for factor in moves)
    judged(best)
    return best, [{"values": list(point), "perplexity": value} for point, value in known.items()]


def directions(moves: tuple[float, ...]) -> list[tuple[int, ...]]:
    """Return exponents of the factors: along each setting, and along the diagonals of the first two."""
    free = [k for k, factor in enumerate(moves) if factor > 1]
    along = [tuple(sign * (j == k) for j in range(len(moves))) for k in free for sign in (1, -1)]
    if free[:2] == [0, 1]:
        along += [(a, b, *(0 for _ in moves[2:])) for a in (1, -1) for b in (1, -1)]
    return along
