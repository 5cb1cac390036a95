"""Tree-structured penalties for n-gram models: from counted n-grams to a back-off model.

    - sum of log p(w | h)  +  strength * sum over n-grams g of weight_g * norm(weights of g and of all that extend it)

The n-grams of order 2 and above are a forest: the parent of (h, w) is (h without its oldest word, w), and a group is an
n-gram with all longer ones that end in it. A group whose norm is not worth its price is zero as a whole, so a model may
look as far back as the text allows and is no larger for it (Nelakanti et al. 2013). weight_g = depth_growth ** depth;
the paper multiplies *features* by alpha ** depth, which is depth_growth = 1 / alpha. Unigrams are in no group: they
have a small ridge, and signs.

``tree-l2`` takes  sqrt(sum of (s_i / s_g) x_i^2)  with s the counts: the norm whose proximal map is exact in the steps
that counts ask for. It is trained on the trie of all n-grams (``OnTrie``).

``tree-linf`` takes the largest weight. Contexts that occur only together then have the same weights at the optimum, so
it is trained on the collapsed tree (``OnSuffixTree``), whose size hardly depends on the order; groups of one path of
collapsed contexts share the mean of their depth weights, without which they would not collapse. (The weight of the
path's top would do too; on newswire the mean is better by 0.3 of perplexity.) l1, l2 and elastic net collapse as well
(``train_collapsed``), which lets them have histories of any length: exact where the strength is the same for all
orders; where it is not, the n-grams of a path share the mean of theirs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from loglinear.arrays import FloatArray
from loglinear.backoff.interpolation import loglinear_weights
from loglinear.backoff.kneser_ney import kneser_ney
from loglinear.backoff.model import BackoffModel
from loglinear.backoff.pruning import without_entries
from loglinear.backoff.tree_start import tree_start
from loglinear.data.ngram import NgramTrie
from loglinear.data.sentences import Sentences
from loglinear.data.suffix_tree import SuffixTree
from loglinear.features.word_vocabulary import WordVocabulary
from loglinear.losses.collapsed_ngram import CollapsedNgramLoss
from loglinear.losses.ngram_maxent import NgramMaxentLoss
from loglinear.models.language_model.training import (
    MaxentFit,
    NgramPenalty,
    backoff_of,
    check_growth,
    n_paths,
    with_unknown,
)
from loglinear.optimise.objective import Objective
from loglinear.optimise.training import Settings, Solution, train
from loglinear.optimise.tuning_by_gradient import Trial, Tuned
from loglinear.optimise.tuning_by_search import Budget, Setting, tune_path
from loglinear.penalties import L2, Blocks, SeparablePenalty, TreeL2, TreeLinf
from loglinear.status import Status
from loglinear.structure.tree import Tree

TREES = ("tree-l2", "tree-linf")


@dataclass(frozen=True)
class TreePenalty:
    """What LanguageModel's words say of a tree penalty."""

    penalty: str
    strength: float
    depth_growth: float
    l2: float = 0.0  # a ridge beside it, of all n-grams above unigrams
    unigram_strength: float = 0.01
    nonnegative: bool = True

    def __post_init__(self) -> None:
        if self.penalty not in TREES:
            raise ValueError(f"unknown tree penalty {self.penalty!r}; known: {', '.join(TREES)}")
        for name in ("strength", "l2", "unigram_strength"):
            value = getattr(self, name)
            if not (isinstance(value, (int, float)) and math.isfinite(value) and value >= 0):
                raise ValueError(
                    f"{name} of {self.penalty} must be one nonnegative number, not {value!r}; how it changes with the "
                    "order is said by depth_growth"
                )
        check_growth(self.depth_growth)

    @property
    def values(self) -> tuple[float, float, float]:
        """(strength, depth growth, l2): what is tuned."""
        return float(self.strength), float(self.depth_growth), float(self.l2)

    def with_values(self, values: FloatArray) -> TreePenalty:
        """Other strength, depth growth and l2."""
        strength, growth, l2 = (float(v) for v in values)
        return replace(self, strength=strength, depth_growth=growth, l2=l2)


