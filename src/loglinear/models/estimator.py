"""Estimator: what the models share once they are trained in this process, as scikit-learn estimators."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import fields
from typing import Any, ClassVar, TypeVar

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from loglinear.models.predictor import Predictor
from loglinear.optimise.training import Settings

_Method = TypeVar("_Method", bound=Callable[..., Any])


class Estimator(Predictor, BaseEstimator):
    """A predictor that can be trained: ``class Tagger(TaggerPredictor, Estimator)``."""

    fitted_attribute: ClassVar[str]  # such as "weights_": the model is trained once it has this

    def parameters(self) -> dict[str, Any]:
        """Return the parameters by name, as a model file keeps them."""
        return dict(self.get_params(deep=False))

    def check_fitted(self) -> None:
        """Raise sklearn's NotFittedError unless the model is trained."""
        check_is_fitted(self, self.fitted_attribute)


def solver_settings(model: Any) -> Settings:
    """Return the settings of the solver: the parameters of a model that have the same names."""
    own = {field.name: getattr(model, field.name) for field in fields(Settings) if hasattr(model, field.name)}
    return Settings(**{**own, "strength": float(model.strength), "solver_options": dict(model.solver_options or {})})


def restore_on_failure(method: _Method) -> _Method:
    """Decorate ``fit`` so that a failed or interrupted call leaves the model as it was."""

    @functools.wraps(method)
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = dict(self.__dict__)
        try:
            return method(self, *args, **kwargs)
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    return run  # type: ignore[return-value]
