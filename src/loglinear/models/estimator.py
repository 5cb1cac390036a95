"""Estimator: what the models share as scikit-learn estimators."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator

from loglinear.models.trainer import Trainer


class Estimator(Trainer, BaseEstimator):
    """A model of scikit-learn: ``class Tagger(TaggerTrainer, Estimator)``."""

    def parameters(self) -> dict[str, Any]:
        """Return the parameters by name, as a model file keeps them."""
        return dict(self.get_params(deep=False))
