"""Examples given as ``{name: value}``.

A number is the value of feature ``name``; a boolean is 0 or 1; a string makes the feature ``name=value``, with value 1.
These are the rules of scikit-learn's DictVectorizer. Features are in sorted order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TypeAlias

import numpy as np

from loglinear.features.featuriser import Featuriser, Rows, sort_names, sum_rows
from loglinear.features.numbers import finite_number

Example: TypeAlias = Mapping[str, float | int | bool | str]
_KINDS = "a number, a boolean or a string"


class DictFeatures(Featuriser):
    """Named features with numeric or string values."""

    kind = "dicts"

    def _fit_counts(self, examples: Sequence[Example], n_threads: int) -> Rows:
        """Learn the features of the examples and return their values in each."""
        names, values, lengths = _flatten(examples)
        numbers: dict[str, int] = {}
        ids = np.fromiter((numbers.setdefault(name, len(numbers)) for name in names), np.int32, count=len(names))
        self._vocabulary, renumber = sort_names(numbers)
        return sum_rows(lengths, renumber[ids], values, len(numbers))

    def _counts(self, examples: Sequence[Example], n_threads: int) -> Rows:
        """Return the values of the known features in each example; others are ignored."""
        vocabulary = self.vocabulary
        names, values, lengths = _flatten(examples)
        return sum_rows(lengths, vocabulary.ids(names), values, len(vocabulary))


def _flatten(examples: Sequence[Example]) -> tuple[list[str], np.ndarray, list[int]]:
    """Return the names and values of all features, and how many each example has."""
    names: list[str] = []
    values: list[float] = []
    lengths: list[int] = []
    for number, example in enumerate(examples):
        if not isinstance(example, Mapping):
            raise TypeError(f"example {number} is {type(example).__name__}, not a dict of features")
        where = partial("example {}: feature".format, number)
        for key, value in example.items():
            if not isinstance(key, str):
                raise TypeError(f"example {number}: feature name {key!r} is {type(key).__name__}, not a string")
            if isinstance(value, str):
                names.append(f"{key}={value}")
                values.append(1.0)
            else:
                names.append(key)
                values.append(finite_number(value, where, key, _KINDS))
        lengths.append(len(example))
    return names, np.asarray(values, dtype=np.float64), lengths
