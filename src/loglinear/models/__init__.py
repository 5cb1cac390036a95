"""Models, and files to keep them in. A new kind of model is one new folder and one line in KINDS."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from loglinear.errors import ModelFileError
from loglinear.models import archive as archives
from loglinear.registry import Registry, imported

if TYPE_CHECKING:
    from loglinear.models.classifier.estimator import MaxentClassifier
    from loglinear.models.input_method.estimator import InputMethod
    from loglinear.models.language_model.estimator import LanguageModel
    from loglinear.models.parser.estimator import Parser
    from loglinear.models.reranker.estimator import Reranker
    from loglinear.models.tagger.estimator import Tagger


class Kind(NamedTuple):
    """A kind of model. Its two classes, ``"module:name"`` within this package, are imported on first use."""

    called: str  # in messages, with its article
    predictor: str  # uses a trained model; light
    estimator: str  # trains one
    made_by: str  # the command that writes such a file

    def load_class(self, *, trainable: bool) -> Any:
        """Import the estimator or the predictor."""
        return imported(f"{__name__}.{self.estimator if trainable else self.predictor}")


# The kind that a model file names.
KINDS: Registry[Kind] = Registry(
    "kind of model",
    {
        "maxent-classifier": Kind(
            "a classifier", "classifier.predictor:ClassifierPredictor", "classifier.estimator:MaxentClassifier",
            "classify train",
        ),
        "tagger": Kind("a tagger", "tagger.predictor:TaggerPredictor", "tagger.estimator:Tagger", "tag train"),
        "parser": Kind("a parser", "parser.predictor:ParserPredictor", "parser.estimator:Parser", "parse train"),
        "language-model": Kind(
            "a language model", "language_model.predictor:LanguageModelPredictor",
            "language_model.estimator:LanguageModel", "lm train",
        ),
        "input-method": Kind(
            "an input method", "input_method.predictor:InputMethodPredictor", "input_method.estimator:InputMethod",
            "ime build",
        ),
        "reranker": Kind(
            "a reranker", "reranker.predictor:RerankerPredictor", "reranker.estimator:Reranker",
            "rerank train or ime adapt",
        ),
    },
)  # fmt: skip
_ESTIMATORS = {kind.estimator.partition(":")[2]: kind for kind in map(KINDS.__getitem__, KINDS)}


def __getattr__(name: str) -> Any:
    """Import an estimator on first use: a command that uses one kind of model does not load the others."""
    if name in _ESTIMATORS:
        return _ESTIMATORS[name].load_class(trainable=True)
    raise AttributeError(f"module 'loglinear.models' has no attribute {name!r}")


def open_archive(
    path: str | os.PathLike[str], kind: str | None = None, *, verify: bool = False, mmap: bool = False
) -> archives.Archive:
    """Open a model file of a known kind; with ``kind``, raise ModelFileError for a model of any other."""
    archive = archives.load(path, verify=verify, mmap=mmap)
    if archive.kind not in KINDS:
        raise ModelFileError(f"{path}: a model of unknown kind {archive.kind!r}; known: {', '.join(KINDS)}")
    if kind is not None and archive.kind != kind:
        wanted = KINDS[kind]
        raise ModelFileError(
            f"{path}: {KINDS[archive.kind].called}, not {wanted.called}; loglinear {wanted.made_by} makes one"
        )
    return archive


def load(
    path: str | os.PathLike[str], kind: str | None = None, *, verify: bool = False, mmap: bool = False
) -> Any:
    """Load the model in a `.ll` file as an estimator, which can also be trained further.

    kind : the kind that it must be of, one of ``KINDS``; None: any
    verify : also compare the checksum of all arrays, which reads the whole file
    mmap : use the pages of the file itself, which processes share. Such a file must only be replaced by renaming
        another one, as ``save`` does it, never be written to. Otherwise the model has memory of its own
    """
    archive = open_archive(path, kind, verify=verify, mmap=mmap)
    return made(KINDS[archive.kind].load_class(trainable=True), archive, path)


def load_predictor(path: str | os.PathLike[str], kind: str | None = None, *, mmap: bool = False) -> Any:
    """Load the model in a `.ll` file for prediction only, without the means to train; options are as in ``load``."""
    archive = open_archive(path, kind, mmap=mmap)
    return made(KINDS[archive.kind].load_class(trainable=False), archive, path)


def made(kind: Any, archive: archives.Archive, path: Any) -> Any:
    """Return the model of an opened file as one of a class; ModelFileError for content that makes no model."""
    with archives.damage_told(path):
        model = kind.from_archive(archive, path)
    if "_unread" not in vars(model):  # otherwise when it is read
        archives.check_finite(path, archive)
    return model


__all__ = [
    "KINDS", "InputMethod", "LanguageModel", "MaxentClassifier", "Parser", "Reranker", "Tagger", "load",
    "load_predictor", "open_archive",
]  # fmt: skip
