"""Trainer: what the models share that are trained in this process.

It needs no scikit-learn, whose import takes longer than many a training: commands train without it.
"""

from __future__ import annotations

import functools
import inspect
import sys
import warnings
from collections.abc import Callable
from dataclasses import fields
from typing import Any, ClassVar, TypeVar

from loglinear.models.predictor import Predictor
from loglinear.optimise.stopping import describe
from loglinear.optimise.training import Settings, Solution
from loglinear.optimise.training_log import log_step, logging_to
from loglinear.status import Status

FLOATING_POINT = 1e-8  # a relative gap that nobody need be warned of where no step lowers the objective any more

# Entries of the last line of a log, which tells how training ended -> what a trained model has of them.
_LAST_ENTRY = {"passes": "n_iter_", "objective": "objective_", "gap": "gap_", "held_out": "validation_score_"}

_Method = TypeVar("_Method", bound=Callable[..., Any])


class Trainer(Predictor):
    """A predictor that can be trained: ``class TaggerTrainer(TaggerPredictor, Trainer)``."""

    fitted_attribute: ClassVar[str]  # such as "weights_": the model is trained once it has this

    def parameters(self) -> dict[str, Any]:
        """Return the parameters by name, as a model file keeps them: without the log, which is that of one training."""
        names = [name for name in inspect.signature(type(self).__init__).parameters if name not in ("self", "log")]
        return {name: getattr(self, name) for name in names}

    def check_fitted(self) -> None:
        """Raise sklearn's NotFittedError unless the model is trained."""
        if hasattr(self, self.fitted_attribute):
            return
        from sklearn.exceptions import NotFittedError

        name = type(self).__name__
        raise NotFittedError(f"This {name} instance is not fitted yet. Call 'fit' with appropriate arguments first.")


def solver_settings(model: Any) -> Settings:
    """Return the settings of the solver: the parameters of a model that have the same names."""
    own = {field.name: getattr(model, field.name) for field in fields(Settings) if hasattr(model, field.name)}
    return Settings(**{**own, "strength": float(model.strength), "solver_options": dict(model.solver_options or {})})


def record_training(model: Any, solution: Solution) -> None:
    """Store what a solver reports: how it was chosen, where it ended and why."""
    result = solution.result
    model.solver_, model.solver_reason_, model.history_ = solution.solver, solution.reason, result.history
    model.n_iter_, model.objective_ = max(result.n_iterations, 1), result.value
    model.gap_, model.gap_is_bound_ = result.gap, result.gap_is_bound
    model.converged_, model.status_ = result.converged, result.status


def caller_level() -> int:
    """Return the ``stacklevel`` with which a warning names the code that called the package, however deep it is."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == "loglinear":
        frame, level = frame.f_back, level + 1
    return level


def warn_before_optimum(model: Any, remedy: str) -> None:
    """Warn of training that ended above its tolerance, unless floating point or held-out data allow no better."""
    at_limit = model.status_ == Status.NO_DECREASE and model.gap_ <= FLOATING_POINT
    chosen = model.status_ == Status.SMALL_DECREASE  # a trial of tuning, better on held-out data than training on
    if model.converged_ or at_limit or chosen:
        return
    from sklearn.exceptions import ConvergenceWarning

    warnings.warn(
        f"training stopped before the optimum ({model.status_}), {describe(model.gap_, model.gap_is_bound_)}, after "
        f"{model.n_iter_} passes over the data. {remedy}",
        ConvergenceWarning,
        stacklevel=caller_level(),
    )


def training_method(method: _Method) -> _Method:
    """Decorate a method that trains: a failed call leaves the model as it was; ``fit`` writes to the file ``log``."""

    @functools.wraps(method)
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        before, log = dict(self.__dict__), getattr(self, "log", None) if method.__name__ == "fit" else None
        try:
            with logging_to(log):
                result = method(self, *args, **kwargs)
                if log is not None:
                    found = {name: getattr(self, attribute, None) for name, attribute in _LAST_ENTRY.items()}
                    log_step(f"end: {getattr(self, 'status_', Status.COUNTED)}", **found)
                return result
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    return run  # type: ignore[return-value]
