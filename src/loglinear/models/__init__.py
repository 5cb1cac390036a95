"""Models: scikit-learn estimators, and files to keep them in. A new kind of model is one line in KINDS."""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

from loglinear.errors import ModelFileError
from loglinear.models import archive as archives
from loglinear.registry import Registry

if TYPE_CHECKING:
    from loglinear.models.classifier.estimator import MaxentClassifier
    from loglinear.models.input_method.estimator import InputMethod
    from loglinear.models.language_model.estimator import LanguageModel
    from loglinear.models.reranker.estimator import Reranker
    from loglinear.models.tagger.estimator import Tagger

# The kind that a model file names -> its estimator, imported on first use.
KINDS: Registry[Any] = Registry(
    "kind of model",
    {
        "maxent-classifier": "loglinear.models.classifier.estimator:MaxentClassifier",
        "tagger": "loglinear.models.tagger.estimator:Tagger",
        "language-model": "loglinear.models.language_model.estimator:LanguageModel",
        "input-method": "loglinear.models.input_method.estimator:InputMethod",
        "reranker": "loglinear.models.reranker.estimator:Reranker",
    },
)
_HOME = {
    "InputMethod": "loglinear.models.input_method.estimator",
    "LanguageModel": "loglinear.models.language_model.estimator",
    "MaxentClassifier": "loglinear.models.classifier.estimator",
    "Reranker": "loglinear.models.reranker.estimator",
    "Tagger": "loglinear.models.tagger.estimator",
}


def __getattr__(name: str) -> Any:
    """Import an estimator on first use: a command that uses one kind of model does not load the others."""
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'loglinear.models' has no attribute {name!r}")


def load(path: str | os.PathLike[str], *, verify: bool = False) -> Any:
    """Load the model in a `.ll` file, of whatever kind. ``verify`` also compares the checksum of all its arrays."""
    archive = archives.load(path, verify=verify)
    if archive.kind not in KINDS:
        raise ModelFileError(f"{path}: a model of unknown kind {archive.kind!r}; known: {', '.join(KINDS)}")
    estimator: Any = KINDS.factory(archive.kind)
    return estimator.from_archive(archive, path)


__all__ = ["KINDS", "InputMethod", "LanguageModel", "MaxentClassifier", "Reranker", "Tagger", "load"]
