"""What happens on the workers of a language model: n-grams are sorted, exchanged by context and merged to parts of the
trie; every part then keeps its n-grams, their weights and the vectors of its solver.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from distributed import get_worker
from numpy.typing import NDArray

from loglinear.arrays import FloatArray
from loglinear.backoff.add_k import add_k
from loglinear.backoff.interpolation import loglinear_weights
from loglinear.backoff.kneser_ney import Discounts, adjusted_counts
from loglinear.backoff.model import BackoffModel
from loglinear.backoff.pruning import entries_above
from loglinear.backoff.smoothing import Smoothing, smoothed
from loglinear.backoff.witten_bell import witten_bell
from loglinear.dask.examples import own_threads
from loglinear.data.corpus import UnknownPolicy, number_text
from loglinear.data.ngram import NgramTrie
from loglinear.data.ngram_classes import NgramClasses, ngram_classes
from loglinear.data.ngram_parts import merged_part, sorted_records
from loglinear.features.word_vocabulary import WordVocabulary
from loglinear.formats.running_text import RunningText
from loglinear.losses.ngram_parts import NgramPartLoss, Unigrams
from loglinear.models.language_model.backoff_form import backoffs_of, kept_entries
from loglinear.models.language_model.penalty import NgramPenalty
from loglinear.models.language_model.training import n_paths, without_rare
from loglinear.optimise.lockstep import Brought, Follower, LockstepObjective, Told
from loglinear.optimise.minimise import History, minimise
from loglinear.solvers.solver import Solver, State

SHAPE = (  # a trie without its counts
    "context_start", "entry_start", "context_word", "context_child", "context_entry", "entry_word", "entry_parent",
)  # fmt: skip


@contextmanager
def worker_folder() -> Iterator[str]:
    """Give the folder of the worker, where runs and tries are in files without a name; errors name the worker."""
    worker = get_worker()
    folder = str(worker.local_directory)
    try:
        yield folder
    except OSError as error:
        if error.filename != folder:
            raise
        message = (
            f"{error.strerror}: the worker {worker.address} writes n-grams there; free space, or start workers with "
            "another local_directory (TMPDIR names that of --workers)"
        )
        raise OSError(error.errno, message, folder) from None


class Counts(NamedTuple):
    """What the client must know of a part of the text."""

    sizes: NDArray[np.uint64]  # [V + 1] distinct n-grams by the most recent word of their history
    words: NDArray[np.uint64]  # [V] tokens
    n_tokens: int  # ends of sentences included


@dataclass(frozen=True, eq=False)
class Records:
    """The distinct n-grams of a part of the text, sorted by their contexts."""

    order: int
    table: NDArray[np.uint32]  # [n * (order + 1)] as _core.TrieRuns gives them
    counts: Counts

    def of(self, begin: int, end: int) -> NDArray[np.uint32]:
        """Return those whose history has its most recent word in [begin, end)."""
        before = np.concatenate([[0], np.cumsum(self.counts.sizes)]).astype(np.int64) * (self.order + 1)
        return self.table[before[begin] : before[end]].copy()


def sort_part(
    text: RunningText, vocabulary: WordVocabulary, unknown: UnknownPolicy, order: int, shared: bool
) -> Records:
    """Number the words of a part of the text and sort its n-grams."""
    threads = own_threads(shared)
    text = replace(text, tokens=text.tokens.copy())  # numbering writes over them, and the part may be asked for again
    sentences = number_text(text, vocabulary, unknown=unknown, n_threads=threads)
    with worker_folder() as folder:
        table, sizes, words = sorted_records(sentences, order, folder=folder, n_threads=threads)
    n_tokens = sentences.n_tokens + sentences.n_sentences
    return Records(order, table, Counts(sizes, words, n_tokens))


def counts_of(records: Records) -> Counts:
    """Return the counts of a part."""
    return records.counts


def records_of(records: Records, begin: int, end: int) -> NDArray[np.uint32]:
    """Return the n-grams of a part that belong to a range of contexts."""
    return records.of(begin, end)


class Range(NamedTuple):
    """A part of the trie: the contexts whose most recent word is in [begin, end)."""

    begin: int
    end: int

    @property
    def remedy(self) -> str:
        """Return what to give where the memory of a worker is too little for its part."""
        return "fewer n-grams (min_count, a lower order)"


def make_shard(
    place: Range, vocabulary: WordVocabulary, order: int, word_counts: NDArray[np.uint64], min_counts: Sequence[int],
    shared: bool, *records: NDArray[np.uint32],
) -> NgramShard:  # fmt: skip
    """Merge the n-grams that all parts of the text have of a range of contexts."""
    threads = own_threads(shared)
    with worker_folder() as folder:
        trie = merged_part(order, word_counts, place.begin, place.end, records, folder=folder, n_threads=threads)
    return NgramShard(without_rare(trie, min_counts), vocabulary, threads)


class Orders(NamedTuple):
    """What Kneser-Ney needs of all parts, and what it leaves out."""

    adjusted: NDArray[np.uint32]  # [V] of the unigrams
    discounts: tuple[Discounts, ...]
    cut: Sequence[int]


class Walk(NamedTuple):
    """How the weights are found: the same for all parts."""

    solver: Solver
    penalty: NgramPenalty
    scheme: str
    tolerance: float
    max_iterations: int
    n_everywhere: int


class NgramShard:
    """A part of the trie and, while it is trained, its weights."""

    def __init__(self, trie: NgramTrie, vocabulary: WordVocabulary, n_threads: int) -> None:
        self.trie, self.vocabulary, self.n_threads = trie, vocabulary, n_threads
        self.weights: FloatArray | None = None
        self.counted: BackoffModel | None = None
        self._adjusted: NDArray[np.uint32] | None = None
        self._cut: Sequence[int] = [0] * trie.order  # n-grams with at most this count are left out of what is counted
        self._follower: Follower | None = None
        self._loss: NgramPartLoss | None = None

    @property
    def _own(self) -> slice:
        return slice(self.trie.n_words, None)

    # counting
    def ngrams(self) -> list[int]:
        """Return the n-grams of every order above the first."""
        return np.diff(self.trie.entry_start)[1:].tolist()

    def bigram_types(self) -> NDArray[np.int64]:
        """Return for every word in how many contexts of one word it was seen."""
        trie = self.trie
        own = slice(int(trie.entry_start[1]), int(trie.entry_start[min(2, trie.order)]))
        seen = trie.entry_word[own][trie.entry_count[own] > 0]
        return np.bincount(seen, minlength=trie.n_words).astype(np.int64)

    def counts_of_counts(self, unigrams: NDArray[np.uint32]) -> list[list[int]]:
        """Return how many n-grams of every order have an adjusted count of 1, 2, 3, 4; unigrams are not looked at."""
        self._adjusted, counts = adjusted_counts(self.trie, self.vocabulary, unigrams, n_threads=self.n_threads)
        return counts

    def kneser_ney(self, orders: Orders) -> FloatArray:
        """Estimate a part of the Kneser-Ney model; return log p of the unigrams."""
        if self._adjusted is None:
            self.counts_of_counts(orders.adjusted)
        settings = Smoothing.of(self.trie.order, [list(d.values) for d in orders.discounts], cut=list(orders.cut))
        self.counted = smoothed(
            self.trie, self.vocabulary, settings, adjusted=self._adjusted, n_threads=self.n_threads
        )
        self._adjusted, self._cut = None, orders.cut
        return self.counted.log_probability[: self.trie.n_words].copy()

    def estimate(self, estimator: str, k: float) -> None:
        """Estimate a part of a model whose contexts need nothing of others."""
        if estimator == "witten-bell":
            self.counted = witten_bell(self.trie, self.vocabulary, n_threads=self.n_threads)
        else:
            self.counted = add_k(self.trie, self.vocabulary, k=k, n_threads=self.n_threads)

    # training
    def start(self, orders: Orders | None) -> FloatArray | None:
        """Set the weights to begin with, those of Kneser-Ney, or zeros; return log p of the unigrams."""
        if orders is None:
            self.weights = np.zeros(self.trie.n_entries - self.trie.n_words)
            return None
        found = self.kneser_ney(orders)
        assert self.counted is not None
        self.weights = loglinear_weights(self.counted, n_threads=self.n_threads)[self._own].copy()
        self.counted = None
        return found

    def begin(self, walk: Walk, orders: Orders | None) -> None:
        """Begin to walk; ``advance`` leads from meeting to meeting."""
        if self.weights is None:  # this part was made anew
            self.start(orders)
        self.stop()
        self._follower = Follower(lambda member: self._walk(member, walk))

    def _walk(self, member: Follower, walk: Walk) -> None:
        self._loss = NgramPartLoss(self.trie, member, n_threads=self.n_threads)
        penalty = walk.penalty.on(some_classes(ngram_classes(self.trie, walk.scheme), self._own), self.n_threads)
        objective = LockstepObjective(self._loss, penalty, self.n_threads, member, walk.n_everywhere)

        def keep(iteration: int, state: State, history: History) -> None:
            self.weights = state.weights

        result = minimise(
            objective, walk.solver, self.weights, tolerance=walk.tolerance, max_iterations=walk.max_iterations,
            callback=keep,
        )
        self.weights = result.weights

    def advance(self, told: Told) -> Brought:
        """Hand over what the leader tells; return what this part brings to the next meeting."""
        return Brought("new") if self._follower is None else self._follower.advance(told)

    def stop(self) -> None:
        """End the walk, if there is one; the weights are those of the last step."""
        if self._follower is not None:
            self._follower.stop()
        self._follower = None

    def kept(self) -> list[int]:
        """Return how many weights are not zero, and how many paths they make."""
        assert self.weights is not None
        whole = np.concatenate([np.zeros(self.trie.n_words), self.weights])
        return [int(np.count_nonzero(self.weights)), n_paths(self.trie, whole)]

    def model(self, unigrams: Unigrams | None) -> dict[str, NDArray[Any]]:
        """Return the part's values and its trie without counts; the weights need the unigrams' probabilities."""
        trie = self.trie
        if self.counted is None:
            assert self.weights is not None
            assert unigrams is not None
            loss = self._loss or NgramPartLoss(trie, Follower(lambda member: None), n_threads=self.n_threads)
            log_p, log_r = loss.log_probabilities(Unigrams(*unigrams), self.weights)
            log_backoff = backoffs_of(log_r)
            keep = kept_entries(np.concatenate([np.ones(trie.n_words), self.weights]), trie.n_words)
        else:
            log_p, log_backoff = self.counted.log_probability, self.counted.log_backoff
            keep = entries_above(trie, self._cut).view(np.bool_)
        own = {name: getattr(trie, name) for name in SHAPE}
        return {**own, "log_backoff": log_backoff, "log_probability": log_p, "keep": keep}


def some_classes(classes: NgramClasses, kept: slice) -> NgramClasses:
    """Return the classes of some n-grams."""
    return NgramClasses(np.ascontiguousarray(classes.numbers[kept]), classes.orders, classes.names)
