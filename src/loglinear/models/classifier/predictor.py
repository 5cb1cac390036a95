"""ClassifierPredictor: everything that uses a trained classifier."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from loglinear import _core
from loglinear.arrays import FloatArray
from loglinear.data.matrix import DenseRows, Rows, SparseRows
from loglinear.features.featuriser import Featuriser
from loglinear.metrics.evaluation import evaluate_classifier, judge
from loglinear.models.archive import Archive
from loglinear.models.classifier import file
from loglinear.models.classifier.explain import Explanation, explain
from loglinear.models.classifier.inputs import featurise, matrix_rows, texts_and_labels
from loglinear.models.classifier.mistakes import most_confident
from loglinear.models.predictor import Predictor
from loglinear.threads import pool

if TYPE_CHECKING:
    from typing_extensions import Self


class ClassifierPredictor(Predictor):
    """A trained maximum-entropy classifier: classes, probabilities, weights and explanations.

    ``X`` in its methods holds examples of the kind the model was trained on: an array, a scipy sparse matrix or
    ``SparseRows``; or a list of dicts, of token lists or of texts.
    """

    kind = file.KIND
    text_column: str | None = None  # not kept in files, since they are those of records at hand
    label_column: str | None = None
    classes_: np.ndarray  # [n_classes], sorted
    coef_: FloatArray  # [K, n_features]; K is 1 for two classes, otherwise the number of classes
    intercept_: FloatArray  # [K]
    featuriser_: Featuriser | None  # None where X is a matrix
    n_features_in_: int

    def _columns(self, X: Any, y: Any = None) -> tuple[Any, Any]:
        """Return examples and labels; of records with a ``text_column``, their texts, and their labels if y is None."""
        if self.text_column is None:
            return X, y
        return texts_and_labels(X, y, self.text_column, self.label_column)

    def _rows(self, X: Any) -> Rows:
        """Encode examples for prediction; rows that are encoded already are taken as they are."""
        X = self._columns(X, ())[0]
        if isinstance(X, (SparseRows, DenseRows)):
            rows: Rows = X
        elif self.featuriser_ is not None:
            return featurise(self.featuriser_, X, self.n_threads, fit=False)
        else:
            rows = self._matrix_rows(X)
        if rows.n_columns != self.n_features_in_:
            raise ValueError(f"X has {rows.n_columns} features, but the model was trained on {self.n_features_in_}")
        return rows

    def _matrix_rows(self, X: Any) -> Rows:
        return matrix_rows(X)

    def _margins(self, X: Any) -> FloatArray:
        self.check_fitted()
        rows = self._rows(X)
        K = self.coef_.shape[0]
        out = np.empty(rows.n_rows * K)
        weights = np.ascontiguousarray(self.coef_.T, dtype=np.float64)
        rows.margins(pool(self.n_threads), weights, np.ascontiguousarray(self.intercept_, dtype=np.float64), K, out)
        return out

    def decision_function(self, X: Any) -> FloatArray:
        """Return the scores w.x + b: [n] for two classes (positive means ``classes_[1]``), [n, n_classes] for more."""
        margins = self._margins(X)
        return margins if self.coef_.shape[0] == 1 else margins.reshape(-1, self.coef_.shape[0])

    def _probabilities(self, X: Any, logarithm: bool) -> FloatArray:
        margins, K = self._margins(X), self.coef_.shape[0]
        threads = pool(self.n_threads)
        if K > 1:
            _core.probabilities(threads, margins, K, logarithm)
            return margins.reshape(-1, K)
        flat = np.stack([-margins, margins], axis=1).reshape(-1)
        _core.probabilities(threads, flat, 1, logarithm)
        return flat.reshape(-1, 2)

    def predict_proba(self, X: Any) -> FloatArray:
        """Return probabilities [n, n_classes]: rows sum to one, columns are in the order of ``classes_``."""
        return self._probabilities(X, False)

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return the logarithms of ``predict_proba``, exact where the probability itself would be zero."""
        return self._probabilities(X, True)

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable class of each example."""
        margins, K = self._margins(X), self.coef_.shape[0]
        best = (margins > 0).astype(int) if K == 1 else margins.reshape(-1, K).argmax(axis=1)
        return self.classes_[best]

    def evaluate(self, X: Any, y: Any = None, *, errors: int = 0) -> dict[str, Any]:
        """Return the figures of ``classify eval``: accuracy, log-loss, F1, scores by class, confusions, unseen labels.

        Labels are compared as text, and those that never occurred in training count as errors. With ``errors``, the
        so many most confident mistakes are told too, each with the features that decided it.
        """
        self.check_fitted()
        X, y = self._columns(X, y)
        judged = judge(self, X, y)
        found = evaluate_classifier(judged).to_dict()
        if errors:
            found["errors"] = [mistake.to_dict() for mistake in most_confident(self, X, judged, errors)]
        return found

    # ---- looking inside ---------------------------------------------------------------------------------------------
    def feature_names(self) -> list[str]:
        """Return the names of the features, in the order of ``coef_``."""
        self.check_fitted()
        if self.featuriser_ is not None:
            return self.featuriser_.names()
        if hasattr(self, "feature_names_in_"):
            return [str(name) for name in self.feature_names_in_]
        return [f"x{j}" for j in range(self.n_features_in_)]

    def feature_name(self, j: int) -> str:
        """Return the name of one feature."""
        if self.featuriser_ is not None:
            return self.featuriser_.name(j)
        return str(self.feature_names_in_[j]) if hasattr(self, "feature_names_in_") else f"x{j}"

    def top_features(self, k: int = 10) -> dict[Any, list[tuple[str, float]]]:
        """Return for every class the k features with the largest weights towards it."""
        names = self.feature_names()
        return {
            label: [(names[j], float(w[j])) for j in np.argsort(-w, kind="stable")[:k] if w[j] > 0]
            for label, w in zip(self.classes_.tolist(), self.class_weights()[0])
        }

    def class_weights(self) -> tuple[FloatArray, FloatArray]:
        """Return weights [n_classes, n_features] and intercepts [n_classes], for two classes those of both."""
        if self.coef_.shape[0] > 1:
            return self.coef_, self.intercept_
        return np.concatenate([-self.coef_, self.coef_]), np.concatenate([-self.intercept_, self.intercept_])

    def explain(self, x: Any) -> Explanation:
        """Return which features of one example pushed which class, and by how much."""
        self.check_fitted()
        if self.featuriser_ is not None:
            x = [x]
        elif not hasattr(x, "tocsr"):
            x = np.asarray(x, dtype=np.float64).reshape(1, -1)
        return explain(self, self._rows(x))

    # ---- files ------------------------------------------------------------------------------------------------------
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write one `.ll` file, atomically; ``loglinear.load`` reads it. Zero weights are left out."""
        self.check_fitted()
        file.save(self, path)

    @classmethod
    def from_archive(cls, archive: Archive, source: Any) -> Self:
        """Make the classifier of an opened file; ``source`` is the name of the file in messages."""
        return file.load(cls, archive, source)
