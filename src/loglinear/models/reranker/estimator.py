"""Reranker: learns to choose among the candidates of n-best lists, by their base scores and a few features.

It learns from lists whose right text is known, by boosting and its lasso approximations (Gao, Suzuki and Yu 2006;
Collins and Koo 2005), by the averaged perceptron, or by a convex loss of lists with a penalty.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from loglinear.arrays import FloatArray
from loglinear.data.candidates import CandidateLists
from loglinear.errors import InterruptedWarning
from loglinear.features.candidate_features import CandidateFeatures
from loglinear.metrics.error_rate import baseline_errors
from loglinear.models.estimator import Estimator
from loglinear.models.reranker.inputs import check_comparable, choose_base, read_lists, score_names
from loglinear.models.reranker.methods import BATCH, METHODS, Task, strengths_of
from loglinear.models.reranker.path import RerankerPath
from loglinear.models.reranker.predictor import RerankerPredictor
from loglinear.models.trainer import caller_level, record_training, training_method, warn_before_optimum
from loglinear.models.validation import renamed
from loglinear.status import Status

if TYPE_CHECKING:
    from loglinear.models.language_model.predictor import LanguageModelPredictor


class Reranker(RerankerPredictor, Estimator):
    """Chooses among the candidates of n-best lists.

    Parameters
    ----------
    method : "blasso" (default), "f-boosting", "fslr", "boosting" (one feature at a time), "perceptron", "maxent",
        "exponential", "expected-error" (a loss and a penalty), or "none" (the base scores alone)
    step : length of a step of blasso, f-boosting and fslr
    threshold : what a backward step of blasso must gain
    smoothing, shrinkage : for boosting, the constant added to sums of losses and the share of an update that is taken
    by_errors : whether candidates with more errors weigh more in the loss
    words, min_count, boundaries, skips, headwords, characters, classes : the features, see
        ``features.CandidateFeatures``
    base : names of the base scores. None: "score" if the lists have it, else all scores they have, else their order
        ("rank")
    units : what errors are counted in, "words" or "characters"; or "bleu", "chrf", "ter": what a translation's score
        lacks, as the package sacrebleu counts it
    missing : "error" raises ValueError for a candidate without a base score, "worst" gives it the lowest of its list
    penalty, l1_ratio, strength : the penalty of batch methods
    tune : None (default), "validation" (batch methods choose among strengths from strong to weak on the ``validation``
        lists of ``fit``; the others choose the point of their path in any case), or the strengths to try
    solver, tolerance : for batch methods, see ``MaxentClassifier``
    max_iterations : maximum number of steps, epochs or iterations; None: 20,000 steps, 20 epochs, 1000 iterations
    patience : stop after this many steps or epochs without fewer held-out errors; None: never
    random_state : seed of the perceptron's order of lists and of stochastic solvers
    warm_start : whether another fit on the same lists continues the path where it ended
    verbose : "auto" (progress on a terminal after two seconds), 0, or 1
    log : path of a file for one JSON object per step of training, or None (default)
    n_threads : native threads; None means all cores

    Attributes
    ----------
    base_names_ : tuple of str, the base scores: [n_base]
    weights_ : [n_weights] float64, of base scores first; n_weights = n_base + n_features
    path_, chosen_ : ``RerankerPath``, all points; the number of the point that is the model
    n_features_, n_lists_, n_pairs_ : int, what was learnt from
    no_change_ : bool, whether no point was better on the held-out lists than no change
    validation_baseline_errors_, validation_score_ : errors of the base scores on the held-out lists;
        1 - error rate there
    status_, fit_seconds_ : why training ended; time
    """

    fitted_attribute = "weights_"

    def __init__(
        self,
        method: str = "blasso",
        step: float = 0.5,
        *,
        threshold: float = 0.0,
        smoothing: float = 1e-3,
        shrinkage: float = 1.0,
        by_errors: bool = False,
        words: Iterable[int] = (1, 2),
        min_count: int = 2,
        boundaries: bool = True,
        skips: int = 0,
        headwords: str | Iterable[str] | None = None,
        characters: Iterable[int] = (),
        classes: Any = None,
        base: Sequence[str] | str | None = None,
        units: str = "words",
        missing: str = "error",
        penalty: str | None = "l1",
        l1_ratio: float = 0.5,
        strength: float | Sequence[float] = 1.0,
        tune: str | Sequence[float] | None = None,
        solver: str = "auto",
        tolerance: float = 1e-4,
        max_iterations: int | None = None,
        patience: int | None = None,
        random_state: int | None = None,
        warm_start: bool = False,
        verbose: str | int = "auto",
        log: str | os.PathLike[str] | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.method = method
        self.step = step
        self.threshold = threshold
        self.smoothing = smoothing
        self.shrinkage = shrinkage
        self.by_errors = by_errors
        self.words = words
        self.min_count = min_count
        self.boundaries = boundaries
        self.skips = skips
        self.headwords = headwords
        self.characters = characters
        self.classes = classes
        self.base = base
        self.units = units
        self.missing = missing
        self.penalty = penalty
        self.l1_ratio = l1_ratio
        self.strength = strength
        self.tune = tune
        self.solver = solver
        self.tolerance = tolerance
        self.max_iterations = max_iterations
        self.patience = patience
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.log = log
        self.n_threads = n_threads

    # ---- training ---------------------------------------------------------------------------------------------------
    def check_settings(self) -> None:
        """Raise ValueError for settings that cannot be used, before anything is read."""
        super().check_settings()
        METHODS[self.method]  # raises IncompatibleError for an unknown name
        strengths_of(self.strength)
        if isinstance(self.tune, str) and self.tune != "validation":
            raise ValueError(f"tune must be None, 'validation' or a list of strengths, not {self.tune!r}")
        if self.tune is not None and not isinstance(self.tune, str):
            strengths_of(self.tune, "tune")
            if self.method not in BATCH:
                message = f"tune lists strengths, which {self.method!r} has not; use 'validation', or another method"
                raise ValueError(f"{message}: {', '.join(BATCH)}")
        if self.verbose not in ("auto", 0, 1, True, False):
            raise ValueError(f"verbose must be 'auto', 0 or 1, not {self.verbose!r}")
        for name in ("max_iterations", "patience"):
            value = getattr(self, name)
            if value is not None and (type(value) is not int or value < 0):
                raise ValueError(f"{name} must be a whole number, not negative, or None, not {value!r}")
        self._new_features()

    def _new_features(self) -> CandidateFeatures:
        return CandidateFeatures(
            self.words, self.min_count, boundaries=self.boundaries, skips=self.skips, headwords=self.headwords,
            characters=self.characters, classes=self.classes,
        )  # fmt: skip

    @renamed("validation", "dev")
    @training_method
    def fit(
        self, X: Any, y: Any = None, *, validation: Any = None, base_model: LanguageModelPredictor | None = None
    ) -> Reranker:
        """Learn from lists with references or errors: lists, or the path of a file, or several.

        ``validation`` are held-out lists, on which the point of the path is chosen; point 0, no change, is among the
        choices; ``validation_score_`` is 1 - error rate on them. ``base_model`` gives every candidate its
        log-probability as the base score "lm". A fit that fails leaves the model as it was.
        """
        began = time.perf_counter()
        self.check_settings()
        self._check_tune(validation)
        lists = read_lists(X, base_model)
        if not lists:
            raise ValueError("there are no lists to learn from")
        names = choose_base(score_names(lists), self.base, base_model is not None)
        features = self._new_features()
        data = self._encode(lists, features, names, fit=True)
        held_out = None if validation is None else self._held_out(validation, base_model, features, names)
        if held_out is not None:
            check_comparable(data, held_out)
        self._follow(Task(data, held_out, self, self._path_before(data)), features, names)
        self.fit_seconds_ = time.perf_counter() - began
        self._warn()
        return self

    def _follow(self, task: Task, features: CandidateFeatures, names: tuple[str, ...]) -> None:
        """Train, and take the chosen point of the path."""
        data, held_out = task.data, task.dev
        self.features_, self.base_names_ = features, names
        self.path_ = METHODS[self.method](task)
        self._fingerprint = data.fingerprint()
        self._describe(data, held_out)
        self._validation_length = None if held_out is None else float(held_out.length.sum())
        self.take(self.path_.chosen)

    def _check_tune(self, validation: Any) -> None:
        several = not np.isscalar(self.strength) and len(strengths_of(self.strength)) > 1
        if several:
            told = "several strengths are now those of tune, and strength is one number"
            warnings.warn(told, FutureWarning, stacklevel=5)
        if validation is None and (several or self.tune is not None):
            raise ValueError("tune chooses among strengths on held-out lists: give fit(..., validation=lists)")

    def _held_out(
        self, X: Any, base_model: LanguageModelPredictor | None, features: CandidateFeatures, names: Sequence[str]
    ) -> CandidateLists:
        if isinstance(X, CandidateLists):
            return X
        lists = read_lists(X, base_model)
        if not lists:
            raise ValueError("there are no validation lists to choose on")
        try:
            return self._encode(lists, features, names)
        except ValueError as error:
            error.args = (f"validation: {error}",)
            raise

    def _path_before(self, data: Any) -> RerankerPath | None:
        """Return the path of the last fit if ``warm_start`` continues it: it must be of the same lists."""
        path: RerankerPath | None = getattr(self, "path_", None)
        if not self.warm_start or path is None or path.source is None:
            return None
        return path if getattr(self, "_fingerprint", "") == data.fingerprint() else None

    def _describe(self, data: Any, held_out: CandidateLists | None) -> None:
        self.n_lists_, self.n_pairs_, self.n_features_ = data.n_lists, data.n_pairs, data.n_features
        solutions, chosen = self.path_.solutions, self.path_.chosen
        if solutions and chosen:  # point 0 is no change
            record_training(self, solutions[chosen - 1])
        self.status_ = self.path_.stopped
        self.validation_baseline_errors_ = None
        if held_out is not None:
            self.validation_baseline_errors_ = float(baseline_errors(held_out, self._baseline()).sum())

    def _warn(self) -> None:
        if self.status_ == Status.INTERRUPTED:
            message = "training was interrupted; the best point of the path so far is kept"
            warnings.warn(message, InterruptedWarning, stacklevel=caller_level())
            return
        worst = max(self.path_.solutions, key=lambda solution: solution.result.gap, default=None)
        if worst is not None:
            record_training(point := SimpleNamespace(), worst)
            remedy = "Raise max_iterations, loosen tolerance or give a stronger penalty."
            warn_before_optimum(point, remedy)

    # ---- the path ---------------------------------------------------------------------------------------------------
    def weights_at(self, point: int) -> FloatArray:
        """Return the weights of a point of the path, of base scores first: [n_base + n_features]."""
        self.check_fitted()
        return self.path_.weights(point)

    def take(self, point: int) -> Reranker:
        """Make a point of the path the model; 0 is no change."""
        if not hasattr(self, "path_"):  # a model in training has a path, and no weights yet
            self.check_fitted()
        at = self.path_.check(point)
        self.weights_ = self.path_.weights(at)
        self.path_ = replace(self.path_, chosen=at)
        self.chosen_, self.no_change_ = at, at == 0
        self.__dict__.pop("validation_score_", None)
        errors, length = self.path_.validation_errors, getattr(self, "_validation_length", None)
        if errors is not None and length is not None:
            self.validation_score_ = 1.0 - float(errors[self.path_.index(at)]) / length
        self.use_weights()
        return self
