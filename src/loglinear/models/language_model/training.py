"""From counted n-grams to a back-off model: what each estimator of LanguageModel does.

Maximum entropy starts from Kneser-Ney: an interpolated Kneser-Ney model is of the form p(w | h) ~ exp(sum of theta)
with theta(h, w) = log p(w | h) - log p(w | parent h) - log backoff(h) >= 0, so it lies inside the very set that
nonnegative weights are chosen from, and a few steps from the optimum.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loglinear.arrays import FloatArray
from loglinear.backoff.interpolation import loglinear_weights
from loglinear.backoff.kneser_ney import kneser_ney
from loglinear.backoff.model import BackoffModel
from loglinear.backoff.pruning import without_entries
from loglinear.data.ngram import NgramTrie
from loglinear.data.ngram_classes import NgramClasses, ngram_classes
from loglinear.data.sentences import Sentences
from loglinear.features.word_vocabulary import WordVocabulary
from loglinear.losses.ngram_maxent import NgramMaxentLoss
from loglinear.optimise.objective import Objective
from loglinear.optimise.training import Settings, Solution, train
from loglinear.optimise.tuning_by_gradient import Tuned, tune_strengths
from loglinear.penalties import ByClass
from loglinear.protocols import Smooth
from loglinear.status import Status

PENALTIES = ("elastic_net", "l1", "l2", "none")
MOST_GROWTH = 200 * math.log(10)  # of the depth weights, as a logarithm; squares of strengths are still numbers


def check_growth(growth: float, depth: int = 0) -> None:
    """Refuse a factor per order that is none, or that leaves the range of numbers ``depth`` orders above the second."""
    if not (math.isfinite(growth) and growth > 0):
        raise ValueError(f"depth_growth must be a positive, finite number, not {growth!r}")
    if abs(math.log(growth)) * depth > MOST_GROWTH:
        raise ValueError(
            f"depth_growth {growth:g} becomes {'too large' if growth > 1 else 'too small'} at n-grams of "
            f"{depth + 2} words: {growth:g}^{depth}; take one nearer to 1, or a lower order"
        )


@dataclass(frozen=True)
class NgramPenalty:
    """What LanguageModel's words say of the penalty: one strength per order from the second, the last for the rest."""

    penalty: str = "elastic_net"
    strength: Sequence[float] = (1.0,)
    l1_ratio: Sequence[float] = (0.8,)
    unigram_strength: float = 0.01  # a ridge: unigrams are signed, and unseen words need a bound
    nonnegative: bool = True
    depth_growth: float = 1.0  # multiplies the strength once more with every order above the second

    def __post_init__(self) -> None:
        if self.penalty not in PENALTIES:
            raise ValueError(f"unknown penalty {self.penalty!r}; known: {', '.join(PENALTIES)}")
        for name in ("strength", "l1_ratio"):
            values = np.asarray(getattr(self, name), dtype=np.float64)
            if values.ndim != 1 or values.size == 0 or not np.all(np.isfinite(values) & (values >= 0)):
                raise ValueError(f"{name} must be one nonnegative number, or one per order from the second")
        if max(self.l1_ratio) > 1:
            raise ValueError(f"l1_ratio must lie between 0 and 1, not {self.l1_ratio!r}")
        check_growth(self.depth_growth)

    def of_order(self, n: int) -> tuple[float, float]:
        """(l1, l2) of the n-grams of an order."""
        if n == 1:
            return 0.0, self.unigram_strength
        strength = self.strength[min(n - 2, len(self.strength) - 1)]
        ratio = {"l1": 1.0, "l2": 0.0}.get(self.penalty, self.l1_ratio[min(n - 2, len(self.l1_ratio) - 1)])
        strength *= 0.0 if self.penalty == "none" else self.depth_growth ** (n - 2)
        return strength * ratio, strength * (1 - ratio)

    def on(self, classes: NgramClasses, n_threads: int | None = None) -> ByClass:
        """The penalty of the weights of a trie."""
        check_growth(self.depth_growth, max(classes.orders) - 2)
        strengths = np.array([self.of_order(n) for n in classes.orders])
        signs = np.array([self.nonnegative and n > 1 for n in classes.orders])
        return ByClass(classes.numbers, strengths[:, 0], strengths[:, 1], signs, n_threads=n_threads)


@dataclass(frozen=True)
class MaxentFit:
    """A trained model, with the weights that made it."""

    backoff: BackoffModel
    n_weights: int  # that are not zero
    solution: Solution
    tuned: Tuned | None
    strengths: list[dict[str, Any]]  # of each class of n-grams
    n_parameters: int = 0  # constant-value non-branching paths that are not zero
    penalty: Any = None  # of a tree: with the strength, depth growth and l2 that were chosen
    packed: dict[str, NDArray[Any]] | None = None  # the collapsed tree, where it was trained on


