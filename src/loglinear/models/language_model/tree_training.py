"""Training of n-gram models under tree-structured penalties: from counted n-grams to a back-off model.

    - sum of log p(w | h)  +  strength * sum over n-grams g of weight_g * norm(weights of g and of all that extend it)

The n-grams of order 2 and above are a forest: the parent of (h, w) is (h without its oldest word, w), and a group is an
n-gram with all longer ones that end in it. A group that lowers the loss by less than its norm costs is zero as a whole,
so a model may look back as far as the text allows without becoming larger (Nelakanti et al. 2013).

``tree-l2`` takes the norm  sqrt(sum of (c_i / c_g) x_i^2), c the counts, or  sqrt(sum of x_i^2)  (group_norm "plain"),
and steps proportional to 1 / c: the proximal map of the first has a closed form there, that of the second takes a few
sweeps. It is trained on the trie of all n-grams (``OnTrie``).

``tree-linf`` takes the largest weight. Contexts that occur only together then have the same weights at the optimum, so
it is trained on the collapsed tree (``OnSuffixTree``), whose size hardly depends on the order. The groups of a path of
collapsed contexts share the mean of their depth weights (``path_means``); otherwise they would not collapse. Under a
feature decay alpha they do not, and tree-linf is trained on the trie too: n-grams of such a path, of whose weights only
the sum matters, are in the ratio alpha where alpha > 1, and the shortest takes all where alpha < 1. l1, l2 and elastic
net collapse as well (``train_collapsed``), which lets them have histories of any length: exactly if the
strength is the same for all orders; if it is not, the n-grams of a path share the mean of theirs.

The norms themselves and their proximal maps are in penalties/tree_l2.py and penalties/tree_linf.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from loglinear.arrays import FloatArray
from loglinear.backoff.interpolation import loglinear_weights
from loglinear.backoff.kneser_ney import kneser_ney
from loglinear.backoff.model import BackoffModel
from loglinear.backoff.tree_start import tree_start
from loglinear.data.ngram import NgramTrie
from loglinear.data.sentences import Sentences
from loglinear.data.suffix_tree import SuffixTree
from loglinear.features.word_vocabulary import WordVocabulary
from loglinear.losses.collapsed_ngram import CollapsedNgramLoss
from loglinear.losses.ngram_maxent import NgramMaxentLoss
from loglinear.models.language_model.backoff_form import backoff_of, kept_entries, model_of_packed
from loglinear.models.language_model.penalty import NgramPenalty, TreePenalty, check_growth
from loglinear.models.language_model.training import MaxentFit, centred, n_paths, or_least, with_unknown
from loglinear.optimise.checkpoint import Checkpoint
from loglinear.optimise.objective import Objective
from loglinear.optimise.progress import Trials
from loglinear.optimise.training import Settings, Solution, train
from loglinear.optimise.tuning_by_gradient import Tuned
from loglinear.optimise.tuning_by_search import Setting, tune_path
from loglinear.penalties import L2, Blocks, SeparablePenalty, TreeL2, TreeLinf
from loglinear.status import Status
from loglinear.structure.tree import Tree


class Made(NamedTuple):
    """A model made of weights; ``packed`` is the collapsed tree that its file holds, None without one."""

    backoff: BackoffModel
    packed: dict[str, NDArray[Any]] | None = None


class Weights(Protocol):
    """The weights of a model, on the trie of all n-grams or on the collapsed tree."""

    order: int
    start: FloatArray  # Kneser-Ney's

    def objective(self, penalty: TreePenalty) -> Objective:
        """Return loss + penalty."""

    def validation(self, sentences: Sentences) -> Callable[[FloatArray], float]:
        """Return minus the log-probability of other text as a function of the weights."""

    def model(self, w: FloatArray) -> Made:
        """Return the model of the weights, without the n-grams whose weight is zero."""

    def n_weights(self, w: FloatArray) -> int:
        """Count the weights that the model keeps: the unigrams, and those that are not zero."""

    def n_parameters(self, w: FloatArray) -> int:
        """Count constant-value non-branching paths whose value is not zero (Nelakanti et al. 2013, definition 3)."""


class OnTrie:
    """One weight per n-gram."""

    def __init__(self, trie: NgramTrie, vocabulary: WordVocabulary, n_threads: int | None = None) -> None:
        counted = kneser_ney(trie, vocabulary, n_threads=n_threads)
        trie = with_unknown(trie, vocabulary.unknown)
        self.vocabulary, self.n_threads, self.order = vocabulary, n_threads, trie.order
        self.start = centred(loglinear_weights(counted, n_threads=n_threads), trie.n_words)
        self.loss = NgramMaxentLoss(trie, n_threads=n_threads)
        self.tree = forest(trie)

    def objective(self, penalty: TreePenalty) -> Objective:
        """Return loss + penalty."""
        check_growth(penalty, self.order)
        trie, n_threads = self.loss.trie, self.n_threads
        scale = np.maximum(trie.entry_count[trie.n_words :], 0.5) + penalty.l2
        more = {"depth_growth": penalty.depth_growth, "feature_decay": penalty.feature_decay}
        return Objective(self.loss, _blocks(penalty, trie.n_words, self.tree, scale, n_threads, more), n_threads)

    def validation(self, sentences: Sentences) -> Callable[[FloatArray], float]:
        """Return the loss with the counts of that text, which is counted once."""
        loss = self.loss.on(sentences)
        gradient = np.empty(loss.n_weights)
        return lambda w: loss.value_and_gradient(w, gradient)

    def model(self, w: FloatArray) -> Made:
        """Return the model, n-gram by n-gram."""
        return Made(backoff_of(self.loss, self.vocabulary, w))

    def n_weights(self, w: FloatArray) -> int:
        """Count the n-grams of the model."""
        return int(np.count_nonzero(kept_entries(w, self.loss.trie.n_words)))

    def n_parameters(self, w: FloatArray) -> int:
        """Count the paths of equal weights."""
        return n_paths(self.loss.trie, w)


class OnSuffixTree:
    """One weight per entry of the collapsed tree: all n-grams that an entry stands for have the same weight."""

    def __init__(self, tree: SuffixTree, vocabulary: WordVocabulary, n_threads: int | None = None) -> None:
        counted = kneser_ney(tree.trie, vocabulary, collapsed=True, n_threads=n_threads)
        self.start = centred(tree_start(tree, vocabulary, counted=counted, n_threads=n_threads), tree.n_words)
        tree = replace(tree, trie=with_unknown(tree.trie, vocabulary.unknown))
        self.vocabulary, self.n_threads, self.order = vocabulary, n_threads, tree.order
        self.loss = CollapsedNgramLoss(tree, n_threads=n_threads)
        self.tree = forest(tree.trie)
        self.depth = tree.entry_depth[tree.n_words :]

    def objective(self, penalty: TreePenalty | NgramPenalty) -> Objective:
        """Return loss + penalty; a group weighs the mean of its path's depth weights, times the length of the path."""
        check_growth(penalty, self.order)
        tree, n_threads = self.loss.tree, self.n_threads
        if isinstance(penalty, NgramPenalty):
            return Objective(self.loss, self._separable(penalty), n_threads)
        if penalty.feature_decay != 1.0:
            raise ValueError("under a feature decay the n-grams of a path have different weights: train on the trie")
        multiplicity = self.loss.multiplicity[tree.n_words :]
        scale = np.maximum(tree.trie.entry_count[tree.n_words :], 0.5) * multiplicity**2 + penalty.l2 * multiplicity
        more = {"weights": path_means(penalty.depth_growth, self.depth, multiplicity), "multiplicity": multiplicity}
        return Objective(self.loss, _blocks(penalty, tree.n_words, self.tree, scale, n_threads, more), n_threads)

    def _separable(self, penalty: NgramPenalty) -> Blocks:
        """Return l1, l2 or elastic net, where an entry costs as much as all n-grams that it stands for."""
        n_words, n_threads = self.loss.tree.n_words, self.n_threads
        by_order = np.array([penalty.of_order(n) for n in range(2, self.order + 1)]).reshape(-1, 2)
        up_to = np.concatenate([np.zeros((1, 2)), np.cumsum(by_order, axis=0)])
        ends = self.depth + self.loss.tree.entry_multiplicity[n_words:]
        l1, l2 = (up_to[ends] - up_to[self.depth]).T
        ngrams = SeparablePenalty(
            1.0, 1.0, l1_scale=l1, l2_scale=l2, nonnegative=penalty.nonnegative, n_threads=n_threads
        )
        return Blocks([(n_words, L2(penalty.unigram_strength, n_threads=n_threads)), (l1.size, ngrams)])

    def validation(self, sentences: Sentences) -> Callable[[FloatArray], float]:
        """Return minus the log-probability, exact without expanding the tree."""
        return lambda w: self.loss.value_on(w, sentences)

    def model(self, w: FloatArray) -> Made:
        """Return the model of the arrays that its file holds, so that a loaded model agrees with it to the bit."""
        packed = self.loss.tree.pack(w)
        return Made(model_of_packed(packed, self.vocabulary, n_threads=self.n_threads), packed)

    def n_weights(self, w: FloatArray) -> int:
        """Count the entries of the collapsed tree."""
        return self.loss.tree.n_words + int(np.count_nonzero(w[self.loss.tree.n_words :]))

    def n_parameters(self, w: FloatArray) -> int:
        """Count the paths of equal weights."""
        return self.loss.tree.n_parameters(w)


