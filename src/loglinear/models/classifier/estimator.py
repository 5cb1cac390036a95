"""MaxentClassifier: multinomial logistic regression as a scikit-learn estimator.

This file is long because a third of it is what users read: the settings and the attributes of the class.
"""

from __future__ import annotations

import math
import os
import time
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from loglinear import penalties
from loglinear.arrays import FloatArray
from loglinear.data.matrix import DenseRows, Rows, SparseRows, as_dense
from loglinear.data.multiclass import MulticlassData
from loglinear.errors import InterruptedWarning
from loglinear.features.text.settings import TextSettings
from loglinear.models.classifier import path
from loglinear.models.classifier.inputs import featurise, featuriser_for, matrix_rows
from loglinear.models.classifier.label_sets import LabelSets, known_indicator, one_label_each, read_label_sets
from loglinear.models.classifier.labels import check_targets, class_weights_of, known_numbers, number_labels
from loglinear.models.classifier.multilabel import (
    MultilabelProblem,
    of_all,
    refuse_settings,
    weights_by_label,
    weights_of,
)
from loglinear.models.classifier.online import OnlineLearner
from loglinear.models.classifier.predictor import ClassifierPredictor
from loglinear.models.classifier.training import LinearProblem
from loglinear.models.classifier.tuning import check_tune, cross_validate, tune_on
from loglinear.models.estimator import Estimator
from loglinear.models.trainer import (
    caller_level,
    record_training,
    solver_settings,
    training_method,
    warn_before_optimum,
)
from loglinear.models.validation import as_pair, renamed
from loglinear.optimise.checkpoint import open_checkpoint
from loglinear.optimise.training import Settings, Solution
from loglinear.status import Status


