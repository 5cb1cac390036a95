"""Scores added to those of the weights: a base distribution q0, or a constraint; -infinity forbids."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from loglinear import _core
from loglinear.arrays import FloatArray
from loglinear.data.chain_features import ChainFeatures
from loglinear.data.sequence import SequenceData
from loglinear.features.sequences import take_ranges


@dataclass(frozen=True, eq=False)
class ChainBase:
    """Scores by part; a part may be None, which is zero everywhere."""

    start: FloatArray | None = None  # [L]
    stop: FloatArray | None = None  # [L], or [(L + 1) L] by label pair; previous = L at the start
    transitions: FloatArray | None = None  # [L, L]
    trigrams: FloatArray | None = None  # [L + 1, L, L]; first = L at the start
    nodes: FloatArray | None = None  # [n_tokens, L]

    def __post_init__(self) -> None:
        for field in fields(self):
            array = getattr(self, field.name)
            if array is not None:
                object.__setattr__(self, field.name, np.ascontiguousarray(array, dtype=np.float64))

    @property
    def is_zero(self) -> bool:
        """Whether no score is added."""
        return all(getattr(self, field.name) is None for field in fields(self))

    def model(self, features: ChainFeatures, machine: str = "auto") -> _core.ChainModel:
        """Return the native scorer of chains with these features; machine "dense" or "sparse" forces one."""
        return _core.ChainModel(features.native, self.start, self.stop, self.transitions, self.trigrams, machine)

    def plus(self, other: ChainBase) -> ChainBase:
        """Return the sum of both."""
        parts = {}
        for field in fields(self):
            a, b = getattr(self, field.name), getattr(other, field.name)
            if a is not None and b is not None and a.size != b.size:  # stop by label and by label pair
                a, b = (np.tile(x.reshape(-1), max(a.size, b.size) // x.size) for x in (a, b))
            parts[field.name] = b if a is None else a if b is None else a + b
        return ChainBase(**parts)

    def take(self, data: SequenceData, sequences: NDArray[np.intp]) -> ChainBase:
        """Return the scores of the chosen sequences of the data."""
        if self.nodes is None:
            return self
        _, tokens = take_ranges(data.sequence_ptr, sequences)
        return ChainBase(self.start, self.stop, self.transitions, self.trigrams, self.nodes[tokens])