# Tuned on held-out newswire; on balanced English they come within a percent of the elastic net.
DEFAULTS = {
    "tree-l2": TreePenalty("tree-l2", strength=0.44, depth_growth=1.09, l2=0.12),
    "tree-linf": TreePenalty("tree-linf", strength=0.4, depth_growth=1.24, l2=0.13),
}
ALONE = {  # without a ridge
    "tree-l2": TreePenalty("tree-l2", strength=0.79, depth_growth=0.84),
    "tree-linf": TreePenalty("tree-linf", strength=0.72, depth_growth=1.05),
}


class Weights(Protocol):
    """Where a model's weights live: on the trie of all n-grams or on the collapsed tree."""

    order: int
    start: FloatArray

    def objective(self, penalty: TreePenalty) -> Objective:
        """Loss + penalty."""

    def validation(self, sentences: Sentences) -> Callable[[FloatArray], float]:
        """Minus the log-probability of other text, as a function of the weights."""

    def model(self, w: FloatArray) -> BackoffModel:
        """Without what is zero."""

    def n_weights(self, w: FloatArray) -> int:
        """Weights that are kept: the unigrams, and what is not zero."""

    def n_parameters(self, w: FloatArray) -> int:
        """Constant-value non-branching paths that are not zero."""


class OnTrie:
    """One weight per n-gram."""

    def __init__(self, trie: NgramTrie, vocabulary: WordVocabulary, n_threads: int | None = None) -> None:
        counted = kneser_ney(trie, vocabulary, n_threads=n_threads)
        trie = with_unknown(trie, vocabulary, counted)
        self.vocabulary, self.n_threads, self.order = vocabulary, n_threads, trie.order
        self.start = centred(loglinear_weights(counted, n_threads=n_threads), trie.n_words)
        self.loss = NgramMaxentLoss(trie, n_threads=n_threads)
        self.tree = forest(trie)

    def objective(self, penalty: TreePenalty) -> Objective:
        """The count-weighted norm for tree-l2; the largest weight for tree-linf, by order."""
        check_growth(penalty.depth_growth, self.order - 2)
        trie, n_threads = self.loss.trie, self.n_threads
        scale = np.maximum(trie.entry_count[trie.n_words :], 0.5) + penalty.l2
        more = {"depth_growth": penalty.depth_growth}
        return Objective(self.loss, _blocks(penalty, trie.n_words, self.tree, scale, n_threads, more), n_threads)

    def validation(self, sentences: Sentences) -> Callable[[FloatArray], float]:
        """The loss with the counts of that text."""
        loss = self.loss.on(sentences)
        gradient = np.empty(loss.n_weights)
        return lambda w: loss.value_and_gradient(w, gradient)

    def model(self, w: FloatArray) -> BackoffModel:
        """Exact, with backoff(h) = Z(parent h) / Z(h)."""
        model = backoff_of(self.loss, self.vocabulary, w)
        return without_entries(model, self._kept(w).view(np.uint8), n_threads=self.n_threads)

    def n_weights(self, w: FloatArray) -> int:
        """N-grams of the model."""
        return int(np.count_nonzero(self._kept(w)))

    def n_parameters(self, w: FloatArray) -> int:
        """N-grams that are not zero, those along a path that does not branch counted once where they are equal."""
        return n_paths(self.loss.trie, w)

    def _kept(self, w: FloatArray) -> Any:
        keep = w != 0
        keep[: self.loss.trie.n_words] = True
        return keep


