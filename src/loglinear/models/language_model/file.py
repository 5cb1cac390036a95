"""Language models to and from an archive: the arrays of ``NgramQueries``, which are read as they are used.

A model trained on the collapsed tree is stored as its paths of equal weights, from which the queries are made again
when it is read. A tree that stands for far more n-grams than its paths have numbers is stored n-gram by n-gram, since
nobody could tell its file from one that is made to fill the memory.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from loglinear.backoff.queries import NgramQueries
from loglinear.data.suffix_tree import SuffixTree
from loglinear.errors import ModelFileError
from loglinear.features.vocabulary import Vocabulary
from loglinear.features.word_vocabulary import WordVocabulary
from loglinear.formats.text import read_head
from loglinear.models import archive as files
from loglinear.models.archive import (
    Archive,
    as_json,
    check_n_threads,
    parameters_of,
    require,
    restore_summary,
    training_summary,
)
from loglinear.models.language_model.backoff_form import model_of_packed
from loglinear.models.language_model.cache.queries import CachedQueries
from loglinear.models.language_model.composite import file as composite_file
from loglinear.models.language_model.composite.queries import CompositeQueries
from loglinear.models.language_model.factored import file as factored_file
from loglinear.models.language_model.factored.queries import FactoredQueries

KIND = "language-model"
# Parameters that only training and the texts at hand need.
_NOT_KEPT = ("base", "vocabulary", "text_column", "tmp", "checkpoint")
_MORE = (
    "n_weights", "n_parameters", "n_ngrams", "n_tokens", "counts", "strengths", "depth_growth", "feature_decay",
    "group_norm", "l2", "discounts", "stage_seconds", "n_classes",
)  # fmt: skip


def save(model: Any, path: Any) -> None:
    """Write the model."""
    files.save(path, to_archive(model))


def to_archive(model: Any) -> Archive:
    """Return what the file of a model holds."""
    words = model.vocabulary_.words
    parameters = as_json({k: v for k, v in model.parameters().items() if k not in _NOT_KEPT})
    collapsed = getattr(model, "collapsed_", None)
    settings: dict[str, Any] = {"parameters": parameters}
    if isinstance(model.queries_, CompositeQueries):
        settings["composite"], arrays = composite_file.to_parts(model.queries_)
        parameters["sources"] = settings["composite"]["sources"]
    elif isinstance(model.queries_, (FactoredQueries, CachedQueries)):
        settings["factored"], arrays = factored_file.to_parts(model.queries_)
        if parameters["sources"] is not None:
            parameters["sources"] = settings["factored"]["members"][0]["sources"]
        if isinstance(parameters["classes"], dict):
            parameters["classes"] = None
    elif collapsed is not None and SuffixTree.is_modest(collapsed):
        arrays = {f"tree.{name}": array for name, array in collapsed.items()}
    else:
        arrays = {f"queries.{name}": array for name, array in model.queries_.arrays().items()}
    arrays["words"], arrays["word_offsets"] = np.asarray(words.blob), np.asarray(words.offsets)
    summary = training_summary(model, *_MORE)
    return Archive(KIND, settings, summary, arrays)


def load(cls: Any, archive: Archive, source: Any) -> Any:
    """Make the model, an estimator or a predictor, after a check of everything that queries rely on."""
    try:
        parameters = parameters_of(archive)
        for name in ("strength", "l1_ratio", "min_count", "prune"):
            if isinstance(parameters.get(name), list):
                parameters[name] = tuple(parameters[name])
        model = cls(**parameters)
        check_n_threads(model.n_threads)
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFileError(f"{source}: the model's settings are damaged ({error})") from None
    restore_summary(model, archive.summary)
    for name in _MORE:
        if name in archive.summary:
            setattr(model, name + "_", archive.summary[name])
    rest = ("queries_", "vocabulary_", "order_") + (("collapsed_",) if archive.part("tree.") else ())
    model.read_when_used(archive, source, rest, lambda: _read_queries(model, archive, source))
    return model


def _read_queries(model: Any, archive: Archive, source: Any) -> None:
    """Make the queries of a model whose settings have been read."""
    blob = require(source, archive, "words", "|u1", 1)
    offsets = require(source, archive, "word_offsets", "<i8", 1)
    try:
        is_asked_natively = not archive.settings.keys() & {"composite", "factored"}  # which refuses words that repeat
        vocabulary = WordVocabulary(Vocabulary.from_arrays(blob, offsets, distinct=not is_asked_natively))
        collapsed = archive.part("tree.")
        if "composite" in archive.settings:
            model.queries_ = composite_file.of_parts(
                archive.settings["composite"], archive.part("composite."), vocabulary, n_threads=model.n_threads
            )
        elif "factored" in archive.settings:
            model.queries_ = factored_file.of_parts(
                archive.settings["factored"], archive.part("factored."), vocabulary, n_threads=model.n_threads
            )
        elif collapsed:
            if not SuffixTree.is_modest(collapsed):
                raise ModelFileError("a small tree stands for so many n-grams that it was made to fill the memory")
            backoff = model_of_packed(collapsed, vocabulary, n_threads=model.n_threads)
            model.queries_, model.collapsed_ = NgramQueries.from_backoff(backoff, n_threads=model.n_threads), collapsed
        else:
            arrays = archive.part("queries.")
            model.queries_ = NgramQueries.from_arrays(vocabulary, arrays, n_threads=model.n_threads)
    except ModelFileError as error:
        raise ModelFileError(f"{source}: {error}") from None
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFileError(f"{source}: the model's n-grams are damaged ({error})") from None
    model.vocabulary_, model.order_ = vocabulary, model.queries_.order


def looks_like_arpa(path: str | os.PathLike[str]) -> bool:
    r"""Return whether a file has \data\ near its beginning; model files begin with a length and a brace."""
    if not os.path.exists(path):  # noqa: PTH110
        raise ModelFileError(f"{path}: no such file")
    if os.path.isdir(path):  # noqa: PTH112
        raise ModelFileError(f"{path}: is a folder, not a model file")
    head = read_head(path, 1 << 16)
    return head[8:9] != b"{" and b"\\data\\" in head