def weights_over(ngrams: NgramTrie | SuffixTree, vocabulary: WordVocabulary, n_threads: int | None = None) -> Weights:
    """Return the weights of counted n-grams, of either kind."""
    if isinstance(ngrams, SuffixTree):
        return OnSuffixTree(ngrams, vocabulary, n_threads)
    return OnTrie(ngrams, vocabulary, n_threads)


# ---- trees and their penalties --------------------------------------------------------------------------------------
def forest(trie: NgramTrie) -> Tree | None:
    """Return the forest of the n-grams of order 2 and above, with bigrams as roots; None if there are none."""
    if trie.n_entries == trie.n_words:
        return None
    parent = trie.entry_parent[trie.n_words :].astype(np.int64) - trie.n_words
    return Tree(np.maximum(parent, -1).astype(np.int32))


def path_means(growth: float, depth: NDArray[Any], length: FloatArray) -> FloatArray:
    """Return the mean of growth ** d over the depths d = depth .. depth + length - 1 of each path.

    (The weight of the path's top would let contexts collapse too; on newswire the mean's perplexity is 0.3 lower.)
    """
    if growth == 1.0:
        return np.ones(length.size)
    rate = math.log(growth)
    return np.exp(rate * depth) * np.expm1(rate * length) / (length * math.expm1(rate))


