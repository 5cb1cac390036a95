"""Why a tagger chose a label: the share of every attribute and of the preceding labels in its score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loglinear.arrays import FloatArray
from loglinear.models.push import Push
from loglinear.models.tagger.base import chain_of


@dataclass(frozen=True)
class TokenExplanation:
    """Score of the chosen label at this token, given the labels chosen before: the sum of pushes, steps and base."""

    label: Any
    probability: float  # marginal
    pushes: list[Push]  # attributes, largest effect first
    step: float  # weights of the transition from the preceding label or labels
    base: float  # score under the base distribution, where there is one: emissions and steps, start and stop

    @property
    def score(self) -> float:
        """Return the score of the label: the sum of all parts."""
        return sum(push.contribution for push in self.pushes) + self.step + self.base


@dataclass(frozen=True)
class SequenceExplanation:
    """One explanation per token; the scores add up to that of the labelling, before any local normalisation."""

    tokens: list[TokenExplanation]
    log_probability: float

    def __str__(self) -> str:
        lines = []
        for t, token in enumerate(self.tokens):
            lines.append(f"{t}: {token.label} with probability {token.probability:.4f}")
            lines += [f"    {push.contribution:+9.4f}  {push.feature}" for push in token.pushes[:5]]
            lines.append(f"    {token.step:+9.4f}  from the labels before")
            if token.base:
                lines.append(f"    {token.base:+9.4f}  from the base distribution")
        return "\n".join(lines)


def explain(tagger: Any, sequence: Any) -> SequenceExplanation:
    """Return the best labelling of one sequence, with the parts of its score."""
    lattices = tagger._lattices([sequence])
    labels = lattices.best()
    T, classes, f = labels.size, tagger.classes_, tagger.features_
    if T == 0:
        return SequenceExplanation([], 0.0)
    L, nodes = len(classes), lattices.marginals()
    log_probability = float((lattices.scores(labels) - lattices.log_normalisers())[0])
    names = tagger.attribute_names()
    node, pair, step, trigram = f.split(tagger.weights_)
    rows, base = lattices.inputs.rows, _base_scores(tagger, lattices.nodes, labels)
    tokens = []
    for t, y in enumerate(labels.tolist()):
        code = (int(labels[t - 1]) if t else 0) * L + y
        pushes = []
        for place in range(rows.indptr[t], rows.indptr[t + 1]):
            attribute = int(rows.indices[place])
            value = 1.0 if rows.values is None else float(rows.values[place])
            weight = _weight(node, f.node_ptr, f.node_label, attribute, y)
            if t:
                weight += _weight(pair, f.pair_ptr, f.pair_code, attribute, code)
            if weight:
                pushes.append(Push(names[attribute], value, weight, value * weight))
        steps = 0.0
        if t:
            before = int(labels[t - 2]) if t > 1 else L
            steps = _at(step, f.transition_code, code) + _at(trigram, f.trigram_code, before * L * L + code)
        pushes.sort(key=lambda push: -abs(push.contribution))
        tokens.append(TokenExplanation(classes[y], float(nodes[t, y]), pushes, steps, float(base[t])))
    return SequenceExplanation(tokens, log_probability)


def _base_scores(tagger: Any, nodes: FloatArray | None, labels: NDArray[np.int32]) -> FloatArray:
    """Return what the base distribution adds to the score of each token [n_tokens]."""
    T = labels.size
    if nodes is None or not tagger.has_base:
        return np.zeros(T)
    base, L = chain_of(tagger.hmm_), len(tagger.classes_)
    scores = nodes[np.arange(T), labels]
    if base.start is not None:
        scores[0] += base.start[labels[0]]
    before = np.concatenate([[L], labels[:-1]])  # of each token
    if base.transitions is not None:
        scores[1:] += base.transitions[labels[:-1], labels[1:]]
    if base.trigrams is not None:
        scores[1:] += base.trigrams[before[:-1], labels[:-1], labels[1:]]
    if base.stop is not None:
        scores[-1] += base.stop[labels[-1]] if base.stop.ndim == 1 else base.stop[before[-1], labels[-1]]
    return scores


def _weight(weights: FloatArray, ptr: np.ndarray, codes: np.ndarray, attribute: int, code: int) -> float:
    a, b = ptr[attribute : attribute + 2]
    return _at(weights[a:b], codes[a:b], code)


def _at(weights: FloatArray, codes: np.ndarray, code: int) -> float:
    place = int(np.searchsorted(codes, code))
    return float(weights[place]) if place < codes.size and codes[place] == code else 0.0
