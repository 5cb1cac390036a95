"""ClassifierPredictor: everything that uses a trained classifier."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from loglinear import _core
from loglinear.arrays import FloatArray
from loglinear.data.matrix import DenseRows, Rows, SparseRows, as_dense, is_sparse
from loglinear.features.featuriser import Featuriser
from loglinear.metrics.evaluation import evaluate_classifier, judge
from loglinear.models.archive import Archive
from loglinear.models.classifier import file
from loglinear.models.classifier.explain import Explanation, explain
from loglinear.models.classifier.inputs import featurise, matrix_rows, plain_examples, texts_and_labels
from loglinear.models.classifier.label_sets import evaluate_label_sets, in_form
from loglinear.models.classifier.mistakes import most_confident
from loglinear.models.predictor import Predictor
from loglinear.threads import pool

if TYPE_CHECKING:
    from typing_extensions import Self


_MARGINS_AT_ONCE = 1 << 22  # of predict: 32 MB


class ClassifierPredictor(Predictor):
    """A trained maximum-entropy classifier: classes, probabilities, weights and explanations.

    ``X`` in its methods holds examples of the kind the model was trained on: an array, a scipy sparse matrix or
    ``SparseRows``; or a list of dicts, of token lists or of texts, which may be a Series or an array too.
    """

    kind = file.KIND
    text_column: str | None = None  # not kept in files, since they are those of records at hand
    label_column: str | None = None
    classes_: np.ndarray  # [n_classes], sorted
    coef_: Any  # [K, n_features], sparse after sparsify(); K is 1 for two classes, otherwise the number of classes
    intercept_: FloatArray  # [K]
    featuriser_: Featuriser | None  # None where X is a matrix
    n_features_in_: int
    label_form_: str | None = None  # of labels of which an example may have several: how predict returns them
    label_separator: str | None = None

    def _columns(self, X: Any, y: Any = None) -> tuple[Any, Any]:
        """Return examples and labels; of records with a ``text_column``, their texts, and their labels if y is None."""
        if self.text_column is None:
            return plain_examples(X), y
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
        bias = np.ascontiguousarray(self.intercept_, dtype=np.float64)
        if is_sparse(self.coef_):
            rows.sparse_margins(pool(self.n_threads), SparseRows.from_scipy(self.coef_.T), bias, out)
        else:
            rows.margins(pool(self.n_threads), np.ascontiguousarray(self.coef_.T, dtype=np.float64), bias, K, out)
        return out

    def sparsify(self) -> Self:
        """Keep only the weights that are not zero: ``coef_`` becomes a scipy sparse matrix. Predictions stay."""
        from scipy import sparse

        self.check_fitted()
        self.coef_ = sparse.csr_matrix(self.coef_)
        self.coef_.eliminate_zeros()
        return self

    def densify(self) -> Self:
        """Make ``coef_`` an array again, which training needs."""
        self.check_fitted()
        self.coef_ = as_dense(self.coef_)
        return self

    def decision_function(self, X: Any) -> FloatArray:
        """Return the scores w.x + b: [n] for two classes (positive means ``classes_[1]``), [n, n_classes] for more."""
        rows, K = self._encoded_rows(X), self.coef_.shape[0]
        margins = self._margins(rows)
        return margins if K == 1 and self.label_form_ is None else margins.reshape(-1, K)

    def _probabilities(self, X: Any, logarithm: bool) -> FloatArray:
        rows, K = self._encoded_rows(X), self.coef_.shape[0]
        margins, threads = self._margins(rows), pool(self.n_threads)
        if self.label_form_ is not None:
            _core.probabilities(threads, margins, 1, logarithm)
            return margins.reshape(-1, K)
        if K > 1:
            _core.probabilities(threads, margins, K, logarithm)
            return margins.reshape(-1, K)
        flat = np.stack([-margins, margins], axis=1).reshape(-1)
        _core.probabilities(threads, flat, 1, logarithm)
        return flat.reshape(-1, 2)

    def _encoded_rows(self, X: Any) -> Rows:
        self.check_fitted()
        return self._rows(X)

    def predict_proba(self, X: Any) -> FloatArray:
        """Return probabilities [n, n_classes] in the order of ``classes_``: rows sum to one, but for several labels."""
        return self._probabilities(X, False)

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return the logarithms of ``predict_proba`` [n, n_classes], exact where a probability itself would be zero."""
        return self._probabilities(X, True)

    def _label_indicator(self, margins: FloatArray) -> np.ndarray:
        return margins.reshape(-1, self.classes_.size) > 0

    def predict(self, X: Any) -> Any:
        """Return the most probable class of each example; of several labels, those with probability above 1/2."""
        rows, K, several = self._encoded_rows(X), self.coef_.shape[0], self.label_form_ is not None
        size = max(1, _MARGINS_AT_ONCE // K)
        found = []
        for begin in range(0, max(rows.n_rows, 1), size):
            part = rows if rows.n_rows <= size else rows.take(np.arange(begin, min(begin + size, rows.n_rows)))
            margins = self._margins(part).reshape(-1, K)
            found.append(margins > 0 if several else margins[:, 0] > 0 if K == 1 else margins.argmax(axis=1))
        best = np.concatenate(found)
        if self.label_form_ is not None:
            return in_form(best, self.classes_, self.label_form_, self.label_separator)
        return self.classes_[best.astype(int)]

    def evaluate(self, X: Any, y: Any = None, *, errors: int = 0) -> dict[str, Any]:
        """Return the figures of ``classify eval``: accuracy, log-loss, F1, scores by class, confusions, unseen labels.

        Labels are compared as text, and those that never occurred in training count as errors. With ``errors``, the
        so many most confident mistakes are told too, each with the features that decided it.
        """
        self.check_fitted()
        X, y = self._columns(X, y)
        if self.label_form_ is not None:
            return evaluate_label_sets(self, X, y, errors)
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

    def class_weights(self, features: Any = None) -> tuple[FloatArray, FloatArray]:
        """Return weights [n_classes, n_features] and intercepts [n_classes], for two classes those of both.

        features : numbers of the features wanted; None: all
        """
        coef = as_dense(self.coef_ if features is None else self.coef_[:, features])
        if coef.shape[0] > 1 or self.label_form_ is not None:
            return coef, self.intercept_
        return np.concatenate([-coef, coef]), np.concatenate([-self.intercept_, self.intercept_])

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
