"""Classifiers in eli5: after ``register()``, its ``explain_weights`` and ``explain_prediction`` take them.

A model of texts, tokens or dicts needs no ``vec``: it has features of its own, whose names are shown, and ``doc``
is a raw example.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from loglinear.data.matrix import DenseRows, SparseRows
from loglinear.models.classifier.predictor import ClassifierPredictor

__all__ = ["register"]


def register() -> None:
    """Let eli5 explain classifiers; more calls than one do no harm."""
    import eli5
    from eli5.sklearn.explain_prediction import explain_prediction_linear_classifier
    from eli5.sklearn.explain_weights import explain_linear_classifier_weights

    def weights(model: ClassifierPredictor, vec: Any = None, feature_names: Any = None, **options: Any) -> Any:
        """Return eli5's explanation of the weights."""
        names = _names(model, vec, feature_names)
        return explain_linear_classifier_weights(model, vec=vec, feature_names=names, **options)

    def prediction(
        model: ClassifierPredictor, doc: Any, vec: Any = None, feature_names: Any = None, **options: Any
    ) -> Any:
        """Return eli5's explanation of the prediction for one example."""
        names = _names(model, vec, feature_names)
        if model.featuriser_ is not None:
            model, doc = _of_numbers(model), _row(model, doc)
        return explain_prediction_linear_classifier(model, doc, vec=vec, feature_names=names, **options)

    eli5.explain_weights.register(ClassifierPredictor)(weights)
    eli5.explain_prediction.register(ClassifierPredictor)(prediction)


def _names(model: ClassifierPredictor, vec: Any, given: Any) -> Any:
    if given is not None or vec is not None:
        return given
    return np.array(model.feature_names(), dtype=object)


def _of_numbers(model: ClassifierPredictor) -> ClassifierPredictor:
    """Return the same model for encoded examples."""
    plain = copy.copy(model)
    plain.featuriser_ = None
    return plain


def _row(model: ClassifierPredictor, doc: Any) -> np.ndarray:
    """Return one raw example as a vector."""
    rows = model._rows([doc])
    if isinstance(rows, DenseRows):
        return rows.X[0]
    assert isinstance(rows, SparseRows)
    vector = np.zeros(rows.n_columns)
    np.add.at(vector, rows.indices, rows.values)
    return vector
