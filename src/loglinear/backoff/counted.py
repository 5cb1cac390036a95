"""Counted models in temporary files: from a mapped trie to queries whose arrays are mapped, order by order.

The estimators are those of ``kneser_ney``, ``witten_bell`` and ``add_k``, interpolated; the queries are those of
``NgramQueries.from_backoff`` of their models, to the bit (native/backoff/counted.hh).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from loglinear import _core
from loglinear.backoff.add_k import additive
from loglinear.backoff.kneser_ney import Discounts, discounts_of
from loglinear.backoff.queries import NgramQueries
from loglinear.backoff.smoothing import Smoothing, check_cut
from loglinear.features.word_vocabulary import WordVocabulary
from loglinear.threads import pool


@dataclass(frozen=True)
class CountedModel:
    """A model that is ready for queries."""

    queries: NgramQueries
    n_ngrams: list[int]  # per order
    discounts: tuple[Discounts, ...] | None  # of Kneser-Ney


def estimate_in_files(
    trie: _core.MappedTrie, vocabulary: WordVocabulary, estimator: str, order: int, *, folder: str, k: float = 1.0,
    prune: Sequence[int] | None = None, n_threads: int | None = None, meter: _core.WorkMeter | None = None,
) -> CountedModel:
    """Estimate a model from all n-grams of a text; the trie is taken off the disk meanwhile and cannot be used again.

    ``estimator`` is "kneser-ney", "kneser-ney-single", "witten-bell" or "add-k"; ``prune`` is for the first two.
    """
    threads, discounts = pool(n_threads), None
    if estimator == "witten-bell":
        smoothing = Smoothing.of(order, per_type=1.0)
    elif estimator == "add-k":
        smoothing = additive(k, order, vocabulary.n_words)
    else:
        cut = check_cut(prune, order) if prune is not None else None
        discounts = discounts_of(_core.adjust_mapped(threads, trie, folder), estimator == "kneser-ney")
        smoothing = Smoothing.of(order, [list(d.values) for d in discounts], cut=cut)
    settings = (smoothing.discounts, smoothing.per_type, smoothing.constant, smoothing.cut)
    automaton = _core.estimate_mapped(threads, trie, *settings, folder, True, meter)
    queries = NgramQueries.from_automaton(vocabulary, *automaton.arrays(), n_threads=n_threads)
    return CountedModel(queries, automaton.n_ngrams, discounts)
