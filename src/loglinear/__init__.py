"""loglinear: log-linear models of language, convex, small, exact, explainable and fast on a CPU."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from loglinear.data.token_arrays import TokenArrays
    from loglinear.errors import FormatError, IncompatibleError, InterruptedWarning, LoglinearError, ModelFileError
    from loglinear.models import InputMethod, LanguageModel, MaxentClassifier, Parser, Reranker, Tagger, load
    from loglinear.models.word_classes import WordClasses
    from loglinear.optimise.minimise import minimise
    from loglinear.optimise.objective import Objective

_HOME = {
    "InputMethod": "loglinear.models",
    "LanguageModel": "loglinear.models",
    "MaxentClassifier": "loglinear.models",
    "Parser": "loglinear.models",
    "Reranker": "loglinear.models",
    "Tagger": "loglinear.models",
    "TokenArrays": "loglinear.data.token_arrays",
    "WordClasses": "loglinear.models.word_classes",
    "load": "loglinear.models",
    "Objective": "loglinear.optimise.objective",
    "minimise": "loglinear.optimise.minimise",
    "LoglinearError": "loglinear.errors",
    "FormatError": "loglinear.errors",
    "IncompatibleError": "loglinear.errors",
    "ModelFileError": "loglinear.errors",
    "InterruptedWarning": "loglinear.errors",
}

__all__ = [
    "FormatError",
    "IncompatibleError",
    "InputMethod",
    "InterruptedWarning",
    "LanguageModel",
    "LoglinearError",
    "MaxentClassifier",
    "ModelFileError",
    "Objective",
    "Parser",
    "Reranker",
    "Tagger",
    "TokenArrays",
    "WordClasses",
    "load",
    "minimise",
]


def __getattr__(name: str) -> Any:
    """Import public names on first use, so that ``import loglinear`` stays quick."""
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'loglinear' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
