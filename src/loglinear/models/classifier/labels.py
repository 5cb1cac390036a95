"""Labels of examples as numbers of classes."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from loglinear.formats.examples import Labels


def number_labels(y: Any, n_examples: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes, sorted, and the number of each example's class (int32)."""
    if isinstance(y, Labels):
        shape: tuple[int, ...] = y.numbers.shape
        classes, rank = np.unique(np.asarray(y.names), return_inverse=True)
        numbers = rank[y.numbers]
    else:
        y = _checked(y)
        shape = y.shape
        classes, numbers = np.unique(y, return_inverse=True)
    if shape != (n_examples,):
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: [{n_examples}, {shape[0] if shape else 0}]; "
            f"labels of shape {shape} for {n_examples} examples, and one label per example is needed"
        )
    if classes.size < 2:
        raise ValueError(
            "Classifier can't train when only one class is present: every example is "
            f"{classes.tolist()[0]!r}. At least two classes are needed."
        )
    return classes, numbers.astype(np.int32)


def _checked(y: Any) -> np.ndarray:
    """Check labels in scikit-learn's words, which its own checks of estimators expect."""
    if y is None:
        raise ValueError("This MaxentClassifier estimator requires y to be passed, but the target y is None.")
    if not isinstance(y, list):
        from sklearn.utils.validation import check_array

    y = np.asarray(y) if isinstance(y, list) else check_array(y, ensure_2d=False, dtype=None, ensure_min_samples=0)
    if y.ndim == 2 and y.shape[1] == 1:
        from sklearn.exceptions import DataConversionWarning

        warnings.warn(
            "A column-vector y was passed when a 1d array was expected. Please change the shape of y to "
            "(n_samples,), for example using ravel().",
            DataConversionWarning,
            stacklevel=6,
        )
        y = y.ravel()
    check_targets(y)
    return y


def check_targets(y: np.ndarray) -> None:
    """Raise ValueError, in scikit-learn's words, for what are no labels but numbers of a regression, or unknown."""
    if y.ndim == 1 and y.dtype.kind == "U":
        return
    from sklearn.utils.multiclass import check_classification_targets

    check_classification_targets(y)


def known_numbers(y: Any, classes: np.ndarray) -> np.ndarray:
    """Return the number of each label's class (int32); raise ValueError for a label that is not a class."""
    y = np.asarray(y)
    numbers = np.searchsorted(classes, y)
    unseen = (numbers >= classes.size) | (classes[np.minimum(numbers, classes.size - 1)] != y)
    if np.any(unseen):
        where = int(np.flatnonzero(unseen)[0])
        raise ValueError(
            f"label {y.tolist()[where]!r} (example {where}) was not seen in training; known: {classes.tolist()}"
        )
    return numbers.astype(np.int32)


def class_weights_of(given: Any, classes: np.ndarray, counts: np.ndarray) -> np.ndarray | None:
    """Return the weight of every class's examples; None where all are 1.

    given : a dict by class, "balanced" or None
    counts : number of examples of every class, or the sum of their weights
    """
    if given is None:
        return None
    if isinstance(given, str):
        if given != "balanced":
            raise ValueError(f"class_weight must be a dict, 'balanced' or None, not {given!r}")
        return np.asarray(counts.sum() / (classes.size * np.where(counts > 0, counts, 1.0)))
    if not isinstance(given, Mapping):
        raise TypeError(f"class_weight must be a dict, 'balanced' or None, not {type(given).__name__}")
    known = set(classes.tolist())
    for label, weight in given.items():
        if (label.item() if isinstance(label, np.generic) else label) not in known:
            raise ValueError(f"class_weight has the class {label!r}, which no example has: {classes.tolist()}")
        if isinstance(weight, (str, bool)) or not np.isfinite(weight) or weight < 0:
            raise ValueError(f"the class weight of {label!r} must be a number, not negative, but is {weight!r}")
    weights = {label.item() if isinstance(label, np.generic) else label: weight for label, weight in given.items()}
    return np.array([float(weights.get(label, 1.0)) for label in classes.tolist()])
