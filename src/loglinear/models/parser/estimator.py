"""Parser: trees of sentences by a grammar, an M-estimate or a random field, as a scikit-learn estimator."""

from __future__ import annotations

import math
import time
import warnings
from collections import Counter
from typing import Any

import numpy as np

from loglinear.arrays import FloatArray
from loglinear.errors import InterruptedWarning
from loglinear.formats.bracketed import Trees
from loglinear.grammar.counted import CountedGrammar
from loglinear.grammar.features import Sentences, TreeFeatures
from loglinear.grammar.lexicon import Lexicon, flatten
from loglinear.grammar.rules import RuleTable
from loglinear.models.estimator import Estimator
from loglinear.models.parser.charts import Constrained, check_memory, read_inputs, words_of
from loglinear.models.parser.predictor import ParserPredictor, as_trees
from loglinear.models.parser.pruning import Coarse
from loglinear.models.parser.training import ParserProblem
from loglinear.models.tagger.training import tune
from loglinear.models.trainer import (
    record_training,
    solver_settings,
    training_method,
    warn_before_optimum,
)
from loglinear.optimise.checkpoint import open_checkpoint
from loglinear.optimise.training import Solution
from loglinear.status import Status


class Parser(ParserPredictor, Estimator):
    """Find the constituents of sentences.

    Minimises  sum of losses + strength * penalty,  l2 = |w|^2 / 2, l1 = |w|_1. M-estimation keeps its paper's mean over
    trees, so its strength is 1 / c there.

    Parameters
    ----------
    estimator : "crf" (default: conditional likelihood of trees), "m-estimation" (a correction of the grammar, trained
        without inference) or "pcfg" (the grammar alone, counted)
    features : "extended" (default: rules, words at the boundaries of spans, lengths) or "rules"
    direction, horizontal, vertical, annotate_tags, annotate_heads : how trees are binarised: "right" (default) or
        "left"; siblings that a part of a constituent remembers, default 1, None for all; labels in a symbol, default 1,
        2 adds the parent's; whether tags have ancestors too, and whether symbols have the tag of their head word, both
        False by default
    min_word_count : int, words that occur less often are unknown, and known by their spelling; default 2
    min_count : int, features of boundaries that occur less often are dropped; default 1
    smoothing : float, constant that is added to the counts of rules; default 0
    word_smoothing : float, how much the tags of new words count for known ones; default 1
    expectation : "exact" (default) or "sample": how M-estimation's expectations are computed
    n_samples : int, trees drawn where expectations are sampled; default 10,000
    pruning : None, a probability, or "auto" (default: 1e-3 for "crf", else None): constituents that a coarse grammar
        finds less likely are left out, in training and prediction; ``pruning_cost_`` says what was left
    penalty, strength, l1_ratio, solver, solver_options, tolerance, max_iterations, n_threads, random_state, verbose,
    checkpoint, log : as in :class:`MaxentClassifier`
    tune : None (default), "validation" (strengths from strong to weak; the best F1 on the ``validation`` trees of
        ``fit`` wins), or the strengths to try
    max_memory : int or text such as "4G" (default), what charts may take; longer sentences are refused

    Attributes
    ----------
    weights_ : [n_weights] float64
    strength_, tuning_ : the strength of the model; with ``tune`` also a list of the trials, a dict each
    validation_score_ : float, F1 on the held-out trees, where there were any
    pruning_cost_ : dict, the share of the chart that is kept, and of the gold trees that would have been lost
    solver_, solver_reason_, objective_, gap_, gap_is_bound_, converged_, status_, n_iter_, fit_seconds_, history_ : how
        training went, as in :class:`MaxentClassifier`
    """

    fitted_attribute = "weights_"

    @training_method
    def fit(self, X: Any, y: Any = None, *, validation: Any = None, partial: Any = None) -> Parser:
        """Train on trees: ``X``, or ``y`` for the sentences ``X``.

        Parameters
        ----------
        X : ``Trees`` or a list of ``Tree``, stripped of empty elements; or sentences, then ``y`` are their trees
        validation : held-out trees: ``tune`` chooses the strength on them, and ``validation_score_`` is their F1
        partial : pairs (words, brackets) of sentences that are bracketed in part, for estimator "crf"; a bracket is
            (begin, end) or (begin, end, label)
        """
        began = time.perf_counter()
        self.check_settings()
        trees = self._training_trees(X, y)
        held_out = None if validation is None else as_trees(validation)
        if self.tune is not None and held_out is None:
            raise ValueError("tune chooses the strength on held-out trees: give fit(..., validation=trees)")
        if partial is not None and self.estimator != "crf":
            raise ValueError(f"estimator {self.estimator!r} needs whole trees; only 'crf' learns from partial ones")
        for name in ("validation_score_", "tuning_", "history_", "pruning_cost_"):
            self.__dict__.pop(name, None)
        problem, features = self._problem(trees, partial)
        self.strength_ = float(self.strength)
        if problem is None:
            self._learn(features, np.zeros(features.n_weights))
            self.n_iter_, self.objective_, self.gap_, self.gap_is_bound_ = 1, float("nan"), 0.0, True
            self.converged_, self.status_ = True, Status.COUNTED
            self.solver_, self.solver_reason_ = "none", "a grammar is counted"
        else:
            solution = self._solve(problem, features, trees, held_out)
            self._learn(features, solution.weights)
            record_training(self, solution)
        self.fit_seconds_ = time.perf_counter() - began
        if held_out is not None:
            self.validation_score_ = self.score(held_out)
        self._warn()
        return self

    def _training_trees(self, X: Any, y: Any) -> Trees:
        trees = as_trees(X if y is None else y)
        if len(trees) == 0:
            raise ValueError("there are no trees to learn from")
        if y is not None:
            for number, (given, own) in enumerate(zip(words_of(X), trees.sentences(), strict=True), start=1):
                if given != own:
                    raise ValueError(f"sentence {number} has other words than its tree")
        return trees

    def _problem(self, trees: Trees, partial: Any) -> tuple[ParserProblem | None, TreeFeatures]:
        """Count the grammar, choose the features, and make the problem for the solvers; None where there is none."""
        tokens, ptr = flatten(trees.sentences())
        lexicon = Lexicon.fit(tokens, min_count=self.min_word_count)
        sentences = Sentences(ptr, lexicon.numbers(tokens), lexicon)
        binary = self.binarisation.apply(trees)
        rules = RuleTable.of(binary)
        parts, _ = rules.parts(binary)
        self.grammar_ = CountedGrammar.fit(
            rules, lexicon, parts, sentences.words, smoothing=self.smoothing, word_smoothing=self.word_smoothing
        )
        self.root_ = Counter(trees.node_labels[trees.tree_ptr[:-1]].tolist()).most_common(1)[0][0]
        self.coarse_ = None
        if self.threshold is not None:
            self.coarse_ = Coarse.fit(trees, lexicon, sentences.words, self.direction, self.threshold, self)
        if self.estimator == "pcfg":
            return None, TreeFeatures.observed(rules, lexicon, sentences, parts, "rules")
        features = TreeFeatures.observed(rules, lexicon, sentences, parts, self.features, self.min_count)
        counts = features.counts(sentences, parts, self.n_threads)
        if self.estimator == "crf":
            check_memory(rules, sentences.ptr, self.max_memory, self.n_threads)
        masks = None
        if self.coarse_ is not None and self.estimator == "crf":
            masks, cost = self.coarse_.masks(rules, sentences, trees, self.direction, self.n_threads)
            self.pruning_cost_ = {"kept": cost.kept, "gold_lost": cost.gold_lost, "threshold": self.threshold}
        known = None if partial is None else self._partial(rules, partial)
        problem = ParserProblem(
            self.estimator, self.grammar_, features, sentences, counts, solver_settings(self), masks, known,
            self.expectation, self.n_samples,
        )  # fmt: skip
        return problem, features

    def _partial(self, rules: RuleTable, partial: Any) -> tuple[Sentences, Any, Any]:
        """Return sentences that are bracketed in part, with their masks and constraints."""
        pairs = list(partial)
        if not pairs:
            raise ValueError("partial has no sentences: leave it out")
        inputs = read_inputs(self.grammar_.lexicon, [words for words, _ in pairs])
        constraints = Constrained(rules, inputs.ptr, [brackets for _, brackets in pairs]).native
        # Not pruned: a coarse grammar may not leave any tree with the given brackets.
        return inputs.sentences, None, constraints

    def _solve(self, problem: ParserProblem, features: TreeFeatures, trees: Trees, held_out: Trees | None) -> Solution:
        def score(weights: FloatArray) -> float:
            self._learn(features, weights)
            return math.nan if held_out is None else self.score(held_out)

        if self.tune is None or held_out is None:
            named = ("parser", self.estimator, self.penalty, self.strength, self.features)
            checkpoint = open_checkpoint(self.checkpoint, problem, *named)
            scored = None if held_out is None else score
            return problem.solve(self.strength_, checkpoint=checkpoint, score=scored)
        solution, self.strength_, self.tuning_ = tune(problem, self.tune, score)  # type: ignore[arg-type]
        return solution

    def _warn(self) -> None:
        if self.status_ == Status.INTERRUPTED:
            message = f"training was interrupted after {self.n_iter_} passes; the best weights so far are kept"
            warnings.warn(message, InterruptedWarning, stacklevel=5)
            return
        warn_before_optimum(self, "Raise max_iterations or loosen tolerance.")
