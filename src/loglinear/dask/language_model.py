"""DaskLanguageModel: an n-gram model whose text, n-grams and weights live on the workers of a Dask cluster.

    words      every worker reads parts of the text; the client joins the words to one vocabulary
    n-grams    every worker sorts those of its text; they are exchanged by context and merged to parts of the trie
    training   every part keeps its weights, gradients and the solver's vectors; numbers of the unigrams, which the
               client has, and sums travel (losses/ngram_parts.py, optimise/lockstep.py)
    model      every part makes its piece of the back-off model, and the client joins them

Where a worker is lost, its parts are made anew from the text, begin again at Kneser-Ney, and all go on: the problem is
convex, so the optimum is the same.
"""

from __future__ import annotations

import logging
import os
import time
import warnings
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from distributed import Client
from numpy.typing import NDArray

from loglinear.backoff.kneser_ney import choose_discounts
from loglinear.backoff.pruning import prune_by_entropy
from loglinear.backoff.smoothing import check_cut
from loglinear.backoff.trie_model import TrieModel
from loglinear.dask.clients import client_of
from loglinear.dask.ngrams import (
    Orders,
    Range,
    Walk,
    counts_of,
    make_shard,
    records_of,
    some_classes,
    sort_part,
)
from loglinear.dask.parts import PartTasks
from loglinear.dask.shards import Cluster
from loglinear.dask.sources import delayed_parts
from loglinear.dask.texts import join_words, read_part, text_pieces, words_of
from loglinear.data.corpus import UnknownPolicy, choose_words, number_text
from loglinear.data.ngram import NgramTrie, check_positions
from loglinear.data.ngram_classes import ngram_classes
from loglinear.data.ngram_parts import join_parts
from loglinear.data.runs import context_ranges
from loglinear.errors import FormatError, IncompatibleError
from loglinear.features.word_vocabulary import WordVocabulary
from loglinear.formats.running_text import RunningText, TextOptions
from loglinear.losses.ngram_parts import NgramRootLoss, Unigrams
from loglinear.models.language_model.estimator import LanguageModel
from loglinear.models.language_model.penalty import NgramPenalty
from loglinear.models.language_model.settings import Settings
from loglinear.models.language_model.training import centred, with_unknown
from loglinear.models.trainer import record_training, training_method
from loglinear.optimise.lockstep import Brought, Leader, LockstepObjective, Lost, Told
from loglinear.optimise.minimise import Callback, History, Result, minimise
from loglinear.optimise.progress import TrainingProgress, both
from loglinear.optimise.solver_choice import choose_solver
from loglinear.optimise.training import Solution
from loglinear.solvers.solver import State
from loglinear.status import Status

log = logging.getLogger("loglinear.dask")
SOLVERS = ("auto", "owlqn", "lbfgs")
MAX_LOSSES = 4  # of workers, without a step between them: the parts do not fit
# Of the tolerance: where some weights begin again near the optimum of the others, training is fast at first and slow
# in the end, and an estimate of the gap, which is all there is on a cluster, was seen 130 times too small.
_AFTER_A_LOSS = 0.01
_ON_A_CLUSTER = ("client", "n_parts")
_FEWER = "or count under a limit of memory in one process (memory, prune)", "or leave out rare n-grams (min_count)"
_HERE_ONLY = ("tune", "base", "sources", "classes", "cache", "n_topics", "memory", "tmp", "warm_start", "checkpoint")


