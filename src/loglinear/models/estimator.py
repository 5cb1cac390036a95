"""Estimator: what the models share as scikit-learn estimators."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator

from loglinear.models.trainer import Trainer


class Estimator(Trainer, BaseEstimator):
    """A model of scikit-learn: ``class Tagger(TaggerTrainer, Estimator)``."""

    def parameters(self) -> dict[str, Any]:
        """Return the parameters by name, as a model file keeps them: without the log, which is that of one training."""
        return {name: value for name, value in self.get_params(deep=False).items() if name != "log"}
