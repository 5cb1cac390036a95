"""What a trained tagger says of new sequences; all of it is asked of their lattices."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from loglinear.arrays import FloatArray
from loglinear.features import schemes
from loglinear.features.sequences import FlatLabels
from loglinear.models.tagger.labels import encode_labels
from loglinear.models.tagger.lattices import Lattices


class ChainPredictions:
    """Methods of a model that has ``classes_`` and makes ``_lattices`` of its input."""

    if TYPE_CHECKING:
        classes_: list[str]
        scheme_: str | None
        estimator: str

        @property
        def _has_base(self) -> bool: ...
        def _lattices(self, X: Any, constraint: Any = None, allowed: Any = None) -> Lattices: ...

    def predict(self, X: Any, *, constraint: Any = None, allowed: Any = None) -> list[list[str]]:
        """The best labelling of every sequence.

        ``allowed`` fixes or limits labels: per sequence a list with, per token, None (free), a label, or a set.
        """
        return list(self.predict_flat(X, constraint=constraint, allowed=allowed))

    def predict_flat(self, X: Any, *, constraint: Any = None, allowed: Any = None) -> FlatLabels:
        """Return the best labelling of every sequence as numbers, without a Python object per token."""
        lattices = self._lattices(X, constraint, allowed)
        return FlatLabels(lattices.best(), lattices.inputs.sequence_ptr, self.classes_)

    def predict_numbers(self, X: Any, *, constraint: Any = None) -> np.ndarray:
        """Return the best labels of all tokens, one after another, as numbers in ``classes_``: the quickest form."""
        return self.predict_flat(X, constraint=constraint).numbers

    def predict_marginals(self, X: Any, **limits: Any) -> list[list[dict[str, float]]]:
        """For every token the probability of every label."""
        lattices = self._lattices(X, **limits)
        flat = [dict(zip(self.classes_, row)) for row in lattices.marginals().tolist()]
        return [flat[a:b] for a, b in itertools.pairwise(lattices.inputs.sequence_ptr.tolist())]

    def marginal_array(self, X: Any, **limits: Any) -> FloatArray:
        """p(label of token) [n_tokens, n_labels], all sequences one after another."""
        return self._lattices(X, **limits).marginals()

    def edge_marginal_array(self, X: Any, **limits: Any) -> FloatArray:
        """p(label before, label) [n_tokens, n_labels, n_labels]; zero at the first token of a sequence."""
        return self._lattices(X, **limits).edge_marginals()

    def predict_nbest(self, X: Any, k: int = 10, **limits: Any) -> list[list[tuple[list[str], float]]]:
        """Up to k best labellings of every sequence with their probabilities, best first."""
        if k < 1:
            raise ValueError(f"k must be at least 1, not {k}")
        lattices = self._lattices(X, **limits)
        labels, scores = lattices.nbest(k)
        probabilities = np.exp(scores - lattices.log_normalisers()[:, None])
        names, result = np.array(self.classes_, dtype=object), []
        for i, (a, b) in enumerate(itertools.pairwise(lattices.inputs.sequence_ptr.tolist())):
            found = np.flatnonzero(scores[i] > -np.inf)
            result.append([(names[labels[r, a:b]].tolist(), float(probabilities[i, r])) for r in found])
        return result

    def log_probability(self, X: Any, y: Any) -> FloatArray:
        """log p(y | x) of every sequence."""
        lattices = self._lattices(X)
        coded = encode_labels(y, lattices.inputs.sequence_ptr, self.classes_, grow=False)
        if np.any(coded.numbers < 0):
            raise ValueError("log_probability needs the label of every token")
        return lattices.scores(coded.numbers) - lattices.log_normalisers()

    def input_log_probability(self, X: Any) -> FloatArray:
        """log of the sum over labellings of q0 exp(w . f): how likely a generative model finds each input.

        Of an HMM it is log p(x); of an M-estimate it lacks one constant, the normaliser over all inputs.
        """
        if not self._has_base:
            raise ValueError(f"estimator {self.estimator!r} models labels given the input, not the input itself")
        return self._lattices(X).log_normalisers()

    def sample(self, X: Any, n_samples: int = 1, random_state: int = 0, **limits: Any) -> list[list[list[str]]]:
        """Labellings drawn from p(y | x): for every sequence ``n_samples`` of them."""
        if n_samples < 0 or not 0 <= random_state < 2**64:
            raise ValueError("n_samples and random_state must not be negative, and random_state below 2^64")
        lattices = self._lattices(X, **limits)
        ptr = lattices.inputs.sequence_ptr
        drawn = [FlatLabels(row, ptr, self.classes_) for row in lattices.sample(n_samples, random_state)]
        return [list(samples) for samples in zip(*drawn)] if drawn else [[] for _ in range(ptr.size - 1)]

    def score(self, X: Any, y: Any) -> float:
        """F1 of spans where labels follow a scheme (BIO, IOBES), else the share of right labels."""
        from loglinear.metrics import span_scores

        gold = schemes.flatten(y)
        scheme = None if self.scheme_ is None else schemes.detect([*self.classes_, *gold.names])
        result = span_scores(gold, self.predict_flat(X), scheme)
        return float(result.accuracy if result.f1 is None else result.f1)
