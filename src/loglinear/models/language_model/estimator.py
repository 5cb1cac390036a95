"""LanguageModel: n-gram models of any estimator as one scikit-learn estimator."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from loglinear.arrays import FloatArray
from loglinear.backoff.add_k import add_k
from loglinear.backoff.arpa import read_arpa, write_arpa
from loglinear.backoff.interpolation import loglinear_weights_on
from loglinear.backoff.kneser_ney import KneserNey, kneser_ney
from loglinear.backoff.model import BackoffModel
from loglinear.backoff.pruning import prune_by_entropy
from loglinear.backoff.queries import NgramQueries
from loglinear.backoff.witten_bell import witten_bell
from loglinear.data.corpus import read_corpus
from loglinear.data.ngram import MAX_ORDER, NgramTrie, build_trie, cut, extend_trie
from loglinear.data.sentences import Sentences
from loglinear.data.suffix_tree import SuffixTree, build_suffix_tree
from loglinear.errors import InterruptedWarning
from loglinear.features.word_vocabulary import WordVocabulary
from loglinear.formats.running_text import join_units, split_units
from loglinear.metrics.perplexity import TextScore, perplexity
from loglinear.models.estimator import restore_on_failure
from loglinear.models.language_model import (
    file as language_model_file,
)
from loglinear.models.language_model import (
    settings as ngram_settings,
)
from loglinear.models.language_model import (
    stream as ngram_stream,
)
from loglinear.models.language_model.settings import L1_RATIO
from loglinear.models.language_model.training import MaxentFit, train_maxent
from loglinear.models.language_model.tree_training import (
    OnSuffixTree,
    TreePenalty,
    ngrams_by_order,
    train_collapsed,
    train_tree,
    weights_over,
)
from loglinear.status import Status

# What a fit leaves only under some settings.
_LEARNT = (
    "strength_",
    "depth_growth_",
    "l2_",
    "n_parameters_",
    "strengths_",
    "tuning_",
    "tuning_status_",
    "discounts_",
    "collapsed_",
)


class LanguageModel(BaseEstimator):
    """An n-gram language model.

    ``estimator="maxent"`` minimises  - sum of log p(w | h) + sum over n-grams of strength * penalty,  with exact
    normalisation, penalty = l1_ratio |theta| + (1 - l1_ratio) theta^2 / 2. The others are counted: modified
    Kneser-Ney, Kneser-Ney with one discount, Witten-Bell, additive.

    Parameters
    ----------
    order : longest n-gram; None: as long as the text has them (any penalty but "tree-l2" and "none")
    estimator : "maxent", "kneser-ney", "kneser-ney-single", "witten-bell" or "add-k"
    penalty : "elastic_net", "l1", "l2", "none", or norms of an n-gram with all that extend it: "tree-l2", "tree-linf"
        (maxent)
    strength : one number for all n-grams above unigrams, one per order from the second (the last holds for the orders
        above; not of trees), or "auto": chosen on the ``validation`` text of ``fit`` by the gradient of its loss with
        respect to every strength, l1 and l2 apart; None: what is good for the penalty
    depth_growth : the penalty is multiplied by this once more with every order above the second; None: 1, or what is
        good for the tree penalty, and tuned with its strength
    l2 : strength of a ridge beside a tree penalty; None: what is good, and tuned with its strength
    strength_classes : which n-grams share a strength under "auto": those of one "order", or "fine" classes by order,
        count, count of the shorter n-gram and frequency of the word
    l1_ratio : share of l1 in the elastic net; one number or one per order
    unigram_strength : ridge of the unigrams
    nonnegative : weights of order 2 and above stay at or above zero: an n-gram seen can only make a word likelier
    min_count : n-grams that occur less often are left out: one number, or one per order (not decreasing); maxent
    prune : largest count of n-grams to leave out, per order, as (0, 0, 1); Kneser-Ney
    prune_entropy : leave out n-grams whose loss raises perplexity by less than this, relatively; any estimator
    k : added to counts (add-k)
    vocabulary : a file of words, one a line, or a list of words; None: the words of the text
    min_word_count, max_words : of the words of the text, those that occur so often; at most so many
    unknown : "token": words outside the vocabulary are ``<unk>``; "error": they are refused
    units : "words" between blanks, "characters" or "bytes"
    reserved : "error" or "skip": what to do with ``<s>`` and ``</s>`` inside text
    encoding : of text files
    base : a LanguageModel or the path of one (or of an ARPA file), to adapt: only the difference is trained (maxent)
    memory : limit for counting n-grams, such as "4G": beyond it, sorted runs on disk are merged
    solver, solver_options, tolerance, decrease_tolerance, max_iterations : of the minimiser (maxent)
    n_threads : native threads; None means all cores
    random_state : seed of ``sample``
    warm_start : begin from the model of the last fit
    verbose : "auto" (a bar on a terminal after two seconds), 0, or 1

    Text is a path (plain, gzip, xz, or "-"), a list of paths, or an iterable of sentences (strings or lists of words);
    or ``Sentences`` of numbers, to train on where ``vocabulary`` is the ``WordVocabulary`` that numbered them.
    """

    def __init__(
        self,
        order: int | None = 5,
        estimator: str = "maxent",
        *,
        penalty: str = "elastic_net",
        strength: float | Sequence[float] | str | None = None,
        depth_growth: float | None = None,
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
        units: str = "words",
        reserved: str = "error",
        encoding: str = "utf-8",
        base: Any = None,
        memory: int | str | None = None,
        solver: str = "auto",
        solver_options: dict[str, Any] | None = None,
        tolerance: float = 1e-5,
        decrease_tolerance: float = 1e-4,
        max_iterations: int = 200,
        n_threads: int | None = None,
        random_state: int | None = None,
        warm_start: bool = False,
        verbose: str | int = "auto",
    ) -> None:
        self.order = order
        self.estimator = estimator
        self.penalty = penalty
        self.strength = strength
        self.depth_growth = depth_growth
        self.l2 = l2
        self.strength_classes = strength_classes
        self.l1_ratio = l1_ratio
        self.unigram_strength = unigram_strength
        self.nonnegative = nonnegative
        self.min_count = min_count
        self.prune = prune
        self.prune_entropy = prune_entropy
        self.k = k
        self.vocabulary = vocabulary
        self.min_word_count = min_word_count
        self.max_words = max_words
        self.unknown = unknown
        self.units = units
        self.reserved = reserved
        self.encoding = encoding
        self.base = base
        self.memory = memory
        self.solver = solver
        self.solver_options = solver_options
        self.tolerance = tolerance
        self.decrease_tolerance = decrease_tolerance
        self.max_iterations = max_iterations
        self.n_threads = n_threads
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose

    # ---- training ---------------------------------------------------------------------------------------------------
    @restore_on_failure
    def fit(self, X: Any, y: Any = None, *, validation: Any = None) -> LanguageModel:
        """Train on text; ``validation`` text chooses the strengths where ``strength="auto"``.

        A fit that fails leaves the model as it was.
        """
        began = time.perf_counter()
        ngram_settings.check(self)
        base = self._base_queries()
        before = self.queries_.to_backoff() if self.warm_start and hasattr(self, "queries_") else None
        self.__dict__.pop("online_", None)  # what partial_fit went on from
        sentences, self.vocabulary_ = self._read_training(X, before, base)
        held_out = self._read(validation) if self.strength == "auto" and validation is not None else None
        if self.strength == "auto" and held_out is None:
            raise ValueError("strength='auto' chooses the strengths on held-out text: give fit(text, validation=...)")
        if held_out is not None:
            self.n_validation_tokens_ = held_out.n_tokens + held_out.n_sentences
        for name in _LEARNT:  # by an earlier fit, with other settings
            self.__dict__.pop(name, None)
        stages = {"reading": time.perf_counter() - began}
        ngrams = self._count(sentences)
        self.n_tokens_ = sentences.n_tokens + sentences.n_sentences
        del sentences
        stages["counting"] = time.perf_counter() - began - sum(stages.values())
        if self.estimator == "maxent":
            fit = self._maxent(ngrams, held_out, base, before)
            model = fit.backoff
            self._record(fit)
        else:
            model = self._counted(cast(NgramTrie, ngrams))
            self.status_, self.converged_, self.n_iter_ = Status.COUNTED, True, 1
            self.n_weights_ = model.n_entries
            if isinstance(model, KneserNey):
                self.discounts_ = [str(d) for d in model.discounts]
        del ngrams
        if self.prune_entropy is not None:
            self.__dict__.pop("collapsed_", None)  # what is saved is the pruned model, n-gram by n-gram
            model = prune_by_entropy(model, self.prune_entropy, n_threads=self.n_threads)
        stages["estimating"] = time.perf_counter() - began - sum(stages.values())
        self._take(model)
        stages["indexing"] = time.perf_counter() - began - sum(stages.values())
        self.stage_seconds_ = stages
        self.fit_seconds_ = time.perf_counter() - began
        self._warn()
        return self

    def partial_fit(self, X: Any, y: Any = None) -> LanguageModel:
        """Learn from more text in one pass, batch by batch (maxent): its n-grams join the tree as they come.

        The first call makes the vocabulary, from ``vocabulary`` or its own text; later words are ``<unk>``. Settings
        are those of ``fit``; ``solver_options`` may hold batch_tokens (400), gain (how fast steps shrink) and mu.
        Saved or pickled, the model answers as before but does not go on learning.
        """
        ngram_stream.check(self)
        if "online_" in self.__dict__:
            sentences = self._read(X)
        else:
            sentences, vocabulary = self._read_training(X, None, None)
            self.online_ = ngram_stream.start(self, vocabulary.n_words)
            self.vocabulary_ = vocabulary
        ngram_stream.learn(self, sentences)
        return self

    def __getattr__(self, name: str) -> Any:
        """What ``partial_fit`` made stale is made anew when it is asked for."""
        if name in ngram_stream.MADE_ANEW and "online_" in self.__dict__:
            ngram_stream.refresh(self)
            return self.__dict__[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __getstate__(self) -> Any:
        """Without what only training needs."""
        if "online_" in self.__dict__:
            hasattr(self, "queries_")  # up to date
        state = super().__getstate__()
        return {k: v for k, v in state.items() if k != "online_"} if isinstance(state, dict) else state

    def _read_training(
        self, X: Any, before: BackoffModel | None, base: NgramQueries | None
    ) -> tuple[Sentences, WordVocabulary]:
        options: dict[str, Any] = {
            "units": self.units,
            "unknown": self.unknown,
            "reserved": self.reserved,
            "encoding": self.encoding,
            "n_threads": self.n_threads,
        }
        if isinstance(X, Sentences):
            if not isinstance(self.vocabulary, WordVocabulary) or self.vocabulary.n_words != X.n_words:
                raise ValueError("sentences of numbers need the vocabulary that numbered them (vocabulary=...)")
            return X, self.vocabulary
        known = base.vocabulary if base is not None else None if before is None else before.vocabulary
        if known is not None:  # the words are those of the model to go on from
            return read_corpus(X, vocabulary=known, **options)
        if isinstance(self.vocabulary, (str, os.PathLike)):
            return read_corpus(X, vocabulary_file=self.vocabulary, **options)
        if self.vocabulary is not None:
            words = WordVocabulary.from_words(self.vocabulary, is_open=self.unknown == "token")
            return read_corpus(X, vocabulary=words, **options)
        return read_corpus(X, min_count=self.min_word_count, max_words=self.max_words, **options)

    def _read(self, X: Any) -> Sentences:
        """Text in the numbers of the vocabulary."""
        if isinstance(X, Sentences):
            return X
        options: dict[str, Any] = {"units": self.units, "reserved": self.reserved, "encoding": self.encoding}
        options["n_threads"] = self.n_threads
        sentences, _ = read_corpus(X, vocabulary=self.vocabulary_, **options)
        return sentences

    def _count(self, sentences: Sentences) -> NgramTrie | SuffixTree:
        """The n-grams of the text, collapsed where the penalty lets them."""
        longest = int(np.diff(sentences.sentence_ptr).max(initial=0)) + 2
        if ngram_settings.is_tree(self) and self.order is not None and self.order > longest:
            raise ValueError(
                f"order {self.order}: the longest n-gram of the text, <s> and </s> included, has {longest} words; "
                f"use at most {longest}, or with penalty='tree-linf' order=None"
            )
        if ngram_settings.collapses(self):
            order = min(longest, MAX_ORDER) if self.order is None else self.order
            tree = build_suffix_tree(sentences, order, n_threads=self.n_threads)
            self.counts_ = ngrams_by_order(tree)
            return tree
        order = cast(int, self.order)  # checked: without an order only what collapses is trained
        trie = build_trie(sentences, order, memory=self.memory, n_threads=self.n_threads)
        self.counts_ = np.diff(trie.entry_start).tolist()
        return trie

    def _maxent(
        self,
        ngrams: NgramTrie | SuffixTree,
        held_out: Sentences | None,
        base: NgramQueries | None,
        before: BackoffModel | None,
    ) -> MaxentFit:
        penalty, settings = ngram_settings.penalty_of(self), ngram_settings.settings_of(self)
        if isinstance(penalty, TreePenalty):
            ngrams = ngrams if isinstance(ngrams, SuffixTree) else self._cut(ngrams)
            weights = weights_over(ngrams, self.vocabulary_, self.n_threads)
            tuned = ngram_settings.tuned_names(self)
            return train_tree(weights, penalty, settings, validation=held_out, tuned=tuned)
        if isinstance(ngrams, SuffixTree):
            return train_collapsed(OnSuffixTree(ngrams, self.vocabulary_, self.n_threads), penalty, settings)
        trie = self._cut(ngrams)
        offset: FloatArray | None = None
        start: FloatArray | None = None
        if base is not None:
            model = base.to_backoff()
            trie = extend_trie(trie, model)
            offset = loglinear_weights_on(model, trie)
        elif before is not None:
            start = loglinear_weights_on(before, trie)
        return train_maxent(
            trie,
            self.vocabulary_,
            penalty,
            settings,
            scheme=self.strength_classes,
            validation=held_out,
            start=start,
            offset=offset,
        )

    def _cut(self, trie: NgramTrie) -> NgramTrie:
        """Without n-grams that are too rare."""
        limits = np.atleast_1d(np.asarray(self.min_count)).tolist()
        if max(limits) <= 1:
            return trie
        return cut(trie, [1, *limits] if len(limits) < trie.order else limits)

    def _counted(self, trie: NgramTrie) -> BackoffModel:
        threads, words = self.n_threads, self.vocabulary_
        if self.estimator == "witten-bell":
            return witten_bell(trie, words, n_threads=threads)
        if self.estimator == "add-k":
            return add_k(trie, words, k=self.k, n_threads=threads)
        modified = self.estimator == "kneser-ney"
        return kneser_ney(trie, words, modified=modified, prune=self.prune, n_threads=threads)

    def _base_queries(self) -> NgramQueries | None:
        if self.base is None:
            return None
        base = self.base if isinstance(self.base, LanguageModel) else LanguageModel.load(self.base)
        check_is_fitted(base, "queries_")
        return base.queries_

    def _record(self, fit: MaxentFit) -> None:
        """What training learnt of itself."""
        result = fit.solution.result
        self.n_weights_, self.n_parameters_, self.strengths_ = fit.n_weights, fit.n_parameters, fit.strengths
        if isinstance(fit.penalty, TreePenalty):
            self.strength_, self.depth_growth_, self.l2_ = fit.penalty.values
        if fit.packed is not None:
            self.collapsed_ = fit.packed
        self.solver_, self.solver_reason_, self.history_ = fit.solution.solver, fit.solution.reason, result.history
        if fit.tuned is not None:
            self.tuning_status_ = fit.tuned.status
            self.tuning_ = [
                {
                    "perplexity": perplexity(-trial.validation, self.n_validation_tokens_),
                    "strengths": trial.strengths.tolist(),
                    "accepted": trial.accepted,
                    "seconds": trial.seconds,
                }
                for trial in fit.tuned.history
            ]
        self.n_iter_, self.objective_ = max(result.n_iterations, 1), result.value
        self.violation_, self.converged_, self.status_ = result.violation, result.converged, result.status
        if fit.tuned is not None and fit.tuned.status == Status.INTERRUPTED:
            self.status_, self.converged_ = Status.INTERRUPTED, False

    def _take(self, model: BackoffModel) -> None:
        self.queries_ = NgramQueries.from_backoff(model, n_threads=self.n_threads)
        self.vocabulary_ = model.vocabulary
        self.order_, self.n_ngrams_ = model.order, np.diff(model.entry_start).tolist()

    def _warn(self) -> None:
        if self.status_ == Status.INTERRUPTED:
            warnings.warn("training was interrupted; the best model so far is kept", InterruptedWarning, stacklevel=4)
        elif self.status_ == Status.MAX_ITERATIONS:
            warnings.warn(
                f"training stopped before the optimum ({self.status_}): raise max_iterations",
                ConvergenceWarning,
                stacklevel=4,
            )
        if self.estimator == "maxent" and self.n_weights_ == self.n_ngrams_[0] and self.order != 1:
            warnings.warn(
                "the penalty zeroed every weight above unigrams: the strength is too high for this text",
                ConvergenceWarning,
                stacklevel=4,
            )

    # ---- use --------------------------------------------------------------------------------------------------------
    def evaluate(self, X: Any) -> TextScore:
        """Log-probability, perplexity, unknown words and hits by order of a text."""
        check_is_fitted(self, "queries_")
        sentences = self._read(X)
        scores = self.queries_.score_sentences(sentences)
        return TextScore(
            sentences.n_sentences,
            sentences.n_tokens,
            int(scores.n_unknown.sum()),
            float(scores.log_probability.sum()),
            float(scores.unknown_log_probability.sum()),
            scores.hits.tolist(),
        )

    def perplexity(self, X: Any) -> float:
        """exp(- log-probability per token), the ends of sentences and unknown words included."""
        return self.evaluate(X).perplexity

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log-probability per token (the greater the better, as scikit-learn wants)."""
        text = self.evaluate(X)
        return text.log_probability / text.n_tokens

    def next_distribution(self, context: str | Sequence[str] = "") -> FloatArray:
        """Probability of every word of the vocabulary after a context (sentences begin with ``<s>``)."""
        check_is_fitted(self, "queries_")
        return self.queries_.next_distribution(self._units_of(context))

    def top(self, context: str | Sequence[str] = "", k: int = 10) -> list[tuple[str, float]]:
        """The k most probable next words."""
        check_is_fitted(self, "queries_")
        return self.queries_.top(self._units_of(context), k)

    def sample(self, n: int = 1, *, max_length: int = 100, temperature: float = 1.0, context: Any = ()) -> list[str]:
        """Sentences drawn from the model."""
        check_is_fitted(self, "queries_")
        options: dict[str, Any] = {"max_length": max_length, "temperature": temperature}
        drawn = self.queries_.sample(n, random_state=self.random_state, context=self._units_of(context), **options)
        units: Any = self.units
        return drawn if units == "words" else [join_units(text.split(" "), units) for text in drawn]

    def _units_of(self, context: str | Sequence[str]) -> Sequence[str]:
        units: Any = self.units
        return split_units(context, units) if isinstance(context, str) else context

    # ---- files ------------------------------------------------------------------------------------------------------
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file, atomically."""
        check_is_fitted(self, "queries_")
        language_model_file.save(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> LanguageModel:
        """Read a model file (memory-mapped) or an ARPA file."""
        if language_model_file.looks_like_arpa(path):
            return cls.from_arpa(path)
        from loglinear.models import open_archive

        return cls.from_archive(open_archive(path, language_model_file.KIND), path)

    @classmethod
    def from_archive(cls, archive: Any, source: Any) -> LanguageModel:
        """The model of a file that is already open."""
        return language_model_file.load(cls, archive, source)

    def to_arpa(self, path: str | os.PathLike[str], *, full_precision: bool = False) -> None:
        """Write the model as ARPA; exact also for maximum entropy."""
        check_is_fitted(self, "queries_")
        write_arpa(self.queries_.to_backoff(), path, full_precision, n_threads=self.n_threads)

    @classmethod
    def from_arpa(cls, path: str | os.PathLike[str], *, n_threads: int | None = None) -> LanguageModel:
        """The model of an ARPA file."""
        return cls.from_backoff(read_arpa(path, n_threads=n_threads), n_threads=n_threads)

    @classmethod
    def from_backoff(cls, model: BackoffModel, *, n_threads: int | None = None) -> LanguageModel:
        """A model made elsewhere: read, mixed or merged."""
        made = cls(order=model.order, estimator="imported", n_threads=n_threads)
        made.status_, made.converged_, made.n_iter_ = Status.IMPORTED, True, 1
        made.n_weights_ = model.n_entries
        made._take(model)
        return made