class OnSuffixTree:
    """One weight per entry of the collapsed tree: the same for all n-grams that it stands for."""

    def __init__(self, tree: SuffixTree, vocabulary: WordVocabulary, n_threads: int | None = None) -> None:
        counted = kneser_ney(tree.trie, vocabulary, collapsed=True, n_threads=n_threads)
        self.start = centred(tree_start(tree, vocabulary, counted=counted, n_threads=n_threads), tree.n_words)
        tree = replace(tree, trie=with_unknown(tree.trie, vocabulary, counted))
        self.vocabulary, self.n_threads, self.order = vocabulary, n_threads, tree.order
        self.loss = CollapsedNgramLoss(tree, n_threads=n_threads)
        self.tree = forest(tree.trie)
        self.depth = tree.entry_depth[tree.n_words :]

    def objective(self, penalty: TreePenalty | NgramPenalty) -> Objective:
        """A group weighs the mean of its path, times the length of the path."""
        check_growth(penalty.depth_growth, self.order - 2)
        tree, n_threads = self.loss.tree, self.n_threads
        if isinstance(penalty, NgramPenalty):
            return Objective(self.loss, self._separable(penalty), n_threads)
        multiplicity = self.loss.multiplicity[tree.n_words :]
        scale = np.maximum(tree.trie.entry_count[tree.n_words :], 0.5) * multiplicity**2 + penalty.l2 * multiplicity
        more = {"weights": path_means(penalty.depth_growth, self.depth, multiplicity), "multiplicity": multiplicity}
        return Objective(self.loss, _blocks(penalty, tree.n_words, self.tree, scale, n_threads, more), n_threads)

    def _separable(self, penalty: NgramPenalty) -> Blocks:
        """l1, l2 and elastic net: an entry pays for all n-grams that it stands for."""
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
        """Exact, without expanding the tree."""
        return lambda w: self.loss.value_on(w, sentences)

    def model(self, w: FloatArray) -> BackoffModel:
        """By way of what a file would hold, so that a model that is read answers to the bit as before."""
        return model_of_packed(self.packed(w), self.vocabulary, n_threads=self.n_threads)

    def packed(self, w: FloatArray) -> dict[str, np.ndarray]:
        """What is not zero, with paths of equal weights as one."""
        return self.loss.tree.pack(w)

    def n_weights(self, w: FloatArray) -> int:
        """Entries of the collapsed tree."""
        return self.loss.tree.n_words + int(np.count_nonzero(w[self.loss.tree.n_words :]))

    def n_parameters(self, w: FloatArray) -> int:
        """Definition 3 of the paper."""
        return self.loss.tree.n_parameters(w)


def path_means(growth: float, depth: Any, length: FloatArray) -> FloatArray:
    """The mean of growth ** d over the depths d = depth .. depth + length - 1 of each path."""
    if growth == 1.0:
        return np.ones(length.size)
    rate = math.log(growth)
    return np.exp(rate * depth) * np.expm1(rate * length) / (length * math.expm1(rate))


def weights_over(ngrams: NgramTrie | SuffixTree, vocabulary: WordVocabulary, n_threads: int | None = None) -> Weights:
    """On what was counted."""
    if isinstance(ngrams, SuffixTree):
        return OnSuffixTree(ngrams, vocabulary, n_threads)
    return OnTrie(ngrams, vocabulary, n_threads)


def ngrams_by_order(tree: SuffixTree) -> list[int]:
    """How many n-grams of each order a collapsed tree stands for."""
    sizes = np.diff(tree.trie.context_entry)
    change = np.zeros(tree.order + 1, np.int64)
    # The contexts of a class have the lengths above that of its parent's longest, up to its own longest.
    np.add.at(change, tree.context_length[tree.context_parent][1:] + 1, sizes[1:])
    np.subtract.at(change, tree.context_length[1:] + 1, sizes[1:])
    counts = np.cumsum(change[:-1])
    counts[0] = sizes[0]
    return counts.tolist()


def model_of_packed(
    arrays: Mapping[str, np.ndarray], vocabulary: WordVocabulary, *, n_threads: int | None = None
) -> BackoffModel:
    """The back-off model of a packed tree: expanded to its n-grams. ValueError where the arrays are none."""
    tree, x = SuffixTree.unpack(arrays, vocabulary.n_words)
    trie, w = tree.expand(x)
    model = backoff_of(NgramMaxentLoss(trie, n_threads=n_threads), vocabulary, w)
    keep = w != 0
    keep[: trie.n_words] = True
    return without_entries(model, keep.view(np.uint8), n_threads=n_threads)


def centred(start: FloatArray, n_words: int) -> FloatArray:
    """The weights, changed, with unigrams that sum to zero: the same probabilities at the least ridge."""
    start[:n_words] -= start[:n_words].mean()
    return start


def forest(trie: NgramTrie) -> Tree | None:
    """The n-grams of order 2 and above, where there are any; bigrams are the roots."""
    if trie.n_entries == trie.n_words:
        return None
    parent = trie.entry_parent[trie.n_words :].astype(np.int64) - trie.n_words
    return Tree(np.maximum(parent, -1).astype(np.int32))


