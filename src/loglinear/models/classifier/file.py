"""Model files of classifiers.

Features whose weights are all zero are left out: the featuriser forgets them, unless the length of rows depends on
them; then, and for plain matrices, the kept columns are numbered. Probabilities do not change.
"""

from __future__ import annotations

import itertools
import os
from typing import Any

import numpy as np

from loglinear.errors import ModelFileError
from loglinear.features import FEATURISERS
from loglinear.features.word_classes import file_name
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

KIND = "maxent-classifier"


def _label_arrays(classes: np.ndarray) -> tuple[str, dict[str, np.ndarray]]:
    """Return the labels as arrays: numbers as they are, text as UTF-8."""
    if classes.dtype.kind in "iub":
        return classes.dtype.kind, {"classes": classes.astype(np.int64)}
    if classes.dtype.kind == "f":
        return "f", {"classes": classes.astype(np.float64)}
    if not all(isinstance(label, str) for label in classes.tolist()):
        raise ModelFileError("labels must be numbers or text to be saved")
    encoded = [label.encode() for label in classes.tolist()]
    offsets = np.concatenate([[0], np.cumsum([len(e) for e in encoded])]).astype(np.int64)
    return "U", {"classes": np.frombuffer(b"".join(encoded), dtype=np.uint8).copy(), "class_offsets": offsets}


def _labels(kind: str, archive: Archive, source: Any) -> np.ndarray:
    if kind in ("i", "u", "b"):
        labels = np.array(require(source, archive, "classes", "<i8", 1))
        return labels.astype(bool) if kind == "b" else labels
    if kind == "f":
        return np.array(require(source, archive, "classes", "<f8", 1))
    if kind != "U":
        raise ModelFileError(f"{source}: labels of unknown kind {kind!r}")
    blob = bytes(require(source, archive, "classes", "|u1", 1))
    offsets = np.array(require(source, archive, "class_offsets", "<i8", 1))
    if offsets.size < 1 or offsets[0] != 0 or offsets[-1] != len(blob) or np.any(np.diff(offsets) < 0):
        raise ModelFileError(f"{source}: the labels are damaged")
    try:
        return np.array([blob[a:b].decode() for a, b in itertools.pairwise(offsets)])
    except UnicodeDecodeError:
        raise ModelFileError(f"{source}: the labels are damaged") from None


def save(model: Any, path: Any) -> None:
    """Write the model."""
    weights = np.ascontiguousarray(model.coef_.T)  # [n_features, K]
    kept = np.flatnonzero(np.any(weights != 0, axis=1))
    featuriser, n_features = model.featuriser_, weights.shape[0]
    label_kind, arrays = _label_arrays(model.classes_)
    parameters = {k: v for k, v in model.parameters().items() if k not in ("text_column", "label_column")}
    parameters["classes"] = file_name(parameters.get("classes"))  # the featuriser has the classes themselves
    if not isinstance(parameters.get("stop_words"), (str, os.PathLike, type(None))):
        parameters["stop_words"] = list(parameters["stop_words"])
    settings: dict[str, Any] = {"parameters": as_json(parameters), "labels": label_kind}
    if featuriser is not None:
        if kept.size < n_features and not featuriser.by_rarity:
            featuriser = featuriser.take(kept)
            weights, n_features = weights[kept], kept.size
        settings["featuriser"] = {"kind": featuriser.kind}
        settings["featuriser"]["settings"], extra = featuriser.to_arrays()
        arrays.update({f"featuriser.{name}": array for name, array in extra.items()})
    if kept.size < n_features // 2:
        arrays["kept"] = kept.astype(np.int64)
        weights = weights[kept]
    if hasattr(model, "feature_names_in_"):
        settings["feature_names"] = [str(name) for name in model.feature_names_in_]
    settings["n_features"] = int(n_features)
    arrays["weights"] = np.ascontiguousarray(weights)
    arrays["intercept"] = np.ascontiguousarray(model.intercept_)
    summary: dict[str, Any] = {"nonzero_weights": int(np.count_nonzero(weights)), "classes": len(model.classes_)}
    summary |= training_summary(model)
    files.save(path, Archive(KIND, settings, summary, arrays))


def load(cls: Any, archive: Archive, source: Any) -> Any:
    """Make the model of class ``cls``, checking everything that prediction relies on."""
    settings = archive.settings
    try:
        parameters = parameters_of(archive)
        label_kind, n_features = settings["labels"], int(settings["n_features"])
        for name, default in (("ngrams", (1,)), ("char_ngrams", ())):
            parameters[name] = tuple(int(n) for n in parameters.get(name, default))
        model = cls(**parameters)
        check_n_threads(model.n_threads)
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFileError(f"{source}: the model's settings are damaged ({error})") from None
    model.classes_ = _labels(label_kind, archive, source)
    weights = require(source, archive, "weights", "<f8", 2)
    model.intercept_ = np.array(require(source, archive, "intercept", "<f8", 1))
    K = 1 if model.classes_.size == 2 else model.classes_.size
    if "kept" in archive.arrays:
        kept = np.array(require(source, archive, "kept", "<i8", 1))
        fits = weights.shape == (kept.size, K) and 0 <= n_features * K < 2**31
        if not fits or np.any((kept < 0) | (kept >= n_features)):
            raise ModelFileError(f"{source}: the numbers of the kept features are damaged")
        full = np.zeros((n_features, K))
        full[kept] = weights
        weights = full
    if model.classes_.size < 2 or weights.shape != (n_features, K) or model.intercept_.shape != (K,):
        raise ModelFileError(f"{source}: weights, intercepts and labels do not agree in number")
    model.coef_ = weights.T
    model.featuriser_ = _featuriser(archive, source, n_features)
    model.n_features_in_ = n_features
    if "feature_names" in settings:
        model.feature_names_in_ = np.array(settings["feature_names"], dtype=object)
    restore_summary(model, archive.summary)
    return model


def _featuriser(archive: Archive, source: Any, n_features: int) -> Any:
    entry = archive.settings.get("featuriser")
    if entry is None:
        return None
    try:
        featuriser = FEATURISERS[entry["kind"]].from_arrays(dict(entry["settings"]), archive.part("featuriser."))
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFileError(f"{source}: the model's features are damaged ({error})") from None
    if featuriser.n_features != n_features:
        raise ModelFileError(f"{source}: {featuriser.n_features} feature names for {n_features} weights")
    return featuriser
