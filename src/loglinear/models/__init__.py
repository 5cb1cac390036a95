"""Models: scikit-learn estimators, and files to keep them in. A new kind of model is one line in KINDS."""

from __future__ import annotations

import os
from typing import Any

from loglinear.errors import ModelFileError
from loglinear.models import archive as files
from loglinear.models.classifier import MaxentClassifier
from loglinear.models.classifier_file import KIND as _CLASSIFIER
from loglinear.models.input_method import InputMethod
from loglinear.models.input_method_file import KIND as _INPUT_METHOD
from loglinear.models.language_model import LanguageModel
from loglinear.models.language_model_file import KIND as _LANGUAGE_MODEL
from loglinear.models.reranker import Reranker
from loglinear.models.reranker_file import KIND as _RERANKER
from loglinear.models.tagger import Tagger
from loglinear.models.tagger_file import KIND as _TAGGER

KINDS: dict[str, Any] = {
    _CLASSIFIER: MaxentClassifier,
    _TAGGER: Tagger,
    _LANGUAGE_MODEL: LanguageModel,
    _INPUT_METHOD: InputMethod,
    _RERANKER: Reranker,
}


def load(path: str | os.PathLike[str], *, verify: bool = False) -> Any:
    """The model in a `.ll` file, of whatever kind. ``verify`` also compares the checksum of all its arrays."""
    archive = files.load(path, verify=verify)
    if archive.kind not in KINDS:
        raise ModelFileError(f"{path}: a model of unknown kind {archive.kind!r}; known: {', '.join(KINDS)}")
    return KINDS[archive.kind].from_archive(archive, path)


__all__ = ["KINDS", "InputMethod", "LanguageModel", "MaxentClassifier", "Reranker", "Tagger", "load"]