def _blocks(
    penalty: TreePenalty,
    n_words: int,
    tree: Tree | None,
    scale: FloatArray,
    n_threads: int | None,
    more: Mapping[str, Any],
) -> Blocks:
    """Unigrams, and the groups above them."""
    unigrams = L2(penalty.unigram_strength, n_threads=n_threads)
    if tree is None:
        return Blocks([(n_words, unigrams)], n_threads=n_threads)
    make: Any = TreeL2 if penalty.penalty == "tree-l2" else TreeLinf
    common = {"scale": scale, "l2": penalty.l2, "nonnegative": penalty.nonnegative, "n_threads": n_threads}
    groups = make(tree, penalty.strength, **common, **more)
    return Blocks([(n_words, unigrams), (tree.n_nodes, groups)], n_threads=n_threads)


def train_collapsed(weights: OnSuffixTree, penalty: NgramPenalty, settings: Settings) -> MaxentFit:
    """Train under a penalty of each n-gram by itself: equal n-grams have equal weights there too."""
    if settings.solver == "auto":
        settings = replace(settings, solver="fista")
    solution = train(weights.objective(penalty), settings, weights.start)
    strengths = [(n, *penalty.of_order(n)) for n in range(1, weights.order + 1)]
    rows = [{"ngrams": f"{n}-grams", "order": n, "l1": l1, "l2": l2} for n, l1, l2 in strengths]
    return _fit(weights, solution, None, rows, penalty)


def _fit(
    weights: Weights,
    solution: Solution,
    choice: Tuned | None,
    rows: list[dict[str, Any]],
    penalty: TreePenalty | NgramPenalty,
) -> MaxentFit:
    w = solution.weights
    packed = weights.packed(w) if isinstance(weights, OnSuffixTree) else None
    counts = {"n_weights": weights.n_weights(w), "n_parameters": weights.n_parameters(w)}
    model = weights.model(w)
    return MaxentFit(model, solution=solution, tuned=choice, strengths=rows, penalty=penalty, packed=packed, **counts)


def train_tree(
    weights: Weights,
    penalty: TreePenalty,
    settings: Settings,
    *,
    validation: Sentences | None = None,
    tuned: tuple[str, ...] = ("strength", "depth_growth", "l2"),
    budget: Budget | None = None,
    callback: Callable[[Trial], bool | None] | None = None,
) -> MaxentFit:
    """Train; with ``validation`` sentences, choose the settings named in ``tuned`` first (an l2 of zero stays so)."""
    if settings.solver == "auto":
        settings = replace(settings, solver="fista")
    start, choice = weights.start, None
    if validation is not None:
        choice = tune_path(
            lambda values: weights.objective(penalty.with_values(values)),
            weights.validation(validation),
            _settings(penalty, tuned, weights.order),
            start,
            solver=settings.solver,
            solver_options=settings.solver_options,
            budget=budget,
            callback=callback,
        )
        penalty, start = penalty.with_values(choice.best.strengths), choice.weights
        if choice.status == Status.INTERRUPTED:
            settings = replace(settings, max_iterations=0)
    solution = train(weights.objective(penalty), settings, start)
    return _fit(weights, solution, choice, _by_order(penalty, weights.order), penalty)


def _settings(penalty: TreePenalty, tuned: tuple[str, ...], order: int) -> list[Setting]:
    """First steps of a size that changes perplexity by about a percent; growth within what the depth can bear."""
    steps = {"strength": 0.25, "depth_growth": 0.1, "l2": 0.5}
    deepest = max(order - 2, 1)
    widest = min(math.exp(100.0 / deepest), 8.0)
    bounds = {"depth_growth": (1.0 / widest, widest)}
    return [
        Setting(
            name,
            getattr(penalty, name),
            step if name in tuned and getattr(penalty, name) > 0 else 0.0,
            bounds.get(name, (1e-6, 1e6)),
        )
        for name, step in steps.items()
    ]


def _by_order(penalty: TreePenalty, order: int) -> list[dict[str, Any]]:
    """The strength of a group by the order of its shortest n-gram."""
    rows = [{"ngrams": "1-grams", "order": 1, "group": 0.0, "l2": penalty.unigram_strength}]
    for n in range(2, order + 1):
        group = penalty.strength * penalty.depth_growth ** (n - 2)
        rows.append({"ngrams": f"{n}-grams", "order": n, "group": group, "l2": penalty.l2})
    return rows
