"""Weights from which a quasi-Newton method begins on a CRF: those of a few passes of stochastic steps, averaged.

On chunking five passes, which cost as much as a dozen evaluations, take the place of sixty steps along full gradients
(docs/results/tag.md). The first step suits the size of the attributes, and falls to half within a pass. Weights are
averaged over the last pass (Polyak and Juditsky 1992), which takes most of the noise away.
"""

from __future__ import annotations

import math

import numpy as np

from loglinear import _core
from loglinear.arrays import FloatArray
from loglinear.data.chain_features import ChainFeatures
from loglinear.data.sequence import SequenceData
from loglinear.threads import pool

FEW_TOKENS = 20_000  # below, evaluations are quick
MANY_LABELS = 64  # from here on steps cost more in transitions than they save
FIRST_STEP = 6.0  # over 1 + the sum of squared values of a token's attributes
DECAY = 1.0  # passes after which steps are half as long
PIECES = 8  # of a pass, between which weights are looked at
TRIALS = 4  # of first steps, each a quarter of the last


def can_start(data: SequenceData, features: ChainFeatures) -> bool:
    """Return whether stochastic steps know these features, and pay."""
    plain = not (features.pair_code.size or features.trigram_code.size or data.numbers or data.emissions)
    return plain and data.n_tokens >= FEW_TOKENS and data.n_labels < MANY_LABELS and bool(np.all(data.labels >= 0))


class StochasticStart:
    """The steps of one CRF, ready to be taken on one thread."""

    def __init__(self, data: SequenceData, features: ChainFeatures, n_threads: int | None = None) -> None:
        self.data, self.n_weights = data, features.n_weights
        self._chain = _core.StochasticChain(pool(n_threads), features.native, data.native, data.labels)

    def weights(self, ridge: float, passes: int) -> FloatArray | None:
        """Return weights after ``passes`` over the data; None where the steps lead away from the optimum."""
        values = self.data.rows.values
        squares = float(self.data.rows.indices.size) if values is None or not values.size else float(values @ values)
        eta = FIRST_STEP / (1.0 + squares / self.data.n_tokens)
        for _ in range(TRIALS):
            if (found := self._walk(ridge, passes, eta)) is not None:
                return found
            eta *= 0.25
        return None

    def _walk(self, ridge: float, passes: int, eta: float) -> FloatArray | None:
        """Take the passes with a first step; None where the first of them costs more than zero weights would."""
        data, chain = self.data, self._chain
        rng, n, seen = np.random.default_rng(0), data.n_examples, 0.0
        mean, weights = np.zeros(self.n_weights), np.empty(self.n_weights)
        chain.clear()
        for number in range(passes):
            loss = 0.0
            for piece in np.array_split(rng.permutation(chain.n_batches).astype(np.int64), PIECES):
                loss += chain.step_along(piece, eta, DECAY * n, ridge, seen)
                seen += n / PIECES
                if number == passes - 1:
                    chain.weights(weights)
                    mean += weights
            if not loss < data.n_tokens * math.log(data.n_labels):
                return None
        return np.divide(mean, PIECES, out=mean)