class DaskLanguageModel(LanguageModel):
    """An n-gram model that is trained on a Dask cluster; the settings are those of ``LanguageModel``.

    client : a ``distributed.Client``; None: the current one
    n_parts : into how many parts the n-grams are cut; None: one for every worker. Sums are taken part by part, so the
        same number of parts gives the same steps and the same weights, to the bit, on any number of workers
    n_threads : threads of the model here; workers use the threads that they have

    ``largest_part_`` is the share of the n-grams whose context ends in one word, the most frequent: no part can be
    smaller than these. Counts and Kneser-Ney are those of one process, to the bit; maximum entropy has the same
    optimum. Tree penalties, tuning, bases, sources, classes and caches are for one process.
    """

    def __init__(
        self, order: int | None = 5, estimator: str = "maxent", *, client: Any = None, n_parts: int | None = None,
        **settings: Any,
    ) -> None:  # fmt: skip
        super().__init__(order, estimator, **settings)
        self.client, self.n_parts = client, n_parts

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return sorted([*LanguageModel._get_param_names(), *_ON_A_CLUSTER])

    @training_method
    def fit(self, X: Any, y: Any = None, *, validation: Any = None) -> DaskLanguageModel:
        """Train on files, by name or pattern, or on a Dask bag of sentences.

        Files must be readable by every worker; large plain files are cut where there are fewer files than workers.
        ``validation`` is held-out text in this process, for ``validation_score_``.
        """
        began = time.perf_counter()
        settings = self._settings()
        self._check(settings)
        client = client_of(self.client)
        work = _Work(client, settings, self.n_parts)
        try:
            words = work.read(X, self._options())
            self.vocabulary_ = self._choose(words)
            number_text(words, self.vocabulary_, unknown=cast(UnknownPolicy, self.unknown))  # refuses unknown words
            self.n_tokens_ = work.sort(self.vocabulary_, self.unknown, settings)
            self.largest_part_ = work.largest
            stages = {"counting": time.perf_counter() - began}
            self.counts_ = [self.vocabulary_.n_words, *work.ngrams()]
            check_positions(self.counts_, _FEWER[self.estimator == "maxent"])
            if self.estimator == "maxent":
                model = self._trained(work, settings)
            else:
                model = self._estimated(work)
        finally:
            work.release()
        if self.prune_entropy is not None:
            whole = model.to_backoff(n_threads=self.n_threads)
            self.take(prune_by_entropy(whole, self.prune_entropy, n_threads=self.n_threads))
        else:
            self.take(model)
        stages["estimating"] = time.perf_counter() - began - sum(stages.values())
        self.stage_seconds_, self.fit_seconds_ = stages, time.perf_counter() - began
        if validation is not None:
            self.validation_score_ = self.score(validation)
        self._warn()
        return self

    def partial_fit(self, X: Any, y: Any = None) -> DaskLanguageModel:
        """Refuse: a stream is learnt in one process."""
        raise IncompatibleError("partial_fit learns a stream in one process: use LanguageModel, or fit on a cluster")

    def _check(self, settings: Settings) -> None:
        settings.check()
        if self.n_parts is not None and (type(self.n_parts) is not int or self.n_parts < 1):
            message = f"n_parts is a positive whole number, or None for one part per worker, not {self.n_parts!r}"
            raise ValueError(message)
        for name in _HERE_ONLY:
            if getattr(self, name) not in (None, False):
                message = f"{name} is for one process, not for a cluster: leave it out, or use LanguageModel"
                raise IncompatibleError(message)
        if settings.is_tree or settings.collapses or settings.is_tuned:
            raise IncompatibleError(
                "tree penalties, order=None and tuned strengths join n-grams of all contexts, and are for one process: "
                "use an order and elastic_net, l1 or l2 with given strengths, or LanguageModel"
            )
        if self.estimator == "maxent" and self.solver not in SOLVERS:
            raise IncompatibleError(f"solver {self.solver!r} is for one process; on a cluster: {', '.join(SOLVERS)}")

    def _options(self) -> TextOptions:
        return TextOptions(self.units, self.encoding, False, self.reserved == "skip", None, self.text_column)

    def _choose(self, words: RunningText) -> WordVocabulary:
        if isinstance(self.vocabulary, WordVocabulary):
            return self.vocabulary
        if self.vocabulary is not None and not isinstance(self.vocabulary, (str, os.PathLike)):
            return WordVocabulary.from_words(self.vocabulary, is_open=self.unknown == "token")
        return choose_words(
            words, self.min_word_count, self.max_words, self.vocabulary,
            unknown=cast(UnknownPolicy, self.unknown), encoding=self.encoding,
        )

    def _estimated(self, work: _Work) -> TrieModel:
        """Return a model of counts alone."""
        if self.estimator in ("kneser-ney", "kneser-ney-single"):
            orders = work.kneser_ney(self.estimator == "kneser-ney", self.prune)
            work.call("kneser_ney", orders)
            self.discounts_ = [str(d) for d in orders.discounts]
        else:
            work.call("estimate", self.estimator, self.k)
        model = work.model(None)
        self.status_, self.converged_, self.n_iter_ = Status.COUNTED, True, 1
        self.n_weights_ = sum(model.n_ngrams)
        return model

    def _trained(self, work: _Work, settings: Settings) -> TrieModel:
        """Return the maximum-entropy model."""
        penalty = settings.make_penalty()
        assert isinstance(penalty, NgramPenalty)
        training = _Training(work, penalty, settings)
        solution = training.run()
        record_training(self, solution)
        root = training.loss
        kept = np.sum(work.call("kept"), axis=0)
        V = root.n_weights
        self.n_weights_ = V + int(kept[0])
        self.n_parameters_ = int(np.count_nonzero(solution.weights)) + int(kept[1])
        self.strengths_ = training.strengths
        return work.model(root.unigrams(solution.weights)[0])

    def to_local(self) -> LanguageModel:
        """Return the trained model as one of this process, which needs no cluster."""
        parameters = {name: value for name, value in self.get_params(deep=False).items() if name not in _ON_A_CLUSTER}
        local = LanguageModel(**parameters)
        local.__dict__.update({k: v for k, v in self.__dict__.items() if k.endswith("_")})
        return local

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model file of ``to_local()``."""
        self.to_local().save(path)


def _itself(one: Any) -> Any:
    return one


class _Work:
    """The text and its n-grams on the workers."""

    def __init__(self, client: Client, settings: Settings, n_parts: int | None) -> None:
        self.client, self.order, self.n_parts = client, int(settings.order or 0), n_parts
        self.verbose, self.n_threads = settings.verbose, settings.n_threads
        self.cluster: Cluster | None = None
        self._texts: list[Any] = []

    def read(self, X: Any, options: TextOptions) -> RunningText:
        """Read the text, and return its words with their counts."""
        n_workers = max(len(self.client.nthreads()), 1)
        given: Sequence[Any] = (
            delayed_parts(self.client, X) if hasattr(X, "to_delayed") else text_pieces(X, n_workers, options)
        )
        self.tasks = PartTasks(self.client, given, self.verbose)
        self._texts = self.tasks.submit(read_part, given, options, self.tasks.shared)
        words = join_words(self.tasks.results(self.tasks.submit(words_of, self._texts), "partitions read"))
        if words.counts.size == 0:
            raise FormatError(f"there are no {options.units}; give text with at least one", ", ".join(words.sources))
        return words

    def sort(self, vocabulary: WordVocabulary, unknown: Any, settings: Settings) -> int:
        """Sort the n-grams, exchange them by context and merge them to parts; return the number of tokens."""
        self.vocabulary = vocabulary
        known = self._known(vocabulary)
        tasks = self.tasks
        sorted_ = tasks.submit(sort_part, self._texts, known, unknown, self.order, tasks.shared)
        counts = tasks.results(tasks.submit(counts_of, sorted_), "partitions sorted")
        self._texts = []
        self.word_counts: NDArray[np.uint64] = np.stack([one.words for one in counts]).sum(axis=0, dtype=np.uint64)
        sizes = np.sum([one.sizes for one in counts], axis=0)
        self.largest = float(sizes.max() / max(sizes.sum(), 1))
        ranges = [Range(*pair) for pair in context_ranges(sizes, self.n_parts or tasks.n_workers)]
        least = settings.min_counts if settings.estimator == "maxent" else [1]
        shards = []
        for k, place in enumerate(ranges):
            records = [tasks.submit_one(k, records_of, one, *place) for one in sorted_]
            arguments = (place, known, self.order, self.word_counts, least, len(ranges) > tasks.n_workers, *records)
            shards.append((make_shard, arguments))
        self.cluster = Cluster(tasks.workers, shards, ranges)
        return sum(one.n_tokens for one in counts)

    def _known(self, vocabulary: WordVocabulary) -> Any:
        """Return the vocabulary as the result of a task, which Dask makes anew where a worker that has it is lost.

        Scattered data cannot be made anew, and Dask soon drops all but one of their copies.
        """
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Sending large graph", category=UserWarning)
            return self.client.submit(_itself, vocabulary, pure=False)

    def call(self, method: str, *arguments: Any) -> list[Any]:
        """Return what a method of every part returns."""
        assert self.cluster is not None
        return self.cluster.call(lambda actor, k: actor.call(0, method, arguments))

    def ngrams(self) -> list[int]:
        """Return the n-grams of every order above the first."""
        return np.sum(self.call("ngrams"), axis=0).astype(int).tolist()

    def kneser_ney(self, modified: bool = True, prune: Sequence[int] | None = None) -> Orders:
        """Return the counts and discounts that all parts share."""
        cut = check_cut(prune, self.order) if prune is not None else [0] * self.order
        types = np.sum(self.call("bigram_types"), axis=0)
        tokens = self.word_counts
        counts = np.where((types == 0) & (tokens > 0), 1, types) if self.order > 1 else tokens
        unigrams = np.minimum(counts, 0xFFFFFFFF).astype(np.uint32)
        found = np.sum(self.call("counts_of_counts", unigrams if self.order > 1 else unigrams[:0]), axis=0)
        found[0] = np.bincount(np.minimum(unigrams, 5), minlength=6)[1:5]
        return Orders(unigrams, tuple(choose_discounts(t, modified=modified) for t in found.tolist()), cut)

    def model(self, unigrams: Unigrams | None) -> TrieModel:
        """Return the model that the parts make together."""
        arrays = join_parts(self.order, self.call("model", unigrams), n_threads=self.n_threads)
        values = {name: arrays.pop(name) for name in ("log_backoff", "log_probability", "keep")}
        arrays |= dict.fromkeys(("context_count", "entry_count"), np.empty(0, np.uint32))  # queries need no counts
        trie = NgramTrie(self.order, self.vocabulary.n_words, **arrays)
        return TrieModel(self.vocabulary, trie, **values)

    def too_large(self) -> MemoryError:
        """Return the error for parts whose workers end again and again."""
        assert self.cluster is not None
        return self.cluster.too_large()

    def release(self) -> None:
        """Let the workers forget everything."""
        self._texts = []
        if self.cluster is not None:
            self.cluster.release()


class _Training:
    """The walk of all parts, which the client leads."""

    def __init__(self, work: _Work, penalty: NgramPenalty, settings: Settings) -> None:
        self.work, self.settings = work, settings.for_solver()
        self.orders = None if penalty.penalty == "none" else work.kneser_ney()
        log_p = work.call("start", self.orders)[0]
        V, order = work.vocabulary.n_words, work.order
        trie = with_unknown(_unigrams(order, work.word_counts), work.vocabulary.unknown)
        self.start = None if log_p is None else centred(np.array(log_p), V)
        self.leader = Leader(self._carry)
        self.loss = NgramRootLoss(trie.entry_count.astype(np.float64), self.leader)
        classes = ngram_classes(_unigrams(order, work.word_counts), settings.strength_classes)
        by_class = penalty.on(some_classes(classes, slice(V)), self.settings.n_threads)
        self.strengths = [
            {"ngrams": name, "order": n, "l1": float(a), "l2": float(b)}
            for name, n, a, b in zip(classes.names, classes.orders, by_class.l1, by_class.l2)
        ]
        n_everywhere = V + sum(work.ngrams())
        self.objective = LockstepObjective(self.loss, by_class, self.settings.n_threads, self.leader, n_everywhere)
        self.solver, self.reason = choose_solver(self.objective, self.settings.solver, self.settings.solver_options)
        self.walk = Walk(self.solver, penalty, settings.strength_classes, self.settings.tolerance,
                         self.settings.max_iterations, n_everywhere)  # fmt: skip
        self.weights, self.n_losses = self.start, 0

    def _carry(self, told: Told) -> list[Brought]:
        return [Brought(*one) for one in self.work.call("advance", told)]

    def run(self) -> Solution:
        """Walk to the optimum; begin again, from the weights that are left, where a worker is lost."""
        with TrainingProgress(self.settings.verbose, self.settings.max_iterations) as progress:
            while True:
                try:
                    result = self._once(both(progress, self._keep))
                    break
                except Lost:
                    self.n_losses += 1
                    if self.n_losses == MAX_LOSSES:
                        raise self.work.too_large() from None
                    log.warning("the weights of a part were lost: it begins again, and the others go on")
                    self.walk = self.walk._replace(tolerance=_AFTER_A_LOSS * self.settings.tolerance)
                finally:
                    self.work.call("stop")
        return Solution(result.weights, result, self.solver.name, self.reason, result.weights)

    def _keep(self, iteration: int, state: State, history: History) -> None:
        self.weights, self.n_losses = state.weights, 0

    def _once(self, callback: Callback | None) -> Result:
        self.work.call("begin", self.walk, self.orders)
        self.leader.answer(None)
        result = minimise(
            self.objective, self.solver, self.weights, tolerance=self.walk.tolerance,
            max_iterations=self.settings.max_iterations, callback=callback,
        )
        if any(one.kind == "new" for one in self._carry(self.leader.last)):  # lost at the very end
            self.weights = result.weights
            raise Lost
        return result


def _unigrams(order: int, counts: NDArray[np.uint64]) -> NgramTrie:
    """Return a trie that has no n-grams but the unigrams."""
    V = counts.size
    tokens = np.minimum(counts, 0xFFFFFFFF).astype(np.uint32)
    one, none = np.ones(1, np.uint32), np.full(V, 0xFFFFFFFF, np.uint32)
    return NgramTrie(
        order, V, np.array([0] + [1] * order), np.array([0] + [V] * order), none[:1], np.r_[one, one],
        np.array([0, V], np.uint32), np.array([min(int(tokens.sum(dtype=np.uint64)), 0xFFFFFFFF)], np.uint32),
        np.arange(V, dtype=np.uint32), none, tokens,
    )  # fmt: skip
