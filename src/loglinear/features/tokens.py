"""Examples given as lists of tokens from any tokeniser: counts of each, features in sorted order."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np

from loglinear.features.featuriser import Featuriser, Rows, sort_names, sum_rows
from loglinear.features.weighting import COUNT, check_weighting


class TokenFeatures(Featuriser):
    """Counts of tokens, weighted (features/weighting.py)."""

    kind = "tokens"

    def __init__(self, weighting: str = COUNT) -> None:
        self.weighting = check_weighting(weighting)

    def settings(self) -> dict[str, Any]:
        """Return the arguments of the constructor, as JSON values."""
        return {} if self.weighting == COUNT else {"weighting": self.weighting}

    def _fit_counts(self, examples: Sequence[Sequence[str]], n_threads: int) -> Rows:
        """Learn the tokens of the examples and count them in each."""
        lengths = _check(examples)
        numbers: dict[str, int] = {}
        tokens = chain.from_iterable(examples)
        ids = np.fromiter((numbers.setdefault(t, len(numbers)) for t in tokens), np.int32, count=sum(lengths))
        self._vocabulary, renumber = sort_names(numbers)
        return sum_rows(lengths, renumber[ids], np.ones(len(ids)), len(numbers))

    def _counts(self, examples: Sequence[Sequence[str]], n_threads: int) -> Rows:
        """Count the known tokens of each example; others are ignored."""
        vocabulary = self.vocabulary
        lengths = _check(examples)
        ids = vocabulary.ids(list(chain.from_iterable(examples)))
        return sum_rows(lengths, ids, np.ones(len(ids)), len(vocabulary))


def _check(examples: Sequence[Sequence[str]]) -> list[int]:
    """Return the length of each example; raise TypeError unless all are lists or tuples of strings."""
    for number, example in enumerate(examples):
        if not isinstance(example, (list, tuple)):
            raise TypeError(f"example {number} is {type(example).__name__}, not a list of tokens")
        for position, token in enumerate(example):
            if not isinstance(token, str):
                raise TypeError(f"example {number}: token {position} is {type(token).__name__}, not a string")
    return [len(example) for example in examples]