class MaxentClassifier(ClassifierPredictor, Estimator):
    """Maximum-entropy classifier (multinomial logistic regression).

    Minimises  sum of log-losses + strength * penalty,  l2 = |w|^2 / 2, l1 = |w|_1; intercepts carry no penalty.
    scikit-learn's ``C`` is ``1 / strength``. Two classes share one weight vector.

    Parameters
    ----------
    penalty : "l2", "l1", "elastic_net", or "none" (also None); default "l2"
    strength : float, weight of the penalty; default 1
    l1_ratio : float, share of l1 in the elastic net; default 0.5
    nonnegative : bool, keep all weights (not intercepts) at or above zero; default False
    solver : "auto" (default) or one of ``loglinear.solvers.SOLVERS``; ``solver_reason_`` says why it was chosen
    solver_options : dict of settings of that solver, such as ``{"cluster_factor": 20}``; default None
    tolerance : float, training has converged when the objective is above its optimum by at most this share of itself;
        default 1e-4. ``gap_`` is the share that was reached: an upper bound if ``gap_is_bound_``, else an estimate
    max_iterations : int, maximum number of passes over the data; default 10,000
    fit_intercept : bool, whether classes have intercepts; default True
    class_weight : dict of the weight of every class's examples (1 where a class is not named), "balanced" (inverse to
        their number, or to the sum of their sample weights), or None (default)
    one_vs_rest : bool, train each of three or more classes against all others, in a problem of its own: with
        penalty="l1" thousands of classes need memory for the weights that are not zero, and for one problem per thread;
        probabilities are in proportion to the odds of these problems; default False: one problem for all classes
    tune : None (default), "validation", "cv" or the strengths to try: choose the strength along a path from strong to
        weak, on the ``validation`` examples of ``fit`` or ("cv") by five-fold cross-validation; ``strength_`` is the
        choice
    ngrams, char_ngrams : tuples of int, for lists of texts: the orders of the word n-grams and of the character n-grams
        that are features; defaults (1,) and ()
    across_words : bool, whether character n-grams go across words; default False: a word has a space on either side
    lowercase : bool, whether texts are put in lower case; default True
    stop_words : words that are left out before word n-grams are made: "english", a list, or a file with one per line;
        default None
    min_count : int, how often an n-gram must occur to be a feature; default 1
    hash_size : int or None, hash n-grams to so many features, which have no names; default None
    weighting : "count" (default), "binary", "log", "tfidf" or "log_tfidf": values of n-grams of texts and of tokens;
        "log_tfidf" is ``TfidfVectorizer(sublinear_tf=True)`` of scikit-learn
    classes : word classes whose n-grams are features of texts as well: a file (``word TAB class``, or the ``paths`` of
        Brown's tool) or a dict (``WordClasses.to_dict()``); default None. The model file has them
    label_separator : str or None, what stands between the labels of an example where they come as one text, such as ","
        (an empty text has none); default None: a text is one label
    text_column, label_column : str or None, keys of the text and of the label where ``X`` is an iterable of records
        (dicts, such as a ``datasets.Dataset``) or a data frame, and columns of JSON lines, Parquet and Arrow files;
        default None: ``X`` is no such iterable. A model file does not keep them
    n_threads : int or None, number of native threads; default None, all cores
    random_state : int or None, seed of the stochastic solver and of the folds of tune="cv"; default None
    warm_start : bool, start from the weights of the last fit; default False
    verbose : "auto" (default; a progress bar on a terminal after two seconds), 0, or 1 (a line per step)
    checkpoint : path of a file to save the weights to while training, and to resume from; default None
    log : path of a file for one JSON object per step of training (docs/penalties_and_solvers.md); default None

    ``X`` may be an array, a scipy sparse matrix (32- or 64-bit indices), a list of dicts, of token lists or of texts; a
    Series or an array of texts, or a data frame: of numbers, or with texts in its only column or in ``text_column``.
    Of three or more classes, the intercepts sum to zero, and without a penalty so do the weights of every feature.

    ``y`` may give several labels per example: an array or a sparse matrix of zeros and ones [n, n_labels], a list of
    lists, tuples or sets of labels, or texts (``label_separator``). Every label is then a binary problem of its own,
    ``predict`` returns the same form, and the rows of ``predict_proba`` [n, n_labels] do not sum to one.

    Attributes
    ----------
    classes_ : the labels, sorted: [n_classes]
    coef_ : weights [K, n_features] float64; K is 1 for two classes, else their number; sparse after ``sparsify``
    intercept_ : [K] float64
    n_features_in_ : int, number of features
    strength_, tuning_ : the strength of the model; with ``tune`` also a list of the trials, a dict each
    validation_score_ : float, accuracy on the held-out examples, where there were any
    solver_, solver_reason_ : the solver that was taken, and why
    objective_, gap_, gap_is_bound_, converged_ : the objective; how far it is above its optimum, as a share of itself;
        whether that is a bound; whether it is within ``tolerance``
    status_, n_iter_, fit_seconds_, history_ : why training ended, passes over the data, time, objective step by step
    """

    fitted_attribute = "coef_"
    _estimator_type = "classifier"  # for libraries that ask for no tags

    def __init__(
        self,
        penalty: str | None = "l2",
        strength: float = 1.0,
        *,
        l1_ratio: float = 0.5,
        nonnegative: bool = False,
        solver: str = "auto",
        solver_options: dict[str, Any] | None = None,
        tolerance: float = 1e-4,
        max_iterations: int = 10_000,
        fit_intercept: bool = True,
        class_weight: Mapping[Any, float] | str | None = None,
        one_vs_rest: bool = False,
        tune: str | Sequence[float] | None = None,
        ngrams: tuple[int, ...] = (1,),
        char_ngrams: tuple[int, ...] = (),
        across_words: bool = False,
        lowercase: bool = True,
        stop_words: Sequence[str] | str | os.PathLike[str] | None = None,
        min_count: int = 1,
        hash_size: int | None = None,
        weighting: str = "count",
        classes: Mapping[str, str] | str | os.PathLike[str] | None = None,
        label_separator: str | None = None,
        text_column: str | None = None,
        label_column: str | None = None,
        n_threads: int | None = None,
        random_state: int | None = None,
        warm_start: bool = False,
        verbose: str | int = "auto",
        checkpoint: str | os.PathLike[str] | None = None,
        log: str | os.PathLike[str] | None = None,
    ) -> None:
        self.penalty = penalty
        self.strength = strength
        self.l1_ratio = l1_ratio
        self.nonnegative = nonnegative
        self.solver = solver
        self.solver_options = solver_options
        self.tolerance = tolerance
        self.max_iterations = max_iterations
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.one_vs_rest = one_vs_rest
        self.tune = tune
        self.ngrams = ngrams
        self.char_ngrams = char_ngrams
        self.across_words = across_words
        self.lowercase = lowercase
        self.stop_words = stop_words
        self.min_count = min_count
        self.hash_size = hash_size
        self.weighting = weighting
        self.classes = classes
        self.label_separator = label_separator
        self.text_column = text_column
        self.label_column = label_column
        self.n_threads = n_threads
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.checkpoint = checkpoint
        self.log = log

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags

        tags = super().__sklearn_tags__()
        tags.estimator_type, tags.target_tags.required = "classifier", True
        tags.input_tags.sparse = True
        tags.classifier_tags = ClassifierTags(multi_label=True)
        return tags

    # ---- encoding ---------------------------------------------------------------------------------------------------
    def _fit_rows(self, X: Any) -> Rows:
        """Encode training examples of any accepted kind; sets ``featuriser_`` and ``n_features_in_``."""
        self.featuriser_ = featuriser_for(X, TextSettings.of(self))
        if isinstance(X, (SparseRows, DenseRows)):
            rows: Rows = X
        elif self.featuriser_ is not None:
            rows = featurise(self.featuriser_, X, self.n_threads, fit=True)
            if rows.n_columns == 0:
                raise ValueError("the examples have no features at all: there is nothing to learn from")
        else:
            rows = self._matrix_rows(X, reset=True)
        self.n_features_in_ = rows.n_columns
        return rows

    def _matrix_rows(self, X: Any, reset: bool = False) -> Rows:
        """Encode a matrix, checked as scikit-learn does."""
        from sklearn.utils.validation import validate_data

        kinds, precisions = ["csr", "csc", "coo"], [np.float64, np.float32]
        return matrix_rows(
            validate_data(self, X, accept_sparse=kinds, dtype=precisions, accept_large_sparse=True, reset=reset)
        )

    def _settings(self) -> Settings:
        strength: Any = self.strength
        if isinstance(strength, bool) or not np.isscalar(strength) or not strength >= 0:  # type: ignore[operator]
            raise ValueError(f"strength must be a number, not negative, but is {self.strength!r}")
        return solver_settings(self)

    def _training_data(self, X: Any, y: Any, sample_weight: Any = None) -> MulticlassData:
        """Encode examples and labels; sets ``classes_``."""
        rows = self._fit_rows(X)
        self.classes_, labels = number_labels(y, rows.n_rows)
        data = self._data(rows, labels, sample_weight)
        counts = np.bincount(data.labels, data.sample_weight, self.classes_.size)
        by_class = class_weights_of(self.class_weight, self.classes_, counts)
        if by_class is None:
            return data
        before = 1.0 if data.sample_weight is None else data.sample_weight
        return self._data(data.rows, data.labels, by_class[data.labels] * before)

    def _data(self, rows: Rows, labels: np.ndarray, sample_weight: Any = None) -> MulticlassData:
        """Return the data without the examples of weight zero, which cannot change anything."""
        if sample_weight is None:
            return MulticlassData(rows, labels, self.classes_.size)
        weight = np.asarray(sample_weight, dtype=np.float64)
        weight = np.full(labels.size, float(weight)) if weight.ndim == 0 else weight
        data = MulticlassData(rows, labels, self.classes_.size, weight)
        assert data.sample_weight is not None
        kept = np.flatnonzero(data.sample_weight)
        if kept.size == 0:
            raise ValueError("all sample weights are zero")
        return data if kept.size == labels.size else data.take(kept)

    def _encoded(self, X: Any, y: Any) -> tuple[Rows, np.ndarray]:
        """Encode held-out examples before training, so that what is wrong with them is said before it."""
        rows, labels = self._rows(X), np.asarray(y)
        if labels.shape != (rows.n_rows,):
            raise ValueError(f"validation has {rows.n_rows} examples but labels of shape {labels.shape}")
        return rows, labels

    def _held_out(self, X: Any, y: Any) -> MulticlassData:
        return self._data(self._rows(X), known_numbers(y, self.classes_))

    # ---- training ---------------------------------------------------------------------------------------------------
    @renamed("validation", "X_valid", "y_valid")
    @training_method
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, validation: Any = None) -> MaxentClassifier:
        """Train on examples and labels; records (``text_column``) may have their labels themselves.

        ``validation`` is a pair (X, y) of held-out examples: ``tune`` chooses the strength on them, and
        ``validation_score_`` is the accuracy on them. A fit that fails leaves the model as it was.
        """
        start = time.perf_counter()
        X, y = self._columns(X, y)
        if validation is not None and self.text_column is not None:
            validation = self._columns(*validation) if isinstance(validation, tuple) else self._columns(validation)
        settings, pair = self._settings(), as_pair(validation)
        check_tune(self, pair)
        for name in ("tuning_", "validation_score_"):  # what an earlier fit may have left
            self.__dict__.pop(name, None)
        before = (self.classes_, self._flat()) if self.warm_start and hasattr(self, "coef_") else None
        self.strength_ = settings.strength
        sets = read_label_sets(y, self.label_separator)
        rows = None
        if sets is None and self.one_vs_rest:
            rows = self._fit_rows(X)
            sets = one_label_each(*number_labels(y, rows.n_rows))
        if sets is not None and (sets.form is not None or sets.classes.size > 2):
            found = self._fit_label_sets(self._fit_rows(X) if rows is None else rows, sets, settings, sample_weight)
            self._finish(found, None if pair is None else (self._rows(pair[0]), pair[1]), start)
            warn_before_optimum(self, "Raise max_iterations or loosen tolerance.")
            return self
        self.label_form_ = None
        data = self._training_data(X, y, sample_weight)
        held_out = None if pair is None else self._encoded(*pair)
        solution = None
        if self.tune is not None:
            solution = self._tune(data, settings, held_out)
        tuning = self.tune is not None and solution is not None
        if solution is None:
            solution = self._train(data, settings, before, held_out)
        self._set_weights(solution.weights)
        self._finish(solution, held_out, start)
        self._warn(data, tuning=tuning)
        return self

    def _finish(self, solution: Solution, held_out: tuple[Rows, Any] | None, start: float) -> None:
        """Store what training has found, and the accuracy on held-out examples."""
        record_training(self, solution)
        if held_out is not None:
            rows, labels = held_out
            if self.label_form_ is None:
                self.validation_score_ = float(np.mean(self.predict(rows) == labels))
            else:
                self.validation_score_ = self.score(rows, labels)
        self.fit_seconds_ = time.perf_counter() - start
        self._online: OnlineLearner | None = None

    def _fit_label_sets(self, rows: Rows, sets: LabelSets, settings: Settings, sample_weight: Any) -> Solution:
        """Train a binary problem per label; sets the weights."""
        refuse_settings(self)
        start = None
        if self.warm_start and hasattr(self, "coef_") and np.array_equal(self.classes_, sets.classes):
            shape = sets.classes.size, rows.n_columns
            start = weights_by_label(self.coef_, self.intercept_ if self.fit_intercept else None, shape)
        problem = MultilabelProblem(
            rows, sets, settings, intercept=self.fit_intercept, balanced=self.class_weight == "balanced",
            sample_weight=sample_weight,
        )
        found = problem.solve(start)
        self.classes_, self.label_form_ = sets.classes, sets.form
        self.coef_, self.intercept_ = weights_of(found, rows.n_columns)
        return of_all(found)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the accuracy; where examples may have several labels, the share of those with all labels right."""
        if self.label_form_ is None:
            X, y = self._columns(X, y)
            from sklearn.metrics import accuracy_score

            return float(accuracy_score(y, self.predict(X), sample_weight=sample_weight))
        right = self._label_indicator(self._margins(X)) == known_indicator(y, self.classes_, self.label_separator)
        return float(np.average(right.all(axis=1), weights=sample_weight))

    def _train(
        self, data: MulticlassData, settings: Settings, before: Any, held_out: tuple[Rows, Any] | None
    ) -> Solution:
        """Solve at ``strength_``, from a checkpoint or from the weights ``before`` where there are any that fit."""
        named = ("classifier", settings.penalty, self.strength_, f"{data.n_examples}x{data.n_features}")
        checkpoint = open_checkpoint(self.checkpoint, data, *named, settings.solver)
        w0 = None
        if before is not None and np.array_equal(before[0], self.classes_) and before[1].size == self._n_weights():
            w0 = before[1]
        problem = LinearProblem(data, settings, intercept=self.fit_intercept)

        def score(weights: FloatArray) -> float:
            self._set_weights(weights)
            return float(np.mean(self.predict(held_out[0]) == held_out[1])) if held_out is not None else math.nan

        return problem.solve(
            self.strength_, start=w0, checkpoint=checkpoint, score=None if held_out is None else score
        )

    def _tune(self, data: MulticlassData, settings: Settings, held_out: Any) -> Solution | None:
        """Choose ``strength_``; return the solution found there, unless it is one of a fold."""
        if self.tune == "cv":
            tuned = cross_validate(data, settings, intercept=self.fit_intercept)
        else:
            strengths = None if isinstance(self.tune, str) else self.tune
            examples = self._held_out(*held_out)
            tuned = tune_on(examples, LinearProblem(data, settings, intercept=self.fit_intercept), strengths)
        self.strength_, self.tuning_ = tuned.strength, tuned.table
        return tuned.solution

    def _warn(self, data: MulticlassData | None, *, tuning: bool) -> None:
        """Warn of training that ended early or has no optimum; ``data`` None: the examples are elsewhere."""
        if self.status_ == Status.INTERRUPTED:
            message = f"training was interrupted after {self.n_iter_} passes; the best weights so far are kept"
            if tuning:
                message = "training was interrupted while the strength was being chosen; the best one so far is kept"
            warnings.warn(message, InterruptedWarning, stacklevel=caller_level())
            return
        warn_before_optimum(self, "Raise max_iterations or loosen tolerance.")
        if self.penalty in (None, "none") or self.strength_ == 0:
            accuracy = 0.0
            if data is not None:
                _, accuracy = path.HeldOut(data, self.fit_intercept, self.n_threads).score(self._flat())
            if accuracy == 1.0 or not self.converged_:
                from sklearn.exceptions import ConvergenceWarning

                warnings.warn(
                    "without a penalty the optimum may be at infinity (the classes can be separated): weights have no "
                    "finite limit. Give a penalty with a positive strength.",
                    ConvergenceWarning,
                    stacklevel=caller_level(),
                )

    def _n_columns(self) -> int:
        """Weights per feature: two classes share one, labels of which examples may have several do not."""
        return 1 if self.classes_.size == 2 and self.label_form_ is None else self.classes_.size

    def _n_weights(self) -> int:
        return (self.n_features_in_ + self.fit_intercept) * self._n_columns()

    def _set_weights(self, w: FloatArray) -> None:
        K, n_features = self._n_columns(), self.n_features_in_
        self.coef_ = w[: n_features * K].reshape(n_features, K).T
        self.intercept_ = w[n_features * K :].copy() if self.fit_intercept else np.zeros(K)
        if K > 1 and self.label_form_ is None:  # what all classes share changes no probability
            self.intercept_ -= self.intercept_.mean()
            if self.penalty in (None, "none", "l2") and not self.nonnegative:  # under l2 so at the optimum
                self.coef_ = self.coef_ - self.coef_.mean(axis=0)

    def _flat(self) -> FloatArray:
        flat = np.ascontiguousarray(as_dense(self.coef_).T, dtype=np.float64).reshape(-1)
        return np.concatenate([flat, self.intercept_]) if self.fit_intercept else flat

    @training_method
    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> MaxentClassifier:
        """Learn online from one more batch (FTRL-Proximal, one pass); ``classes`` is needed at the first call.

        The penalty counts once for the whole stream, as in ``fit``. Feature names are those of the first batch.
        """
        X, y = self._columns(X, y)
        settings = self._settings()
        if self.label_form_ is not None or read_label_sets(y, self.label_separator) is not None:
            raise ValueError("partial_fit takes one label per example: learn a classifier per label")
        if self.one_vs_rest:
            raise ValueError("partial_fit learns one problem for all classes: leave out one_vs_rest")
        if self.class_weight is not None:
            raise ValueError("class_weight needs the numbers of all examples: give partial_fit a sample_weight")
        learner: OnlineLearner | None = getattr(self, "_online", None)
        fresh = learner is None and not hasattr(self, "coef_")
        if learner is None:
            if classes is None:
                if not hasattr(self, "classes_"):
                    raise ValueError("classes must be passed on the first call to partial_fit.")
                classes = self.classes_
            if not fresh and not np.array_equal(np.unique(np.asarray(classes)), self.classes_):
                raise ValueError(f"classes differ from those of the model: {self.classes_.tolist()}")
            self.classes_ = np.unique(np.asarray(classes))
            if self.classes_.size < 2:
                raise ValueError("at least two classes are needed")
        elif classes is not None and not np.array_equal(np.unique(np.asarray(classes)), self.classes_):
            raise ValueError(f"classes differ from those of the first call to partial_fit: {self.classes_.tolist()}")
        rows = self._fit_rows(X) if fresh else self._rows(X)
        penalty = penalties.make(
            self.penalty, settings.strength, nonnegative=self.nonnegative, l1_ratio=self.l1_ratio,
            n_free=self._n_columns() * self.fit_intercept, n_threads=self.n_threads,
        )
        y = np.asarray(y)
        check_targets(y)
        data = self._data(rows, known_numbers(y, self.classes_), sample_weight)
        if learner is None:
            # A loaded model's weights are read-only, hence the copy.
            weights = np.zeros(self._n_weights()) if fresh else np.array(self._flat())
            learner = OnlineLearner.start(weights, penalty)
        learner.learn(data, penalty, intercept=self.fit_intercept)
        self._online, self.strength_ = learner, settings.strength
        self._set_weights(learner.weights.copy())
        self.n_iter_ = getattr(self, "n_iter_", 0) + 1
        return self

    @renamed("validation", "X_valid", "y_valid")
    def regularization_path(
        self, X: Any, y: Any, strengths: Any = None, *, n_strengths: int = 20, validation: Any = None
    ) -> path.Path:
        """Return solutions at falling strengths with warm starts; each is scored on ``validation``, if there is any.

        This model stays as it is: weights are in the order of the features of a fresh ``fit`` on the same examples.
        """
        scratch, pair = type(self)(**self.get_params()), as_pair(validation)
        if read_label_sets(y, self.label_separator) is not None:
            raise ValueError("a path takes one label per example: make one per label")
        if self.one_vs_rest:
            raise ValueError("a path is that of one problem for all classes: leave out one_vs_rest")
        data = scratch._training_data(X, y)
        held_out = None if pair is None else scratch._held_out(*pair)
        problem = LinearProblem(data, self._settings(), intercept=self.fit_intercept)
        return path.Path(path.regularization_path(problem, strengths, n_strengths=n_strengths, held_out=held_out))