def _blocks(
    penalty: TreePenalty,
    n_words: int,
    tree: Tree | None,
    scale: FloatArray,
    n_threads: int | None,
    more: Mapping[str, Any],
) -> Blocks:
    """Return the ridge of the unigrams and the tree norm of the n-grams above them, side by side."""
    unigrams = L2(penalty.unigram_strength, n_threads=n_threads)
    if tree is None:
        return Blocks([(n_words, unigrams)], n_threads=n_threads)
    make: Any = TreeLinf
    if penalty.penalty == "tree-l2":
        make = partial(TreeL2, plain=penalty.group_norm == "plain")
    common = {"scale": scale, "l2": penalty.l2, "nonnegative": penalty.nonnegative, "n_threads": n_threads}
    groups = make(tree, penalty.strength, **common, **more)
    return Blocks([(n_words, unigrams), (tree.n_nodes, groups)], n_threads=n_threads)


# ---- training -------------------------------------------------------------------------------------------------------
def train_collapsed(
    weights: OnSuffixTree, penalty: NgramPenalty, settings: Settings, checkpoint: Checkpoint | None = None
) -> MaxentFit:
    """Train the collapsed tree under a penalty of each n-gram by itself."""
    solution = train(weights.objective(penalty), settings, weights.start, checkpoint=checkpoint)
    strengths = [(n, *penalty.of_order(n)) for n in range(1, weights.order + 1)]
    rows = [{"ngrams": f"{n}-grams", "order": n, "l1": l1, "l2": l2} for n, l1, l2 in strengths]
    return _fit(weights, solution, None, rows, penalty)


def train_tree(
    weights: Weights,
    penalty: TreePenalty,
    settings: Settings,
    *,
    validation: Sentences | None = None,
    tuned: tuple[str, ...] = ("strength", "depth_growth", "l2"),
    checkpoint: Checkpoint | None = None,
) -> MaxentFit:
    """Train; with ``validation`` sentences, choose the settings named in ``tuned`` first (an l2 of zero stays so)."""
    start, choice, chosen = weights.start, None, None
    if validation is not None:
        held_out = weights.validation(validation)
        with Trials(settings.verbose) as shown:
            choice = tune_path(
                lambda values: weights.objective(penalty.with_values(values)), held_out,
                tuned_settings(penalty, tuned, weights.order), start, solver=settings.solver,
                solver_options=settings.solver_options, callback=shown.tell,
            )
        start = choice.weights
        if choice.status == Status.INTERRUPTED:
            settings = replace(settings, max_iterations=0)
    at = penalty if choice is None else penalty.with_values(choice.best.strengths)
    solution = train(weights.objective(at), settings, start, checkpoint=checkpoint)
    if choice is not None:
        solution, chosen = or_least(solution, choice, held_out, settings)
        at = penalty.with_values(choice.history[chosen].strengths)
    return replace(_fit(weights, solution, choice, at.by_order(weights.order), at), chosen=chosen)


def tuned_settings(penalty: TreePenalty, tuned: tuple[str, ...], order: int) -> list[Setting]:
    """Return the settings to search over.

    First steps change perplexity by about a percent; the depth growth stays where the deepest groups have finite
    weights.
    """
    steps = {"strength": 0.25, "depth_growth": 0.1, "l2": 0.5}
    deepest = max(order - 2, 1)
    widest = min(math.exp(100.0 / deepest), 8.0)
    bounds = {"depth_growth": (1.0 / widest, widest)}
    return [
        Setting(
            name, getattr(penalty, name), step if name in tuned and getattr(penalty, name) > 0 else 0.0,
            bounds.get(name, (1e-6, 1e6)),
        )
        for name, step in steps.items()
    ]


def _fit(
    weights: Weights,
    solution: Solution,
    choice: Tuned | None,
    rows: list[dict[str, Any]],
    penalty: TreePenalty | NgramPenalty,
) -> MaxentFit:
    w = solution.weights
    backoff, packed = weights.model(w)
    return MaxentFit(backoff, weights.n_weights(w), weights.n_parameters(w), solution, choice, rows, penalty, packed)
