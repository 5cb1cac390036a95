"""The reranker's model file: non-zero weights, the names of their features, and the figures of its path."""

from __future__ import annotations

from typing import Any

import numpy as np

from loglinear.data.candidates import check_base_names
from loglinear.errors import ModelFileError
from loglinear.features.candidate_features import CandidateFeatures
from loglinear.features.word_classes import file_name
from loglinear.models import archive as files
from loglinear.models.archive import Archive, as_json, check_n_threads, finite, not_finite, parameters_of, require
from loglinear.models.reranker.path import OPTIONAL_FIGURES, RerankerPath

KIND = "reranker"
_FEATURES, _PATH = "featuriser.", "path."
_FIGURES = {"point": "<i8", "loss": "<f8", "l1": "<f8", "n_nonzeros": "<i8", "backward": "|b1"}  # others are float64
_STORED = {"validation_errors": "dev_errors"}  # names of figures in files, where they are others
_LEARNT = ("n_lists", "n_pairs", "n_features", "validation_baseline_errors", "fit_seconds", "status",
           "validation_score", "objective", "gap", "gap_is_bound", "converged")  # fmt: skip


def save(model: Any, path: Any) -> None:
    """Write the model."""
    parameters = {**model.parameters(), "classes": file_name(model.classes)}  # the features have the classes themselves
    settings: dict[str, Any] = {"parameters": as_json(parameters), "base": list(model.base_names_)}
    settings["featuriser"], arrays = model._features.to_arrays()
    arrays = {_FEATURES + name: array for name, array in arrays.items()}
    arrays["weights"] = model._weights
    figures = model.path_.thinned()
    for name in ("point", "loss", "l1", "n_nonzeros", *OPTIONAL_FIGURES):
        if (array := getattr(figures, name)) is not None:
            arrays[_PATH + _STORED.get(name, name)] = array.astype(_FIGURES.get(name, "<f8"))
    summary = {name: finite(as_json(getattr(model, name + "_"))) for name in _LEARNT if hasattr(model, name + "_")}
    summary["chosen"] = model.chosen_
    files.save(path, Archive(KIND, settings, summary, arrays))


def load(cls: Any, archive: Archive, source: Any) -> Any:
    """Make the model, a ``Reranker`` or a ``RerankerPredictor``, and check everything that ranking relies on."""
    settings = archive.settings
    try:
        parameters = parameters_of(archive)
        for name in ("words", "characters"):
            if name in parameters:
                parameters[name] = tuple(parameters[name])
        classes = parameters.pop("classes", None)  # a file that need not be there any more
        model = cls(**parameters)
        model.check_settings()
        model.classes = classes
        check_n_threads(model.n_threads)
        names, featuriser = settings["base"], dict(settings["featuriser"])
        if not isinstance(names, list):
            raise ValueError("base scores have no names")
        model.base_names_ = check_base_names(names)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ModelFileError(f"{source}: the model's settings are damaged ({error})") from None
    model.features_ = _features(featuriser, archive, source)
    weights = np.array(require(source, archive, "weights", "<f8", 1))
    if weights.size != len(names) + len(model.features_.vocabulary) or not np.isfinite(weights).all():
        raise ModelFileError(
            f"{source}: {weights.size} weights for {len(names)} base scores and "
            f"{len(model.features_.vocabulary)} features, or weights that are no numbers"
        )
    model.weights_ = weights
    model.path_ = _path(archive, source)
    model.chosen_, model.no_change_ = model.path_.chosen, model.path_.chosen == 0
    model.use_weights()
    learnt = archive.summary
    if "dev_baseline_errors" in learnt:  # its name in version 0.1.0
        learnt = {**learnt, "validation_baseline_errors": learnt["dev_baseline_errors"]}
    for name in _LEARNT:
        if name in learnt:
            setattr(model, name + "_", not_finite(learnt[name]))
    return model


def _features(settings: dict[str, Any], archive: Archive, source: Any) -> CandidateFeatures:
    try:
        features = CandidateFeatures.from_arrays(settings, dict(archive.part(_FEATURES)))
        features.vocabulary.index()  # raises ValueError for names that are there twice,
        features.names()  # and this for names that are no text
    except (TypeError, ValueError) as error:
        raise ModelFileError(f"{source}: the model's features are damaged ({error})") from None
    return features


def _path(archive: Archive, source: Any) -> RerankerPath:
    found: dict[str, Any] = {}
    for name in ("point", "loss", "l1", "n_nonzeros", *OPTIONAL_FIGURES):
        stored = _PATH + _STORED.get(name, name)
        if name in OPTIONAL_FIGURES and stored not in archive.arrays:
            continue
        found[name] = np.array(require(source, archive, stored, _FIGURES.get(name, "<f8"), 1))
    point, chosen = found["point"], archive.summary.get("chosen")
    status = archive.summary.get("status", "")
    whole = point.size > 0 and point[0] == 0 and not np.any(np.diff(point) <= 0)
    if not whole or any(array.size != point.size for array in found.values()):
        raise ModelFileError(f"{source}: the figures of the path are damaged")
    if type(chosen) is not int or not 0 <= chosen <= int(point[-1]) or not isinstance(status, str):
        raise ModelFileError(f"{source}: the chosen point, {chosen!r}, is not on the path")
    return RerankerPath(**found, chosen=chosen, stopped=status)
