"""Which features of a label chain have a weight, and where in the flat vector of weights it lies.

    w = [ node | pair | transition | trigram ]

    node         (attribute a, label y)              at places node_ptr[a] ... node_ptr[a + 1], labels ascending
    pair         (attribute a, previous y', y)       at pair_ptr[a] ... , codes y' L + y ascending
    transition   (previous y', y)                    codes y' L + y ascending
    trigram      (y'', y', y)                        codes (y'' L + y') L + y ascending; y'' = L is the start

Pair, transition and trigram features need a token before; the first token of a sequence has none of them, the second
has trigrams with y'' = L. Features that are not listed have weight zero: they are allowed, not forbidden.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class ChainFeatures:
    """The lists above; ``order`` 2 where there are trigrams."""

    n_labels: int
    node_ptr: NDArray[np.int64]  # [n_attributes + 1]
    node_label: NDArray[np.int32]  # [n_node]
    pair_ptr: NDArray[np.int64]  # [n_attributes + 1]
    pair_code: NDArray[np.int32]  # [n_pair]
    transition_code: NDArray[np.int32]  # [n_transition]
    trigram_code: NDArray[np.int32]  # [n_trigram]

    @property
    def n_attributes(self) -> int:
        """Number of attributes."""
        return self.node_ptr.size - 1

    @property
    def n_weights(self) -> int:
        """Length of the vector of weights."""
        return int(self.offsets[-1])

    @property
    def offsets(self) -> NDArray[np.int64]:
        """Where node, pair, transition and trigram weights begin, and the end: [5]."""
        sizes = [self.node_label.size, self.pair_code.size, self.transition_code.size, self.trigram_code.size]
        return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    @property
    def order(self) -> int:
        """2 where there are trigram features."""
        return 2 if self.trigram_code.size else 1
