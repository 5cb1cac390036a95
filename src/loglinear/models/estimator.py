"""Estimator: what the models share as scikit-learn estimators.

They are estimators by their methods, not by inheritance: importing scikit-learn takes longer than opening a model, and
scikit-learn asks no more of an estimator than parameters, tags and, where metadata are routed, requests.
"""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

from loglinear.models.trainer import Trainer

if TYPE_CHECKING:
    from typing_extensions import Self


class Parameters:
    """What scikit-learn asks of an estimator: parameters by name, tags, and requests of metadata."""

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return sorted(name for name in inspect.signature(cls.__init__).parameters if name != "self")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; ``deep`` is for scikit-learn, whose estimators may have others within."""
        return {name: getattr(self, name) for name in self._get_param_names()}

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name; return the model."""
        names = self._get_param_names()
        for name, value in params.items():
            if name not in names:
                raise ValueError(f"Invalid parameter {name!r} for estimator {self}. Valid parameters are: {names!r}.")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults: dict[str, Any] = {}
        for base in reversed(type(self).__mro__):
            defaults |= {name: one.default for name, one in inspect.signature(base.__init__).parameters.items()}
        changed = {name: repr(value) for name, value in self.get_params(deep=False).items()}
        shown = [f"{name}={value}" for name, value in changed.items() if value != repr(defaults.get(name))]
        return f"{type(self).__name__}({', '.join(shown)})"

    def __sklearn_tags__(self) -> Any:
        """Return what scikit-learn asks about estimators."""
        from sklearn.utils import Tags, TargetTags

        return Tags(estimator_type=None, target_tags=TargetTags(required=False))

    # ---- which arguments of methods meta-estimators pass on: set_fit_request(...) and the like ----------------------
    def __getattr__(self, name: str) -> Any:
        if name.startswith("set_") and name.endswith("_request"):
            return functools.partial(self._request, name)
        found = getattr(super(), "__getattr__", None)
        if found is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return found(name)

    def _request(self, method: str, **asked: Any) -> Self:
        getattr(self._inheriting(), method)(**asked)
        return self

    def get_metadata_routing(self) -> Any:
        """Return the arguments that were requested, for scikit-learn."""
        return self._inheriting().get_metadata_routing()

    def _inheriting(self) -> Any:
        """Return this model as one of a class that inherits from scikit-learn's, which makes methods of signatures."""
        from sklearn.base import BaseEstimator

        made: Any = object.__new__(type(type(self).__name__, (BaseEstimator, type(self)), {}))
        made.__dict__ = self.__dict__
        return made


class Estimator(Parameters, Trainer):
    """A model of scikit-learn: ``class Tagger(TaggerTrainer, Estimator)``."""

    def parameters(self) -> dict[str, Any]:
        """Return the parameters by name, as a model file keeps them: without the log, which is that of one training."""
        return {name: value for name, value in self.get_params(deep=False).items() if name != "log"}

