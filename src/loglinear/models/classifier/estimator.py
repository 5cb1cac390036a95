"""MaxentClassifier: multinomial logistic regression as a scikit-learn estimator."""

from __future__ import annotations

import os
import time
import warnings
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from loglinear import _core, penalties
from loglinear.arrays import FloatArray
from loglinear.data.matrix import Rows, SparseRows
from loglinear.data.multiclass import MulticlassData
from loglinear.errors import InterruptedWarning
from loglinear.features import Featuriser
from loglinear.models.classifier import file as classifier_file
from loglinear.models.classifier import path
from loglinear.models.classifier.explain import Explanation
from loglinear.models.classifier.inputs import featurise, featuriser_for, matrix_rows
from loglinear.models.classifier.online import OnlineLearner
from loglinear.models.classifier.training import LinearProblem
from loglinear.models.push import Push
from loglinear.optimise.checkpoint import open_checkpoint
from loglinear.optimise.training import Settings, Solution
from loglinear.status import Status
from loglinear.threads import pool

Tuned: TypeAlias = tuple[float, float, float]  # strength, held-out loss, held-out accuracy


class MaxentClassifier(ClassifierMixin, BaseEstimator):
    """Maximum-entropy classifier (multinomial logistic regression).

    Minimises  sum of log-losses + strength * penalty,  l2 = |w|^2 / 2, l1 = |w|_1; intercepts carry no penalty.
    scikit-learn's ``C`` is ``1 / strength``. Two classes share one weight vector.

    Parameters
    ----------
    penalty : "l2", "l1", "elastic_net" or "none"
    strength : weight of the penalty
    l1_ratio : share of l1 in the elastic net
    nonnegative : keep all weights (not intercepts) at or above zero
    solver : "auto" or one of ``loglinear.solvers.SOLVERS``; ``solver_`` and ``solver_reason_`` say what was taken
    solver_options : dict of settings of that solver, such as ``{"cluster_factor": 20}``
    tolerance : training stops when the violation of optimality is below this fraction of the gradient at zero
    max_iterations : upper limit of solver steps
    fit_intercept : whether classes have intercepts
    tune : None, "cv" (five-fold cross-validation) or "validation" (needs X_valid and y_valid in ``fit``): choose the
        strength along a path from strong to weak; ``strength_`` is the choice
    ngrams, min_count : for lists of texts: which word n-grams are features, and how often they must occur
    n_threads : native threads; None means all cores
    random_state : seed of the stochastic solver and of the folds of tune="cv"
    warm_start : start from the weights of the last fit
    verbose : "auto" (a bar on a terminal after two seconds), 0, or 1 (a line per step)
    checkpoint : path of a file to save the weights to while training, and to resume from

    ``X`` may be an array, a scipy sparse matrix (32- or 64-bit indices), a list of dicts, of token lists or of texts.
    """

    def __init__(
        self,
        penalty: str = "l2",
        strength: float = 1.0,
        *,
        l1_ratio: float = 0.5,
        nonnegative: bool = False,
        solver: str = "auto",
        solver_options: dict[str, Any] | None = None,
        tolerance: float = 1e-4,
        max_iterations: int = 1000,
        fit_intercept: bool = True,
        tune: str | None = None,
        ngrams: tuple[int, ...] = (1,),
        min_count: int = 1,
        n_threads: int | None = None,
        random_state: int | None = None,
        warm_start: bool = False,
        verbose: str | int = "auto",
        checkpoint: str | os.PathLike[str] | None = None,
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
        self.tune = tune
        self.ngrams = ngrams
        self.min_count = min_count
        self.n_threads = n_threads
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.checkpoint = checkpoint

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # ---- encoding ---------------------------------------------------------------------------------------------------
    def _encode(self, X: Any, *, fit: bool) -> Rows:
        """Rows of examples of any accepted kind."""
        known: Featuriser | None = getattr(self, "featuriser_", None)
        if not fit and known is not None:
            return featurise(known, X, self.n_threads, fit=False)
        if fit:
            self.featuriser_ = featuriser_for(X, ngrams=self.ngrams, min_count=self.min_count)
            if self.featuriser_ is not None:
                rows = featurise(self.featuriser_, X, self.n_threads, fit=True)
                self.n_features_in_ = rows.n_columns
                if rows.n_columns == 0:
                    raise ValueError("the examples have no features at all: there is nothing to learn from")
                return rows
        X = validate_data(
            self, X, accept_sparse=["csr", "csc", "coo"], dtype=np.float64, accept_large_sparse=True, reset=fit
        )
        return matrix_rows(X)

    def _encode_labels(self, y: Any, n_examples: int) -> np.ndarray:
        """Numbers of the labels; sets ``classes_``."""
        if y is None:
            raise ValueError("This MaxentClassifier estimator requires y to be passed, but the target y is None.")
        if isinstance(y, list):
            y = np.asarray(y)
        else:
            y = check_array(y, ensure_2d=False, dtype=None, ensure_min_samples=0)
        if y.ndim == 2 and y.shape[1] == 1:
            from sklearn.exceptions import DataConversionWarning

            warnings.warn(
                "A column-vector y was passed when a 1d array was expected. Please change the shape of y to "
                "(n_samples,), for example using ravel().",
                DataConversionWarning,
                stacklevel=4,
            )
            y = y.ravel()
        check_classification_targets(y)
        if y.ndim != 1 or y.size != n_examples:
            raise ValueError(f"{n_examples} examples but labels of shape {y.shape}: one label per example is needed")
        self.classes_, numbers = np.unique(y, return_inverse=True)
        if self.classes_.size < 2:
            raise ValueError(
                "Classifier can't train when only one class is present: every example is "
                f"{self.classes_.tolist()[0]!r}. At least two classes are needed."
            )
        return numbers.astype(np.int32)

    def _settings(self) -> Settings:
        strength: Any = self.strength
        if isinstance(strength, bool) or not np.isscalar(strength) or not strength >= 0:  # type: ignore[operator]
            raise ValueError(f"strength must be a number, not negative, but is {self.strength!r}")
        return Settings(
            penalty=self.penalty,
            strength=float(strength),  # type: ignore[arg-type]
            l1_ratio=self.l1_ratio,
            nonnegative=self.nonnegative,
            solver=self.solver,
            solver_options=dict(self.solver_options or {}),
            tolerance=self.tolerance,
            max_iterations=self.max_iterations,
            n_threads=self.n_threads,
            random_state=self.random_state,
            verbose=self.verbose,
        )

    def _data(self, rows: Rows, labels: np.ndarray, sample_weight: Any) -> MulticlassData:
        """Examples without weight are left out: they cannot change anything."""
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

    # ---- training ---------------------------------------------------------------------------------------------------
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, X_valid: Any = None, y_valid: Any = None
    ) -> MaxentClassifier:
        """Train on examples and labels; ``X_valid`` and ``y_valid`` are for tune="validation"."""
        start = time.perf_counter()
        settings = self._settings()
        before = (self.classes_, self._flat()) if self.warm_start and hasattr(self, "coef_") else None
        rows = self._encode(X, fit=True)
        data = self._data(rows, self._encode_labels(y, rows.n_rows), sample_weight)
        self.strength_ = settings.strength
        solution = None
        if self.tune is not None:
            self.strength_, solution = self._tune(data, settings, X_valid, y_valid)
        tuning = solution is not None
        if solution is None:
            solution = self._train(data, settings, before)
        self._set_weights(solution.weights, rows.n_columns)
        result = solution.result
        self.solver_, self.solver_reason_ = solution.solver, solution.reason
        self.n_iter_, self.history_, self.objective_ = max(result.n_iterations, 1), result.history, result.value
        self.violation_, self.converged_, self.status_ = result.violation, result.converged, result.status
        self.fit_seconds_ = time.perf_counter() - start
        self._online: OnlineLearner | None = None
        self._warn(data, tuning=tuning)
        return self

    def _train(self, data: MulticlassData, settings: Settings, before: Any) -> Solution:
        """Solve at ``strength_``, from a checkpoint or from the weights ``before`` where there are any that fit."""
        named = ("classifier", settings.penalty, self.strength_, f"{data.n_examples}x{data.n_features}")
        checkpoint = open_checkpoint(self.checkpoint, data, *named, settings.solver)
        w0, rows = None, data.rows
        if before is not None and np.array_equal(before[0], self.classes_) and before[1].size == self._n_weights(rows):
            w0 = before[1]
        problem = LinearProblem(data, settings, intercept=self.fit_intercept)
        return problem.solve(self.strength_, start=w0, checkpoint=checkpoint)

    def _tune(
        self, data: MulticlassData, settings: Settings, X_valid: Any, y_valid: Any
    ) -> tuple[float, Solution | None]:
        """(the best strength, None), or on Ctrl-C the best so far and its solution, to end with."""
        if self.penalty == "none":
            raise ValueError("tune chooses the strength of a penalty, but penalty='none'")
        common: dict[str, Any] = {"intercept": self.fit_intercept, "patience": 4}
        if self.tune == "validation":
            if X_valid is None or y_valid is None:
                raise ValueError("tune='validation' needs X_valid and y_valid in fit")
            held_out = MulticlassData(self._encode(X_valid, fit=False), self._known_labels(y_valid), self.classes_.size)
            points = path.regularization_path(data, settings, held_out=held_out, **common)
            self.tuning_ = [(p.strength, *p.held_out()) for p in points]
            if points[-1].result.status == Status.INTERRUPTED:
                best = min(points, key=lambda p: p.held_out()[0])
                ended = replace(best.result, status=Status.INTERRUPTED)
                return best.strength, replace(best.solution, result=ended)
        elif self.tune == "cv":
            self.tuning_ = self._cross_validate(data, settings)
        else:
            raise ValueError(f"tune must be None, 'cv' or 'validation', not {self.tune!r}")
        return float(min(self.tuning_, key=lambda row: row[1])[0]), None

    def _cross_validate(self, data: MulticlassData, settings: Settings, n_folds: int = 5) -> list[Tuned]:
        from sklearn.model_selection import KFold, StratifiedKFold

        smallest = int(np.bincount(data.labels, minlength=data.n_classes).min())
        seed = 0 if self.random_state is None else self.random_state
        stratified = smallest >= 2
        n_folds = min(n_folds, smallest if stratified else data.n_examples)
        folds = (StratifiedKFold if stratified else KFold)(n_folds, shuffle=True, random_state=seed)
        strengths = path.default_strengths(LinearProblem(data, settings, intercept=self.fit_intercept), 20)
        table = np.zeros((strengths.size, 2))
        for train, test in folds.split(np.zeros(data.n_examples), data.labels):
            points = path.regularization_path(
                data.take(train), settings, list(strengths), intercept=self.fit_intercept, held_out=data.take(test)
            )
            if len(points) < strengths.size:  # Ctrl-C in a fold: there is no table to choose from
                raise KeyboardInterrupt
            table += [p.held_out() for p in points]
        table /= n_folds
        return [(float(s), float(row[0]), float(row[1])) for s, row in zip(strengths, table)]

    def _known_labels(self, y: Any) -> np.ndarray:
        y = np.asarray(y)
        numbers = np.searchsorted(self.classes_, y)
        unseen = (numbers >= self.classes_.size) | (self.classes_[np.minimum(numbers, self.classes_.size - 1)] != y)
        if np.any(unseen):
            where = int(np.flatnonzero(unseen)[0])
            raise ValueError(
                f"label {y.tolist()[where]!r} (example {where}) was not seen in training; "
                f"known: {self.classes_.tolist()}"
            )
        return numbers.astype(np.int32)

    def _warn(self, data: MulticlassData, *, tuning: bool) -> None:
        if self.status_ == Status.INTERRUPTED:
            message = f"training was interrupted after {self.n_iter_} steps; the best weights so far are kept"
            if tuning:
                message = "training was interrupted while the strength was being chosen; the best one so far is kept"
            warnings.warn(message, InterruptedWarning, stacklevel=3)
            return
        if not self.converged_:
            warnings.warn(
                f"training stopped before the optimum ({self.status_}): violation {self.violation_:.3g} after "
                f"{self.n_iter_} steps. Raise max_iterations, loosen tolerance or scale the features.",
                ConvergenceWarning,
                stacklevel=3,
            )
        if self.penalty == "none" or self.strength_ == 0:
            _, accuracy = path.score(data, self._flat(), self.fit_intercept, self.n_threads)
            if accuracy == 1.0 or not self.converged_:
                warnings.warn(
                    "without a penalty the optimum may be at infinity (the classes can be separated): weights have no "
                    "finite limit. Give a penalty with a positive strength.",
                    ConvergenceWarning,
                    stacklevel=3,
                )

    def _n_weights(self, rows: Rows) -> int:
        K = 1 if self.classes_.size == 2 else self.classes_.size
        return (rows.n_columns + self.fit_intercept) * K

    def _set_weights(self, w: FloatArray, n_features: int) -> None:
        K = 1 if self.classes_.size == 2 else self.classes_.size
        self.coef_ = w[: n_features * K].reshape(n_features, K).T
        self.intercept_ = w[n_features * K :].copy() if self.fit_intercept else np.zeros(K)

    def _flat(self) -> FloatArray:
        flat = np.ascontiguousarray(self.coef_.T, dtype=np.float64).reshape(-1)
        return np.concatenate([flat, self.intercept_]) if self.fit_intercept else flat

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> MaxentClassifier:
        """Learn online from one more batch (FTRL-Proximal, one pass); ``classes`` is needed at the first call.

        The penalty counts once for the whole stream, as in ``fit``. Feature names are those of the first batch.
        """
        settings = self._settings()
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
        rows = self._encode(X, fit=fresh)
        K = 1 if self.classes_.size == 2 else self.classes_.size
        penalty = penalties.make(
            self.penalty,
            settings.strength,
            nonnegative=self.nonnegative,
            l1_ratio=self.l1_ratio,
            n_free=K * self.fit_intercept,
            n_threads=self.n_threads,
        )
        y = np.asarray(y)
        check_classification_targets(y)
        data = self._data(rows, self._known_labels(y), sample_weight)
        if learner is None:
            weights = (
                np.zeros(self._n_weights(rows)) if fresh else np.array(self._flat())
            )  # a loaded model's are read-only
            learner = OnlineLearner.start(weights, penalty)
        learner.learn(data, penalty, intercept=self.fit_intercept)
        self._online, self.strength_ = learner, settings.strength
        self._set_weights(learner.weights.copy(), rows.n_columns)
        self.n_iter_ = getattr(self, "n_iter_", 0) + 1
        return self

    # ---- prediction -------------------------------------------------------------------------------------------------
    def _margins(self, X: Any) -> FloatArray:
        check_is_fitted(self)
        rows = self._encode(X, fit=False)
        K = self.coef_.shape[0]
        out = np.empty(rows.n_rows * K)
        weights = np.ascontiguousarray(self.coef_.T, dtype=np.float64)
        rows.margins(pool(self.n_threads), weights, np.ascontiguousarray(self.intercept_, dtype=np.float64), K, out)
        return out

    def decision_function(self, X: Any) -> FloatArray:
        """Scores w.x + b: [n] for two classes (positive means ``classes_[1]``), [n, n_classes] for more."""
        margins = self._margins(X)
        return margins if self.coef_.shape[0] == 1 else margins.reshape(-1, self.coef_.shape[0])

    def _probabilities(self, X: Any, logarithm: bool) -> FloatArray:
        margins, K = self._margins(X), self.coef_.shape[0]
        threads = pool(self.n_threads)
        if K > 1:
            _core.probabilities(threads, margins, K, logarithm)
            return margins.reshape(-1, K)
        out = np.stack([-margins, margins], axis=1)
        flat = np.ascontiguousarray(out).reshape(-1)
        _core.probabilities(threads, flat, 1, logarithm)
        return flat.reshape(-1, 2)

    def predict_proba(self, X: Any) -> FloatArray:
        """[n, n_classes], rows sum to one, columns in the order of ``classes_``."""
        return self._probabilities(X, False)

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Logarithms of predict_proba, exact where the probability itself would be zero."""
        return self._probabilities(X, True)

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of each example."""
        margins, K = self._margins(X), self.coef_.shape[0]
        best = (margins > 0).astype(int) if K == 1 else margins.reshape(-1, K).argmax(axis=1)
        return self.classes_[best]

    # ---- looking inside ---------------------------------------------------------------------------------------------
    def feature_names(self) -> list[str]:
        """Names of the features, in the order of ``coef_``."""
        check_is_fitted(self)
        featuriser: Featuriser | None = getattr(self, "featuriser_", None)
        if featuriser is not None:
            return featuriser.names()
        if hasattr(self, "feature_names_in_"):
            return [str(name) for name in self.feature_names_in_]
        return [f"x{j}" for j in range(self.n_features_in_)]

    def top_features(self, k: int = 10) -> dict[Any, list[tuple[str, float]]]:
        """For every class the k features with the largest weights towards it."""
        names = self.feature_names()
        weights = self._class_weights()
        return {
            label: [(names[j], float(w[j])) for j in np.argsort(-w, kind="stable")[:k] if w[j] > 0]
            for label, w in zip(self.classes_.tolist(), weights)
        }

    def _class_weights(self) -> FloatArray:
        return self.coef_ if self.coef_.shape[0] > 1 else np.concatenate([-self.coef_, self.coef_])

    def explain(self, x: Any) -> Explanation:
        """Which features of one example pushed which class, and by how much."""
        check_is_fitted(self)
        if getattr(self, "featuriser_", None) is not None:
            X: Any = [x]
        elif hasattr(x, "tocsr"):
            X = x
        else:
            X = np.asarray(x, dtype=np.float64).reshape(1, -1)
        rows = self._encode(X, fit=False)
        if rows.n_rows != 1:
            raise ValueError(f"explain takes one example, not {rows.n_rows}")
        if isinstance(rows, SparseRows):
            index, values = rows.indices, rows.values
        else:
            index = np.flatnonzero(rows.X[0])
            values = rows.X[0, index]
        probability = self.predict_proba(X)[0]
        names, weights = self.feature_names(), self._class_weights()
        intercepts = self.intercept_ if self.coef_.shape[0] > 1 else np.array([-self.intercept_[0], self.intercept_[0]])
        labels = self.classes_.tolist()
        pushes, scores = {}, {}
        for c, label in enumerate(labels):
            shares = zip(index.tolist(), values.tolist(), weights[c, index].tolist())
            parts = [Push(names[j], value, weight, value * weight) for j, value, weight in shares]
            pushes[label] = sorted((p for p in parts if p.contribution), key=lambda p: -abs(p.contribution))
            scores[label] = float(intercepts[c]) + sum(p.contribution for p in parts)
        return Explanation(
            predicted=labels[int(np.argmax(probability))],
            probabilities=dict(zip(labels, probability.tolist())),
            scores=scores,
            intercepts=dict(zip(labels, np.asarray(intercepts).tolist())),
            pushes=pushes,
        )

    def regularization_path(
        self, X: Any, y: Any, strengths: Any = None, *, n_strengths: int = 20, X_valid: Any = None, y_valid: Any = None
    ) -> list[path.PathPoint]:
        """Solutions at falling strengths with warm starts; with validation data each point is scored on it.

        This model stays as it is: weights are in the order of the features of a fresh ``fit`` on the same examples.
        """
        scratch = clone(self)
        rows = scratch._encode(X, fit=True)
        data = scratch._data(rows, scratch._encode_labels(y, rows.n_rows), None)
        held_out = None
        if X_valid is not None:
            labels = scratch._known_labels(y_valid)
            held_out = MulticlassData(scratch._encode(X_valid, fit=False), labels, scratch.classes_.size)
        return path.regularization_path(
            data, self._settings(), strengths, n_strengths=n_strengths, intercept=self.fit_intercept, held_out=held_out
        )

    # ---- files ------------------------------------------------------------------------------------------------------
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write one `.ll` file, atomically; ``loglinear.load`` reads it. Zero weights are left out."""
        if not hasattr(self, "coef_"):
            raise NotFittedError("This MaxentClassifier instance is not fitted yet: there is nothing to save.")
        classifier_file.save(self, path)

    @classmethod
    def from_archive(cls, archive: Any, source: Any) -> MaxentClassifier:
        """The model in a file that ``loglinear.load`` has opened."""
        return classifier_file.load(cls, archive, source)
