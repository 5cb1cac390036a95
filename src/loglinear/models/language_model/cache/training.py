"""Fitting the shares of a mixture and the weights of a cache over it, on held-out documents.

Shares maximise the probability of the documents (expectation maximisation); then the weights of the cache do, with the
mixture as it is (losses/cache.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loglinear.arrays import FloatArray
from loglinear.backoff.interpolation import interpolation_weights
from loglinear.data.documents import Documents, Numbering
from loglinear.losses.cache import CacheLoss
from loglinear.models.language_model.cache.queries import LINEAR, CachedQueries, CacheSettings, Member
from loglinear.models.language_model.factored.queries import FactoredQueries, blocks
from loglinear.optimise.objective import Objective
from loglinear.optimise.training import Settings, Solution, train
from loglinear.penalties import ByClass
from loglinear.threads import pool

TOLERANCE = 1e-4  # of the cache, at most: 0.04% of a perplexity of 100


def fit_mixture(
    members: Sequence[Member], numbering: Numbering, documents: Documents, *, n_threads: int | None = None
) -> CachedQueries:
    """Return a mixture with the shares that make held-out documents most probable."""
    shares = np.ones(1)
    if len(members) > 1:
        each = []
        for one in members:
            alone = CachedQueries(numbering, [one], np.ones(1), n_threads=n_threads)
            each.append(alone.score_events(documents).log_probability)
        shares = interpolation_weights(each)
        shares = shares / shares.sum()
    return CachedQueries(numbering, members, shares, n_threads=n_threads)


def fit_cache(
    mixture: CachedQueries, settings: CacheSettings, documents: Documents, training: Settings
) -> tuple[CachedQueries, Solution | None]:
    """Return the mixture with a cache whose weights make held-out documents most probable."""
    if documents.n_events - documents.n_sentences < 2:
        raise ValueError("a cache is fitted on held-out documents, and these have fewer than two words")
    if settings.kind == LINEAR:
        share = _linear_share(mixture, settings, documents)
        return _with(mixture, settings, np.array([share])), None
    threads = training.n_threads
    loss = cache_loss(mixture, settings, documents, threads)
    kinds = np.ones((settings.n_features, loss.n_groups), np.uint8)
    kinds[:, 0] = 0  # what all words share has a small ridge only
    penalty = ByClass(kinds.ravel(), 0.0, np.array([1e-3, max(settings.strength, 1e-3)]), False, n_threads=threads)
    tolerance = min(training.tolerance, TOLERANCE)
    own = replace(training, solver="lbfgs", solver_options={"memory": 20}, penalty="l2", tolerance=tolerance)
    solution = train(Objective(loss, penalty, threads), own)
    return _with(mixture, settings, loss.by_word(solution.weights)), solution


def cache_loss(
    mixture: CachedQueries, settings: CacheSettings, documents: Documents, n_threads: int | None
) -> CacheLoss:
    """Return the loss of held-out documents, with the probabilities of the mixture collected."""
    memory, n = settings.on(documents, n_threads), documents.n_events
    pairs, log_p = np.empty(memory.n_pairs(0, n), np.float32), np.empty(n)
    components, first = [one.component(documents) for one in mixture.members], 0
    for begin, end in blocks(n):
        size = memory.n_pairs(begin, end)
        given = mixture.of_components(components, begin, end)
        memory.collect(pool(n_threads), begin, given, pairs[first : first + size], log_p[begin:end])
        first += size
    groups = word_groups(mixture.members)
    return CacheLoss(memory, pairs, groups, settings.n_features, -float(log_p.sum()), n_threads=n_threads)


def _with(mixture: CachedQueries, settings: CacheSettings, weights: FloatArray) -> CachedQueries:
    return CachedQueries(
        mixture.numbering, mixture.members, mixture.shares, settings, weights, n_threads=mixture.n_threads
    )


def _linear_share(mixture: CachedQueries, settings: CacheSettings, documents: Documents) -> float:
    memory, of_cache = settings.on(documents, mixture.n_threads), np.empty(documents.n_events)
    memory.linear(pool(mixture.n_threads), of_cache)
    log_p = mixture.score_events(documents).log_probability
    used = of_cache >= 0
    with np.errstate(divide="ignore"):
        return float(interpolation_weights([log_p[used], np.log(of_cache[used])])[1])


def word_groups(members: Sequence[Member]) -> list[NDArray[np.intp]]:
    """Return the groups whose weights words share: all words, those of a class, those of about a frequency."""
    groups: list[NDArray[np.intp]] = [np.zeros(members[0].word_counts.size, np.intp)]
    counts: NDArray[Any] = members[0].word_counts
    for one in members:
        if isinstance(one, FactoredQueries):
            groups.append(1 + one.partition.of_word.astype(np.intp))
            counts = one.word_counts
            break
    groups.append(1 + int(groups[-1].max()) + np.log2(np.maximum(counts, 1)).astype(np.intp))
    return groups
