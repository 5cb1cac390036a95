"""Why a tagger chose a label: the share of every attribute and of the preceding labels in its score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loglinear.arrays import FloatArray
from loglinear.data.token_arrays import TokenArrays
from loglinear.models.notebook import Shown
from loglinear.models.push import Push, by_effect, push_dicts
from loglinear.models.tagger.base import chain_of
from loglinear.models.tagger.inputs import TokenInputs


@dataclass(frozen=True)
class TokenExplanation:
    """Score of the chosen label at this token, given the labels chosen before: the sum of pushes, steps and base."""

    label: Any
    probability: float  # marginal
    pushes: list[Push]  # attributes, largest effect first
    step: float  # weights of the transition from the preceding label or labels
    base: float  # score under the base distribution, where there is one, and of given emissions

    @property
    def score(self) -> float:
        """Return the score of the label: the sum of all parts."""
        return sum(push.contribution for push in self.pushes) + self.step + self.base


@dataclass(frozen=True)
class SequenceExplanation(Shown):
    """One explanation per token; the scores add up to that of the labelling, before any local normalisation."""

    tokens: list[TokenExplanation]
    log_probability: float

    def to_text(self, k: int = 5, words: Sequence[str] | None = None) -> str:
        """Return every token with its k pushes of largest effect, a line each; ``words`` are names of the tokens."""
        lines = []
        for t, token in enumerate(self.tokens):
            name = f"{t}" if words is None else f"{t} {words[t]}"
            lines.append(f"{name}: {token.label} with probability {token.probability:.4f}")
            lines += [f"    {push.contribution:+9.4f}  {push.feature}" for push in token.pushes[:k]]
            lines.append(f"    {token.step:+9.4f}  from the labels before")
            if token.base:
                lines.append(f"    {token.base:+9.4f}  from the base distribution")
        return "\n".join(lines)

    def to_dict(self, k: int | None = None, words: Sequence[str] | None = None) -> dict[str, Any]:
        """Return plain values, for JSON, with the k pushes of largest effect of each token; None: all."""
        tokens = [{**vars(t), "score": t.score, "pushes": push_dicts(t.pushes[:k])} for t in self.tokens]
        if words is not None:
            tokens = [{"word": word, **token} for word, token in zip(words, tokens)]
        return {"log_probability": self.log_probability, "tokens": tokens}

    def __str__(self) -> str:
        return self.to_text()


def explain(tagger: Any, sequence: Any) -> SequenceExplanation:
    """Return the best labelling of one sequence, with the parts of its score."""
    lattices = tagger._lattices(sequence if isinstance(sequence, TokenArrays) else [sequence])
    labels = lattices.best()
    T, classes, f = labels.size, tagger.classes_, tagger.features_
    if T == 0:
        return SequenceExplanation([], 0.0)
    L, nodes = len(classes), lattices.marginals()
    log_probability = float((lattices.scores(labels) - lattices.log_normalisers())[0])
    _, _, step, trigram = f.split(tagger.weights_)
    base = _base_scores(tagger, lattices.nodes, labels)
    if lattices.inputs.emissions:
        base = base + lattices.inputs.emissions[0][np.arange(T), labels]
    tokens = []
    for t, y in enumerate(labels.tolist()):
        last = int(labels[t - 1]) if t else None
        weights = attribute_weights(tagger, lattices.inputs, t, y, last)
        pushes = [Push(tagger.attribute_name(a), value, weight, value * weight) for a, value, weight in weights]
        steps = 0.0
        if last is not None:
            before, code = int(labels[t - 2]) if t > 1 else L, last * L + y
            steps = _at(step, f.transition_code, code) + _at(trigram, f.trigram_code, before * L * L + code)
        tokens.append(TokenExplanation(classes[y], float(nodes[t, y]), by_effect(pushes), steps, float(base[t])))
    return SequenceExplanation(tokens, log_probability)


def attribute_weights(
    tagger: Any, inputs: TokenInputs, t: int, label: int, last: int | None
) -> list[tuple[int, float, float]]:
    """Return (attribute, value, weight) of the attributes of token t with a label, after the label ``last`` if any."""
    f, found = tagger.features_, []
    node, pair, _, _ = f.split(tagger.weights_)
    values: dict[int, float] = {}  # templates with gaps may make an attribute several times
    for attribute, value in inputs.values_of(t):
        values[attribute] = values.get(attribute, 0.0) + value
    for attribute, value in values.items():
        weight = _weight(node, f.node_ptr, f.node_label, attribute, label)
        if last is not None:
            weight += _weight(pair, f.pair_ptr, f.pair_code, attribute, last * len(tagger.classes_) + label)
        found.append((attribute, value, weight))
    return found


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
