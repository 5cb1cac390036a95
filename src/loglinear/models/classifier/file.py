"""Model files of classifiers.

Features whose weights are all zero are left out: the featuriser forgets them, unless the length of rows depends on
them; then, and for plain matrices, the kept columns are numbered. Probabilities do not change.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from loglinear.data.matrix import is_sparse
from loglinear.errors import ModelFileError
from loglinear.features import FEATURISERS
from loglinear.features.word_classes import file_name
from loglinear.formats.named_arrays import Chosen
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
from loglinear.models.classifier.label_sets import FORMS

KIND = "maxent-classifier"
# Weights of all columns of a matrix, zeros included, that a file may ask for: so many, or so many for each kept one.
_MOST_WEIGHTS, _MOST_PER_KEPT = 1 << 27, 1 << 10


def _label_arrays(classes: np.ndarray) -> tuple[str, dict[str, Any]]:
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
    few = is_sparse(model.coef_)
    weights: Any = model.coef_.T.tocsr() if few else np.ascontiguousarray(model.coef_.T, dtype=np.float64)
    n_nonzero = int(np.count_nonzero(weights.data if few else weights))
    used = np.diff(weights.indptr) if few else weights.any(axis=1)
    featuriser, n_features, n_used = model.featuriser_, weights.shape[0], int(np.count_nonzero(used))
    label_kind, arrays = _label_arrays(model.classes_)
    parameters = {k: v for k, v in model.parameters().items() if k not in ("text_column", "label_column")}
    if isinstance(parameters.get("class_weight"), Mapping):  # keys of JSON are text, and labels may be numbers
        pairs = parameters["class_weight"].items()
        parameters["class_weight"] = [[k.item() if isinstance(k, np.generic) else k, float(v)] for k, v in pairs]
    parameters["classes"] = file_name(parameters.get("classes"))  # the featuriser has the classes themselves
    if not isinstance(parameters.get("stop_words"), (str, os.PathLike, type(None))):
        parameters["stop_words"] = list(parameters["stop_words"])
    settings: dict[str, Any] = {"parameters": as_json(parameters), "labels": label_kind}
    if featuriser is not None:
        if n_used < n_features and not featuriser.by_rarity:
            featuriser = featuriser.take(kept := np.flatnonzero(used))
            weights, n_features = weights[kept] if few else Chosen(weights, used), n_used
        settings["featuriser"] = {"kind": featuriser.kind}
        settings["featuriser"]["settings"], extra = featuriser.to_arrays()
        arrays.update({f"featuriser.{name}": array for name, array in extra.items()})
    if few:
        settings["sparse"] = True
        arrays["weight_ptr"] = weights.indptr.astype(np.int64)
        arrays["weight_class"] = weights.indices.astype(np.int32)
        weights = weights.data.astype(np.float64, copy=False)
    elif n_used < n_features // 2:
        arrays["kept"] = Chosen(None, used)
        weights = Chosen(weights, used)
    if hasattr(model, "feature_names_in_"):
        settings["feature_names"] = [str(name) for name in model.feature_names_in_]
    if model.label_form_ is not None:
        settings["label_form"] = model.label_form_
    settings["n_features"] = int(n_features)
    arrays["weights"] = weights
    arrays["intercept"] = np.ascontiguousarray(model.intercept_, dtype=np.float64)
    summary: dict[str, Any] = {"nonzero_weights": n_nonzero, "classes": len(model.classes_)}
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
        if isinstance(parameters.get("class_weight"), list):
            parameters["class_weight"] = {label: float(weight) for label, weight in parameters["class_weight"]}
        model = cls(**parameters)
        check_n_threads(model.n_threads)
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFileError(f"{source}: the model's settings are damaged ({error})") from None
    model.classes_ = _labels(label_kind, archive, source)
    if np.unique(model.classes_).size != model.classes_.size:
        raise ModelFileError(f"{source}: a label occurs twice")
    model.label_form_ = settings.get("label_form")
    if model.label_form_ not in (None, *FORMS):
        raise ModelFileError(f"{source}: labels of unknown form {model.label_form_!r}")
    model.n_features_in_ = n_features
    if "feature_names" in settings:
        model.feature_names_in_ = np.array(settings["feature_names"], dtype=object)
    restore_summary(model, archive.summary)
    rest = ("coef_", "intercept_", "featuriser_")
    model.read_when_used(archive, source, rest, lambda: _read_weights(model, archive, source))
    return model


def _read_weights(model: Any, archive: Archive, source: Any) -> None:
    """Read the weights and the features of a model whose settings and labels have been read."""
    n_features, few = model.n_features_in_, archive.settings.get("sparse") is True
    weights = require(source, archive, "weights", "<f8", 1 if few else 2)
    model.intercept_ = np.array(require(source, archive, "intercept", "<f8", 1))
    least = 2 if model.label_form_ is None else 1
    K = 1 if model.classes_.size == least == 2 else model.classes_.size
    if few:
        weights = _sparse(archive, source, weights, n_features, K)
    elif "kept" in archive.arrays:
        kept = np.array(require(source, archive, "kept", "<i8", 1))
        most = max(_MOST_WEIGHTS, _MOST_PER_KEPT * weights.size)
        fits = weights.shape == (kept.size, K) and 0 <= n_features * K <= min(most, 2**31 - 1)
        if not fits or np.any((kept < 0) | (kept >= n_features)):
            raise ModelFileError(f"{source}: the numbers of the kept features are damaged")
        full = np.zeros((n_features, K))
        full[kept] = weights
        weights = full
    if model.classes_.size < least or weights.shape != (n_features, K) or model.intercept_.shape != (K,):
        raise ModelFileError(f"{source}: weights, intercepts and labels do not agree in number")
    model.coef_ = weights.T.tocsr() if few else weights.T
    model.featuriser_ = _featuriser(archive, source, n_features)


def _sparse(archive: Archive, source: Any, weights: np.ndarray, n_features: int, K: int) -> Any:
    """Return the weights [n_features, K] of a model that was saved after sparsify()."""
    pointers = np.array(require(source, archive, "weight_ptr", "<i8", 1))
    classes = np.array(require(source, archive, "weight_class", "<i4", 1))
    fits = pointers.size == n_features + 1 and classes.size == weights.size and pointers.size and pointers[0] == 0
    if not fits or pointers[-1] != weights.size or np.any(np.diff(pointers) < 0):
        raise ModelFileError(f"{source}: the numbers of the kept weights are damaged")
    if np.any((classes < 0) | (classes >= K)):
        raise ModelFileError(f"{source}: the classes of the kept weights are damaged")
    from scipy import sparse

    return sparse.csr_matrix((np.array(weights), classes, pointers), (n_features, K))


def _featuriser(archive: Archive, source: Any, n_features: int) -> Any:
    entry = archive.settings.get("featuriser")
    if entry is None:
        return None
    try:
        featuriser = FEATURISERS[entry["kind"]].from_arrays(dict(entry["settings"]), dict(archive.part("featuriser.")))
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFileError(f"{source}: the model's features are damaged ({error})") from None
    if featuriser.n_features != n_features:
        raise ModelFileError(f"{source}: {featuriser.n_features} feature names for {n_features} weights")
    return featuriser
