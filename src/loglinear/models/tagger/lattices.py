"""Lattices: encoded sequences under a chain model, and the inference that runs on them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from loglinear import _core
from loglinear.arrays import FloatArray
from loglinear.models.tagger.inputs import TokenInputs
from loglinear.threads import pool


@dataclass(frozen=True, eq=False)
class Lattices:
    """Every call runs on all threads, without the GIL; the model is only read."""

    inputs: TokenInputs
    model: _core.ChainModel
    n_labels: int
    nodes: FloatArray | None  # base scores [n_tokens, n_labels]
    local: _core.ChainModel | None  # of a MEMM: the model without constraints, which normalises each label
    n_threads: int | None

    @property
    def n_tokens(self) -> int:
        """Number of tokens."""
        return self.inputs.rows.n_tokens

    def best(self) -> NDArray[np.int32]:
        """Return the best labelling as numbers of labels [n_tokens]."""
        labels = np.empty(self.n_tokens, dtype=np.int32)
        _core.chain_viterbi(pool(self.n_threads), self.model, self.inputs.native, self.nodes, self.local, labels)
        return labels

    def nbest(self, k: int) -> tuple[NDArray[np.int32], FloatArray]:
        """Return k best labellings [k, n_tokens] (-1: none) and their scores [n_sequences, k] (-infinity: none)."""
        labels = np.empty((k, self.n_tokens), dtype=np.int32)
        scores = np.empty((self.inputs.n_sequences, k))
        tokens, threads = self.inputs.native, pool(self.n_threads)
        _core.chain_nbest(threads, self.model, tokens, self.nodes, self.local, k, labels, scores)
        return labels, scores

    def log_normalisers(self) -> FloatArray:
        """Return log Z [n_sequences]."""
        return self._inference(None, None)

    def marginals(self) -> FloatArray:
        """Return p(label) [n_tokens, n_labels]."""
        nodes = np.empty((self.n_tokens, self.n_labels))
        self._inference(nodes, None)
        return nodes

    def edge_marginals(self) -> FloatArray:
        """Return p(label before, label) [n_tokens, n_labels, n_labels]; zero at first tokens."""
        edges = np.empty((self.n_tokens, self.n_labels, self.n_labels))
        self._inference(None, edges)
        return edges

    def _inference(self, nodes: FloatArray | None, edges: FloatArray | None) -> FloatArray:
        log_z = np.empty(self.inputs.n_sequences)
        threads = pool(self.n_threads)
        _core.chain_marginals(threads, self.model, self.inputs.native, self.nodes, self.local, log_z, nodes, edges)
        return log_z

    def scores(self, labels: NDArray[np.int32]) -> FloatArray:
        """Return the scores of one labelling per sequence [n_sequences]."""
        scores = np.empty(self.inputs.n_sequences)
        _core.chain_scores(pool(self.n_threads), self.model, self.inputs.native, self.nodes, self.local, labels, scores)
        return scores

    def sample(self, n_samples: int, seed: int) -> NDArray[np.int32]:
        """Return labellings drawn from p(y | x) [n_samples, n_tokens]."""
        labels, threads = np.empty((n_samples, self.n_tokens), dtype=np.int32), pool(self.n_threads)
        _core.chain_sample(threads, self.model, self.inputs.native, self.nodes, self.local, seed, n_samples, labels)
        return labels
