"""Training of n-gram models of any estimator."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from loglinear import _core
from loglinear.arrays import FloatArray, fingerprint
from loglinear.backoff.add_k import add_k
from loglinear.backoff.interpolation import loglinear_weights_on
from loglinear.backoff.kneser_ney import KneserNey, kneser_ney
from loglinear.backoff.model import BackoffModel
from loglinear.backoff.pruning import prune_by_entropy
from loglinear.backoff.queries import NgramQueries
from loglinear.backoff.trie_model import TrieModel
from loglinear.backoff.witten_bell import witten_bell
from loglinear.data.corpus import read_corpus
from loglinear.data.documents import plain_documents
from loglinear.data.ngram import MAX_ORDER, NgramTrie, build_trie, extend_trie
from loglinear.data.sentences import Sentences, SpooledSentences
from loglinear.data.suffix_tree import SuffixTree, build_suffix_tree
from loglinear.errors import InterruptedWarning
from loglinear.features.word_vocabulary import WordVocabulary
from loglinear.formats.running_text import check_text
from loglinear.formats.units import Units
from loglinear.models.language_model import beyond_memory, stream
from loglinear.models.language_model.backoff_form import model_of_packed
from loglinear.models.language_model.composite.estimator import fit_sources
from loglinear.models.language_model.factored.estimator import NO_DEV_SET, add_cache, fit_factored
from loglinear.models.language_model.penalty import TreePenalty
from loglinear.models.language_model.predictor import ONE_SENTENCE, LanguageModelPredictor
from loglinear.models.language_model.settings import L1_RATIO, Settings
from loglinear.models.language_model.training import MaxentFit, train_maxent, trials_of, without_rare
from loglinear.models.language_model.tree_training import OnSuffixTree, train_collapsed, train_tree, weights_over
from loglinear.models.trainer import Trainer, record_training, training_method, warn_before_optimum
from loglinear.optimise.checkpoint import Checkpoint, open_checkpoint
from loglinear.optimise.progress import Reading
from loglinear.optimise.training_log import log_step
from loglinear.status import Status

if TYPE_CHECKING:
    from typing_extensions import Self

# Attributes that only some settings leave, so that a fit with other settings removes them.
_OPTIONAL = (
    "strength_", "depth_growth_", "feature_decay_", "group_norm_", "l2_", "n_parameters_", "strengths_", "tuning_",
    "tuning_status_", "discounts_", "collapsed_", "online_", "validation_score_", "plan_", "n_classes_",
    "disjointness_",
)  # fmt: skip
# Attributes that more text makes stale; partial_fit removes them, and they are computed again on demand.
_ON_DEMAND = ("queries_", "order_", "n_ngrams_", "n_weights_", "collapsed_")


class LanguageModelTrainer(LanguageModelPredictor, Trainer):
    """Trains a language model. :class:`LanguageModel`, its estimator of scikit-learn, says what the settings mean."""

    fitted_attribute = "queries_"
    plan_: Any
    disjointness_: Any
    n_classes_: Any

    def __init__(
        self,
        order: int | None = 5,
        estimator: str = "maxent",
        *,
        penalty: str | None = "elastic_net",
        strength: float | Sequence[float] | str | None = None,
        tune: str | None = None,
        depth_growth: float | None = None,
        feature_decay: float = 1.0,
        group_norm: str = "counts",
        l2: float | None = None,
        strength_classes: str = "order",
        l1_ratio: float | Sequence[float] = L1_RATIO,
        unigram_strength: float = 0.01,
        nonnegative: bool = True,
        min_count: int | Sequence[int] = 1,
        prune: Sequence[int] | None = None,
        prune_entropy: float | None = None,
        k: float = 1.0,
        vocabulary: str | os.PathLike[str] | Sequence[str] | WordVocabulary | None = None,
        min_word_count: int = 1,
        max_words: int | None = None,
        unknown: str = "token",
        units: Units = "words",
        reserved: str = "error",
        encoding: str = "utf-8",
        text_column: str | None = None,
        sources: Any = None,
        document_format: str | None = None,
        n_topics: int | None = None,
        classes: Any = None,
        cache: Any = None,
        method: str | None = None,
        disjoint: Any = None,
        base: Any = None,
        memory: int | str | None = None,
        tmp: str | os.PathLike[str] | None = None,
        solver: str = "auto",
        solver_options: dict[str, Any] | None = None,
        tolerance: float = 1e-4,
        max_iterations: int = 1000,
        n_threads: int | None = None,
        random_state: int | None = None,
        warm_start: bool = False,
        verbose: str | int = "auto",
        checkpoint: str | os.PathLike[str] | None = None,
        log: str | os.PathLike[str] | None = None,
    ) -> None:
        self.order, self.estimator, self.penalty, self.strength, self.tune = order, estimator, penalty, strength, tune
        self.depth_growth, self.feature_decay, self.group_norm, self.l2 = depth_growth, feature_decay, group_norm, l2
        self.strength_classes, self.l1_ratio = strength_classes, l1_ratio
        self.unigram_strength, self.nonnegative, self.min_count = unigram_strength, nonnegative, min_count
        self.prune, self.prune_entropy, self.k = prune, prune_entropy, k
        self.vocabulary, self.min_word_count, self.max_words = vocabulary, min_word_count, max_words
        self.unknown, self.units, self.reserved, self.encoding = unknown, units, reserved, encoding
        self.text_column = text_column
        self.sources, self.document_format, self.n_topics, self.method = sources, document_format, n_topics, method
        self.classes, self.cache = classes, cache
        self.disjoint = disjoint
        self.base, self.memory, self.tmp, self.solver, self.solver_options = base, memory, tmp, solver, solver_options
        self.tolerance, self.max_iterations, self.n_threads = tolerance, max_iterations, n_threads
        self.random_state, self.warm_start, self.verbose = random_state, warm_start, verbose
        self.checkpoint, self.log = checkpoint, log

    # ---- training ---------------------------------------------------------------------------------------------------
    @training_method
    def fit(self, X: Any, y: Any = None, *, validation: Any = None) -> Self:
        """Train on text.

        ``validation`` is held-out text: ``tune`` chooses the strengths on it, and ``validation_score_`` is the mean
        log-probability of its tokens. A fit that fails leaves the model as it was.
        """
        began = time.perf_counter()
        settings = self._settings()
        settings.check()
        if self.sources is not None or self.classes is not None:
            for name in _OPTIONAL:
                self.__dict__.pop(name, None)
            (fit_sources if self.classes is None else fit_factored)(self, X, validation, settings)
            self._warn()
            return self
        if isinstance(self.strength, str):  # "auto": the others were refused
            warnings.warn("strength='auto' is now tune='validation'", FutureWarning, stacklevel=3)
        if settings.is_tuned and validation is None:
            raise ValueError("tune chooses the strengths on held-out text: give fit(..., validation=text)")
        if self.cache is not None and validation is None:
            raise ValueError(NO_DEV_SET)
        base = self._base_queries()
        before = self.queries_.to_backoff() if self.warm_start and hasattr(self, "queries_") else None
        for name in _OPTIONAL:
            self.__dict__.pop(name, None)
        limit, watch = beyond_memory.limit_of(self)
        log_step("reading")
        with Reading(self.verbose) as progress:
            sentences, self.vocabulary_ = self._read_training(X, before, base, progress, limit)
        held_out = None if validation is None else self.read(validation)
        stages = {"reading": time.perf_counter() - began}
        log_step("counting")
        ngrams = self._count(sentences, settings)
        self.n_tokens_ = sentences.n_tokens + sentences.n_sentences
        del sentences
        stages["counting"] = time.perf_counter() - began - sum(stages.values())
        log_step("estimating")
        if self.estimator == "maxent":
            fit = self._maxent(cast(Any, ngrams), settings, held_out, base, before)
            model: BackoffModel | TrieModel | None = fit.model
            self._record(fit, held_out)
        else:
            model = self._counted(cast(Any, ngrams), watch)
        del ngrams
        if self.prune_entropy is not None and model is not None:
            self.__dict__.pop("collapsed_", None)  # the file holds the pruned model, n-gram by n-gram
            whole = model.to_backoff(n_threads=self.n_threads) if isinstance(model, TrieModel) else model
            model = prune_by_entropy(whole, self.prune_entropy, n_threads=self.n_threads)
        stages["estimating"] = time.perf_counter() - began - sum(stages.values())
        if model is not None:
            with beyond_memory.vectors(self):
                self.take(model)
            self.queries_.keep_alive(watch)
            del model
        stages["indexing"] = time.perf_counter() - began - sum(stages.values())
        if self.cache is not None and held_out is not None:
            add_cache(self, plain_documents(held_out), settings)
            stages["cache"] = time.perf_counter() - began - sum(stages.values())
        if held_out is not None:
            self.validation_score_ = self.score(held_out)
        self.stage_seconds_ = stages
        self.fit_seconds_ = time.perf_counter() - began
        self._warn()
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn from more text in one pass, batch by batch (maxent); new n-grams join the model as they occur.

        The first call makes the vocabulary, from ``vocabulary`` or from its own text; words that come later are
        ``<unk>``. The settings are those of ``fit``; ``solver_options`` may hold batch_tokens (400), gain (how fast
        steps shrink) and mu. A saved or pickled model predicts the same but cannot continue to learn.
        """
        settings = self._settings()
        settings.check_stream()
        if "online_" in self.__dict__:
            sentences = self.read(X)
        elif "queries_" in self.__dict__:
            raise ValueError(
                "this model was fitted or loaded, and keeps no counts to go on from: use fit with warm_start=True, or "
                "begin a new model with partial_fit"
            )
        else:
            sentences, vocabulary = self._read_training(X, None, None)
            self.online_ = stream.start(settings, vocabulary.n_words)
            self.vocabulary_ = vocabulary
        for name in _ON_DEMAND:
            self.__dict__.pop(name, None)
        self.online_loss_, self.fit_seconds_, interrupted = stream.learn(self.online_, sentences, self.verbose)
        self.n_tokens_, self.n_iter_ = self.online_.n_tokens, self.online_.n_steps
        self.status_, self.converged_ = Status.INTERRUPTED if interrupted else Status.ONLINE, False
        if interrupted:
            message = "learning was interrupted; the text after that was not learnt"
            warnings.warn(message, InterruptedWarning, stacklevel=2)
        return self

    def __getattr__(self, name: str) -> Any:
        """Compute on demand what ``partial_fit`` has made stale."""
        if name in _ON_DEMAND and "online_" in self.__dict__:
            online, words = self.online_, self.vocabulary_
            packed = online.pack(words)
            if packed is None:
                self.take(online.to_backoff(words))
            else:  # made from the arrays that a file holds, so that a loaded model agrees with this one to the bit
                self.take(model_of_packed(packed, words, n_threads=self.n_threads))
            self.collapsed_ = packed
            self.n_weights_ = online.n_words + int(np.count_nonzero(online.weights[online.n_words :]))
            return self.__dict__[name]
        return super().__getattr__(name)

    def __getstate__(self) -> Any:
        """Return the state without what only training needs."""
        if "online_" in self.__dict__:
            hasattr(self, "queries_")  # computes what is stale
        return {name: value for name, value in super().__getstate__().items() if name != "online_"}

    def _settings(self) -> Settings:
        return Settings.of(self.parameters())

    def _read_training(
        self, X: Any, before: BackoffModel | None, base: NgramQueries | None, progress: Reading | None = None,
        limit: int | None = None,
    ) -> tuple[Sentences | SpooledSentences, WordVocabulary]:
        if isinstance(X, Sentences):
            if not isinstance(self.vocabulary, WordVocabulary) or self.vocabulary.n_words != X.n_words:
                raise ValueError("sentences of numbers need the vocabulary that numbered them (vocabulary=...)")
            return X, self.vocabulary
        check_text(X, ONE_SENTENCE)
        options = {"unknown": self.unknown, "progress": progress, **self.reading_options}
        read: Any = read_corpus if limit is None else beyond_memory.reader(self, limit)
        known = base.vocabulary if base is not None else None if before is None else before.vocabulary
        if known is not None:  # the vocabulary is that of the model to continue
            return read(X, vocabulary=known, **options)
        if isinstance(self.vocabulary, (str, os.PathLike)):
            return read(X, vocabulary_file=self.vocabulary, **options)
        if self.vocabulary is not None:
            words = WordVocabulary.from_words(self.vocabulary, is_open=self.unknown == "token")
            return read(X, vocabulary=words, **options)
        return read(X, min_count=self.min_word_count, max_words=self.max_words, **options)

    def _count(
        self, sentences: Sentences | SpooledSentences, settings: Settings
    ) -> NgramTrie | SuffixTree | _core.MappedTrie:
        """Count the n-grams of the text, collapsed if the penalty allows it."""
        longest = sentences.longest + 2
        if settings.is_tree and self.order is not None and self.order > longest:
            raise ValueError(
                f"order {self.order}: the longest n-gram of the text, <s> and </s> included, has {longest} words; "
                f"use at most {longest}, or with penalty='tree-linf' order=None"
            )
        if isinstance(sentences, SpooledSentences):
            return beyond_memory.count(self, sentences)
        if settings.collapses:
            order = min(longest, MAX_ORDER) if self.order is None else self.order
            tree = build_suffix_tree(sentences, order, n_threads=self.n_threads)
            self.counts_ = tree.ngrams_by_order()
            return tree
        order = cast(int, self.order)  # checked: only the collapsed tree does without an order
        trie = build_trie(sentences, order, memory=self.memory, n_threads=self.n_threads)
        self.counts_ = np.diff(trie.entry_start).tolist()
        return trie

    def _maxent(
        self,
        ngrams: NgramTrie | SuffixTree,
        settings: Settings,
        held_out: Sentences | None,
        base: NgramQueries | None,
        before: BackoffModel | None,
    ) -> MaxentFit:
        def checkpoint() -> Checkpoint | None:
            start = "" if offset is None else fingerprint(offset)
            return open_checkpoint(self.checkpoint, ngrams, "language model", penalty, words.unknown, start)

        offset: FloatArray | None = None
        start: FloatArray | None = None
        penalty, solver, words = settings.make_penalty(), settings.for_solver(), self.vocabulary_
        if isinstance(ngrams, NgramTrie):
            ngrams = without_rare(ngrams, settings.min_counts)
        scored, held_out = held_out, held_out if settings.is_tuned else None
        if isinstance(penalty, TreePenalty):
            weights = weights_over(ngrams, words, self.n_threads)
            return train_tree(
                weights, penalty, solver, validation=held_out, tuned=settings.tuned_names, checkpoint=checkpoint()
            )
        if isinstance(ngrams, SuffixTree):
            return train_collapsed(OnSuffixTree(ngrams, words, self.n_threads), penalty, solver, checkpoint())
        if base is not None:
            model = base.to_backoff()
            ngrams = extend_trie(ngrams, model)
            offset = loglinear_weights_on(model, ngrams)
        elif before is not None:
            start = loglinear_weights_on(before, ngrams)
        scheme = self.strength_classes
        with beyond_memory.vectors(self):
            return train_maxent(
                ngrams, words, penalty, solver, scheme=scheme, validation=held_out, scored=scored, start=start,
                offset=offset, checkpoint=checkpoint(),
            )

    def _counted(self, trie: NgramTrie | _core.MappedTrie, watch: Any) -> BackoffModel | None:
        """Estimate a model from counts alone; from counts in files, what it needs for queries at once."""
        if isinstance(trie, _core.MappedTrie):
            beyond_memory.estimate(self, trie, watch)
            return None
        threads, words = self.n_threads, self.vocabulary_
        if self.estimator == "witten-bell":
            model = witten_bell(trie, words, n_threads=threads)
        elif self.estimator == "add-k":
            model = add_k(trie, words, k=self.k, n_threads=threads)
        else:
            modified = self.estimator == "kneser-ney"
            model = kneser_ney(trie, words, modified=modified, prune=self.prune, n_threads=threads)
        if isinstance(model, KneserNey):
            self.discounts_ = [str(d) for d in model.discounts]
        self.status_, self.converged_, self.n_iter_ = Status.COUNTED, True, 1
        self.n_weights_ = model.n_entries
        return model

    def _base_queries(self) -> NgramQueries | None:
        if self.base is None:
            return None
        base = self.base if isinstance(self.base, LanguageModelPredictor) else LanguageModelPredictor.load(self.base)
        base.check_fitted()
        return base.queries_

    def _record(self, fit: MaxentFit, held_out: Sentences | None) -> None:
        """Store what training reports about itself."""
        self.n_weights_, self.n_parameters_, self.strengths_ = fit.n_weights, fit.n_parameters, fit.strengths
        if isinstance(fit.penalty, TreePenalty):
            self.strength_, self.depth_growth_, self.l2_ = fit.penalty.values
        if isinstance(fit.penalty, TreePenalty) and fit.penalty.penalty == "tree-l2":
            self.group_norm_ = fit.penalty.group_norm
        if fit.penalty.feature_decay != 1:
            self.feature_decay_ = fit.penalty.feature_decay
        if fit.packed is not None:
            self.collapsed_ = fit.packed
        record_training(self, fit.solution)
        if fit.tuned is None or held_out is None:
            return
        self.n_validation_tokens_ = held_out.n_tokens + held_out.n_sentences
        self.tuning_status_ = fit.tuned.status
        self.tuning_ = trials_of(fit.tuned, fit.chosen, self.n_validation_tokens_)
        if fit.tuned.status == Status.INTERRUPTED:
            self.status_, self.converged_ = Status.INTERRUPTED, False

    def _warn(self) -> None:
        level = 4  # the caller of fit, which training_method wraps
        if self.status_ == Status.INTERRUPTED:
            message = "training was interrupted; the best model so far is kept"
            warnings.warn(message, InterruptedWarning, stacklevel=level)
        elif self.estimator == "maxent":
            warn_before_optimum(self, "Raise max_iterations or loosen tolerance.")
        if self.estimator == "maxent" and self.n_weights_ == self.n_ngrams_[0] and self.order != 1:
            from sklearn.exceptions import ConvergenceWarning

            message = "the penalty zeroed every weight above unigrams: the strength is too high for this text"
            warnings.warn(message, ConvergenceWarning, stacklevel=level)
