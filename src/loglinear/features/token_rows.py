"""Attributes of tokens as compressed rows: what every featuriser of sequences gives."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class TokenRows(NamedTuple):
    """Row t holds the attributes of token t, in any order; values of None mean that all are 1."""

    indptr: NDArray[np.int64]  # [n_tokens + 1]
    indices: NDArray[np.int32]  # [n_occurrences], numbers of attributes
    values: NDArray[np.float64] | None  # [n_occurrences]

    @property
    def n_tokens(self) -> int:
        """Number of tokens."""
        return self.indptr.size - 1
