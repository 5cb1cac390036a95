"""The parameters of CRFsuite's training algorithms: names, types, defaults, what they mean."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple


def _number(value: Any) -> float:
    number = float(value)
    if not math.isfinite(number):
        raise ValueError("it must be finite")
    return number


def _whole(value: Any) -> int:
    number = float(value)
    if number != int(number):
        raise ValueError("it must be a whole number")
    return int(number)


def _flag(value: Any) -> bool:
    return bool(int(value))


class Parameter(NamedTuple):
    """A parameter of an algorithm; ``kind`` makes its value of what a caller gives, text included."""

    kind: Callable[[Any], Any]
    default: Any
    help: str


UNLIMITED = 2147483647
LINE_SEARCHES = ("MoreThuente", "Backtracking", "StrongBacktracking")
_FEATURES = {
    "feature.minfreq": Parameter(_number, 0.0, "Features whose values sum to less in training are dropped."),
    "feature.possible_states": Parameter(_flag, False, "Weights for all pairs of an attribute and a label."),
    "feature.possible_transitions": Parameter(_flag, False, "Weights for all pairs of labels."),
}
_C2 = Parameter(_number, 1.0, "Coefficient of the L2 penalty: c2 times the sum of squared weights.")
_PERIOD = Parameter(_whole, 10, "Number of iterations over which the improvement is measured.")
_DELTA = "Relative improvement over the last period iterations below which training ends."
_MAX = "Maximum number of iterations."


def _online(epsilon: str) -> dict[str, Parameter]:
    return {"max_iterations": Parameter(_whole, 100, _MAX), "epsilon": Parameter(_number, 0.0, epsilon)}


ALGORITHMS: dict[str, dict[str, Parameter]] = {
    "lbfgs": {
        **_FEATURES,
        "c1": Parameter(_number, 0.0, "Coefficient of the L1 penalty: c1 times the sum of absolute weights."),
        "c2": _C2,
        "max_iterations": Parameter(_whole, UNLIMITED, _MAX),
        "num_memories": Parameter(_whole, 6, "Number of pairs of vectors that approximate the inverse Hessian."),
        "epsilon": Parameter(_number, 1e-5, "Norm of the gradient, relative to that of the weights, to end at."),
        "period": _PERIOD,
        "delta": Parameter(_number, 1e-5, _DELTA),
        "linesearch": Parameter(str, LINE_SEARCHES[0], f"One of {', '.join(LINE_SEARCHES)}; without effect here."),
        "max_linesearch": Parameter(_whole, 20, "Maximum number of trials of a line search; without effect here."),
    },
    "l2sgd": {
        **_FEATURES,
        "c2": _C2,
        "max_iterations": Parameter(_whole, 1000, _MAX),
        "period": _PERIOD,
        "delta": Parameter(_number, 1e-6, _DELTA),
        "calibration.eta": Parameter(_number, 0.1, "The first step that calibration tries."),
        "calibration.rate": Parameter(_number, 2.0, "Factor between the steps that calibration tries."),
        "calibration.samples": Parameter(_whole, 1000, "Number of sequences for calibration."),
        "calibration.candidates": Parameter(_whole, 10, "Number of good steps after which calibration turns or ends."),
        "calibration.max_trials": Parameter(_whole, 20, "Maximum number of steps that calibration tries."),
    },
    "averaged-perceptron": {**_FEATURES, **_online("Mean share of wrong labels below which training ends.")},
    "passive-aggressive": {
        **_FEATURES,
        "type": Parameter(_whole, 1, "0: without slack, 1: PA-I, 2: PA-II."),
        "c": Parameter(_number, 1.0, "Aggressiveness of PA-I and PA-II."),
        "error_sensitive": Parameter(_flag, True, "The cost has the square root of the number of wrong labels."),
        "averaging": Parameter(_flag, True, "Average the weights over all sequences met."),
        **_online("Mean cost below which training ends."),
    },
    "arow": {
        **_FEATURES,
        "variance": Parameter(_number, 1.0, "Variance of every weight at the start."),
        "gamma": Parameter(_number, 1.0, "Trade-off between the loss and changes of the weights."),
        **_online("Mean cost at which training ends."),
    },
}
ALIASES = {"ap": "averaged-perceptron", "pa": "passive-aggressive"}


def find_algorithm(name: str) -> str:
    """Return the name of an algorithm in ALGORITHMS; ValueError lists those there are."""
    found = ALIASES.get(name.lower(), name.lower())
    if found not in ALGORITHMS:
        raise ValueError(f"unknown algorithm {name!r}; known: lbfgs, l2sgd, ap, pa, arow")
    return found


def convert(algorithm: str, name: str, value: Any) -> Any:
    """Return the value of a parameter in its type; ValueError where it has no meaning."""
    known = ALGORITHMS[algorithm]
    if name not in known:
        raise ValueError(f"Parameter not found: {name!r}; {algorithm} has {', '.join(known)}")
    try:
        found = known[name].kind(value)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name}={value!r}: {error}") from None
    if name == "linesearch" and found not in LINE_SEARCHES:
        raise ValueError(f"linesearch must be one of {', '.join(LINE_SEARCHES)}, not {value!r}")
    if name in ("c1", "c2", "max_iterations", "epsilon", "feature.minfreq") and found < 0:
        raise ValueError(f"{name} must not be negative, not {value!r}")
    if name in ("period", "num_memories") and found < 1:
        raise ValueError(f"{name} must be at least 1, not {value!r}")
    return found