def with_unknown(trie: NgramTrie, vocabulary: WordVocabulary, counted: BackoffModel) -> NgramTrie:
    """The trie, changed, with tokens of ``<unk>`` where an open vocabulary has met none: as many as Kneser-Ney expects.

    A text tells nothing of words it lacks. Without a count ``<unk>`` would have what the ridge leaves it, next to
    nothing; Kneser-Ney gives it the share of a word seen zero times.
    """
    unknown = vocabulary.unknown
    if unknown is None or trie.entry_count[unknown] > 0:
        return trie
    expected = round(float(trie.context_count[0]) * float(np.exp(counted.log_probability[unknown])))
    if not (trie.entry_count.flags.writeable and trie.context_count.flags.writeable):  # mapped from files
        trie = replace(trie, entry_count=trie.entry_count.copy(), context_count=trie.context_count.copy())
    trie.entry_count[unknown] = max(expected, 1)
    trie.context_count[0] += trie.entry_count[unknown]
    return trie


def backoff_of(loss: NgramMaxentLoss, vocabulary: WordVocabulary, w: FloatArray) -> BackoffModel:
    """The model of the weights, in back-off form: exact, with backoff(h) = Z(parent h) / Z(h)."""
    trie = loss.trie
    log_p, log_r = loss.log_probabilities(w)
    log_backoff = np.negative(log_r, out=log_r)
    log_backoff[0] = 0.0
    return BackoffModel(
        vocabulary=vocabulary,
        order=trie.order,
        context_start=trie.context_start,
        entry_start=trie.entry_start,
        context_word=trie.context_word,
        context_child=trie.context_child,
        context_entry=trie.context_entry,
        log_backoff=log_backoff,
        entry_word=trie.entry_word,
        log_probability=log_p,
    )


def n_paths(trie: NgramTrie, w: FloatArray) -> int:
    """Weights that are not zero, those on a constant-value non-branching path counted once (Nelakanti et al. 2013).

    An n-gram goes on with the path of its parent where it is the only one to extend it and the weights are equal, to a
    millionth: solvers find equal ones by sums in another order. Unigrams are paths by themselves.
    """
    parent = trie.entry_parent[trie.n_words :]
    only = np.bincount(parent, minlength=trie.n_entries)[parent] == 1
    own, above = w[trie.n_words :], w[parent]
    same = only & (parent >= trie.n_words) & (own != 0) & (np.abs(own - above) <= 1e-6 * np.abs(above))
    return int(np.count_nonzero(w)) - int(np.count_nonzero(same))


def train_maxent(
    trie: NgramTrie,
    vocabulary: WordVocabulary,
    penalty: NgramPenalty,
    settings: Settings,
    *,
    scheme: str = "order",
    validation: Sentences | None = None,
    start: FloatArray | None = None,
    offset: FloatArray | None = None,
    tuning_options: dict[str, Any] | None = None,
    callback: Callable[..., bool | None] | None = None,
) -> MaxentFit:
    """Train the weights of a trie; with ``validation`` sentences, choose the strengths by class first.

    ``start``: weights to begin from (Kneser-Ney's). ``offset``: weights of a base model, of which only the difference
    is learnt and penalised, without a sign.
    """
    classes = ngram_classes(trie, scheme)
    if offset is not None:
        penalty = replace(penalty, nonnegative=False)
    by_class = penalty.on(classes, settings.n_threads)
    if offset is None:
        counted = kneser_ney(trie, vocabulary, n_threads=settings.n_threads)
        trie = with_unknown(trie, vocabulary, counted)
        if start is None and penalty.penalty != "none":
            start = loglinear_weights(counted, n_threads=settings.n_threads)
            # A constant added to all unigram weights changes no probability; their ridge is least where they sum to
            # zero. Solvers find that direction slowly: it is flat but for the ridge.
            unigrams = start[: trie.entry_start[1]]
            unigrams -= unigrams.mean()
        del counted
    loss = NgramMaxentLoss(trie, offset=offset, n_threads=settings.n_threads)
    if settings.solver == "auto":  # counts span orders of magnitude: steps are measured by the curvature
        name = "lbfgs" if isinstance(by_class, Smooth) else "owlqn"
        settings = replace(settings, solver=name, solver_options={"metric": "curvature", **settings.solver_options})
    tuned = None
    if validation is not None:
        tuned = tune_strengths(
            loss,
            by_class,
            loss.on(validation),
            start,
            fixed=[0, len(classes.orders)],  # the unigrams' ridge would learn what the validation text is about
            solver=settings.solver,
            solver_options=settings.solver_options,
            n_threads=settings.n_threads,
            callback=callback,
            **(tuning_options or {}),
        )
        by_class, start = tuned.penalty, tuned.weights
        if tuned.status == Status.INTERRUPTED:
            settings = replace(settings, max_iterations=0)
    solution = train(Objective(loss, by_class, settings.n_threads), settings, start)
    weights = solution.weights
    model = backoff_of(loss, vocabulary, weights)
    total = weights if offset is None else weights + offset
    keep = total != 0
    keep[: trie.n_words] = True
    strengths = [
        {"ngrams": name, "order": n, "l1": float(a), "l2": float(b)}
        for name, n, a, b in zip(classes.names, classes.orders, by_class.l1, by_class.l2)
    ]
    small = without_entries(model, keep.view(np.uint8), n_threads=settings.n_threads)
    n_parameters = n_paths(trie, total)
    return MaxentFit(small, int(np.count_nonzero(keep)), solution, tuned, strengths, n_parameters)
